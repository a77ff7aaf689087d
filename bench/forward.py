# SPDX-License-Identifier: Apache-2.0
"""What a forward pass costs when it is recorded. python bench/forward.py [-n ROUNDS] [--json]; needs torch.

One process. Each round runs a few batches four times: unrecorded, recorded, and unrecorded twice more as a
control. What is compared is processor time, of all threads, because the machine may be shared. The control
says what a difference means here: nothing was switched on between its two halves. The model is small and so
is its input (6 layers of 256, 16 tokens): a larger one makes as many calls, and hides them better.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import sys
import tempfile
import time
from typing import Any

from tare import _core


def forward_pass(threads: int, tokens: int) -> Any:
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(threads)
    layer = torch.nn.TransformerEncoderLayer(
        d_model=256, nhead=8, dim_feedforward=1024, dropout=0.0, batch_first=True
    )
    model = torch.nn.TransformerEncoder(layer, num_layers=6, enable_nested_tensor=False)
    model.train(False)
    batch = torch.randn(1, tokens, 256)
    mask = torch.zeros(tokens, tokens)

    def once() -> None:
        with torch.no_grad():
            # Training's path: the other one is a single call of C++.
            torch.nn.Module.__call__(model, batch, mask=mask)

    return once


def cpu_seconds(once: Any, batches: int) -> float:
    begin = time.process_time()
    for _ in range(batches):
        once()
    return time.process_time() - begin


def quartiles(values: list[float]) -> tuple[float, float, float]:
    ordered = sorted(values)
    count = len(ordered)
    return ordered[count // 4], ordered[count // 2], ordered[(3 * count) // 4]


def bounds(values: list[float]) -> tuple[float, float]:
    """Between which two values the median lies, with 95 % confidence, whatever the distribution."""
    ordered = sorted(values)
    count, below, rank = len(ordered), 0.0, 0
    while rank < count // 2 and below + math.comb(count, rank) / 2**count <= 0.025:
        below += math.comb(count, rank) / 2**count
        rank += 1
    rank = max(rank - 1, 0)
    return ordered[rank], ordered[count - 1 - rank]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=41, help="rounds")
    parser.add_argument("--batches", type=int, default=8, help="in a quarter of a round")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    once = forward_pass(options.threads, options.tokens)
    folder = tempfile.mkdtemp(prefix="tare-forward-")
    ratios: dict[str, list[float]] = {"recorded": [], "control": []}
    calls = 0
    try:
        os.unlink(_core.start(folder) and _core.stop())  # calibrates, once per process
        cpu_seconds(once, options.batches)
        for number in range(options.n):
            # The order turns, so that what comes first gains nothing by it.
            times = {}
            for way in ("plain", "recorded") if number % 2 else ("recorded", "plain"):
                if way == "recorded":
                    path = _core.start(folder)
                times[way] = cpu_seconds(once, options.batches)
                if way == "recorded":
                    _core.stop()
                    if not calls:
                        calls = sum(row[4] for row in _core.load(path).functions()[2]) // options.batches
                    os.unlink(path)
            ratios["recorded"].append(times["recorded"] / times["plain"])
            halves = [cpu_seconds(once, options.batches) for _ in range(2)]
            ratios["control"].append(halves[1] / halves[0])
        batch_ms = 1000 * halves[0] / options.batches
    finally:
        shutil.rmtree(folder)
    result = {name: (*quartiles(values), *bounds(values)) for name, values in ratios.items()}
    if options.json:
        print(json.dumps({"batch_ms": batch_ms, "calls": calls, **result}))
        return
    print(
        f"CPython {sys.version.split()[0]}, {options.threads} thread(s): a batch takes {batch_ms:.1f} ms and "
        f"makes {calls} calls; processor time against the same unrecorded, medians of {options.n} rounds"
    )
    for name, (low, median, high, least, most) in result.items():
        print(f"{name:<9} {median:.4f} [{least:.4f}, {most:.4f}], quartiles {low:.3f} to {high:.3f}")


if __name__ == "__main__":
    main()
