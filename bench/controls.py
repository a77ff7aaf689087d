# SPDX-License-Identifier: Apache-2.0
"""Controls of `tare bench`: python bench/controls.py [-n TIMES] [--tare COMMAND] MODEL [OPTION]...

Twice the same: one configuration listed twice must give the same median within its bounds, in 19 of 20 runs
that were long enough for bounds.
The other way round: a sweep in the opposite order must give the same memory within 3 %. Options go to the
command, for a model that needs a shape.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any


def bench(command: list[str], *options: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [*command, "--json", "--no-answers", "--no-layers", "--no-advice", *options],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)
    configurations: list[dict[str, Any]] = json.loads(done.stdout)["configurations"]
    return configurations


def twice_the_same(command: list[str], times: int, seconds: float) -> bool:
    agreed = judged = 0
    gaps = []
    for number in range(times):
        both = bench(command, "--batch", "8,8", "--no-memory", "--time", f"{seconds}s")
        first, second = (one["latency"]["p50_ns"] for one in both)
        bounded = all("lower" in p50 and "upper" in p50 for p50 in (first, second))
        overlap = bounded and first["lower"] <= second["upper"] and second["lower"] <= first["upper"]
        agreed += overlap
        judged += bounded
        gaps.append(abs(first["value"] / second["value"] - 1))
        texts = [
            f"{p50['value'] / 1e6:.4g} "
            + (
                f"[{p50['lower'] / 1e6:.4g}, {p50['upper'] / 1e6:.4g}]"
                if "upper" in p50 and "lower" in p50
                else "[-]"
            )
            for p50 in (first, second)
        ]
        verdict = "agree" if overlap else "DIFFER" if bounded else "no bounds: too few samples"
        print(f"{number + 1:3}  {texts[0]:>28}  {texts[1]:>28}  {verdict}", flush=True)
    half = 100 * sorted(gaps)[times // 2]
    print(
        f"twice the same: {agreed} of {judged} that have bounds agree, {times - judged} have none;"
        f" half of the medians differ by under {half:.2f} %"
    )
    return judged > 0 and agreed * 20 >= judged * 19


def the_other_way_round(command: list[str], seconds: float) -> bool:
    sweeps = [
        bench(command, "--batch", "1,4,16", "--runs", "5", "--time", f"{seconds}s", *extra)
        for extra in ([], ["--reversed"])
    ]
    worst = 0.0
    for one, other in zip(*sweeps, strict=True):
        growths = [side["memory"]["growth_bytes"]["value"] for side in (one, other)]
        peaks = [side["memory"]["peak_bytes"] for side in (one, other)]
        worst = max(worst, abs(peaks[0] / peaks[1] - 1))
        print(
            f"batch {one['keys']['batch']:3}: peak {peaks[0] / 1e6:.2f} and {peaks[1] / 1e6:.2f} MB,"
            f" growth {growths[0] / 1e6:.2f} and {growths[1] / 1e6:.2f} MB"
        )
    print(f"the other way round: memory differs by at most {100 * worst:.2f} %")
    return worst <= 0.03


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", type=int, default=20, help="how often the same is measured twice")
    parser.add_argument("--seconds", type=float, default=6, help="time of one run")
    parser.add_argument("--tare", default="build/src/tare")
    parser.add_argument("model")
    parser.add_argument("options", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    command = [given.tare, "bench", given.model, *given.options]
    good = the_other_way_round(command, 5 * given.seconds)
    good = twice_the_same(command, given.n, given.seconds) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
