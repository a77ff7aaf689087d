# SPDX-License-Identifier: Apache-2.0
"""Power, measured: a model against twins of it that do more work, judged by `tare compare`.

A twin multiplies the last hidden state by the same two matrices again and again and adds the result, times
1e-30, to the answer: the answer stays, memory hardly grows, the work cannot be optimised away. Each
comparison is one JSON line. With --tell only what is in the file is told: how often each twin was called, and
how much slower it really was, the median over all blocks. Making the twins needs numpy and onnx, telling
nothing.

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

# How much slower in per cent, and how often the extra matrices are used for that. It is only about so: how
# much slower a twin truly is, the blocks tell.
TIMES = {5: 4, 10: 12, 20: 27}
# How much slower, and the threshold that it is judged by. Half of those that lie at their threshold are
# called and the rest go on to 40 blocks, so the others come twice as often.
CASES = ((10, 5), (20, 10), (5, 5), (10, 5), (20, 10), (10, 10))
HIDDEN, WIDE = 384, 192


def make_twin(model: str, times: int, path: Path) -> None:
    import numpy
    import onnx
    from onnx import helper, numpy_helper

    loaded = onnx.load(model)
    graph = loaded.graph
    noise = numpy.random.default_rng(1)

    def matrix(name: str, rows: int, columns: int) -> None:
        values = noise.normal(0, rows**-0.5, (rows, columns)).astype(numpy.float32)
        graph.initializer.append(numpy_helper.from_array(values, name))

    matrix("extra/first", HIDDEN, WIDE)
    matrix("extra/second", WIDE, HIDDEN)
    graph.initializer.append(numpy_helper.from_array(numpy.float32(1e-30), "extra/little"))
    last = graph.node[-1]
    assert list(last.output) == ["sentence_embedding"]
    last.output[0] = "extra/answer"
    state = "last_hidden_state"
    for i in range(times):
        wide, back = f"extra/wide{i}", f"extra/back{i}"
        graph.node.append(helper.make_node("MatMul", [state, "extra/first"], [wide], f"extra/First{i}"))
        graph.node.append(helper.make_node("MatMul", [wide, "extra/second"], [back], f"extra/Second{i}"))
        state = back
    graph.node.extend(
        [
            helper.make_node("ReduceMean", [state], ["extra/mean"], "extra/Mean", axes=[1], keepdims=0),
            helper.make_node("Mul", ["extra/mean", "extra/little"], ["extra/part"], "extra/Mul"),
            helper.make_node("Add", ["extra/answer", "extra/part"], ["sentence_embedding"], "extra/Add"),
        ]
    )
    onnx.save(loaded, path)


def make_all(model: str, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for percent, times in TIMES.items():
        make_twin(model, times, folder / f"slower{percent}.onnx")


def bounds(values: list[float]) -> tuple[float, float]:
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(1000))
    return medians[25], medians[974]


def tell(rows: list[dict[str, Any]]) -> None:
    print(f"{'threshold':>9}{'truly slower':>26}{'comparisons':>13}{'called':>8}{'blocks':>8}{'detects':>9}")
    for percent, threshold in sorted(set(CASES), key=lambda case: (case[1], -case[0])):
        chosen = [
            row["latency"] for row in rows if (row["percent"], row["threshold"]) == (percent, threshold)
        ]
        if not chosen:
            continue
        logs = [math.log(ratio) for latency in chosen for ratio in latency["block_ratios"]]
        low, high = bounds(logs)
        truth = f"{math.expm1(statistics.median(logs)):.1%} [{math.expm1(low):.1%}, {math.expm1(high):.1%}]"
        called = sum(latency["verdict"] == "regressed" for latency in chosen)
        detects = statistics.median(latency["detectable"] for latency in chosen)
        blocks = len(logs) / len(chosen)
        print(f"{threshold:8}%{truth:>26}{len(chosen):13}{called:8}{blocks:8.1f}{detects:9.1%}")
    if rows:
        loads = [row["load_average"] for row in rows]
        steals = [row["steal"] for row in rows]
        print(
            f"load average {min(loads):.1f} to {max(loads):.1f}, steal {min(steals):.1%} to {max(steals):.1%}"
        )


def main() -> None:
    parser = arguments(300, "gate_slowed.jsonl")
    parser.add_argument("--twins", type=Path, help="their folder")
    parser.add_argument("--make", action="store_true", help="only make the twins")
    args = parser.parse_args()
    if args.make:
        make_all(args.model, args.twins)
        return
    rows = read(args.data)
    if args.tell:
        tell(rows)
        return
    end = time.time() + args.until

    def one(number: int) -> dict[str, Any] | None:
        if time.time() >= end:
            return None
        percent, threshold = CASES[number % len(CASES)]
        twin = str(args.twins / f"slower{percent}.onnx")
        options = [*args.options, "--change", f"{threshold}%"]
        case = {"number": number, "percent": percent, "threshold": threshold}
        return {**case, **compare(args.tare, args.model, twin, options)}

    with ThreadPoolExecutor(args.at_once) as pool:
        for row in pool.map(one, range(len(rows), args.count)):
            if row:
                append(args.data, row)


if __name__ == "__main__":
    main()
