# SPDX-License-Identifier: Apache-2.0
"""What a decorated call costs, beside cProfile switched on and off around the same call.

Run by an interpreter that has tare. The kinds take turns in each round, and the median round counts. The work
is 20 calls of an empty function; "and 3,000 outside" has those calls of it after each decorated one.
"""

from __future__ import annotations

import cProfile
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable

import tare

ROUNDS, CALLS = 15, 200


def leaf() -> None:
    pass


def work() -> None:
    for _ in range(20):
        leaf()


def outside() -> None:
    for _ in range(3000):
        leaf()


profiler = cProfile.Profile()
decorated = tare.profile_function(name="work")(work)


def switched() -> None:
    profiler.enable()
    work()
    profiler.disable()


def with_outside() -> None:
    decorated()
    outside()


def bare_with_outside() -> None:
    work()
    outside()


def ns_per_call(function: Callable[[], None], calls: int) -> float:
    begin = time.perf_counter_ns()
    for _ in range(calls):
        function()
    return (time.perf_counter_ns() - begin) / calls


def main() -> None:
    kinds = {
        "bare": (work, CALLS),
        "decorated": (decorated, CALLS),
        "cProfile on and off": (switched, CALLS),
        "bare and 3,000 outside": (bare_with_outside, 10),
        "decorated and 3,000 outside": (with_outside, 10),
    }
    os.chdir(tempfile.mkdtemp(prefix="tare-bench-"))
    decorated()
    rounds: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(ROUNDS):
        for name, (function, calls) in kinds.items():
            outside()
            rounds[name].append(ns_per_call(function, calls))
    print(f"Python {sys.version.split()[0]}, microseconds per call")
    for name, values in rounds.items():
        print(f"{name:<28}{statistics.median(values) / 1000:10.1f}")


if __name__ == "__main__":
    main()
