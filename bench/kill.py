# SPDX-License-Identifier: Apache-2.0
"""What a kill costs: python bench/kill.py [-n TIMES] [--tare COMMAND], with an interpreter that has tare.

A program that counts its own calls in shared memory is killed at random moments: the program, the parent,
both, and, where a memory group can be made, by the kernel for want of memory. Each time `tare report` opens
what is there, and its calls are held against the program's own count. One event per thread may be missing.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

PROGRAM = """
import mmap, os, sys
file = os.open("count", os.O_RDWR | os.O_CREAT)
os.ftruncate(file, 8)
shared = memoryview(mmap.mmap(file, 8)).cast("Q")
with open("pid", "w") as out:
    out.write(str(os.getpid()))
os.rename("pid", "ready")

def leaf():
    pass

def outer():
    leaf()

count, hoard = 0, []
while True:
    outer()
    count += 1
    shared[0] = count
    if len(sys.argv) > 1 and count % 100 == 0:
        hoard.append(bytearray(1 << 20))
"""
GROUPS = Path("/sys/fs/cgroup")


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            raise SystemExit("nothing happens")
        time.sleep(0.002)


def memory_group() -> Path | None:
    """A control group with little memory, of either version; None where none can be made."""
    name = f"tare-kill-{os.getpid()}"
    for folder, limit in ((GROUPS / "memory", "memory.limit_in_bytes"), (GROUPS, "memory.max")):
        try:
            (folder / name).mkdir()
        except OSError:
            continue
        try:
            (folder / name / limit).write_text("67108864")
            if limit == "memory.max":
                (folder / name / "memory.oom.group").write_text("1")
            return folder / name
        except OSError:
            (folder / name).rmdir()
    return None


def trial(tare: str, folder: Path, victim: str, group: Path | None) -> int:
    """Kill once; returns how many of the program's calls are missing, or raises."""
    words = [tare, "run", "--python", sys.executable, "--keep", str(folder / "program.py")]
    if group:
        join = f'echo $$ >"{group}/cgroup.procs" && exec "$@"'
        words = ["sh", "-c", join, "x", *words, "hoard"]
    parent = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until((folder / "ready").exists)
    pid = int((folder / "ready").read_text())
    if not group:
        time.sleep(random.uniform(0, 0.2))
        if victim != "program":
            parent.kill()
        if victim == "parent":
            before = (folder / "count").read_bytes()
            wait_until(lambda: (folder / "count").read_bytes() != before)
        os.kill(pid, signal.SIGKILL)
    parent.wait()
    wait_until(lambda: not Path(f"/proc/{pid}").exists())
    made = int.from_bytes((folder / "count").read_bytes(), sys.byteorder)
    (captures,) = folder.glob(".tare-*")
    shown = subprocess.run([tare, "report", captures], capture_output=True, text=True, check=True)
    calls = {
        m[2]: int(m[1]) for m in re.finditer(r"^ +(\d+) .*\((outer|leaf)\)$", shown.stdout, re.MULTILINE)
    }
    for path in ("ready", "count"):
        (folder / path).unlink()
    shutil.rmtree(captures)
    for name in ("outer", "leaf"):
        if not made - 1 <= calls.get(name, 0) <= made + 1:
            raise SystemExit(f"{victim}: {made} calls were made, {calls} are there")
    return sum(calls.get(name, 0) < made for name in ("outer", "leaf"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("-n", type=int, default=50, help="how often each (default: 50)")
    parser.add_argument(
        "--tare", default=shutil.which("tare", path=os.path.dirname(sys.executable)) or "tare"
    )
    options = parser.parse_args()
    print(f"Python {sys.version.split()[0]}, {options.n} times each")
    group = memory_group()
    with tempfile.TemporaryDirectory(prefix="tare-kill-", dir=".") as top:
        folder = Path(top).resolve()
        (folder / "program.py").write_text(PROGRAM)
        for victim in ("program", "parent", "both", "out of memory"):
            if victim == "out of memory" and not group:
                print("out of memory: not tried, no control group can be made here")
                continue
            times = options.n if victim != "out of memory" else min(options.n, 10)
            missing = [
                trial(options.tare, folder, victim, group if victim == "out of memory" else None)
                for _ in range(times)
            ]
            print(
                f"{victim}: killed {times} times, opened {len(missing)} times, "
                f"{sum(missing)} times an event was missing"
            )
    if group:
        group.rmdir()


if __name__ == "__main__":
    main()
