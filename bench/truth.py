# SPDX-License-Identifier: Apache-2.0
"""How true are the shares? python bench/truth.py [-n RUNS] [--json] [SCRIPT...], of the Python that runs it.

Each script has parts whose shares are known: they are timed with nothing recorded, before and after the
recorded run, in the same process. Then they are read from cProfile, from tare's times as recorded, and from
those with the cost of recording taken off. Every run is a process of its own. A part's share is that of the
function and all that it calls. On a busy machine a part is now and then stopped in the middle: such times
are left out of the true shares, but not of the true time of the whole, which waits like the recorded one.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any

PLAIN = """
def plain(n):
    x = 1
    for i in range(n):
        x = (x * 3 + i) % 1021
        if x > 500:
            x -= 7
"""

# Name -> source; `parts` lists what is compared. Each takes some hundred microseconds, and they take turns.
SCRIPTS = {
    "three": """
def f(x):
    return x + 1

def calls():
    for i in range(7500):
        f(i)

def loop():
    plain(30000)

def append():
    for _ in range(10):
        x = []
        for i in range(1000):
            x.append(i)

parts = [calls, loop, append]
""",
    "methods": """
class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y
    def norm(self):
        return self.x * self.x + self.y * self.y
    def scaled(self, by):
        return self.norm() * by
    def __add__(self, other):
        return self.x + other.x
    @property
    def left(self):
        return self.x

def methods():
    p = Point(1, 2)
    for i in range(3750):
        p.scaled(i)

def objects():
    for i in range(2000):
        Point(i, i)

def special():
    p = Point(1, 2)
    for i in range(2500):
        p + p
        p.left

def loop():
    plain(15000)

parts = [methods, objects, special, loop]
""",
    "keywords": """
def with_default(a, b=2):
    return a + b

def with_keywords(a, *, b=1, c=2):
    return a + b + c

def with_rest(*args, **more):
    return args

def defaults():
    for i in range(3750):
        with_default(i)
        with_default(i, b=3)

def keywords():
    for i in range(3000):
        with_keywords(i, c=3)

def rest():
    for i in range(2000):
        with_rest(i, i, x=i)

def by_key():
    sorted(range(5000), key=lambda v: -v)

def loop():
    plain(15000)

parts = [defaults, keywords, rest, by_key, loop]
""",
    "generators": """
def count(n):
    for i in range(n):
        yield i

def consume():
    for _ in count(10000):
        pass

def summed():
    sum(i for i in range(10000))

def pairs(n):
    for i in count(n):
        yield i, i

def nested():
    for _ in pairs(3750):
        pass

def loop():
    plain(15000)

parts = [consume, summed, nested, loop]
""",
    "exceptions": """
def fails(x):
    raise ValueError(x)

def passes(x):
    return x

def caught():
    for i in range(2000):
        try:
            fails(i)
        except ValueError:
            pass

def deep(x):
    return fails(x)

def far():
    for i in range(1000):
        try:
            deep(i)
        except ValueError:
            pass

def fine():
    for i in range(5000):
        try:
            passes(i)
        except ValueError:
            pass

def loop():
    plain(15000)

parts = [caught, far, fine, loop]
""",
    "builtins": """
def sizes():
    x = [1, 2, 3]
    for i in range(5000):
        len(x)
        isinstance(i, int)

def lookups():
    d = {1: 2}
    for i in range(3000):
        d.get(i)
        abs(i)

def text():
    for i in range(1250):
        " ".join(("a", "b", "c")).startswith("a")

def types():
    for i in range(2500):
        str(i)
        float(i)

def big():
    x = list(range(2000))
    for i in range(60):
        sum(x)
        max(x)

def loop():
    plain(15000)

parts = [sizes, lookups, text, types, big, loop]
""",
}

BLOCKS = 6  # recorded and not by turns: the machine is not always equally fast
ROUNDS = 6  # of all parts in a block


def names_of(script: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(PLAIN + SCRIPTS[script], script, "exec"), names)
    return names


def shares(times: dict[str, float]) -> dict[str, float]:
    whole = sum(times.values())
    return {name: 100 * value / whole for name, value in times.items()}


def undisturbed(values: list[float]) -> float:
    """The mean of those that nobody stopped. A slow processor was seen to double a time, a wait does more."""
    fastest = sorted(values)[1]
    kept = [value for value in values if value < 2.2 * fastest]
    return sum(kept) / len(kept)


def all_parts(parts: list[Any], rounds: int) -> None:
    for _ in range(rounds):
        for part in parts:
            part()


def timed(parts: list[Any], rounds: int, into: dict[str, list[float]]) -> None:
    clock = time.perf_counter
    for _ in range(rounds):
        for part in parts:
            begin = clock()
            part()
            into[part.__name__].append(clock() - begin)


def of_cprofile(profile: cProfile.Profile, parts: list[Any]) -> dict[str, float]:
    wanted = {part.__code__: part.__name__ for part in parts}
    return {wanted[row.code]: row.totaltime for row in profile.getstats() if row.code in wanted}


def of_tare(path: str, script: str, parts: list[Any]) -> tuple[dict[str, float], list[str]]:
    from tare import _core

    result = _core.load(path)
    wanted = {part.__name__ for part in parts}
    rows = result.functions()[2]
    return {row[2]: row[6] / 1e9 for row in rows if row[0] == script and row[2] in wanted}, result.notes()


def uncalibrate(folder: str) -> str:
    """Captures that have no calibration are read as they were recorded. Returns a calibration."""
    calibration = ""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            data = file.read()
        with open(path, "wb") as file:
            file.write(data.replace(b"calibration", b"-----------"))
        at = data.find(b"dilation")
        calibration = data[at : data.find(b"\0", at)].decode()
    return calibration


def printed_errors(notes: list[str]) -> tuple[float, float]:
    """What tare says of itself: "the 0.2 s left are right to about 4 %, shares of it to about 2 points"."""
    found = [re.search(r"right to about ([0-9]+) %, shares of it to about ([0-9]+) point", n) for n in notes]
    match = next((match for match in found if match), None)
    if not match:
        raise SystemExit(f"no error was printed: {notes}")
    return float(match.group(1)), float(match.group(2))


def judge(script: str) -> dict[str, Any]:
    """One run, in this process."""
    from tare import _core

    # Code of its own for each: what was recorded once has lost what the interpreter knew about it.
    unrecorded, parts, cprofiled = (names_of(script)["parts"] for _ in range(3))
    for each in (unrecorded, parts, cprofiled):
        all_parts(each, 3)
    plain: dict[str, list[float]] = {part.__name__: [] for part in parts}
    profile = cProfile.Profile()
    started = 0.0
    folder = tempfile.mkdtemp(prefix="tare-truth-")
    try:
        for _ in range(BLOCKS):
            begin = time.perf_counter()
            _core.start(folder)
            started = max(started, time.perf_counter() - begin)
            all_parts(parts, ROUNDS)
            _core.stop()
            timed(unrecorded, ROUNDS, plain)
            profile.enable()
            all_parts(cprofiled, ROUNDS)
            profile.disable()
            timed(unrecorded, ROUNDS, plain)
        peer = of_cprofile(profile, cprofiled)
        corrected, notes = of_tare(folder, script, parts)
        calibration = uncalibrate(folder)
        raw, _ = of_tare(folder, script, parts)
    finally:
        shutil.rmtree(folder)
    seconds = {name: sum(values) / 2 for name, values in plain.items()}
    return {
        "script": script,
        "seconds": seconds,
        "truth": shares({name: undisturbed(values) for name, values in plain.items()}),
        "cprofile": shares(peer),
        "raw": shares(raw),
        "raw_seconds": raw,
        "corrected_seconds": corrected,
        "corrected": shares(corrected),
        "left": sum(corrected.values()) / sum(seconds.values()),
        "error": printed_errors(notes)[0],
        "share_error": printed_errors(notes)[1],
        "notes": notes,
        "calibration": calibration,
        "started": started,
        "load": os.getloadavg()[0],
    }


def ask(script: str) -> dict[str, Any]:
    """The same in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--one", script],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    return dict(json.loads(done.stdout))


def off(run: dict[str, Any], way: str) -> float:
    """The largest distance from the truth, in points."""
    return max(abs(run[way][name] - share) for name, share in run["truth"].items())


def stolen_seconds() -> float:
    """What the host took from this machine's processors."""
    with open("/proc/stat") as file:
        return int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


def middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scripts", nargs="*")
    parser.add_argument("-n", type=int, default=5, help="runs of each script")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(judge(options.one)))
        return
    scripts = options.scripts or list(SCRIPTS)
    stolen, began = stolen_seconds(), time.monotonic()
    runs = [ask(script) for _ in range(options.n) for script in scripts]
    stolen = (stolen_seconds() - stolen) / (time.monotonic() - began) / (os.cpu_count() or 1)
    if options.json:
        print(json.dumps(runs))
        return
    print(
        f"CPython {sys.version.split()[0]}: shares in points, medians of {options.n} runs; "
        f"load {middle([run['load'] for run in runs]):.1f}, steal {100 * stolen:.1f} %"
    )
    print(f"{'script':<11} {'part':<9} {'truth':>6} {'cProfile':>9} {'raw':>6} {'tare':>6} {'off by':>7}")
    for script in scripts:
        own = [run for run in runs if run["script"] == script]
        for part in own[0]["truth"]:
            row = [
                middle([run[way][part] for run in own]) for way in ("truth", "cprofile", "raw", "corrected")
            ]
            away = [abs(run["corrected"][part] - run["truth"][part]) for run in own]
            print(
                f"{script:<11} {part:<9} {row[0]:6.1f} {row[1]:9.1f} {row[2]:6.1f} {row[3]:6.1f} "
                f"{middle(away):7.1f} (worst {max(away):.1f})"
            )
        worst = {way: middle([off(run, way) for run in own]) for way in ("cprofile", "raw", "corrected")}
        shares_covered = sum(off(run, "corrected") <= run["share_error"] for run in own)
        covered = sum(100 * abs(run["left"] - 1) <= run["error"] for run in own)
        print(
            f"{script:<11} worst part: cProfile {worst['cprofile']:.1f}, raw {worst['raw']:.1f}, "
            f"tare {worst['corrected']:.1f}; printed {middle([run['share_error'] for run in own]):.0f}, "
            f"covers {shares_covered} of {len(own)} runs\n"
            f"{'':<11} in all: {middle([run['left'] for run in own]):.2f} of the truth; "
            f"printed {middle([run['error'] for run in own]):.0f} %, covers {covered}"
        )
    print(
        f"worst part of all {max(off(run, 'corrected') for run in runs):.1f}; of {len(runs)} runs "
        f"{sum(off(run, 'corrected') <= 2 for run in runs)} within 2 points, shares covered in "
        f"{sum(off(run, 'corrected') <= run['share_error'] for run in runs)}, the time in "
        f"{sum(100 * abs(run['left'] - 1) <= run['error'] for run in runs)}"
    )


if __name__ == "__main__":
    main()
