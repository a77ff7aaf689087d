# SPDX-License-Identifier: Apache-2.0
"""False alarms, measured: a model compared with itself, again and again, by `tare compare`.

Every other batch of comparisons runs beside a busy loop on one core. Each result is appended to a file of
JSON lines: the verdict, every process (median, and count, mean and standard deviation of its calls), steal
and load. Two other rules judge the same data: Welch's t-test at 5 % on the pooled calls, and a plain ratio of
the medians of all processes beyond 5 %. With --tell only what is in the file is told, which needs scipy.

    python bench/gate_self.py --tare build/src/tare --model minilm.onnx --count 20 -- --dim seq=16 --blocks 10
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def steal_ticks() -> int:
    return int(Path("/proc/stat").read_text().split("\n", 1)[0].split()[8])


def rounded(value: Any) -> Any:
    """Six digits are more than any of these figures has."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, list):
        return [rounded(item) for item in value]
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return value


def compare(tare: str, base: str, new: str, options: list[str]) -> dict[str, Any]:
    """One comparison: what it says of latency, and what the machine was like meanwhile."""
    began, stolen = time.time(), steal_ticks()
    command = [tare, "compare", base, new, "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        raise SystemExit(done.stderr)
    took = time.time() - began
    latency = next(row for row in json.loads(done.stdout)["rows"] if row["metric"] == "latency")
    for side in ("base", "new"):
        calls = latency.pop(f"calls_{side}")
        latency[f"calls_{side}"] = [[int(one["count"]), one["mean"], one.get("sd", 0.0)] for one in calls]
    return {
        "began": round(began),
        "seconds": round(took, 1),
        "load_average": os.getloadavg()[0],
        "steal": round((steal_ticks() - stolen) / os.sysconf("SC_CLK_TCK") / took / (os.cpu_count() or 1), 4),
        "latency": rounded(latency),
    }


def append(path: Path, row: dict[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")
    print(
        row.get("number"), row["latency"]["verdict"], row["latency"]["cost_ratio"], row["seconds"], flush=True
    )


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def batch(args: argparse.Namespace, first: int) -> list[dict[str, Any]]:
    loaded = first // args.at_once % 2 == 1
    load = None
    if loaded:
        spin = "import os\nos.sched_setaffinity(0, {0})\nwhile True: pass"
        load = subprocess.Popen([sys.executable, "-c", spin])
    try:
        with ThreadPoolExecutor(args.at_once) as pool:
            asked = [
                pool.submit(compare, args.tare, args.model, args.model, args.options)
                for _ in range(args.at_once)
            ]
            return [{"number": first + i, "loaded": loaded, **one.result()} for i, one in enumerate(asked)]
    finally:
        if load:
            load.kill()
            load.wait()


def pooled(calls: list[list[float]]) -> tuple[float, float, int]:
    """Mean, standard deviation and count of all calls of all processes, from those of each."""
    count = sum(int(one[0]) for one in calls)
    mean = sum(one[0] * one[1] for one in calls) / count
    squares = sum((one[0] - 1) * one[2] ** 2 + one[0] * (one[1] - mean) ** 2 for one in calls)
    return mean, math.sqrt(squares / (count - 1)), count


def tell(rows: list[dict[str, Any]]) -> None:
    from scipy.stats import ttest_ind_from_stats

    heads = f"{'comparisons':>12}{'regressed':>11}{'improved':>10}{'same':>6}{'inconclusive':>14}"
    print(f"{'':14}{heads}{'t-test':>8}{'slower':>8}{'5 % ratio':>11}{'slower':>8}")
    for name, chosen in (
        ("as it was", [row for row in rows if not row["loaded"]]),
        ("one core busy", [row for row in rows if row["loaded"]]),
        ("all", rows),
    ):
        kinds = [row["latency"]["verdict"] for row in chosen]
        # Both directions are false alarms: there is no difference. Slower: those that would make a gate red.
        tests = tests_slower = ratios = ratios_slower = 0
        for row in chosen:
            base, new = pooled(row["latency"]["calls_base"]), pooled(row["latency"]["calls_new"])
            called = ttest_ind_from_stats(*base, *new, equal_var=False).pvalue < 0.05
            tests += bool(called)
            tests_slower += bool(called and new[0] > base[0])
            medians = [statistics.median(row["latency"][side]) for side in ("costs_base", "costs_new")]
            ratios += abs(medians[1] / medians[0] - 1) > 0.05
            ratios_slower += medians[1] / medians[0] > 1.05
        print(
            f"{name:14}{len(chosen):12}{kinds.count('regressed'):11}{kinds.count('improved'):10}"
            f"{kinds.count('same'):6}{kinds.count('inconclusive'):14}{tests:8}{tests_slower:8}"
            f"{ratios:11}{ratios_slower:8}"
        )
    if rows:
        steals = [row["steal"] for row in rows]
        loads = [row["load_average"] for row in rows]
        blocks = sum(row["latency"]["processes_base"] for row in rows) / len(rows) / 2
        print(
            f"steal {min(steals):.1%} to {max(steals):.1%}; load average {min(loads):.1f} to "
            f"{max(loads):.1f}; {blocks:.1f} blocks a comparison on average"
        )


def arguments(count: int, data: str) -> argparse.ArgumentParser:
    """What every program takes that compares again and again."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tare", default="tare")
    parser.add_argument("--model")
    parser.add_argument("--count", type=int, default=count, help="comparisons in all")
    parser.add_argument("--at-once", type=int, default=1, help="so many comparisons beside each other")
    parser.add_argument("--until", type=float, default=float("inf"), help="begin none after so many seconds")
    parser.add_argument("--data", type=Path, default=HERE / "data" / data)
    parser.add_argument("--tell", action="store_true")
    parser.add_argument("options", nargs="*", help="of tare compare")
    return parser


def main() -> None:
    args = arguments(200, "gate_self.jsonl").parse_args()
    rows = read(args.data)
    end = time.time() + args.until
    while not args.tell and len(rows) < args.count and time.time() < end:
        for row in batch(args, len(rows)):
            rows.append(row)
            append(args.data, row)
    if args.tell:
        tell(rows)


if __name__ == "__main__":
    main()
