# SPDX-License-Identifier: Apache-2.0
"""What a harness adds to a call of ONNX Runtime: tare's timed loop and a Python one, against a bare C loop.

    python bench/ort_floor.py BUILD MODEL [NAME=VALUE]... [-- MODEL [NAME=VALUE]...]...

with the interpreter whose onnxruntime is to be used. `ort_floor` of the BUILD folder compares tare's loop
with the bare one, interleaved over one session; then the usual Python harness, perf_counter_ns around
session.run, and one around run_with_iobinding, are timed on a session of their own. One thread.
"""

from __future__ import annotations

import itertools
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime as ort

ROUNDS, SECONDS = 60, 4.0
NUMPY = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(double)": np.float64}


def timed(call: Callable[[], object]) -> float:
    """The median of what a call takes, in nanoseconds."""
    end, samples = time.perf_counter() + SECONDS, []
    for _ in range(5):
        call()
    while time.perf_counter() < end:
        start = time.perf_counter_ns()
        call()
        samples.append(time.perf_counter_ns() - start)
    return statistics.median(samples)


def in_python(model: str, dims: dict[str, int]) -> tuple[float, float]:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feed = {
        given.name: np.ones(
            [size if isinstance(size, int) else dims.get(size or "", 1) for size in given.shape],
            NUMPY[given.type],
        )
        for given in session.get_inputs()
    }
    binding = session.io_binding()
    for name, array in feed.items():
        binding.bind_cpu_input(name, array)
    for output in session.get_outputs():
        binding.bind_output(output.name)
    return timed(lambda: session.run(None, feed)), timed(lambda: session.run_with_iobinding(binding))


def main() -> None:
    build, *words = sys.argv[1:]
    library = next(Path(ort.__file__).parent.glob("capi/libonnxruntime.so.*"))
    groups = [list(group) for ends, group in itertools.groupby(words, lambda word: word == "--") if not ends]
    for model, *settings in groups:
        command = [f"{build}/bench/ort_floor", str(library), model, "1", str(ROUNDS), "1", *settings]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        bare = float(re.search(r"bare loop +(\d+)", output)[1])  # type: ignore[index]
        difference = re.search(r"difference +(.*)", output)[1]  # type: ignore[index]
        whole, bound = in_python(model, {name: int(n) for name, n in (s.split("=") for s in settings)})
        print(f"{Path(model).name} {' '.join(settings)} (ONNX Runtime {ort.__version__})")
        print(f"  bare loop in C               {bare:12,.0f} ns")
        print(f"  tare, minus the bare loop    {difference}")
        print(f"  Python, run_with_iobinding   {bound - bare:+12,.0f} ns")
        print(f"  Python, session.run          {whole - bare:+12,.0f} ns", flush=True)


main()
