# SPDX-License-Identifier: Apache-2.0
"""`tare bench` and `tare profile` on the fake engine, whose truth is known."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timing

STEADY = "fake:normal,mean=1ms,sd=1%,per_item=0.5ms,memory=1MB,weights=8MB"


def bench(tare: Path, *arguments: str, model: str = STEADY) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [tare, "bench", "--engine", "fake", model, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def result(tare: Path, *arguments: str, model: str = STEADY) -> dict[str, Any]:
    done = bench(tare, "--json", *arguments, model=model)
    assert done.returncode == 0, done.stderr
    loaded: dict[str, Any] = json.loads(done.stdout)
    return loaded


def test_the_table_and_the_truth(tare: Path) -> None:
    done = bench(tare, "--batch", "1,4,16", "--runs", "60", "--unit", "pairs", "--time", "30s", "--no-advice")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert re.search(r"^Batch \| Pairs/Sec \| Latency \(ms\) \| Memory \(MB\)", done.stdout, re.MULTILINE)
    growth = re.search(r"^Memory grows by ([0-9.]+) MB per further sample", done.stdout, re.MULTILINE)
    assert growth, done.stdout
    assert float(growth[1]) == pytest.approx(1, rel=0.05)
    assert "System " in done.stdout.split("Batch |")[0]
    assert "Model " in done.stdout.split("Batch |")[0]


def test_scripts_can_index_the_json(tare: Path) -> None:
    """What existing scripts take out of such a file, by the names they use."""
    run = result(
        tare,
        "--batch-sizes",
        "1,4",
        "--num-pairs",
        "80",
        "--validate-accuracy",
        "--no-advice",
        "--time",
        "20s",
    )
    assert run["timestamp"].endswith("Z")
    assert run["system"]["device"] == "cpu"
    assert run["system"]["model"].startswith("fake:")
    assert isinstance(run["bottlenecks"], list)
    assert isinstance(run["recommendations"], list)
    assert [profile["batch_size"] for profile in run["batch_profiles"]] == [1, 4]
    for profile in run["batch_profiles"]:
        call_ns = 1e6 + 0.5e6 * profile["batch_size"]
        fastest = run["configurations"][profile["configuration"]]["latency"]["min_ns"]
        assert 0.94 * call_ns <= fastest <= 1.5 * call_ns  # a spread of 1 %, a busy machine
        assert profile["latency_ms_per_pair"] >= 0.97 * call_ns / 1e6 / profile["batch_size"]
        assert profile["throughput_pairs_per_sec"] == pytest.approx(
            1000 / profile["latency_ms_per_pair"], rel=1e-6
        )
        assert profile["memory_delta_mb"] == pytest.approx(profile["batch_size"], rel=0.05)
        assert isinstance(profile["accuracy_metrics"], dict)
    for configuration, profile in zip(run["configurations"], run["batch_profiles"], strict=True):
        samples = sum(len(process["ns"]) for process in configuration["samples"])
        assert samples >= 80 / profile["batch_size"]


@pytest.mark.parametrize(
    ("arguments", "stop"),
    [
        (["--runs", "33"], "runs"),
        (["--duration", "200ms"], "duration"),
        (["--until", "95%", "--time", "60s"], "sure"),
        (["--until", "0.01%"], "time"),
    ],
)
def test_what_ends_it_is_said(tare: Path, arguments: list[str], stop: str) -> None:
    run = result(
        tare, "--batch", "1,2", "--time", "8s", "--no-memory", "--no-answers", "--no-advice", *arguments
    )
    for configuration in run["configurations"]:
        assert configuration["stop"] == stop
        count = configuration["latency"]["count"]
        assert count >= 5
        if stop == "runs":
            assert count == 33
        if stop == "sure":
            p50 = configuration["latency"]["p50_ns"]
            assert (p50["upper"] - p50["lower"]) / 2 <= 0.95 * p50["value"]
            assert configuration["decided"] is True
        if stop == "time":
            assert configuration["decided"] is False


def test_processes_as_many_as_asked(tare: Path) -> None:
    run = result(tare, "--batch", "1,2", "--processes", "3", "--runs", "30", "--no-memory", "--no-advice")
    for configuration in run["configurations"]:
        assert [process["process"] for process in configuration["samples"]] == [0, 1, 2]
        assert all(len(process["ns"]) >= 5 for process in configuration["samples"])
        assert configuration["cold_ns"]["value"] > 0
        assert configuration["load_ns"]["value"] > 0


def test_a_crash_costs_its_configuration_only(tare: Path) -> None:
    """The work grows with the batch, and with it the calls before the crash do not: both end early."""
    run = result(
        tare,
        "--batch",
        "1,2",
        "--time",
        "20s",
        "--no-advice",
        "--no-answers",
        model="fake:crash,mean=1ms,crash=300",
    )
    assert all(configuration["stop"] == "crashed" for configuration in run["configurations"])
    assert all(configuration["latency"]["count"] >= 5 for configuration in run["configurations"])
    assert any("ended early" in note and "call 300" in note for note in run["notes"])
    done = bench(tare, "--time", "5s", model="fake:crash,mean=1ms,crash=2")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "crashed" in done.stderr
    assert "call 2" in done.stderr
    assert done.stderr.count("\n") == 1


def test_too_slow_for_the_time(tare: Path) -> None:
    start = time.monotonic()
    done = bench(
        tare, "--batch", "1,1000", "--time", "6s", "--no-memory", model="fake:constant,per_item=20ms"
    )
    assert time.monotonic() - start < 9
    assert done.returncode == 0, done.stderr
    assert re.search(r"Not measured: batch=1000: 5 runs would take about .*: raise --time", done.stdout)


def test_memory_for_fewer_at_once(tare: Path) -> None:
    run = result(tare, "--batch", "1,2,3", "--memory", "24MB", "--time", "6s", "--runs", "200", "--no-advice")
    assert run["procedure"]["processes_at_once"] < 3
    assert any(note.startswith("memory allows ") for note in run["notes"])
    assert all(configuration["status"] != "not_measured" for configuration in run["configurations"])


def test_interrupted_shows_what_there_is(tare: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    with subprocess.Popen(
        [tare, "bench", "--engine", "fake", STEADY, "--until", "0.01%", "-o", out],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as started:
        time.sleep(3)
        started.send_signal(signal.SIGINT)
        told, _ = started.communicate(timeout=20)
    assert started.returncode == 130
    assert "Samples/Sec" in told
    run = json.loads(out.read_text())
    assert run["procedure"]["interrupted"] is True
    assert any(configuration["stop"] == "interrupted" for configuration in run["configurations"])


@pytest.mark.parametrize("call", [2, 60])
def test_a_hanging_model_ends_with_the_time(tare: Path, call: int) -> None:
    start = time.monotonic()
    done = bench(tare, "--time", "3s", "--batch", "1,2", model=f"fake:constant,mean=1ms,hang={call}")
    assert time.monotonic() - start < 8
    assert "the model was not done when the time was over: raise --time" in done.stdout + done.stderr
    assert call > 2 or done.returncode == 2


def test_a_hanging_model_can_be_interrupted(tare: Path) -> None:
    with subprocess.Popen(
        [tare, "bench", "--engine", "fake", "fake:constant,mean=1ms,hang=20"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as started:
        time.sleep(2)
        started.send_signal(signal.SIGINT)
        started.communicate(timeout=10)
    assert started.returncode == 130


def test_leaks_are_told_from_plateaus(tare: Path) -> None:
    def verdicts(model: str) -> set[str]:
        run = result(tare, "--batch", "1", "--runs", "20", "--time", "20s", "--no-advice", model=model)
        return {leak["verdict"] for leak in run["configurations"][0]["memory"]["leaks"]}

    assert verdicts("fake:leaking,mean=0.2ms,leak=64kB") == {"leak"}
    assert "leak" not in verdicts("fake:plateau,mean=0.2ms,plateau=64MB,settle=40")
    assert verdicts("fake:constant,mean=0.2ms") == {"none"}


def test_two_modes_are_called_unstable(tare: Path) -> None:
    run = result(
        tare, "--batch", "1", "--runs", "2000", "--time", "20s", "--no-memory", "--no-advice",
        model="fake:modes,mean=0.5ms,sd=1%,factor=1.5,share=0.5,length=50,seed=2",
    )  # fmt: skip
    assert run["configurations"][0]["status"] == "unstable"
    assert run["configurations"][0]["reason"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--batch", "0"], "at least 1"),
        (["--batch", "1,,2"], "a value is missing"),
        (["--batch", "x"], "--batch"),
        (["--batch", "1", "--batch-sizes", "2"], "the same"),
        (["--dim", "seq"], "seq=16,128"),
        (["--dim", "seq=1", "--dim", "seq=2"], "given twice"),
        (["--threads", "5000"], "at most 1024"),
        (["--until", "110%"], "a share such as"),
        (["--graph-level", "most"], "off, basic, extended or all"),
        (["--precision", "int8="], "NAME=PATH"),
        (["--precision", "int8"], "has none"),
        (["--unit", "tokens"], "tokens"),
        (["--validate-accuracy", "--no-answers"], "exclude"),
        (["-o", "x.svg"], "x.svg"),
        (["--runs", "0"], "--runs"),
    ],
)
def test_refused(tare: Path, arguments: list[str], words: str) -> None:
    done = bench(tare, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert words in done.stderr


def test_a_folder_holds_one_model(tare: Path, tmp_path: Path) -> None:
    def refused() -> str:
        done = subprocess.run([tare, "bench", tmp_path], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        return done.stderr

    assert "holds no .onnx: name a model's file" in refused()
    (tmp_path / "model.safetensors").touch()
    assert "optimum-cli export onnx --model" in refused()
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "b.onnx").touch()
    assert "b.onnx" in refused()
    (tmp_path / "a.onnx").touch()
    assert "holds 2 models: name one of them: a.onnx, onnx/b.onnx" in refused()


def test_profile_never_overwrites(tare: Path, tmp_path: Path) -> None:
    command = [
        str(tare),
        "profile",
        "--engine",
        "fake",
        "--model-path",
        "fake:constant,mean=0.1ms",
        "--batch-sizes",
        "1",
    ]
    command += ["--num-pairs", "20", "--output-dir", str(tmp_path / "results"), "--no-memory", "--no-advice"]
    for _ in range(3):
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        assert done.stderr.count("tare profile: wrote ") == 2
    names = sorted(path.name for path in (tmp_path / "results").iterdir())
    assert len(names) == 6
    for name in names:
        assert re.fullmatch(r"fake_constant_mean_0\.1ms_profile_\d{8}T\d{6}Z(-\d)?\.(json|csv)", name)
    loaded = json.loads((tmp_path / "results" / names[1]).read_text())
    assert loaded["unit"] == "pairs"
    done = subprocess.run(
        [tare, "profile", "--model-path", "train.py"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "use tare run train.py" in done.stderr
