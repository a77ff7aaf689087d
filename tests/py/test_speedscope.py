# SPDX-License-Identifier: Apache-2.0
"""speedscope files: held against speedscope's own schema, and opened in speedscope itself."""

from __future__ import annotations

import cProfile
import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from browsing import CACHE, run_check


def convert(tare: Path, source: Path, tmp_path: Path) -> tuple[Path, dict]:
    target = tmp_path / "out.speedscope.json"
    subprocess.run([tare, "report", source, "-o", target], check=True)
    return target, json.loads(target.read_text())


def samples(profile: dict, names: list[str]) -> Counter[tuple[str, ...]]:
    """How much each stack weighs."""
    weights: Counter[tuple[str, ...]] = Counter()
    for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
        weights[tuple(names[frame] for frame in stack)] += weight
    return weights


def test_folded_stacks_come_out_as_they_went_in(tare: Path, tmp_path: Path) -> None:
    source = tmp_path / "in.folded"
    source.write_text("a;b;c 5\na;b 2\nx 3\n")
    _, data = convert(tare, source, tmp_path)
    (profile,) = data["profiles"]
    names = [frame["name"] for frame in data["shared"]["frames"]]
    assert samples(profile, names) == {("a", "b", "c"): 5, ("a", "b"): 2, ("x",): 3}
    assert (profile["startValue"], profile["endValue"], profile["unit"]) == (0, 10, "none")
    assert data["exporter"].startswith("tare ")


def test_caller_pairs_say_that_they_are_estimated(tare: Path, tmp_path: Path) -> None:
    source = tmp_path / "in.prof"
    profiler = cProfile.Profile()
    profiler.runcall(lambda: sorted(range(1000), key=lambda x: -x))
    profiler.dump_stats(source)
    _, data = convert(tare, source, tmp_path)
    assert {profile["unit"] for profile in data["profiles"]} == {"none", "nanoseconds"}
    assert all("estimated from caller pairs" in profile["name"] for profile in data["profiles"])
    shown = data["profiles"][data["activeProfileIndex"]]
    assert shown["name"].startswith("tottime")


def test_speedscope_agrees_with_its_schema(tare: Path, root: Path, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    modules = Path(os.environ.get("NODE_PATH") or CACHE)
    schema = modules / "speedscope/dist/release/file-format-schema.json"
    if not schema.exists():
        pytest.skip("no speedscope here: run .ci/run npm, or set NODE_PATH to a folder that has it")
    for name in ("pyspy", "training"):
        _, data = convert(tare, root / f"tests/data/folded/{name}.folded", tmp_path)
        jsonschema.validate(data, json.loads(schema.read_text()))


def test_in_speedscope(tare: Path, root: Path, tmp_path: Path) -> None:
    path, _ = convert(tare, root / "tests/data/folded/training.folded", tmp_path)
    whole = own = total = 0
    for line in (root / "tests/data/folded/training.folded").read_text().splitlines():
        stack, count = line.rsplit(" ", 1)
        whole += int(count)
        own += int(count) if stack.split(";")[-1].startswith("mkldnn_sgemm") else 0
        total += int(count) if "train_step" in stack else 0

    def cell(value: int) -> str:
        share = 100 * value / whole
        return f"{value:,} ({share:.0f}%)" if share >= 10 else f"{value:,} ({share:.1f}%)"

    rows = {
        "mkldnn_sgemm": {"total": cell(own), "self": cell(own)},
        "train_step": {"total": cell(total), "self": "0 (<0.01%)"},
    }
    run_check("speedscope_check.js", path, tmp_path, {"profile": "samples", "rows": rows})
