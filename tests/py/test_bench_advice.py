# SPDX-License-Identifier: Apache-2.0
"""Advice about a fake model whose truth is known: what helps is recommended, what does not is said not to."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timing


def bench(tare: Path, model: str, *options: str) -> dict[str, Any]:
    words = [str(tare), "bench", "--engine", "fake", model, "--json", *options]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def advice(run: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [row for row in run.get("advice", []) if row["kind"] == kind]


def findings(run: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [row for row in run.get("findings", []) if row["kind"] == kind]


def test_the_batch_that_helps_is_recommended(tare: Path) -> None:
    """A call of batch B takes 4 ms + 0.1 ms B, an item 4.1 ms at batch 1 and 0.225 ms at batch 32."""
    model = "fake:constant,mean=4ms,per_item=0.1ms"
    run = bench(tare, model, "--batch", "1,8,32", "--threads", "1", "--time", "20")
    found = [row for row in advice(run, "batch") if row["helped"]]
    assert found, run.get("notes")
    assert found[0]["text"].startswith("batch 32 instead of 1")
    assert found[0]["gain"]["value"] > 8  # 18 in truth; a busy machine delays short calls more than long ones
    assert found[0]["gain"]["lower"] > 1
    assert found[0]["tried"] is True
    assert any("batch 32 instead of 1" in text for text in run["recommendations"])
    best = findings(run, "best_throughput")[0]
    assert run["configurations"][best["configuration"]]["keys"]["batch"] == 32
    assert findings(run, "balanced")[0]["configuration"] == best["configuration"]
    loss = findings(run, "small_batches")[0]["value"]
    assert loss == pytest.approx(100 * (1 - (1 / 4.1) / (32 / 7.2)), abs=3)
    assert findings(run, "same_answers")


def test_a_batch_that_does_not_help_is_not_recommended(tare: Path) -> None:
    """The time is that of the items alone: no batch is better than another."""
    run = bench(
        tare, "fake:constant,mean=0ms,per_item=1ms", "--batch", "1,4", "--threads", "1", "--time", "15"
    )
    assert all(not row["helped"] for row in advice(run, "batch"))
    assert not any("batch" in text for text in run["recommendations"])


def test_answers_that_change_with_the_batch_are_told(tare: Path) -> None:
    run = bench(
        tare,
        "fake:constant,mean=1ms,wrong=0.1",
        "--batch",
        "1,4",
        "--no-advice",
        "--no-memory",
        "--time",
        "6",
    )
    metrics = {m["name"]: m for m in run["configurations"][1]["accuracy"]}
    assert metrics["batch_max_abs"]["passed"] is False
    assert "batch_max_abs" not in {m["name"] for m in run["configurations"][0]["accuracy"]}
    assert run["batch_profiles"][1]["accuracy_metrics"]["batch_max_abs"] > 0


def test_what_changes_the_answers_is_recommended_only_so(tare: Path) -> None:
    """Half the tokens take half the time, but another text is read then."""
    model = "fake:constant,mean=0ms,per_element=0.05ms"
    options = ("--dim", "seq=64", "--unit", "texts", "--batch", "1", "--no-memory", "--no-answers")
    run = bench(tare, model, *options, "--time", "25")
    (found,) = advice(run, "truncation")
    assert found["helped"] is True, found
    assert found["gain"]["value"] == pytest.approx(2, rel=0.3)
    assert found["text"].startswith("where the answers may change, inputs cut to seq=32 instead of 64")
    assert found["text"] in run["recommendations"]


def test_no_time_no_recommendation(tare: Path) -> None:
    run = bench(tare, "fake:constant,mean=100ms", "--batch", "1,2", "--threads", "2", "--time", "4")
    assert not any(row["tried"] is False for row in run.get("advice", []))
    assert any("not tried, for want of time" in note for note in run["notes"])
