# SPDX-License-Identifier: Apache-2.0
"""How true the harness is: its median beside a bare C loop over the same session, and Python's loops.

    python bench/ort_floor.py --program build/bench/ort_floor [--repeat N] [--check]

Needs an environment with numpy and onnxruntime, whose library the C loops (bench/ort_floor.c) use too. In
each repetition the C loops and Python's run once, in turn, with one thread and the same shapes. --check
fails when the harness is more than 1 % (MiniLM, batch 1) or 150 ns (a model of a few microseconds) away.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "models"))
import fetch

RUNS = onnxruntime.InferenceSession
KINDS = {"tensor(float)": np.float32, "tensor(int64)": np.int64}

# model, free dimensions, rounds of the C loops, calls of Python's, the most that the harness may differ
CASES: tuple[tuple[str, dict[str, int], int, int, str], ...] = (
    ("add", {}, 40, 20000, "150 ns"),
    ("mlp", {}, 40, 8000, "150 ns"),
    ("minilm", {"seq": 16}, 60, 300, "1 %"),
)
LINE = re.compile(r"^(bare loop|harness|difference) +(-?\d+) ns(?: \[(-?\d+), (-?\d+)\])?", re.MULTILINE)


def library() -> str:
    """The library of the onnxruntime that is imported here."""
    folder = Path(onnxruntime.__file__).parent / "capi"
    return str(sorted(folder.glob("libonnxruntime.so.*"))[-1])


def c_loops(program: Path, model: Path, dims: dict[str, int], rounds: int) -> dict[str, float]:
    given = [f"{name}={value}" for name, value in dims.items()]
    done = subprocess.run(
        [program, library(), model, "1", str(rounds), "1", *given],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = {}
    for name, value, low, high in LINE.findall(done.stdout):
        found[name] = float(value)
        if low:
            found["low"], found["high"] = float(low), float(high)
    return found


def session_of(model: Path) -> RUNS:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return RUNS(str(model), options, providers=["CPUExecutionProvider"])


def timed(call: Any, count: int) -> float:
    """The median of so many calls, in nanoseconds, as people time them in Python."""
    clock = time.perf_counter_ns
    spans = []
    for _ in range(count // 10 + 3):
        call()
    for _ in range(count):
        before = clock()
        call()
        spans.append(clock() - before)
    return statistics.median(spans)


def python_loops(session: RUNS, dims: dict[str, int], calls: int) -> dict[str, float]:
    feed = {}
    for given in session.get_inputs():
        shape = [dims.get(d, 1) if isinstance(d, str) else d for d in given.shape]
        feed[given.name] = np.ones(shape, KINDS[given.type])
    binding = session.io_binding()
    for name, array in feed.items():
        binding.bind_cpu_input(name, array)
    for taken in session.get_outputs():
        binding.bind_output(taken.name)
    return {
        "session.run": timed(lambda: session.run(None, feed), calls),
        "run_with_iobinding": timed(lambda: session.run_with_iobinding(binding), calls),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="How far the harness is from a bare loop.")
    parser.add_argument("--program", type=Path, required=True, help="build/bench/ort_floor")
    parser.add_argument("--models", type=Path, default=fetch.cache_folder(), help="with minilm.onnx")
    parser.add_argument("--built", type=Path, help="what tests/models/build.py wrote")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--check", action="store_true", help="fail when the harness is too far away")
    asked = parser.parse_args()
    built = asked.built or asked.models.with_name("models_built")
    print(f"ONNX Runtime {onnxruntime.__version__}, 1 thread; medians of a call in ns, then what each adds\n")
    print(f"{'model':8} {'bare C loop':>12} {'tare':>12} {'adds':>8}  {'session.run':>12} {'adds':>8}  "
          f"{'IoBinding':>12} {'adds':>8}")  # fmt: skip
    worst = 0
    for name, dims, rounds, calls, bound in CASES:
        model = (asked.models if name == "minilm" else built) / f"{name}.onnx"
        session = session_of(model)
        seen: dict[str, list[float]] = {}
        for _ in range(asked.repeat):
            found = c_loops(asked.program, model, dims, rounds)
            found |= python_loops(session, dims, calls)
            for key, value in found.items():
                seen.setdefault(key, []).append(value)
        middle = {key: statistics.median(values) for key, values in seen.items()}
        bare, adds = middle["bare loop"], middle["difference"]
        row = f"{name:8} {bare:12,.0f} {middle['harness']:12,.0f} {adds:8,.0f}"
        for loop in ("session.run", "run_with_iobinding"):
            row += f"  {middle[loop]:12,.0f} {middle[loop] - bare:8,.0f}"
        limit = float(bound.split()[0]) * (bare / 100 if bound.endswith("%") else 1)
        far = abs(adds) > limit
        worst |= far
        print(row)
        bounds = f"[{middle['low']:+,.0f}, {middle['high']:+,.0f}]"
        verdict = ": TOO FAR" if far else ""
        print(f"{'':8} tare: {adds:+,.0f} ns {bounds}, {adds / bare:+.2%}; allowed {bound}{verdict}")
    return int(asked.check and worst)


if __name__ == "__main__":
    sys.exit(main())
