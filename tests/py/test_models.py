# SPDX-License-Identifier: Apache-2.0
"""What tare knows of real models, against formulas that were written down without it.

Parameters and multiply-accumulates are counted by hand here, from the shapes that the papers give; inputs are
given to the real ONNX Runtime; files that are no models must be refused in one line.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Tool = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def tool(build_dir: Path) -> Tool:
    """Asks tests/model_tool.c."""

    def ask(*words: object) -> dict[str, Any]:
        done = subprocess.run(
            [build_dir / "tests" / "model_tool", *map(str, words)], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    return ask


# The file's name in the cache, trained values, statistics of BatchNorm.
PUBLISHED = {
    "light/resnet50.onnx": (25_557_032, 2 * 26_560),
    "light/vgg19.onnx": (143_667_240, 0),
    "light/squeezenet.onnx": (1_235_496, 0),
    "light/bvlc_alexnet.onnx": (60_965_224, 0),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_those_that_are_published(tool: Tool, models: Path, name: str) -> None:
    facts = tool("facts", models / name)
    assert (facts["parameters"], facts["buffers"]) == PUBLISHED[name]


HIDDEN, LAYERS, INNER, VOCABULARY, POSITIONS, TYPES = 384, 6, 1536, 30522, 512, 2


def minilm_parameters() -> int:
    embeddings = (VOCABULARY + POSITIONS + TYPES) * HIDDEN + 2 * HIDDEN
    attention = 4 * (HIDDEN * HIDDEN + HIDDEN) + 2 * HIDDEN
    inner = HIDDEN * INNER + INNER + INNER * HIDDEN + HIDDEN + 2 * HIDDEN
    return embeddings + LAYERS * (attention + inner)


def minilm_macs(batch: int, seq: int) -> int:
    projections = batch * seq * (4 * HIDDEN * HIDDEN + 2 * HIDDEN * INNER)
    scores_and_sums = 2 * batch * seq * seq * HIDDEN
    return LAYERS * (projections + scores_and_sums)


@pytest.mark.parametrize("twin", ["minilm", "minilm-fp16", "minilm-int8"])
def test_minilm_has_the_parameters_of_its_formula(tool: Tool, models: Path, twin: str) -> None:
    path = models / f"{twin}.onnx"
    facts = tool("facts", path)
    assert facts["parameters"] == minilm_parameters() == 22_565_376
    assert facts["size"] == path.stat().st_size
    assert facts["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def resnet50_macs() -> int:
    """A bottleneck: 1x1, 3x3 (which takes the stride), 1x1; a projection where the shape changes."""
    total = 112 * 112 * 64 * 3 * 49
    side, channels = 56, 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            step = stride if block == 0 else 1
            total += side * side * channels * width
            side //= step
            total += side * side * width * width * 9 + side * side * width * 4 * width
            if block == 0:
                total += side * side * channels * 4 * width
            channels = 4 * width
    return total + 2048 * 1000


PROFILE = """
import sys, json, numpy as np, onnxruntime as ort
model, prefix, level, optimised = sys.argv[1:5]
options = ort.SessionOptions()
options.enable_profiling = True
options.profile_file_prefix = prefix
options.intra_op_num_threads = 1
options.log_severity_level = 4
options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
if optimised:
    options.optimized_model_filepath = optimised
session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
kinds = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32,
         "tensor(bool)": np.bool_, "tensor(float16)": np.float16}
shapes = json.loads(sys.argv[5])
feeds = {i.name: np.ones(shapes[i.name], kinds[i.type]) for i in session.get_inputs()}
if "sr" in feeds:
    feeds["sr"] = np.array(16000)
session.run(None, feeds)
print(session.end_profiling())
"""


@pytest.fixture(scope="module")
def counted(
    tool: Tool, onnx_python: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., dict[str, Any]]:
    """MACs of one call, from a run of the real runtime, as the file says it or as it was optimised."""
    folder = tmp_path_factory.mktemp("profiles")

    def count(model: Path, *dims: str, level: str = "ORT_DISABLE_ALL") -> dict[str, Any]:
        shapes = {name: one["shape"] for name, one in tool("inputs", model, *dims)["inputs"].items()}
        optimised = "" if level == "ORT_DISABLE_ALL" else str(folder / f"{model.stem}.onnx")
        done = subprocess.run(
            [onnx_python, "-c", PROFILE, model, folder / "p", level, optimised, json.dumps(shapes)],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        profile = done.stdout.split()[-1]
        return tool("count", optimised or model, profile, *dims)

    return count


@pytest.mark.parametrize("level", ["ORT_DISABLE_ALL", "ORT_ENABLE_EXTENDED"])
def test_minilm_does_the_work_of_its_formula(
    counted: Callable[..., dict[str, Any]], models: Path, level: str
) -> None:
    for twin in "minilm", "minilm-int8":
        count = counted(models / f"{twin}.onnx", "batch=2", "seq=16", level=level)
        assert count["macs"] == minilm_macs(2, 16)
        assert count["matched"] == count["ran"]
        assert count["not_counted"] == 0


@pytest.mark.parametrize("level", ["ORT_DISABLE_ALL", "ORT_ENABLE_EXTENDED"])
def test_resnet50_does_the_work_of_its_formula(
    counted: Callable[..., dict[str, Any]], models: Path, level: str
) -> None:
    count = counted(models / "light/resnet50.onnx", level=level)
    assert count["macs"] == resnet50_macs() == 4_089_184_256
    assert count["not_counted"] == 0


def test_folding_batchnorm_leaves_the_parameters_it_should(
    tool: Tool, counted: Callable[..., dict[str, Any]], models: Path, tmp_path: Path, onnx_python: Path
) -> None:
    model, optimised = models / "light/resnet50.onnx", tmp_path / "optimised.onnx"
    shapes = json.dumps({"gpu_0/data_0": [1, 3, 224, 224]})
    subprocess.run(
        [onnx_python, "-c", PROFILE, model, tmp_path / "p", "ORT_ENABLE_EXTENDED", optimised, shapes],
        check=True,
        capture_output=True,
        timeout=120,
    )
    facts = tool("facts", optimised)
    # Scale and shift of 26,560 channels become one bias each.
    assert (facts["parameters"], facts["buffers"]) == (25_557_032 - 26_560, 0)


def test_known_models_have_what_is_known(
    tool: Tool, counted: Callable[..., dict[str, Any]], built_models: Path
) -> None:
    known = json.loads((built_models / "known.json").read_text())
    seen = 0
    for name, truth in known.items():
        path = built_models / f"{name}.onnx"
        if "parameters" in truth:
            assert tool("facts", path)["parameters"] == truth["parameters"], name
            seen += 1
    for name in "mlp", "loop", "mix_even":
        assert counted(built_models / f"{name}.onnx")["macs"] == known[name]["macs"], name
    assert seen >= 8


def test_every_real_model_can_be_fed(
    tool: Tool, counted: Callable[..., dict[str, Any]], models: Path
) -> None:
    """With nothing given: the runtime takes the shapes that tare makes up."""
    paths = [path for path in sorted(models.rglob("*.onnx")) if "vgg" not in path.name]
    assert len(paths) >= 10
    for path in paths:
        fed = tool("inputs", path)
        for one in fed["inputs"].values():
            assert one["low"] <= one["high"]
        assert counted(path)["macs"] > 0, path


def test_ids_stay_inside_the_table(tool: Tool, models: Path) -> None:
    ids = tool("inputs", models / "minilm.onnx", "batch=64", "seq=128")["inputs"]["input_ids"]
    assert 0 <= ids["low"] < 100
    assert VOCABULARY - 100 < ids["high"] < VOCABULARY


def test_hostile_files_are_refused_in_one_line(build_dir: Path, built_models: Path) -> None:
    paths = sorted((built_models / "hostile").glob("*.onnx"))
    assert len(paths) > 15
    for path in paths:
        done = subprocess.run(
            [build_dir / "tests" / "model_tool", "inputs", path], capture_output=True, text=True, timeout=10
        )
        if path.stem == "unknown_op":
            assert done.returncode == 0  # only the runtime knows its operators
            continue
        assert done.returncode == 1, path.stem
        assert done.stderr.count("\n") == 1, done.stderr
        assert len(done.stderr) < 400
