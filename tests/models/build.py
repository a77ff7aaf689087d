# SPDX-License-Identifier: Apache-2.0
"""Builds the small models whose truth is known by construction, and the files that a reader must refuse.

    python tests/models/build.py FOLDER

writes FOLDER/NAME.onnx, FOLDER/hostile/NAME.onnx and FOLDER/known.json, which says for each model what is
true of it: parameters (of floating point), MACs at batch 1, bytes of activations at the peak. Needs numpy and
onnx. Everything is fixed by seeds: two calls write the same bytes.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import hostile
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL

Known = dict[str, Any]
Built = tuple[onnx.ModelProto, Known]


def value(name: str, kind: int, *shape: int | str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, list(shape))


def tensor(name: str, array: np.ndarray) -> onnx.TensorProto:
    return numpy_helper.from_array(array, name)


def model(
    name: str,
    nodes: Iterable[onnx.NodeProto],
    inputs: Iterable[onnx.ValueInfoProto],
    outputs: Iterable[onnx.ValueInfoProto],
    initializers: Iterable[onnx.TensorProto] = (),
) -> onnx.ModelProto:
    graph = helper.make_graph(list(nodes), name, list(inputs), list(outputs), list(initializers))
    # As old a format as the operators allow: ONNX Runtime 1.16 must read it.
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8, producer_name="tare tests"
    )


def weights(random: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Keeps the size of what is multiplied by it about the same."""
    return (random.standard_normal((rows, columns)) / np.sqrt(rows)).astype(np.float32)


def add() -> Built:
    """The smallest call that there is: the cost of a harness shows."""
    nodes = [helper.make_node("Add", ["x", "y"], ["z"], name="/Add")]
    inputs = [value("x", FLOAT, 1, 4), value("y", FLOAT, 1, 4)]
    return model("add", nodes, inputs, [value("z", FLOAT, 1, 4)]), {"parameters": 0, "macs": 0}


def mlp() -> Built:
    """Three dense layers over a free batch."""
    random = np.random.default_rng(1)
    sizes = (64, 256, 256, 10)
    nodes, parts, x = [], [], "x"
    for i, (rows, columns) in enumerate(itertools.pairwise(sizes)):
        last = i == len(sizes) - 2
        parts += [
            tensor(f"layers.{i}.weight", weights(random, rows, columns)),
            tensor(f"layers.{i}.bias", random.standard_normal(columns).astype(np.float32)),
        ]
        y = "y" if last else f"layers.{i}.sum"
        nodes.append(
            helper.make_node(
                "Gemm", [x, f"layers.{i}.weight", f"layers.{i}.bias"], [y], name=f"/layers.{i}/Gemm"
            )
        )
        x = y
        if not last:
            x = f"layers.{i}.out"
            nodes.append(helper.make_node("Relu", [y], [x], name=f"/layers.{i}/Relu"))
    products = sum(a * b for a, b in itertools.pairwise(sizes))
    known = {"parameters": products + sum(sizes[1:]), "macs": products}
    return model(
        "mlp", nodes, [value("x", FLOAT, "batch", 64)], [value("y", FLOAT, "batch", 10)], parts
    ), known


class Mix:
    """Few large nodes and many tiny ones in one graph; each part also alone, under the same node names."""

    def __init__(self, name: str, large: int, size: int, tiny: int) -> None:
        self.name, self.large, self.size, self.tiny = name, large, size, tiny

    def large_part(self) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
        """All with one weight, which stays in the cache: a part must cost the same alone and in the mix."""
        nodes = []
        parts = [tensor("large.weight", weights(np.random.default_rng(2), self.size, self.size))]
        for i in range(self.large):
            source = "large_in" if i == 0 else f"large_{i - 1}"
            target = "large_out" if i == self.large - 1 else f"large_{i}"
            nodes.append(
                helper.make_node("MatMul", [source, "large.weight"], [target], name=f"/large/MatMul_{i}")
            )
        return nodes, parts

    def tiny_part(self) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
        """A chain that no optimiser folds: its operators differ from one node to the next."""
        parts = [tensor("tiny.step", np.array([[0.5, -0.5, 0.25, 1]], np.float32))]
        nodes = []
        for i in range(self.tiny):
            op = ("Add", "Sub", "Max", "Min")[i % 4]
            source = "tiny_in" if i == 0 else f"tiny_{i - 1}"
            target = "tiny_out" if i == self.tiny - 1 else f"tiny_{i}"
            nodes.append(helper.make_node(op, [source, "tiny.step"], [target], name=f"/tiny/{op}_{i}"))
        return nodes, parts

    def build(self) -> dict[str, Built]:
        shape = (self.size, self.size)
        large, tiny = self.large_part(), self.tiny_part()
        sides = {
            "large": (large, value("large_in", FLOAT, *shape), value("large_out", FLOAT, *shape)),
            "tiny": (tiny, value("tiny_in", FLOAT, 1, 4), value("tiny_out", FLOAT, 1, 4)),
        }
        macs = self.large * self.size**3
        alone = {
            f"{self.name}_{side}": (
                model(f"{self.name}_{side}", part[0], [given], [taken], part[1]),
                {"macs": macs if side == "large" else 0},
            )
            for side, (part, given, taken) in sides.items()
        }
        both = model(
            self.name,
            large[0] + tiny[0],
            [given for _, given, _ in sides.values()],
            [taken for _, _, taken in sides.values()],
            large[1] + tiny[1],
        )
        known = {"macs": macs, "parameters": self.size**2 + 4, "parts": ["large", "tiny"]}
        return {self.name: (both, known), **alone}


# The large part's share grows from one to the next.
MIXES = (
    Mix("mix_tiny", large=3, size=96, tiny=400),
    Mix("mix_even", large=3, size=192, tiny=200),
    Mix("mix_large", large=12, size=192, tiny=200),
)


def activations() -> Built:
    """Two tensors of 64 MiB live at once: a product is never made in place of what it is made from."""
    random = np.random.default_rng(3)
    rows, columns = 65536, 256
    nodes = [
        helper.make_node("Expand", ["x", "shape"], ["wide"], name="/Expand"),
        helper.make_node("MatMul", ["wide", "weight"], ["product"], name="/MatMul"),
        helper.make_node("ReduceMax", ["product"], ["y"], name="/ReduceMax", axes=[0], keepdims=1),
    ]
    parts = [
        tensor("shape", np.array([rows, columns], np.int64)),
        tensor("weight", weights(random, columns, columns)),
    ]
    known = {
        "parameters": columns * columns,
        "macs": rows * columns * columns,
        "activation_peak_bytes": 2 * rows * columns * 4,
    }
    return (
        model("activations", nodes, [value("x", FLOAT, 1, columns)], [value("y", FLOAT, 1, columns)], parts),
        known,
    )


def embedding() -> Built:
    """Ids beyond the 7 rows of the table make the runtime fail: they must be bounded by it."""
    table = np.arange(28, dtype=np.float32).reshape(7, 4)
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["rows"], name="/Gather", axis=0),
        helper.make_node("ReduceMean", ["rows"], ["y"], name="/ReduceMean", axes=[1], keepdims=0),
    ]
    inputs = [value("ids", INT64, "batch", "seq")]
    return (
        model("embedding", nodes, inputs, [value("y", FLOAT, "batch", 4)], [tensor("table", table)]),
        {"parameters": 28, "macs": 0},
    )


def branch() -> Built:
    """An If: which body runs depends on the input, and only one of them is executed."""
    heavy = helper.make_graph(
        [helper.make_node("MatMul", ["x", "weight"], ["then_y"], name="/then/MatMul")],
        "then", [], [value("then_y", FLOAT, "batch", 64)],
    )  # fmt: skip
    light = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["else_y"], name="/else/Identity")],
        "else", [], [value("else_y", FLOAT, "batch", 64)],
    )  # fmt: skip
    nodes = [helper.make_node("If", ["heavy"], ["y"], name="/If", then_branch=heavy, else_branch=light)]
    parts = [tensor("weight", weights(np.random.default_rng(4), 64, 64))]
    inputs = [value("x", FLOAT, "batch", 64), value("heavy", BOOL)]
    return model("if", nodes, inputs, [value("y", FLOAT, "batch", 64)], parts), {"parameters": 64 * 64}


def loop() -> Built:
    """A Loop of five rounds of one small product."""
    body = helper.make_graph(
        [
            helper.make_node("MatMul", ["state", "weight"], ["state_next"], name="/body/MatMul"),
            helper.make_node("Identity", ["go"], ["go_next"], name="/body/Identity"),
        ],
        "body",
        [value("round", INT64), value("go", BOOL), value("state", FLOAT, 8, 64)],
        [value("go_next", BOOL), value("state_next", FLOAT, 8, 64)],
    )
    nodes = [helper.make_node("Loop", ["rounds", "", "x"], ["y"], name="/Loop", body=body)]
    parts = [
        tensor("rounds", np.array(5, np.int64)),
        tensor("weight", weights(np.random.default_rng(5), 64, 64)),
    ]
    return (
        model("loop", nodes, [value("x", FLOAT, 8, 64)], [value("y", FLOAT, 8, 64)], parts),
        {"parameters": 64 * 64, "macs": 5 * 8 * 64 * 64},
    )


def decoder() -> Built:
    """The inputs of a text generator with a cache of what it has seen."""
    past = [value(f"past_key_values.0.{kind}", FLOAT, "batch", 2, "past", 8) for kind in ("key", "value")]
    present = [value(f"present.0.{kind}", FLOAT, "batch", 2, "total", 8) for kind in ("key", "value")]
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"], name="/embed/Gather", axis=0),
        helper.make_node("Reshape", ["rows", "heads"], ["split"], name="/Reshape"),
        helper.make_node("Transpose", ["split"], ["new"], name="/Transpose", perm=[0, 2, 1, 3]),
        *(
            helper.make_node(
                "Concat", [f"past_key_values.0.{kind}", "new"], [f"present.0.{kind}"],
                name=f"/{kind}/Concat", axis=2,
            )
            for kind in ("key", "value")
        ),
    ]  # fmt: skip
    parts = [
        tensor("table", weights(np.random.default_rng(6), 100, 16)),
        tensor("heads", np.array([0, 0, 2, 8], np.int64)),
    ]
    return model("decoder", nodes, [value("input_ids", INT64, "batch", "seq"), *past], present, parts), {}


def crash() -> Built:
    """Divides the lowest whole number by -1, which no runtime catches: on x86 the process dies of SIGFPE."""
    nodes = [
        helper.make_node("Sub", ["x", "x"], ["zero"], name="/Sub"),
        helper.make_node("Add", ["zero", "lowest"], ["top"], name="/Add"),
        helper.make_node("Add", ["zero", "minus_one"], ["bottom"], name="/Add_1"),
        helper.make_node("Div", ["top", "bottom"], ["y"], name="/Div"),
    ]
    parts = [
        tensor("lowest", np.array([-(2**63)], np.int64)),
        tensor("minus_one", np.array([-1], np.int64)),
    ]
    return model("crash", nodes, [value("x", INT64, 4)], [value("y", INT64, 4)], parts), {}


def fails() -> Built:
    """Loads, and then every run fails: the shape that it asks for does not fit, which only the input says."""
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"], name="/Reshape")]
    parts = [tensor("shape", np.array([7, 3], np.int64))]
    return model("fails", nodes, [value("x", FLOAT, "batch", 4)], [value("y", FLOAT, 7, 3)], parts), {}


def strings() -> Built:
    """Takes text, for which no input can be made up."""
    nodes = [helper.make_node("Identity", ["text"], ["y"], name="/Identity")]
    kind = TensorProto.STRING
    return model("strings", nodes, [value("text", kind, "batch")], [value("y", kind, "batch")]), {}


BUILDERS: tuple[Callable[[], Built], ...] = (
    add, mlp, activations, embedding, branch, loop, decoder, crash, fails, strings,
)  # fmt: skip


def all_models() -> dict[str, Built]:
    found: dict[str, Built] = {}
    for builder in BUILDERS:
        built = builder()
        found[built[0].graph.name] = built
    for mix in MIXES:
        found.update(mix.build())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Builds the models whose truth is known.")
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    known = {}
    for name, (built, truth) in all_models().items():
        onnx.checker.check_model(built, full_check=name != "fails")
        onnx.save(built, folder / f"{name}.onnx")
        known[name] = truth
    (folder / "known.json").write_text(json.dumps(known, indent=1) + "\n")
    hostile.write(folder / "hostile", mlp()[0])
    print(folder)


if __name__ == "__main__":
    main()
