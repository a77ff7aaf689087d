# SPDX-License-Identifier: Apache-2.0
"""What is inside a model: sums that must hold, and figures that hand formulas give.

How true the times are is bench/layers_truth.py's question: it needs a machine that does nothing else.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timing


@pytest.fixture(scope="module")
def bench(tare: Path, ort: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Benches a model with one thread and gives what was found."""

    def run(model: Path, *options: str) -> dict[str, Any]:
        output = tmp_path_factory.mktemp("layers") / "run.json"
        command = [str(tare), "bench", str(model), "--ort", str(ort), "--threads", "1", "--time", "20s"]
        command += ["--runs", "5", "--no-answers", "--no-advice", "-o", str(output), *options]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        found: dict[str, Any] = json.loads(output.read_text())
        return found

    return run


@pytest.fixture(scope="module")
def minilm(bench: Any, models: Path) -> dict[str, Any]:
    found: dict[str, Any] = bench(models / "minilm.onnx", "--no-memory", "--batch", "2", "--dim", "seq=24")
    return found


def transformer_macs(sequence: int, width: int, inner: int, layers: int) -> int:
    projections = 4 * sequence * width * width
    attention = 2 * sequence * sequence * width
    feed_forward = 2 * sequence * width * inner
    return layers * (projections + attention + feed_forward)


def transformer_parameters(words: int, positions: int, width: int, inner: int, layers: int) -> int:
    embeddings = (words + positions + 2) * width + 2 * width
    projections = 4 * (width * width + width)
    feed_forward = width * inner + inner + inner * width + width
    return embeddings + layers * (projections + feed_forward + 2 * 2 * width)


def resnet50() -> tuple[int, int, int]:
    """MACs, parameters and buffers of ResNet-50 with the stride in the 3 x 3 convolution."""
    macs, parameters, buffers = 0, 0, 0

    def convolution(given: int, made: int, kernel: int, size: int) -> None:
        nonlocal macs, parameters, buffers
        macs += made * given * kernel * kernel * size * size
        parameters += made * given * kernel * kernel + 2 * made  # and the normalisation's scale and shift
        buffers += 2 * made

    convolution(3, 64, 7, 112)
    given, size = 64, 56
    for stage, (width, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            convolution(given, width, 1, size)
            size //= stride
            convolution(width, width, 3, size)
            convolution(width, 4 * width, 1, size)
            if block == 0:
                convolution(given, 4 * width, 1, size)
            given = 4 * width
    return macs + 2048 * 1000, parameters + 2048 * 1000 + 1000, buffers


def test_minilm_is_counted_exactly(minilm: dict[str, Any]) -> None:
    model = minilm["model"]
    assert model["macs"] == transformer_macs(24, 384, 1536, 6)
    assert model["flops"] == 2 * model["macs"]
    assert model["optimised_macs"] == model["macs"]
    assert model["parameters"] == transformer_parameters(30522, 512, 384, 1536, 6)
    assert model["optimised_parameters"] == model["parameters"]
    assert minilm["configurations"][0]["macs"] == 2 * model["macs"]
    assert sum(op["macs"] for op in model["ops"] if "macs" in op) == 2 * model["macs"]


def test_resnet50_is_counted_exactly(bench: Any, models: Path) -> None:
    run = bench(models / "light" / "resnet50.onnx", "--no-memory", "--batch", "1")
    macs, parameters, buffers = resnet50()
    assert (macs, parameters, buffers) == (4_089_184_256, 25_557_032, 53_120)
    model = run["model"]
    assert model["macs"] == macs
    assert model["parameters"] == parameters
    assert model["buffers"] == buffers
    assert model["optimised_macs"] == macs
    assert model["optimised_nodes"] < model["nodes"]
    fused = {row["name"]: (row["found"], row["possible"]) for row in model["fusions"]}
    assert fused["Conv and BatchNormalization"] == (53, 53)
    assert fused["Conv and activation"][0] == fused["Conv and activation"][1] == 49


def test_layers_add_up(minilm: dict[str, Any]) -> None:
    layers = minilm["configurations"][0]["layers"]
    nodes, groups = layers["nodes"], layers["groups"]
    assert len(nodes) == minilm["model"]["optimised_nodes"]
    assert sum(n["time_ns"]["value"] for n in nodes) == pytest.approx(layers["sum_ns"])
    assert sum(g["time_ns"]["value"] for g in groups) == pytest.approx(layers["sum_ns"])
    assert sum(g["share"] for g in groups) == pytest.approx(1)
    assert sum(g["members"] for g in groups) == len(nodes)
    assert [g["time_ns"]["value"] for g in groups] == sorted(
        (g["time_ns"]["value"] for g in groups), reverse=True
    )
    assert all(n["time_ns"]["value"] <= n["raw_ns"] for n in nodes), "a tax cannot be negative"
    assert layers["tax_ns"]["lower"] < layers["tax_ns"]["value"] < layers["tax_ns"]["upper"]
    assert sum(n["macs"] for n in nodes) == minilm["configurations"][0]["macs"]


def test_groups_of_a_transformer(minilm: dict[str, Any]) -> None:
    layers = minilm["configurations"][0]["layers"]
    groups = {g["name"]: g for g in layers["groups"]}
    per_call = 2 * 6
    assert groups["attention"]["macs"] == per_call * (4 * 24 * 384 * 384 + 2 * 24 * 24 * 384)
    assert groups["mlp"]["macs"] == per_call * 2 * 24 * 384 * 1536
    gelu = [n for n in layers["nodes"] if n["op"] == "BiasGelu"]
    assert len(gelu) == 6, "fused nodes have names of the runtime's own making"
    assert {n["group"] for n in gelu} == {"mlp"}


def test_fusions_of_minilm(minilm: dict[str, Any]) -> None:
    fused = {row["name"]: (row["found"], row["possible"]) for row in minilm["model"]["fusions"]}
    assert fused["BiasGelu"] == (6, 6)
    assert fused["Attention"][1] == 6


def test_peaks_are_measured(minilm: dict[str, Any]) -> None:
    peaks = minilm["peaks"]
    for peak in peaks["flops_per_sec"], peaks["bytes_per_sec"]:
        assert 0 < peak["lower"] <= peak["value"] <= peak["upper"]
    assert "1 thread" in peaks["method"]


def test_groups_can_be_chosen(bench: Any, built_models: Path) -> None:
    run = bench(built_models / "mix_even.onnx", "--no-memory", "--group", "/large/*", "--group", "Max")
    groups = {g["name"]: g for g in run["configurations"][0]["layers"]["groups"]}
    assert groups["/large/*"]["members"] == 3
    assert groups["Max"]["members"] == 50
    assert set(groups) == {"/large/*", "Max", "Add", "Sub", "Min"}


def test_tiny_nodes_do_not_hide_large_ones(bench: Any, built_models: Path) -> None:
    """Of mix_even 77 to 80 % are the large part's; the runtime's profiler says 33 to 37 %."""
    run = bench(built_models / "mix_even.onnx", "--no-memory", "--batch", "1")
    nodes = run["configurations"][0]["layers"]["nodes"]
    large = [n for n in nodes if n["name"].startswith("/large/")]
    raw = sum(n["raw_ns"] for n in large) / sum(n["raw_ns"] for n in nodes)
    corrected = sum(n["time_ns"]["value"] for n in large) / sum(n["time_ns"]["value"] for n in nodes)
    assert corrected > raw + 0.1
    assert "profiler's tax was not measured" not in " ".join(run.get("notes", []))


def test_bodies_count_once(bench: Any, built_models: Path) -> None:
    known = json.loads((built_models / "known.json").read_text())
    for name in "if", "loop":
        run = bench(built_models / f"{name}.onnx", "--no-memory")
        layers = run["configurations"][0]["layers"]
        assert run["model"]["macs"] == known[name].get("macs", run["model"]["macs"])
        assert sum(n["time_ns"]["value"] for n in layers["nodes"]) == pytest.approx(layers["sum_ns"])


def test_activation_peak(bench: Any, built_models: Path) -> None:
    known = json.loads((built_models / "known.json").read_text())["activations"]
    memory = bench(built_models / "activations.onnx", "--no-layers")["configurations"][0]["memory"]
    assert memory["activations_bytes"] == pytest.approx(known["activation_peak_bytes"], rel=0.05)
