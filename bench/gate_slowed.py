# SPDX-License-Identifier: Apache-2.0
"""Power, measured: a model against twins of it that do more work, judged by `tare compare`.

A twin multiplies the last hidden state by two matrices more and adds the result, times 1e-30, to the answer:
the answer stays, the work cannot be optimised away. Each comparison is one JSON line; with one look
(--blocks 10) the same figures are judged at any threshold. With --tell only what is in the file is told: how
often each twin was called, and how much slower it really was, the median over all blocks. Making the twins
needs numpy and onnx, telling nothing.

    python bench/gate_slowed.py --make --model minilm.onnx --twins twins
    python bench/gate_slowed.py --tare build/src/tare --model minilm.onnx --twins twins -- --dim seq=16
"""

from __future__ import annotations

import math
import random
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from gate_self import append, arguments, compare, read

SLOWER = (5, 10, 20)
HIDDEN = 384
# Of the extra matrices, for one per cent more: about what the multiply-adds of the six layers come to. How
# much slower a twin truly is, the blocks tell.
COLUMNS = 132


def make_twin(model: str, width: int, path: Path) -> None:
    import numpy
    import onnx
    from onnx import helper, numpy_helper

    loaded = onnx.load(model)
    graph = loaded.graph
    noise = numpy.random.default_rng(1)

    def matrix(name: str, rows: int, columns: int) -> None:
        values = noise.normal(0, rows**-0.5, (rows, columns)).astype(numpy.float32)
        graph.initializer.append(numpy_helper.from_array(values, name))

    matrix("extra/first", HIDDEN, width)
    matrix("extra/second", width, HIDDEN)
    graph.initializer.append(numpy_helper.from_array(numpy.float32(1e-30), "extra/little"))
    last = graph.node[-1]
    assert list(last.output) == ["sentence_embedding"]
    last.output[0] = "extra/answer"
    graph.node.extend(
        [
            helper.make_node("MatMul", ["last_hidden_state", "extra/first"], ["extra/wide"], "extra/MatMul1"),
            helper.make_node("MatMul", ["extra/wide", "extra/second"], ["extra/back"], "extra/MatMul2"),
            helper.make_node(
                "ReduceMean", ["extra/back"], ["extra/mean"], "extra/Mean", axes=[1], keepdims=0
            ),
            helper.make_node("Mul", ["extra/mean", "extra/little"], ["extra/part"], "extra/Mul"),
            helper.make_node("Add", ["extra/answer", "extra/part"], ["sentence_embedding"], "extra/Add"),
        ]
    )
    onnx.save(loaded, path)


def make_all(model: str, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for percent in SLOWER:
        make_twin(model, percent * COLUMNS, folder / f"slower{percent}.onnx")


def called(row: dict[str, Any], threshold: float) -> bool:
    """The rule again at another threshold; p is adjusted for the two metrics already."""
    latency = row["latency"]
    return latency["p"] < 0.01 and latency["cost_ratio"] >= 1 + threshold and latency["cost_ratio_lower"] > 1


def block_logs(row: dict[str, Any]) -> list[float]:
    base, new = row["latency"]["costs_base"], row["latency"]["costs_new"]
    return [math.log(new[i] * new[i + 1] / (base[i] * base[i + 1])) / 2 for i in range(0, len(base), 2)]


def bounds(values: list[float]) -> tuple[float, float]:
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(1000))
    return medians[25], medians[974]


def tell(rows: list[dict[str, Any]]) -> None:
    print(f"{'meant':>6}{'comparisons':>13}{'truly slower':>26}{'detects':>9}{'at 5 %':>8}{'at 10 %':>9}")
    for percent in SLOWER:
        chosen = [row for row in rows if row["percent"] == percent]
        if not chosen:
            continue
        logs = [log for row in chosen for log in block_logs(row)]
        low, high = bounds(logs)
        truth = f"{math.expm1(statistics.median(logs)):.1%} [{math.expm1(low):.1%}, {math.expm1(high):.1%}]"
        detects = statistics.median(row["latency"]["detectable"] for row in chosen)
        counts = [sum(called(row, threshold) for row in chosen) for threshold in (0.05, 0.10)]
        print(f"{percent:5}%{len(chosen):13}{truth:>26}{detects:9.1%}{counts[0]:8}{counts[1]:9}")


def main() -> None:
    parser = arguments(300, "gate_slowed.jsonl")
    parser.add_argument("--twins", type=Path, help="their folder")
    parser.add_argument("--make", action="store_true", help="only make the twins")
    args = parser.parse_args()
    if args.make:
        make_all(args.model, args.twins)
        return
    rows = read(args.data)
    end = time.time() + args.until
    while not args.tell and len(rows) < args.count and time.time() < end:
        percents = [SLOWER[(len(rows) + i) % len(SLOWER)] for i in range(args.at_once)]
        twins = [str(args.twins / f"slower{percent}.onnx") for percent in percents]
        with ThreadPoolExecutor(args.at_once) as pool:
            asked = [pool.submit(compare, args.tare, args.model, twin, args.options) for twin in twins]
            for percent, one in zip(percents, asked, strict=True):
                rows.append({"number": len(rows), "percent": percent, **one.result()})
                append(args.data, rows[-1])
    if args.tell:
        tell(rows)


if __name__ == "__main__":
    main()
