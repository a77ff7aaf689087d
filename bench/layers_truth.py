# SPDX-License-Identifier: Apache-2.0
"""Are the times of layers true?

Three models of few large nodes and many tiny ones, whose parts also exist as models of their own
(tests/models/build.py): the share of the large part as the runtime's own profiler has it, as tare has it
after taking the profiler's tax off, and the truth, from the parts run alone in turn. Then a real model:
the sum of the corrected times against the time of an unprofiled call.

    python bench/layers_truth.py --tare build/src/tare --built FOLDER [--model minilm.onnx] [--ort LIBRARY]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

MIXES = ("mix_tiny", "mix_even", "mix_large")


def bench(ask: argparse.Namespace, model: Path, seconds: float, *options: str) -> dict[str, Any]:
    """What tare says of a model, with one configuration."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "run.json"
        command = [ask.tare, "bench", str(model), "--threads", str(ask.threads), "--time", f"{seconds}s"]
        command += ["--no-memory", "--no-answers", "--no-advice", "-o", str(output), *options]
        command += ["--ort", ask.ort]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(command)}: {done.stderr}")
        found: dict[str, Any] = json.loads(output.read_text())
        for note in found.get("notes", []):
            if note.startswith("Layers"):
                print(note, file=sys.stderr)
        return found


def calls_ns(ask: argparse.Namespace, *models: Path) -> list[list[float]]:
    """What calls of models take, measured in turn, several times (bench/parts_truth.c)."""
    command = [ask.parts, ask.tare, ask.ort, ask.threads, ask.seconds, *models]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return [[float(word) for word in line.split()] for line in done.stdout.splitlines()]


def share_of(nodes: list[dict[str, Any]], key: str, start: str) -> float:
    def time(node: dict[str, Any]) -> float:
        value = node[key]
        return float(value["value"] if isinstance(value, dict) else value)

    return 100 * sum(time(n) for n in nodes if n["name"].startswith(start)) / sum(time(n) for n in nodes)


def mix(ask: argparse.Namespace, name: str) -> list[float]:
    """Shares of the large part in percent: true, as the profiler says, corrected; microseconds of both parts
    alone, and of a call of the mix, which must agree for the truth to be one."""
    models = [ask.built / f"{part}.onnx" for part in ("add", f"{name}_large", f"{name}_tiny", name)]
    true, raw, corrected, alone, together = [], [], [], [], []
    before = calls_ns(ask, *models)
    for _ in range(ask.rounds):
        run = bench(ask, models[-1], ask.time, "--batch", "1", "--runs", "20")
        after = calls_ns(ask, *models)  # the truth is measured before and after, the machine changes
        parts = before + after
        before = after
        layers = run["configurations"][0]["layers"]
        true.append(
            statistics.median(
                100 * (large - fixed) / (large + tiny - 2 * fixed) for fixed, large, tiny, _ in parts
            )
        )
        raw.append(share_of(layers["nodes"], "raw_ns", "/large/"))
        corrected.append(share_of(layers["nodes"], "time_ns", "/large/"))
        alone.append(statistics.median(large + tiny - fixed for fixed, large, tiny, _ in parts) / 1e3)
        together.append(statistics.median(whole for *_, whole in parts) / 1e3)
    return [statistics.median(values) for values in (true, raw, corrected, alone, together)]


def main() -> int:
    parser = argparse.ArgumentParser(description="Are the times of layers true?")
    parser.add_argument("--tare", default="build/src/tare")
    parser.add_argument("--built", type=Path, required=True, help="folder of tests/models/build.py")
    parser.add_argument("--model", type=Path, help="a real model, such as all-MiniLM-L6-v2")
    parser.add_argument("--dim", default="seq=16")
    parser.add_argument("--ort", default=os.environ.get("TARE_ORT"), help="the runtime (default: TARE_ORT)")
    parser.add_argument("--parts", default="build/bench/parts_truth", help="the program that times the parts")
    parser.add_argument("--seconds", type=float, default=3, help="for the parts, before and after each round")
    parser.add_argument("--time", type=float, default=20, help="for tare bench, in seconds")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--mix", choices=(*MIXES, "none"), action="append", help="only this one, or none")
    ask = parser.parse_args()
    if not ask.ort:
        parser.error("--ort or TARE_ORT must name the runtime")
    bad = 0
    print(
        "model     | true share of the large part | profiler's | corrected | off by | parts (us) | mix (us)"
    )
    for name in (n for n in ask.mix or MIXES if n != "none"):
        true, raw, corrected, alone, together = mix(ask, name)
        off = corrected - true
        bad += abs(off) > 3
        print(
            f"{name:9} | {true:26.1f} % | {raw:8.1f} % | {corrected:7.1f} % | {off:+6.1f} | {alone:10.0f} | "
            f"{together:8.0f}",
            flush=True,
        )
    if ask.model:
        print(
            "\nreal model | call, unprofiled (ms) | sum as profiled | sum corrected | residual | tax per node"
        )
        for _ in range(ask.rounds):
            run = bench(ask, ask.model, ask.time, "--batch", "1", "--dim", ask.dim, "--runs", "20")
            layers = run["configurations"][0]["layers"]
            plain = layers["sum_ns"] + layers["residual_ns"]
            raw_sum = sum(n["raw_ns"] for n in layers["nodes"])
            tax = layers["tax_ns"]["value"] / 1e3
            residual = 100 * layers["residual_ns"] / plain
            bad += abs(residual) > 5
            print(
                f"{ask.model.stem:10} | {plain / 1e6:21.3f} | {raw_sum / 1e6:15.3f} | "
                f"{layers['sum_ns'] / 1e6:13.3f} | {residual:+6.1f} % | {tax:6.2f} us",
                flush=True,
            )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
