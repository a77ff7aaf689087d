# SPDX-License-Identifier: Apache-2.0
"""False alarms, measured: a model compared with itself, again and again, by `tare compare`.

Every other comparison runs beside a busy loop on one core. Each result is appended to a file of JSON lines:
the verdict, the cost of every process, steal and load. Two other rules judge the same data: Welch's t-test at
5 % on the medians of the processes as if they were so many independent calls (single calls are not kept, so
this is milder than pooling them), and a plain ratio of the medians beyond 5 %. With --tell only what is in
the file is told. Needs scipy.

    python bench/gate_self.py --tare build/src/tare --model minilm.onnx --count 20 --dim seq=16
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from scipy.stats import ttest_ind

HERE = Path(__file__).resolve().parent


def steal_ticks() -> int:
    return int(Path("/proc/stat").read_text().split("\n", 1)[0].split()[8])


def compare(args: argparse.Namespace, number: int) -> dict[str, Any]:
    loaded = number % 2 == 1
    load = None
    if loaded:
        spin = "import os\nos.sched_setaffinity(0, {0})\nwhile True: pass"
        load = subprocess.Popen([sys.executable, "-c", spin])
    began, stolen = time.time(), steal_ticks()
    try:
        command = [args.tare, "compare", args.model, args.model, "--json", "--time", args.time]
        for dim in args.dim:
            command += ["--dim", dim]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        if load:
            load.kill()
            load.wait()
    if done.returncode not in (0, 1, 3):
        raise SystemExit(done.stderr)
    took = time.time() - began
    latency = next(row for row in json.loads(done.stdout)["rows"] if row["metric"] == "latency")
    return {
        "number": number,
        "began": round(began),
        "seconds": round(took, 1),
        "loaded": loaded,
        "load_average": os.getloadavg()[0],
        "steal": round((steal_ticks() - stolen) / os.sysconf("SC_CLK_TCK") / took / (os.cpu_count() or 1), 4),
        "status": done.returncode,
        "latency": latency,
    }


def tell(rows: list[dict[str, Any]]) -> None:
    heads = f"{'comparisons':>12}{'regressed':>11}{'improved':>10}{'inconclusive':>14}{'t-test':>8}"
    print(f"{'':14}{heads}{'5 % ratio':>11}")
    for name, chosen in (
        ("quiet", [row for row in rows if not row["loaded"]]),
        ("one core busy", [row for row in rows if row["loaded"]]),
        ("all", rows),
    ):
        kinds = [row["latency"]["verdict"] for row in chosen]
        # Either side is a false alarm for these two: there is no difference.
        tests = ratios = 0
        for row in chosen:
            base, new = row["latency"]["costs_base"], row["latency"]["costs_new"]
            tests += bool(ttest_ind(base, new, equal_var=False).pvalue < 0.05)
            ratios += abs(statistics.median(new) / statistics.median(base) - 1) > 0.05
        print(
            f"{name:14}{len(chosen):12}{kinds.count('regressed'):11}{kinds.count('improved'):10}"
            f"{kinds.count('inconclusive'):14}{tests:8}{ratios:11}"
        )
    if rows:
        steals = [row["steal"] for row in rows]
        blocks = sum(row["latency"]["processes_base"] for row in rows) / len(rows) / 2
        print(f"steal {min(steals):.1%} to {max(steals):.1%}; {blocks:.1f} blocks a comparison on average")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tare", default="tare")
    parser.add_argument("--model")
    parser.add_argument("--dim", action="append", default=[])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--time", default="5min", help="of one comparison, at most")
    parser.add_argument("--until", type=float, default=float("inf"), help="begin none after so many seconds")
    parser.add_argument("--data", type=Path, default=HERE / "data" / "gate_self.jsonl")
    parser.add_argument("--tell", action="store_true")
    args = parser.parse_args()
    rows = [json.loads(line) for line in args.data.read_text().splitlines()] if args.data.exists() else []
    end = time.time() + args.until
    args.data.parent.mkdir(exist_ok=True)
    while not args.tell and len(rows) < args.count and time.time() < end:
        rows.append(compare(args, len(rows)))
        with args.data.open("a") as file:
            file.write(json.dumps(rows[-1]) + "\n")
        print(rows[-1]["number"], rows[-1]["latency"]["verdict"], rows[-1]["seconds"], flush=True)
    tell(rows)


if __name__ == "__main__":
    main()
