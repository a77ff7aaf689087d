# SPDX-License-Identifier: Apache-2.0
"""tare.ModelProfiler: plain callables always; ONNX models where a runtime is installed; torch where it is."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timing

tare = pytest.importorskip("tare", reason="tare is not installed here: bash .ci/run python_tests does it")

ROOT = Path(__file__).resolve().parents[2]


def busy(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


# ---- callables ----


def test_the_time_of_a_callable_is_its_time() -> None:
    results = tare.ModelProfiler(busy).profile(0.002, num_runs=50, warmup_runs=3)
    assert 1.99 < results["latency"]["min"] < 2.3  # the least: another program may have held the processor
    assert results["latency"]["count"] == 50
    low, high = results["latency"]["bounds"]["p50"]
    assert low <= results["latency"]["p50"] <= high
    assert results["latency"]["max"] >= results["latency"]["p99"] >= results["latency"]["p95"]
    assert results["memory"]["peak"] > 1_000_000
    assert 0.01 < results["resources"]["cpu_use"] < 1.2


def test_samples_are_counted_by_what_the_data_holds() -> None:
    results = tare.ModelProfiler(lambda texts: busy(0.001)).profile(["a", "b", "c", "d"], num_runs=20)
    rate = results["throughput"]
    assert rate["samples_per_second"] == pytest.approx(4 * rate["requests_per_second"])
    assert rate["pairs_per_second"] == rate["texts_per_second"] == rate["samples_per_second"]
    with pytest.raises(KeyError):
        rate["miles_per_second"]


def test_a_call_of_nanoseconds_has_a_mean_and_no_percentile() -> None:
    results = tare.ModelProfiler(abs).profile(-1, num_runs=50)
    assert 0 < results["latency"]["mean"] < 0.001
    assert results["latency"]["p99"] is None


def test_arguments_come_in_order_or_by_name() -> None:
    seen: list[Any] = []

    def model(*args: Any, **named: Any) -> None:
        seen.append((args, named))

    profiler = tare.ModelProfiler(model)
    profiler.profile((1, 2), num_runs=1, warmup_runs=0)
    profiler.profile({"x": 3, "mask": 4}, num_runs=1, warmup_runs=0)
    profiler.profile(num_runs=1, warmup_runs=0)
    assert ((1, 2), {}) in seen
    assert ((), {"x": 3, "mask": 4}) in seen
    assert ((), {}) in seen


def test_stages_are_timed_apart_and_add_up() -> None:
    order: list[str] = []

    def before(text: str) -> tuple[str, int]:
        order.append("before")
        busy(0.001)
        return text, 3

    def model(text: str, times: int) -> str:
        order.append("model")
        busy(0.003)
        return text * times

    def after(text: str) -> None:
        order.append("after")
        assert text == "ababab"
        busy(0.002)

    profiler = tare.ModelProfiler(model, preprocess=before, postprocess=after)
    results = profiler.profile("ab", num_runs=30, warmup_runs=2)
    stages = results["stages"]
    assert list(stages) == ["preprocess", "inference", "postprocess"]
    assert order[:3] == ["before", "model", "after"]
    for name, milliseconds in (("preprocess", 1), ("inference", 3), ("postprocess", 2)):
        assert milliseconds <= stages[name]["min"] < milliseconds * 1.15
        assert stages[name]["count"] == 30
    assert sum(stage["share"] for stage in stages.values()) == pytest.approx(1)
    # A program that takes the processor between two stages is in neither.
    assert sum(stage["mean"] for stage in stages.values()) == pytest.approx(
        results["latency"]["mean"], rel=0.1
    )


def test_a_benchmark_gives_a_result_for_each_configuration() -> None:
    profiler = tare.ModelProfiler(lambda texts: busy(0.001 + 0.0002 * len(texts)))
    made = profiler.benchmark([{"batch_size": 1}, {"batch_size": 8}], ["a", "b", "c"], num_runs=20)
    assert [row["configuration"]["batch_size"] for row in made] == [1, 8]
    assert made[0]["latency"]["min"] == pytest.approx(1.2, rel=0.15)
    assert made[1]["latency"]["min"] == pytest.approx(2.6, rel=0.15)
    assert made.best()["configuration"]["batch_size"] == 8
    rounds = made.run.to_dict()["configurations"][0]["samples"][0]["rounds"]
    assert rounds == [4, 4, 4, 4, 4]


def test_one_batch_profile_is_a_row_for_a_log() -> None:
    row = tare.ModelProfiler(lambda pairs: None).profile_batch_size(
        batch_size=16, num_pairs=10, input_data=[("a", "b")]
    )
    assert row["batch_size"] == row.batch_size == 16
    assert {"throughput_pairs_per_sec", "latency_ms_per_pair", "memory_delta_mb", "accuracy_metrics"} <= set(
        row
    )
    with pytest.raises(AttributeError):
        _ = row.nothing_of_the_kind


def test_an_exception_is_the_callers_own() -> None:
    def fails(_: int) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        tare.ModelProfiler(fails).profile(1)


def test_ctrl_c_ends_a_measurement() -> None:
    program = """
import _thread, threading, time, tare
threading.Timer(0.5, _thread.interrupt_main).start()
try:
    tare.ModelProfiler(lambda: time.sleep(0.01)).profile(num_runs=10_000)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    assert done.stdout.strip() == "interrupted", done.stderr


def test_memory_that_a_callable_takes_is_seen() -> None:
    profiler = tare.ModelProfiler(lambda: bytearray(50_000_000).count(1))
    report = profiler.memory_profile(memory_snapshots=True, input_data=())
    assert 45_000_000 < report["growth"] < 70_000_000
    assert all(moment["bytes"] > 0 for moment in report["snapshots"])
    with pytest.raises(NotImplementedError):
        profiler.memory_profile(track_allocations=True, input_data=())


# ---- what is refused ----


@pytest.mark.parametrize(
    ("options", "words"),
    [({"device": "cuda"}, "device='cuda'"), ({"precision": "fp16"}, "precision='fp16'")],
)
def test_what_cannot_be_had_is_an_error(options: dict[str, str], words: str) -> None:
    with pytest.raises(tare.TareError, match=words):
        tare.ModelProfiler(abs, **options)


def test_refusals_say_what_to_do() -> None:
    with pytest.raises(tare.TareError, match="no model"):
        tare.ModelProfiler().profile()
    with pytest.raises(TypeError, match="not int"):
        tare.ModelProfiler(3)
    with pytest.raises(tare.TareError, match="load it with its framework"):
        tare.ModelProfiler("model.pt")
    with pytest.raises(ValueError, match="num_runs"):
        tare.ModelProfiler(abs).profile(1, num_runs=0)
    with pytest.raises(ValueError, match="input_data"):
        tare.ModelProfiler(abs).benchmark([{"batch_size": 2}])
    with pytest.raises(ValueError, match="at least two dimensions"):
        tare.ModelProfiler(abs).benchmark([{"batch_size": 2}], 3)
    with pytest.raises(tare.TareError, match="cannot be had"):
        tare.ModelProfiler(abs).benchmark([{"precision": "fp16"}], 3)
    with pytest.raises(NotImplementedError, match="CPU only"):
        tare.ModelProfiler(abs).gpu_profile(track_kernels=True)
    with pytest.raises(NotImplementedError, match="export_json"):
        tare.ModelProfiler(abs).generate_html_report(output_path="report.html")
    with pytest.raises(tare.TareError, match="nothing has been measured"):
        tare.ModelProfiler(abs).export_json("x.json")
    with pytest.raises(tare.TareError, match="tare run"):
        tare.ModelProfiler(abs).profile_layers()


# ---- files ----


def test_what_is_exported_is_what_scripts_index(tmp_path: Path) -> None:
    profiler = tare.ModelProfiler(lambda texts: busy(0.0005), unit="texts", name="sleeper")
    profiler.benchmark([{"batch_size": 1}, {"batch_size": 4}], ["a"], num_runs=10)
    text = profiler.export_json(tmp_path / "run.json")
    data = json.loads((tmp_path / "run.json").read_text())
    assert json.loads(text) == data
    assert data["timestamp"].endswith("Z")
    assert data["system"]["device"] == "cpu"
    assert data["system"]["model"] == "sleeper"
    best = max(data["batch_profiles"], key=lambda row: row["throughput_texts_per_sec"])
    assert best["batch_size"] == 4
    assert best["latency_ms_per_text"] == pytest.approx(1000 / best["throughput_texts_per_sec"])
    assert best["memory_delta_mb"] >= 0
    assert best["accuracy_metrics"] == {}
    assert data["bottlenecks"] == [] == data["recommendations"]
    rows = list(csv.DictReader(io.StringIO(profiler.export_csv(tmp_path / "run.csv"))))
    assert [row["batch"] for row in rows] == ["1", "4"]
    assert tare.load(tmp_path / "run.json").to_dict() == data


def test_numpy_is_not_needed() -> None:
    program = """
import sys
sys.modules["numpy"] = sys.modules["torch"] = None
import tare
print(tare.ModelProfiler(sum).profile([1, 2], num_runs=3)["latency"]["count"])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "3", done.stderr


# ---- ONNX models ----

RUNTIME = os.environ.get("TARE_ORT") or (importlib.util.find_spec("onnxruntime") is not None)
needs_runtime = pytest.mark.skipif(
    not RUNTIME, reason="no ONNX Runtime: pip install onnxruntime, or set TARE_ORT to its library"
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two inputs [batch, seq]; scores of three classes that depend on each sample alone."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed: pip install onnx")
    from onnx import TensorProto, helper

    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", "seq"]) for name in ("x", "mask")
    ]
    output = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", 3])
    weights = helper.make_tensor("w", TensorProto.FLOAT, [1, 3], [1.0, -1.0, 0.5])
    nodes = [
        helper.make_node("Mul", ["x", "mask"], ["masked"], name="mlp/mask"),
        helper.make_node("ReduceMean", ["masked"], ["mean"], axes=[1], keepdims=1, name="mlp/mean"),
        helper.make_node("MatMul", ["mean", "w"], ["scores"], name="head/scores"),
    ]
    graph = helper.make_graph(nodes, "tiny", inputs, [output], [weights])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path = tmp_path_factory.mktemp("model") / "tiny.onnx"
    onnx.save(made, path)
    return path


@needs_runtime
def test_one_array_is_the_first_input_and_sets_the_shape(model: Path) -> None:
    numpy = pytest.importorskip("numpy", reason="numpy is not installed: pip install numpy")
    x = numpy.ones((4, 16), dtype="float32")
    results = tare.ModelProfiler(model_path=model).profile(input_data=x, num_runs=20, warmup_runs=2)
    assert results["configuration"]["batch_size"] == 4
    assert results["configuration"]["dims"] == {"seq": 16}
    assert results["latency"]["count"] == 20
    assert results["latency"]["mean"] > 0
    assert results["memory"]["peak"] > 1_000_000
    assert results["throughput"]["tokens_per_second"] == pytest.approx(
        64 * results["throughput"]["requests_per_second"]
    )


@needs_runtime
def test_inputs_by_name_in_order_and_of_the_wrong_kind(model: Path) -> None:
    numpy = pytest.importorskip("numpy", reason="numpy is not installed: pip install numpy")
    x = numpy.ones((2, 8), dtype="float32")
    profiler = tare.ModelProfiler(model)
    for data in ({"mask": x, "x": x}, (x, x), {"mask": x}):
        assert profiler.profile(data, num_runs=3)["configuration"]["batch_size"] == 2
    with pytest.raises(tare.TareError, match="float64 where the model takes float32"):
        profiler.profile(x.astype("float64"), num_runs=3)
    with pytest.raises(tare.TareError, match="does not take"):
        profiler.profile({"nothing": x}, num_runs=3)
    with pytest.raises(ValueError, match="not contiguous"):
        profiler.profile(numpy.ones((8, 4), dtype="float32").T, num_runs=3)
    with pytest.raises(TypeError, match="a model takes arrays"):
        profiler.profile(3, num_runs=3)


@needs_runtime
def test_a_path_names_a_model_and_a_folder_holds_one(model: Path) -> None:
    assert tare.ModelProfiler().profile(model, num_runs=3)["latency"]["count"] == 3
    results = tare.ModelProfiler(model.parent).profile(num_runs=3)
    assert results["latency"]["count"] == 3


@needs_runtime
def test_a_pipeline_around_an_onnx_model(model: Path) -> None:
    numpy = pytest.importorskip("numpy", reason="numpy is not installed: pip install numpy")
    answers: list[Any] = []

    def before(rows: list[list[float]]) -> dict[str, Any]:
        array = numpy.array(rows, dtype="float32")
        return {"x": array, "mask": numpy.ones_like(array)}

    profiler = tare.ModelProfiler(model, preprocess=before, postprocess=answers.append)
    results = profiler.profile([[1.0, 3.0], [2.0, 2.0]], num_runs=5, warmup_runs=1)
    assert set(results["stages"]) == {"preprocess", "inference", "postprocess"}
    assert results["configuration"]["batch_size"] == 2
    numpy.testing.assert_allclose(answers[0][0], [[2, -2, 1], [2, -2, 1]], rtol=1e-6)


@needs_runtime
def test_configurations_of_an_onnx_model(model: Path) -> None:
    profiler = tare.ModelProfiler(model, time=20)
    made = profiler.benchmark(
        [{"batch_size": 1, "seq": 8}, {"batch_size": 64, "seq": 8, "threads": 1}], num_runs=20
    )
    assert [row["configuration"]["batch_size"] for row in made] == [1, 64]
    assert made[1]["configuration"]["threads"] == 1
    assert made.best()["configuration"]["batch_size"] == 64
    assert made[1]["accuracy"]["batch_max_abs"] <= 1e-6
    row = profiler.profile_batch_size(batch_size=16, num_pairs=32)
    assert row["batch_size"] == 16
    assert row["throughput_pairs_per_sec"] > 0


@needs_runtime
def test_what_an_onnx_model_cannot_have(model: Path, tmp_path: Path) -> None:
    with pytest.raises(tare.TareError, match="nonsense"):
        tare.ModelProfiler(model, device="nonsense").profile(num_runs=3)
    (tmp_path / "text.onnx").write_text("this is no model")
    with pytest.raises(tare.TareError, match=r"text\.onnx"):
        tare.ModelProfiler(tmp_path / "text.onnx").profile(num_runs=3)
    with pytest.raises((tare.TareError, OSError)):
        tare.ModelProfiler(tmp_path / "missing.onnx").profile(num_runs=3)


@needs_runtime
def test_memory_of_an_onnx_model(model: Path) -> None:
    report = tare.ModelProfiler(model).memory_profile(
        track_allocations=True, track_deallocations=True, memory_snapshots=True
    )
    assert report["peak"] > 1_000_000
    assert report["snapshots"]
    assert {"allocations", "deallocations"} <= set(report)
    assert all(verdict["verdict"] != "leak" for verdict in report["growth_verdicts"])


# ---- torch ----


def test_a_torch_module_runs_in_eval_and_inference_mode() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    seen: list[tuple[bool, bool]] = []

    class Model(torch.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(8, 2)

        def forward(self, x: Any) -> Any:
            seen.append((self.training, torch.is_inference_mode_enabled()))
            return self.layer(x)

    module = Model().train()
    results = tare.ModelProfiler(module).profile(torch.ones(4, 8), num_runs=5)
    assert set(seen) == {(False, True)}
    assert module.training
    assert results["configuration"]["batch_size"] == 4
    with pytest.raises(tare.TareError, match="parameters are fp32"):
        tare.ModelProfiler(module, precision="fp16")


def test_a_torch_tensor_goes_to_minilm(models: Path, ort: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the first input; the mask and the types are made to fit."""
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    monkeypatch.setenv("TARE_ORT", str(ort))
    ids = torch.randint(0, 30000, (32, 128))
    results = tare.ModelProfiler(models / "minilm.onnx").profile(input_data=ids, num_runs=5)
    assert results["configuration"]["batch_size"] == 32
    assert 128 in results["configuration"]["dims"].values()
    assert results["latency"]["mean"] > 0


@needs_runtime
def test_a_torch_tensor_that_learns_goes_too(model: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    x = torch.ones(4, 16, requires_grad=True)
    results = tare.ModelProfiler(model).profile(input_data=x, num_runs=5)
    assert results["configuration"]["dims"] == {"seq": 16}
