# SPDX-License-Identifier: Apache-2.0
"""A small part of what docs/performance.md tells of the gate and a real model: bench/ has the programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timing

OPTIONS = ("--", "--dim", "seq=16", "--threads", "1", "--blocks", "10")


@pytest.fixture(scope="module")
def twins(root: Path, models: Path, onnx_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("twins")
    program, model = root / "bench" / "gate_slowed.py", models / "minilm.onnx"
    subprocess.run([onnx_python, program, "--make", "--model", model, "--twins", folder], check=True)
    return folder


def compared(program: Path, ort: Path, *words: object) -> list[dict[str, Any]]:
    """What the program wrote down; each time into a new file, for it goes on where a file ends."""
    data = Path(str(words[words.index("--data") + 1]))
    data.unlink(missing_ok=True)
    command = [sys.executable, program, *map(str, words), *OPTIONS]
    subprocess.run(command, check=True, env={**os.environ, "TARE_ORT": str(ort)})
    return [json.loads(line) for line in data.read_text().splitlines()]


def test_a_model_is_not_slower_than_itself(
    root: Path, tare: Path, ort: Path, models: Path, tmp_path: Path
) -> None:
    program, data = root / "bench" / "gate_self.py", tmp_path / "self.jsonl"
    model = models / "minilm.onnx"
    (row,) = compared(program, ort, "--tare", tare, "--model", model, "--count", 1, "--data", data)
    assert row["latency"]["verdict"] in ("same", "inconclusive"), row
    assert len(row["latency"]["block_ratios"]) == 10


def test_real_extra_work_is_called(
    root: Path, tare: Path, ort: Path, models: Path, twins: Path, tmp_path: Path
) -> None:
    program, data = root / "bench" / "gate_slowed.py", tmp_path / "slowed.jsonl"
    words = ("--tare", tare, "--model", models / "minilm.onnx", "--twins", twins, "--data", data)
    rows = compared(program, ort, *words, "--count", 2)
    assert [(row["percent"], row["threshold"]) for row in rows] == [(10, 5), (20, 10)]
    assert 1.03 < rows[0]["latency"]["cost_ratio"] < 1.2
    assert rows[1]["latency"]["verdict"] == "regressed", rows[1]
    told = subprocess.run(
        [sys.executable, program, "--tell", "--data", data], check=True, capture_output=True, text=True
    )
    assert "10%" in told.stdout
