# SPDX-License-Identifier: Apache-2.0
"""Files that look like models and must be refused in one line. build.py writes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

FLOAT = TensorProto.FLOAT


def serialised(nodes: list[onnx.NodeProto], parts: list[onnx.TensorProto], *shape: int | str) -> bytes:
    """A model from x to y, unchecked."""
    graph = helper.make_graph(
        nodes,
        "hostile",
        [helper.make_tensor_value_info("x", FLOAT, list(shape))],
        [helper.make_tensor_value_info("y", FLOAT, None)],
        parts,
    )
    built = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return built.SerializeToString()


def with_weight(weight: onnx.TensorProto) -> bytes:
    return serialised([helper.make_node("Add", ["x", weight.name], ["y"], name="/Add")], [weight], 1, 4)


def claims(*dims: int) -> onnx.TensorProto:
    """A weight that says it is this large and holds 16 bytes."""
    weight = onnx.TensorProto(name="weight", data_type=FLOAT, raw_data=bytes(16))
    weight.dims.extend(dims)
    return weight


def outside(location: str, **more: str) -> onnx.TensorProto:
    """A weight whose bytes are in another file."""
    weight = onnx.TensorProto(name="weight", data_type=FLOAT, data_location=TensorProto.EXTERNAL)
    weight.dims.extend([1, 4])
    for key, text in {"location": location, **more}.items():
        weight.external_data.add(key=key, value=text)
    return weight


def cycle() -> bytes:
    nodes = [
        helper.make_node("Add", ["x", "b"], ["a"], name="/Add_a"),
        helper.make_node("Relu", ["a"], ["b"], name="/Relu_b"),
        helper.make_node("Relu", ["b"], ["y"], name="/Relu_y"),
    ]
    return serialised(nodes, [], 1, 4)


def nested(depth: int) -> bytes:
    """If in If in If: deeper than any stack likes."""

    def length(size: int) -> bytes:
        out = b""
        while size >= 128:
            out += bytes([size & 127 | 128])
            size >>= 7
        return out + bytes([size])

    def field(number: int, body: bytes) -> bytes:
        return length(number << 3 | 2) + length(len(body)) + body

    body = b""
    for _ in range(depth):
        # graph.node[0] = If{attribute[0] = then_branch: the graph before}
        attribute = field(1, b"then_branch") + b"\xa0\x01\x05" + field(6, body)
        body = field(1, field(2, b"y") + field(4, b"If") + field(5, attribute))
    return b"\x08\x08" + field(7, body) + field(8, field(1, b"") + b"\x10\x11")


def unknown_op() -> bytes:
    return serialised([helper.make_node("Frobnicate", ["x"], ["y"], name="/Frobnicate")], [], 1, 4)


def missing_input() -> bytes:
    return serialised([helper.make_node("Add", ["x", "nowhere"], ["y"], name="/Add")], [], 1, 4)


def huge_input() -> bytes:
    return serialised([helper.make_node("Relu", ["x"], ["y"], name="/Relu")], [], 1 << 40, 1 << 40)


def write(folder: Path, sound: onnx.ModelProto) -> None:
    """Write them all; sound is a good model to damage."""
    folder.mkdir(parents=True, exist_ok=True)
    good = sound.SerializeToString()
    random = np.random.default_rng(7)
    files: dict[str, bytes | Callable[[], bytes]] = {
        "empty": b"",
        "text": b"This is not a model, whatever its name says.\n",
        "truncated": good[: len(good) // 2],
        "truncated_head": good[:7],
        "noise": random.bytes(4096),
        "no_graph": onnx.ModelProto(ir_version=8).SerializeToString(),
        "huge_weight": with_weight(claims(1 << 40, 1 << 40)),
        "overflowing_weight": with_weight(claims(1 << 62, 8)),
        "negative_weight": with_weight(claims(-1, 4)),
        "short_weight": with_weight(claims(1000, 1000)),
        "huge_input": huge_input,
        "cycle": cycle,
        "nested": nested(2000),
        "unknown_op": unknown_op,
        "missing_input": missing_input,
        "external_parent": with_weight(outside("../../../../../../etc/passwd")),
        "external_absolute": with_weight(outside("/etc/passwd")),
        "external_missing": with_weight(outside("nothing.bin")),
        "external_short": with_weight(outside("short.bin", offset="8", length="16")),
        "external_negative": with_weight(outside("short.bin", offset="-8")),
    }
    (folder / "short.bin").write_bytes(bytes(8))
    for name, content in files.items():
        (folder / f"{name}.onnx").write_bytes(content if isinstance(content, bytes) else content())
