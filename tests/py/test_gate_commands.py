# SPDX-License-Identifier: Apache-2.0
"""tare compare, check and history as a user meets them: statuses, words, files."""

from __future__ import annotations

import copy
import json
import os
import random
import statistics
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timing

RUNS = Path(__file__).parent.parent / "data" / "runs"
SWEEP = RUNS / "minilm_sweep.json"
# Of a process of few megabytes the memory differs from one to the next.
SLOW, FAST = "fake:constant,mean=8ms,weights=64MB", "fake:constant,mean=2ms,weights=64MB"
ONE_THREAD = ("--engine", "fake", "--threads", "1")

Call = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def call(tare: Path) -> Call:
    def run(*args: object, **env: str) -> subprocess.CompletedProcess[str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("GITHUB_")}
        return subprocess.run(
            [str(tare), *map(str, args)], capture_output=True, text=True, timeout=300, env=clean | env
        )

    return run


def variant(change: Callable[[dict[str, Any]], None], path: Path) -> Path:
    run = json.loads(SWEEP.read_text())
    change(run)
    path.write_text(json.dumps(run))
    return path


def scale(run: dict[str, Any], factor: float, config: int | None = None) -> None:
    """Every sample and what follows from it, slower by factor."""
    for number, entry in enumerate(run["configurations"]):
        if config is not None and number != config:
            continue
        for process in entry["samples"]:
            process["ns"] = [int(ns * factor) for ns in process["ns"]]
        for figure in entry["latency"].values():
            if isinstance(figure, dict):
                for key in ("value", "lower", "upper"):
                    if figure.get(key) is not None:
                        figure[key] *= factor
        for key in ("value", "lower", "upper"):
            if key in entry["throughput_per_sec"]:
                entry["throughput_per_sec"][key] /= factor


def processes(run: dict[str, Any], count: int) -> None:
    """As if each configuration had been measured in so many processes that differ by a per cent."""
    random.seed(1)
    for entry in run["configurations"]:
        model = entry["samples"][0]
        entry["samples"] = [
            dict(
                copy.deepcopy(model),
                process=number,
                ns=[int(ns * (1 + 0.01 * random.gauss(0, 1))) for ns in model["ns"][:20]],
                rounds=[min(20, len(model["ns"]))],
            )
            for number in range(count)
        ]


def junit(path: Path) -> list[Any]:
    """The cases of a file, as a reader of such files sees them; its counts must be those of the cases."""
    reader = pytest.importorskip("junitparser", reason="reads JUnit files: pip install junitparser")
    cases = []
    for suite in reader.JUnitXml.fromfile(str(path)):
        found = list(suite)
        assert suite.tests == len(found)
        assert suite.failures == sum(case.is_failure for case in found)
        assert suite.skipped == sum(case.is_skipped for case in found)
        cases += found
    return cases


def test_thresholds_pass_fail_and_undecided(call: Call) -> None:
    good = call("check", SWEEP, "--threshold", "latency:1s", "throughput:100texts/s", "params:25M")
    assert good.returncode == 0, good.stdout + good.stderr
    assert "x target)" in good.stdout
    assert "FAIL" not in good.stdout
    bad = call("check", SWEEP, "--threshold", "latency:100ms", "throughput@batch=1,seq=16:500texts/s")
    assert bad.returncode == 1
    assert bad.stdout.index("FAIL") < bad.stdout.index("pass")  # worst first
    # The bounds of this figure lie on both sides of its own value.
    value = json.loads(SWEEP.read_text())["configurations"][0]["latency"]["p50_ns"]["value"]
    edge = f"latency@batch=1,seq=16:{value / 1e6}ms"
    for how, status in (("warn", 0), ("fail", 1), ("status", 3)):
        undecided = call("check", SWEEP, "--inconclusive", how, "--threshold", edge)
        assert undecided.returncode == status, undecided.stdout
        assert "inconclusive" in undecided.stdout
    assert "warning" in call("check", SWEEP, "--threshold", edge).stderr


QUICK = ("--engine", "fake", "--batch", "1", "--no-memory", "--no-layers", "--no-answers", "--no-advice")


def test_bench_judges_what_it_measures(call: Call, tmp_path: Path) -> None:
    good = call(
        "bench", "fake:constant,mean=1ms", *QUICK, "--time", "12s", "-o", tmp_path / "run.json",
        "--threshold", "latency:100ms", "throughput:10samples/s",
    )  # fmt: skip
    assert good.returncode == 0, good.stdout + good.stderr
    assert "Target" in good.stdout
    assert "x target" in good.stdout
    rows = json.loads((tmp_path / "run.json").read_text())["thresholds"]
    assert [row["status"] for row in rows] == ["pass", "pass"]

    bad = call("bench", "fake:constant,mean=5ms", *QUICK, "--time", "20s", "-T", "latency:1ms")
    assert bad.returncode == 1, bad.stdout + bad.stderr
    assert "FAIL" in bad.stdout

    # Ten runs cannot tell on which side of its own median such a series lies.
    noisy_model = "fake:normal,mean=2ms,sd=20%"
    edge = ("bench", noisy_model, *QUICK, "--runs", "10", "--time", "4s", "-T", "latency.p99:2.6ms")
    for how, status in (("warn", 0), ("fail", 1), ("status", 3)):
        undecided = call(*edge, "--inconclusive", how)
        assert undecided.returncode == status, undecided.stdout + undecided.stderr
        assert ("warning" in undecided.stderr) == (how == "warn")


def test_the_line_for_ci_unquoted_in_a_shell(tare: Path, tmp_path: Path) -> None:
    def shell(words: str) -> subprocess.CompletedProcess[str]:
        line = f"{tare} profile --model-path fake:constant,mean=1ms --output-dir D {words} {' '.join(QUICK)}"
        return subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=120)

    good = shell("--time 12s --threshold latency:100ms throughput:100samples/s")
    assert good.returncode == 0, good.stdout + good.stderr
    made = len(list((tmp_path / "D").iterdir()))
    assert made == 2
    assert shell("--time 4s --threshold latency:100us throughput:100samples/s").returncode == 1
    for nonsense in ("latency", "latency>=5ms", "latency:fast", "latency@batch=7:1s"):
        refused = shell(f"--threshold {nonsense}")
        assert refused.returncode == 2, nonsense
    assert "quote" in shell("--threshold latency>=5ms").stderr  # the shell made a file of the rest
    assert len(list((tmp_path / "D").iterdir())) == made + 2  # nothing was measured for nonsense


def test_nonsense_is_refused(call: Call) -> None:
    for words, hint in (
        (["--threshold", "latency"], "quote"),
        (["--threshold", "latensy:5ms"], "latency"),
        (["--threshold", "latency@batch=7:5ms"], "no configuration"),
        (["--baseline", "x.json", "--baseline-ref", "main"], "give one"),
        ([], "nothing to check against"),
    ):
        refused = call("check", SWEEP, *words)
        assert refused.returncode == 2, words
        assert hint in refused.stderr


def test_thresholds_from_a_file(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "gate.txt"
    file.write_text("# what we promise\nlatency@batch=1 <= 5 ms\nthroughput@batch=1:100texts/s\n")
    assert call("check", SWEEP, "--thresholds", file).returncode == 0
    file.write_text("latency:100\n")
    refused = call("check", SWEEP, "--thresholds", file)
    assert refused.returncode == 2
    assert "line 1" in refused.stderr
    assert "100ms" in refused.stderr


def test_baselines_from_files(call: Call, tmp_path: Path) -> None:
    missing = call("check", SWEEP, "--baseline", tmp_path / "none.json")
    assert missing.returncode == 0
    assert "no baseline" in missing.stderr

    base = variant(lambda run: processes(run, 12), tmp_path / "base.json")
    same = variant(lambda run: processes(run, 12), tmp_path / "same.json")

    def slower(run: dict[str, Any]) -> None:
        processes(run, 12)
        scale(run, 1.3, config=2)

    slow = variant(slower, tmp_path / "slow.json")
    assert call("check", same, "--baseline", base).returncode == 0
    red = call("check", slow, "--baseline", base, "-o", tmp_path / "v.xml", "-o", tmp_path / "v.md")
    assert red.returncode == 1, red.stdout
    assert "REGRESSED" in red.stdout.splitlines()[5]
    suite = junit(tmp_path / "v.xml")
    failed = [case for case in suite if case.is_failure]
    assert [case.name for case in failed] == ["latency"]
    assert failed[0].result[0].type == "regressed"
    assert "1.3" in failed[0].result[0].message
    markdown = (tmp_path / "v.md").read_text()
    assert "### tare: 1 regressed" in markdown
    assert "| nodes | 423 | 423 |" in markdown
    # Six processes a side: only a change beyond the allowance may be called.
    few = variant(lambda run: scale(run, 1.15), tmp_path / "few.json")
    unsure = call("compare", SWEEP, few, "-o", tmp_path / "few.xml")
    assert unsure.returncode == 3
    assert "24 %" in unsure.stdout
    skipped = [case for case in junit(tmp_path / "few.xml") if case.is_skipped]
    assert "latency" in {case.name for case in skipped}


@pytest.mark.parametrize(("taken", "factor", "status"), [(10, 1.5, 1), (100, 1.5, 3), (100, 2.5, 1)])
def test_few_processes_on_a_busy_machine(
    call: Call, tmp_path: Path, taken: int, factor: float, status: int
) -> None:
    def used(run: dict[str, Any], factor: float) -> None:
        for entry in run["configurations"]:
            entry["resources"] = {"wall_ns": 10**9, "switches_involuntary": taken}
        scale(run, factor, config=3)

    base = variant(lambda run: used(run, 1), tmp_path / "base.json")
    new = variant(lambda run: used(run, factor), tmp_path / "new.json")
    verdict = call("compare", base, new)
    assert verdict.returncode == status, verdict.stdout
    assert ("others wanted the processor" in verdict.stdout) == (taken == 100)


def test_another_machine_is_not_judged(call: Call, tmp_path: Path) -> None:
    def elsewhere(run: dict[str, Any]) -> None:
        scale(run, 2)
        run["machine"]["cpu"]["model"] = "Another CPU"

    other = variant(elsewhere, tmp_path / "other.json")
    verdict = call("compare", SWEEP, other)
    assert verdict.returncode == 3
    assert "cpu.model differs" in verdict.stdout
    assert "REGRESSED" not in verdict.stdout


def test_annotations_and_summary_of_github(call: Call, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    done = call(
        "check",
        SWEEP,
        "--threshold",
        "latency:100ms",
        GITHUB_ACTIONS="true",
        GITHUB_STEP_SUMMARY=str(summary),
    )
    assert done.returncode == 1
    assert "\n::error title=tare::latency at batch=256" in done.stdout
    assert summary.read_text().startswith("before\n### tare: 1 failed")


def test_models_run_in_turn(call: Call) -> None:
    slower = call("compare", *ONE_THREAD, FAST, SLOW, "--blocks", "10")
    assert slower.returncode == 1, slower.stdout + slower.stderr
    faster = call("compare", *ONE_THREAD, SLOW, FAST, "--blocks", "10", "--json")
    assert faster.returncode == 0, faster.stdout
    rows = json.loads(faster.stdout)["rows"]
    latency = next(row for row in rows if row["metric"] == "latency")
    assert latency["verdict"] == "improved"
    assert latency["processes_base"] == 20
    gate = call("check", *ONE_THREAD, SLOW, "--baseline", FAST, "--blocks", "10")
    assert gate.returncode == 1, gate.stdout


def test_a_machine_that_changes_its_speed_hits_both_sides_alike(call: Call) -> None:
    tide = "sd=1%,tide=60%,period=0.7s"
    done = call(
        "compare",
        *ONE_THREAD,
        f"fake:normal,mean=2ms,{tide}",
        f"fake:normal,mean=2.2ms,{tide}",
        "--blocks",
        "10",
        "--json",
    )
    latency = next(row for row in json.loads(done.stdout)["rows"] if row["metric"] == "latency")
    ratios, costs = latency["block_ratios"], latency["costs_base"]
    assert len(ratios) == 10
    assert statistics.median(ratios) == pytest.approx(latency["cost_ratio"], rel=0.01)
    assert latency["cost_ratio"] == pytest.approx(1.1, abs=0.08)
    assert max(costs) > 1.4 * min(costs), "the processes see the tide"
    quartiles = statistics.quantiles(ratios, n=4)
    assert quartiles[2] < 1.1 * quartiles[0], "their ratios do not"


@pytest.mark.parametrize(
    ("base", "new", "options"),
    [
        ("weights=60MB", "weights=60MB", ("--threads", "1", "--memory", "100MB")),
        ("weights=1MB", "weights=80MB", ("--threads", "1", "--memory", "80MB")),
        ("weights=1MB", "weights=1MB,restless=5s", ("--threads", "2")),
    ],
)
def test_what_cannot_live_together_runs_one_after_the_other(
    call: Call, base: str, new: str, options: tuple[str, ...]
) -> None:
    start = "fake:constant,mean=2ms,"
    done = call("compare", "--engine", "fake", start + base, start + new, "--blocks", "2", "--json", *options)
    told = json.loads(done.stdout)
    assert any("one after the other" in note for note in told["notes"]), told["notes"]
    latency = next(row for row in told["rows"] if row["metric"] == "latency")
    assert latency["processes_new"] == 4


def test_the_model_that_failed_is_named(call: Call) -> None:
    failed = call("compare", "--engine", "fake", FAST, "fake:crash,mean=2ms,crash=3", "--blocks", "2")
    assert failed.returncode == 2
    assert "fake:crash" in failed.stderr


def test_commands_run_in_turn(call: Call) -> None:
    slower = call("compare", "--command", "sleep 0.01", "sleep 0.04", "--blocks", "12")
    assert slower.returncode == 1, slower.stdout
    assert "time" in slower.stdout
    assert "REGRESSED" in slower.stdout
    failed = call("compare", "--command", "true", "exit 7")
    assert failed.returncode == 2
    assert "status 7" in failed.stderr


def test_a_model_of_another_commit(call: Call, tmp_path: Path) -> None:
    def git(*args: str) -> None:
        subprocess.run(["git", "-C", tmp_path, *args], check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "m.onnx").write_text("not a model")
    git("add", "m.onnx")
    git("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "m")
    unknown = call("check", tmp_path / "m.onnx", "--baseline-ref", "nowhere")
    assert unknown.returncode == 2
    assert "nowhere" in unknown.stderr
    # The file comes out of git, and is then what is wrong.
    broken = call("check", tmp_path / "m.onnx", "--baseline-ref", "HEAD")
    assert broken.returncode == 2
    assert "nowhere" not in broken.stderr


def test_profiles_show_what_accounts_for_it(call: Call, tmp_path: Path) -> None:
    before, after = tmp_path / "a.folded", tmp_path / "b.folded"
    before.write_text("main;work 100\nmain;rest 50\n")
    after.write_text("main;work 180\nmain;rest 50\n")
    shown = call("compare", before, after, "-o", tmp_path / "diff.svg")
    assert shown.returncode == 0, shown.stderr
    assert "work" in shown.stdout
    assert "<svg" in (tmp_path / "diff.svg").read_text()
    mixed = call("compare", before, SWEEP)
    assert mixed.returncode == 2
    assert "one kind" in mixed.stderr


def history_folder(folder: Path, factors: list[float], kernel: str | None = None) -> Path:
    folder.mkdir()
    for number, factor in enumerate(factors):

        def change(run: dict[str, Any], number: int = number, factor: float = factor) -> None:
            run["configurations"] = run["configurations"][:1]
            for key in ("findings", "advice", "thresholds"):
                run[key] = []
            scale(run, factor)
            run["timestamp"] = f"2026-01-{number // 24 + 1:02d}T{number % 24:02d}:00:00Z"
            run["git"] = {"commit": f"{number:040x}"}
            if kernel and number >= 30:
                run["machine"]["system"]["kernel_release"] = kernel

        variant(change, folder / f"run_{number:03d}.json")
    return folder


def noisy(level: float) -> float:
    return level * (1 + 0.01 * random.gauss(0, 1))


def test_history_finds_steps_and_drift(call: Call, tmp_path: Path) -> None:
    random.seed(2)
    steps = history_folder(tmp_path / "steps", [noisy(1 if i < 30 else 1.08) for i in range(45)])
    told = call("history", steps, "-o", tmp_path / "t.svg")
    assert told.returncode == 0, told.stderr
    assert "latency @ batch=1 got worse by" in told.stdout
    assert "run_030.json" in told.stdout
    assert "commit 0000" in told.stdout
    assert "▇" in told.stdout
    ET.parse(tmp_path / "t.svg")
    trends = json.loads(call("history", steps, "--json", "-m", "latency").stdout)["trends"]
    (change,) = trends[0]["changes"]
    assert change["kind"] == "step"
    assert change["worse"]
    assert change["first"] == 30
    quiet = call("history", steps, "-m", "latency", "--acknowledge", change["id"], "--reason", "larger model")
    assert "got worse" not in quiet.stdout
    assert "1 more" in quiet.stdout
    assert "acknowledged: larger model" in call("history", steps, "--all").stdout
    assert (steps / "acknowledged.txt").read_text() == f"{change['id']} larger model\n"

    slope = history_folder(tmp_path / "slope", [noisy(1 + 0.002 * i) for i in range(60)])
    trends = json.loads(call("history", slope, "--json", "-m", "latency").stdout)["trends"]
    assert [change["kind"] for change in trends[0]["changes"]] == ["drift"]


def test_history_says_what_it_cannot_use(call: Call, tmp_path: Path) -> None:
    empty = call("history", tmp_path)
    assert empty.returncode == 2
    assert "holds no runs" in empty.stderr
    folder = history_folder(tmp_path / "few", [1, 1, 1])
    (folder / "other.json").write_text("[]")
    told = call("history", folder)
    assert told.returncode == 0
    assert "1 files are not runs" in told.stderr
    assert "No change" in told.stdout
    unknown = call("history", folder, "--acknowledge", "12345678", "--reason", "x")
    assert unknown.returncode == 2
    assert "no change" in unknown.stderr
