# SPDX-License-Identifier: Apache-2.0
"""`tare bench` on real models, as a user first meets it: with no flag beyond a shape.

Beside them: files that are no models are refused in one line, runtimes that cannot be used are named with the
remedy, and a model that kills its process costs its configuration only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, cached

sys.path.insert(0, str(ROOT / "tests" / "models"))
import fetch

pytestmark = pytest.mark.timing

# Bounds for the test's own sake; the rest is tare's choice.
QUICK = ("--time", "20s", "--runs", "5", "--batch", "1", "--no-layers", "--no-advice")
# Given because the default is slow, and to show that it can be.
SHAPES = {"ppocr/det": ("--dim", "height=320", "--dim", "width=320")}
UNITS = {"ppocr": "images", "light": "images", "nudenet": "images"}

Done = subprocess.CompletedProcess[str]
Bench = Callable[..., Done]


@pytest.fixture
def bench(tare: Path, ort: Path, tmp_path: Path) -> Bench:
    """Runs `tare bench` on the newest ONNX Runtime, in an empty folder; ort=… names another, None none."""

    def run(*arguments: str | Path, ort: str | Path | None = ort) -> Done:
        chosen = [] if ort is None else ["--ort", ort]
        kept = {
            name: text
            for name, text in os.environ.items()
            if name not in ("VIRTUAL_ENV", "CONDA_PREFIX", "TARE_ORT", "PATH")
        }
        return subprocess.run(
            [tare, "bench", *arguments, *chosen],
            cwd=tmp_path,
            env={**kept, "PATH": "/nonexistent"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    return run


def measured(done: Done) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refused(done: Done) -> str:
    """The one line that says why."""
    assert done.returncode == 2, done.stdout
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("tare bench: ")
    return line


@pytest.mark.parametrize("name", fetch.MODELS)
def test_a_real_model_runs_as_it_is(name: str, models: Path, bench: Bench) -> None:
    path = models / f"{name}.onnx"
    run = measured(bench(path, *QUICK, *SHAPES.get(name, ()), "--json"))
    [config] = run["configurations"]
    assert config["status"] == "measured"
    assert config["latency"]["count"] >= 5
    assert 0 < config["latency"]["p50_ns"]["value"] < 20e9
    assert run["unit"] == UNITS.get(name.split("/")[0], "samples")
    assert run["model"]["size_bytes"] == path.stat().st_size


def test_the_shapes_that_were_given_are_used(models: Path, bench: Bench) -> None:
    shapes = ("--dim", "height=48,96", "--dim", "width=192")
    run = measured(bench(models / "ppocr" / "cls.onnx", *QUICK, *shapes, "--json"))
    dims = [config["keys"]["dims"] for config in run["configurations"]]
    assert dims == [{"height": 48, "width": 192}, {"height": 96, "width": 192}]


def test_a_shape_that_the_model_does_not_have_is_refused_with_those_it_has(
    models: Path, bench: Bench
) -> None:
    line = refused(bench(models / "minilm.onnx", *QUICK, "--dim", "sqe=16"))
    assert "'sqe'" in line
    assert "seq" in line.replace("'sqe'", "")


HOSTILE = (
    "cycle", "empty", "external_absolute", "external_missing", "external_negative", "external_parent",
    "external_short", "huge_input", "huge_weight", "missing_input", "negative_weight", "nested", "no_graph",
    "noise", "overflowing_weight", "short_weight", "text", "truncated", "truncated_head", "unknown_op",
)  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_sound_model_is_refused_in_one_line(name: str, built_models: Path, bench: Bench) -> None:
    assert refused(bench(built_models / "hostile" / f"{name}.onnx", *QUICK))


def test_every_hostile_file_is_tried(built_models: Path) -> None:
    assert sorted(path.stem for path in (built_models / "hostile").glob("*.onnx")) == sorted(HOSTILE)


def test_what_cannot_be_fed_or_counted_names_the_way_out(built_models: Path, bench: Bench) -> None:
    assert "strings" in refused(bench(built_models / "strings.onnx", *QUICK))
    assert "--unit requests" in refused(bench(built_models / "decoder.onnx", *QUICK, "--unit", "tokens"))


def test_a_run_that_fails_says_which_node_and_why(built_models: Path, bench: Bench) -> None:
    line = refused(bench(built_models / "fails.onnx", *QUICK))
    assert "node '/Reshape' (Reshape)" in line
    assert "cannot be reshaped" in line


def test_a_model_that_kills_its_process_costs_its_configuration_only(
    built_models: Path, bench: Bench
) -> None:
    crash = built_models / "crash.onnx"
    assert "crashed (Floating point exception)" in refused(bench(crash, *QUICK))
    run = measured(bench(built_models / "mlp.onnx", *QUICK, "--precision", f"fp32,int8={crash}", "--json"))
    sound, dead = sorted(run["configurations"], key=lambda config: config["keys"]["precision"])
    assert sound["status"] == "measured"
    assert dead["status"] != "measured"
    assert "crashed" in json.dumps(dead)


@pytest.mark.parametrize("version", ["1.16.3", "1.19.2"])
def test_older_runtimes_run_models(version: str, models: Path, built_models: Path, bench: Bench) -> None:
    older = cached(f"ort/{version}")
    for path in (models / "minilm.onnx", models / "silero" / "vad.onnx", built_models / "loop.onnx"):
        run = measured(bench(path, *QUICK, "--json", ort=older))
        assert run["engine"]["version"] == version
        assert [config["status"] for config in run["configurations"]] == ["measured"]


def test_a_runtime_that_cannot_be_used_is_named_with_the_remedy(built_models: Path, bench: Bench) -> None:
    model = built_models / "mlp.onnx"
    old = refused(bench(model, *QUICK, ort=cached("ort/1.15.1")))
    assert "is ONNX Runtime 1.15.1 and tare needs 1.16 or newer: pip install --upgrade onnxruntime" in old
    assert "give --ort" in refused(bench(model, *QUICK, ort="nothing.so"))
    text = refused(bench(model, *QUICK, ort=__file__))
    assert "does not load as ONNX Runtime" in text
    assert "give --ort the path of libonnxruntime.so" in text
    none = bench(model, *QUICK, ort=None)
    if none.returncode != 0:  # a system may have one of its own
        assert "no ONNX Runtime" in refused(none)
        assert "pip install onnxruntime" in refused(none)


def test_labels_give_the_accuracy(
    bench: Bench, built_models: Path, onnx_python: Path, tmp_path: Path
) -> None:
    """Of 64 labels, 16 are not what the model says: at every batch a quarter of its answers is wrong."""
    program = """
import sys, numpy, onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1])
given = session.get_inputs()[0]
x = numpy.random.default_rng(1).standard_normal((64, given.shape[1]), dtype=numpy.float32)
scores = session.run(None, {given.name: x})[0]
labels = scores.argmax(1)
labels[::4] = (labels[::4] + 1) % scores.shape[1]
numpy.savez(sys.argv[2], **{given.name: x, "labels": labels})
"""
    model, inputs = built_models / "mlp.onnx", tmp_path / "inputs.npz"
    subprocess.run([onnx_python, "-c", program, model, inputs], check=True, timeout=60)
    done = bench(model, *QUICK, "--batch", "1,4,24", "--inputs", inputs, "--no-memory", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["configurations"]
    assert len(found) == 3
    for entry in found:
        metric = next(row for row in entry["accuracy"] if row["name"] == "accuracy")
        assert metric["value"] == 0.75
        assert metric["lower"] == pytest.approx(0.632, abs=0.001)  # Wilson's, of 48 in 64
        assert metric["upper"] == pytest.approx(0.840, abs=0.001)
