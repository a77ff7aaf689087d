# SPDX-License-Identifier: Apache-2.0
"""Workers on real runtimes: what comes back is what the runtime's own Python package says.

The runtimes and models are those of `bash .ci/run models`, which also makes the environment with numpy and
onnxruntime that serves as the reference.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timing

BEDS = Path(
    os.environ.get("TARE_CI_CACHE")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tare-ci"
)
BUILT = BEDS / "models_built"
MINILM = BEDS / "models" / "minilm.onnx"
REFERENCE = BEDS / "onnx" / "bin" / "python"
NEWEST = sorted((BEDS / "onnx").glob("lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*"))
OLDER = sorted((BEDS / "ort").glob("*/libonnxruntime.so.*"))
TOO_OLD = "1.15"

pytestmark = pytest.mark.skipif(
    not (NEWEST and BUILT.is_dir() and MINILM.is_file()), reason="no runtimes and models: bash .ci/run models"
)
GOOD = [path for path in [*NEWEST, *OLDER] if TOO_OLD not in path.name]

Result = dict[str, Any]

# Runs the same inputs through the package, which is the reference.
ASK = """
import json, sys
import numpy as np
import onnxruntime
asked = json.load(sys.stdin)
session = onnxruntime.InferenceSession(asked["model"], providers=["CPUExecutionProvider"])
feed = {
    name: np.array(tensor["values"], dtype=tensor["type"]).reshape(tensor["shape"])
    for name, tensor in asked["inputs"].items()
}
answers = session.run(None, feed)
print(json.dumps({
    output.name: {"shape": list(answer.shape), "type": str(answer.dtype), "values": answer.ravel().tolist()}
    for output, answer in zip(session.get_outputs(), answers)
}))
"""


@pytest.fixture
def call(tare: Path, build_dir: Path, tmp_path: Path) -> Any:
    def run(
        model: Path, *words: str, library: Path = NEWEST[-1] if NEWEST else Path(), fails: bool = False
    ) -> Any:
        done = subprocess.run(
            [build_dir / "tests" / "worker_tool", tare, "onnxruntime", model, f"library={library}", *words],
            capture_output=True, text=True, timeout=120, cwd=tmp_path, check=False,
        )  # fmt: skip
        if fails:
            assert done.returncode == 2, done.stdout
            assert done.stderr.count("\n") == 1, done.stderr
            return done.stderr
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    return run


def reference(model: Path, inputs: Result) -> Result:
    asked = json.dumps({"model": str(model), "inputs": inputs})
    done = subprocess.run(
        [REFERENCE, "-c", ASK], input=asked, capture_output=True, text=True, timeout=120, check=True
    )
    answer: Result = json.loads(done.stdout)
    return answer


def assert_same(got: Result, want: Result, tolerance: float) -> None:
    assert list(got) == list(want)
    for name, tensor in want.items():
        assert (got[name]["shape"], got[name]["type"]) == (tensor["shape"], tensor["type"])
        assert got[name]["values"] == pytest.approx(tensor["values"], rel=tolerance, abs=tolerance)


@pytest.mark.parametrize("library", GOOD, ids=lambda path: path.name)
def test_answers_are_those_of_the_package(call: Any, library: Path) -> None:
    result = call(MINILM, "batch=2", "seq=16", "threads=2", library=library)
    assert result["engine"] == "onnxruntime"
    assert library.name.endswith(result["version"])
    assert Path(result["path"]).samefile(library)
    assert_same(result["outputs"], reference(MINILM, result["inputs"]), 1e-4)


def test_samples_time_and_memory_are_plausible(call: Any) -> None:
    result = call(MINILM, "batch=1", "seq=16", "calls=20")
    weights = MINILM.stat().st_size
    assert len(result["ns"]) == 20
    assert min(result["ns"]) > 100_000  # no machine does 0.7 GFLOP in less
    assert sum(result["ns"]) <= result["wall_ns"]
    # One thread: it cannot have used more than one core, and it has used some.
    assert 0.05 * result["wall_ns"] < result["cpu_ns"] < 1.2 * result["wall_ns"]
    assert result["calls_per_sample"] == 1
    assert result["idle"]
    loaded = result["resident_after"] - result["resident_before"]
    assert 0.4 * weights < loaded < 4 * weights
    memory = result["memory"]
    assert memory["before"] <= memory["peak"]
    assert memory["average"] <= memory["peak"]
    assert memory["arena_in_use"] <= memory["arena_total"]
    assert memory["arena_peak"] >= memory["arena_in_use"] > 0
    assert memory["arena_allocations"] > 0


def test_the_arena_of_an_older_runtime_is_unknown(call: Any) -> None:
    older = [path for path in GOOD if path.name.endswith("1.16.3")]
    if not older:
        pytest.skip("no ONNX Runtime 1.16.3: bash .ci/run models, with npm")
    assert call(MINILM, "seq=16", library=older[0])["memory"]["arena_in_use"] == -1


def test_a_short_model_is_timed_in_calls(call: Any) -> None:
    result = call(BUILT / "add.onnx", "calls=1000")
    assert result["call_ns"] < 100_000
    assert sorted(result["ns"])[500] < 100_000 * result["calls_per_sample"]
    assert_same(result["outputs"], reference(BUILT / "add.onnx", result["inputs"]), 1e-6)


@pytest.mark.parametrize("name", ["if", "loop", "mlp", "embedding"])
def test_built_models_answer_like_the_package(call: Any, name: str) -> None:
    model = BUILT / f"{name}.onnx"
    result = call(model)
    assert_same(result["outputs"], reference(model, result["inputs"]), 1e-5)


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_levels_change_the_graph_and_not_the_answers(call: Any, tmp_path: Path, level: int) -> None:
    optimised = tmp_path / "optimised.onnx"
    result = call(MINILM, "seq=8", f"level={level}", f"optimised={optimised}", "no_spinning=1")
    assert_same(result["outputs"], reference(MINILM, result["inputs"]), 1e-4)
    code = f"import onnx; print(sorted({{n.op_type for n in onnx.load({str(optimised)!r}).graph.node}}))"
    ops = subprocess.run(
        [REFERENCE, "-c", code], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    # 0 is all, 1 off, 2 basic, 3 extended: fusions come with the extended level.
    assert ("'BiasGelu'" in ops) == (level in (0, 3))


def test_its_profiler_writes_a_file(call: Any, tmp_path: Path) -> None:
    result = call(MINILM, "seq=8", f"profile={tmp_path / 'mine'}", "calls=3")
    path = Path(result["profile"])
    assert path.parent == tmp_path
    assert path.name.startswith("mine")
    events = json.loads(path.read_text())
    runs = [event for event in events if event["name"] == "model_run"]
    assert len(runs) >= 3
    assert any(event["cat"] == "Node" for event in events)


def test_what_cannot_be_had_is_refused(call: Any, tmp_path: Path) -> None:
    assert "no provider 'cuda'; it has" in call(MINILM, "provider=cuda", fails=True)
    assert "needs 1.16 or newer" in call(
        MINILM, library=next(path for path in OLDER if TOO_OLD in path.name), fails=True
    ) or not OLDER  # fmt: skip
    assert "there is no ONNX Runtime at" in call(MINILM, library=tmp_path / "none.so", fails=True)
    text = tmp_path / "text.so"
    text.write_text("not a library")
    assert "does not load as ONNX Runtime" in call(MINILM, library=text, fails=True)


def test_a_model_that_crashes_or_fails_says_so(call: Any) -> None:
    assert "the process that ran the model crashed (Floating point exception)" in call(
        BUILT / "crash.onnx", fails=True
    )
    failed = call(BUILT / "fails.onnx", fails=True)
    assert "running it failed: node " in failed
    assert "(Reshape): The input tensor cannot be reshaped" in failed
