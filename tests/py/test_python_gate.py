# SPDX-License-Identifier: Apache-2.0
"""tare.load_baseline, tare.detect_regressions and the pytest plugin."""

from __future__ import annotations

import copy
import json
import random
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timing

tare = pytest.importorskip("tare", reason="tare is not installed in this interpreter")

SWEEP = Path(__file__).parent.parent / "data" / "runs" / "minilm_sweep.json"


def run_of(factor: float, processes: int, seed: int) -> dict[str, Any]:
    """The first configuration, as if measured in so many processes that differ by a per cent."""
    noise = random.Random(seed)
    run: dict[str, Any] = json.loads(SWEEP.read_text())
    entry = run["configurations"][0]
    model = entry["samples"][0]
    entry["samples"] = []
    for number in range(processes):
        shift = factor * (1 + 0.01 * noise.gauss(0, 1))
        times = [int(ns * shift) for ns in model["ns"] * 6]
        entry["samples"].append(dict(copy.deepcopy(model), process=number, ns=times, rounds=[len(times)]))
    entry["resources"] = {}  # others had wanted the processor, which makes the allowance larger
    run["configurations"] = [entry]
    for key in ("findings", "advice", "thresholds", "batch_profiles", "bottlenecks", "recommendations"):
        run[key] = []
    return run


def saved(run: dict[str, Any], path: Path) -> Path:
    path.write_text(json.dumps(run))
    return path


def test_only_regressions_are_in_the_list(tmp_path: Path) -> None:
    base = tare.load_baseline(saved(run_of(1, 12, 1), tmp_path / "base.json"))
    assert base["schema"] == "tare.run/1"
    slower = tare.detect_regressions(base, saved(run_of(1.3, 12, 2), tmp_path / "slow.json"))
    assert len(slower) == 1
    assert slower
    assert isinstance(slower, list)
    found = slower[0]
    assert found.metric == "latency"
    assert "batch=1" in found.configuration
    assert found.lower < found.ratio < found.upper
    assert 1.2 < found.ratio < 1.4
    assert found.p < 0.01
    assert found.text in str(slower)
    assert "regressed" in f"{slower}"
    assert str(found) == found.text
    same = tare.detect_regressions(base, run_of(1, 12, 3))
    assert not same
    assert not same.inconclusive
    assert "no regression" in f"{same}"
    better = tare.detect_regressions(base, run_of(0.7, 12, 4))
    assert not better
    assert [f.metric for f in better.improvements] == ["latency"]
    assert not tare.detect_regressions(base, run_of(1.3, 12, 2), change=0.5)


def test_few_processes_are_called_only_beyond_the_allowance() -> None:
    base = run_of(1, 1, 1)
    unsure = tare.detect_regressions(base, run_of(1.15, 1, 2))
    assert not unsure
    assert [f.metric for f in unsure.inconclusive] == ["latency"]
    assert "processes" in unsure.inconclusive[0].text
    assert "inconclusive" in str(unsure)
    assert tare.detect_regressions(base, run_of(1.6, 1, 2))


def test_what_is_not_a_baseline_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no baseline there"):
        tare.load_baseline(tmp_path / "none.json")
    (tmp_path / "a.folded").write_text("main;work 100\n")
    with pytest.raises(tare.TareError, match="profile"):
        tare.load_baseline(tmp_path / "a.folded")
    with pytest.raises(TypeError, match="current is a int"):
        tare.detect_regressions(SWEEP, 3)
    with pytest.raises(ValueError, match="share"):
        tare.detect_regressions(SWEEP, SWEEP, change=-1)


def test_the_example_of_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    profiler = tare.ModelProfiler(sorted)
    profiler.profile(input_data=list(range(2000)), num_runs=20)
    profiler.export_json("baseline.json")
    results = profiler.profile(input_data=list(range(6000)), num_runs=20, batch_size=2000)
    found = tare.detect_regressions(tare.load_baseline("baseline.json"), results)
    # What is found depends on what else this machine does; that something was compared does not.
    assert isinstance(found, tare.Regressions)
    shown = f"{tare.detect_regressions(tare.load_baseline('baseline.json'), results)}"
    assert shown == str(found)
    assert "regress" in shown


GATE = """
import time
import pytest

def work(seconds, extra=0.0):
    time.sleep(seconds + extra)

@pytest.mark.tare(threshold=["latency:{limit}"])
def test_marked(tare_bench):
    assert tare_bench(work, {seconds}, runs=300, warmup_runs=2)["latency"]["p50"] > 0

def test_given(tare_bench):
    tare_bench(work, {seconds}, extra=0.0, threshold="latency.p50:1s", name="one", runs=300, warmup_runs=2)
"""


def gate(folder: Path, *options: str, seconds: float = 0.002, limit: str = "1s") -> tuple[int, str]:
    (folder / "test_gate.py").write_text(GATE.format(seconds=seconds, limit=limit))
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--strict-markers", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return ran.returncode, ran.stdout + ran.stderr


def test_a_threshold_fails_the_test(tmp_path: Path) -> None:
    status, text = gate(tmp_path)
    assert status == 0, text
    assert "2 passed" in text, text
    status, text = gate(tmp_path, "--junitxml", "out.xml", limit="1ms")
    assert status == 1, text
    assert "1 failed, 1 passed" in text, text
    assert "target <= 1 ms" in text, text
    failures = [case.get("name") for case in ET.parse(tmp_path / "out.xml").iter("testcase") if len(case)]
    assert failures == ["test_marked"]
    status, text = gate(tmp_path, limit="1")
    assert status == 1
    assert "ms" in text


def test_saved_and_compared(tmp_path: Path) -> None:
    status, text = gate(tmp_path, "--tare-save", "base.json")
    assert status == 0, text
    kept = tare.load_baseline(tmp_path / "base.json")
    tests = [entry["keys"]["labels"]["test"] for entry in kept["configurations"]]
    assert tests == ["test_gate.py::test_marked", "test_gate.py::test_given:one"]
    status, text = gate(tmp_path, "--tare-compare", "base.json", seconds=0.006)
    assert status == 1, text
    assert "2 failed" in text, text
    assert "regressed" in text, text
    # Ten times as slow is what this one asks for.
    status, text = gate(tmp_path, "--tare-compare", "base.json", "--tare-change", "9", seconds=0.0022)
    assert status == 0, text
    assert "2 passed" in text, text
    status, text = gate(tmp_path, "--tare-compare", "none.json")
    assert status == 1
    assert "no baseline there" in text


def test_what_cannot_be_told_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "test_gate.py").write_text(
        "def test_few(tare_bench):\n"
        "    tare_bench(sorted, list(range(3000)), threshold='latency.p99:1s', runs=20)\n"
    )
    base = saved(run_of(1, 1, 1), tmp_path / "base.json")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--tare-compare", str(base)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stdout
    assert "latency.p99 inconclusive" in ran.stdout
    assert "raise runs=" in ran.stdout
    assert "--time" not in ran.stdout
    assert "nothing to compare it with" in ran.stdout  # the file knows no such test
    assert "test_gate.py:2: Inconclusive" in ran.stdout


def test_unused_it_imports_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_plain.py").write_text(
        "import sys\n\ndef test_plain():\n"
        "    assert 'tare._pytest' in sys.modules\n"
        "    for name in ('numpy', 'torch', 'tare._gate', 'tare._model', 'tare._result'):\n"
        "        assert name not in sys.modules, name\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(tmp_path)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stdout
