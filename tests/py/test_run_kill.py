# SPDX-License-Identifier: Apache-2.0
"""Whoever is killed, and whenever: what was recorded until then is there, and opens.

TARE_KILLS says how often each (10): 50 take three minutes.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from launching import Launcher

TIMES = int(os.environ.get("TARE_KILLS", "10"))
GROUPS = Path("/sys/fs/cgroup")

# Counts its own calls in shared memory, so that it is known how many there were when it died.
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
        leaf()

    count, hoard = 0, []
    while True:
        outer()
        count += 1
        shared[0] = count
        if len(sys.argv) > 1 and count % 100 == 0:
            hoard.append(bytearray(1 << 20))
"""


def calls(table: str, name: str) -> int:
    found = re.search(rf"^ +(\d+)(?:/\d+)? .*\({name}\)$", table, re.MULTILINE)
    return int(found[1]) if found else 0


def wait_until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.002)


@pytest.fixture
def memory_group() -> Iterator[Path]:
    """A control group with little memory, of either version, whose processes die together."""
    name = f"tare-kill-{os.getpid()}"
    for folder, limit in ((GROUPS / "memory", "memory.limit_in_bytes"), (GROUPS, "memory.max")):
        group = folder / name
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / limit).write_text("67108864")
            if limit == "memory.max":
                (group / "memory.oom.group").write_text("1")
            yield group
            return
        except OSError:
            continue
        finally:
            group.rmdir()
    pytest.skip("no control group can be made here: run as root, where the groups can be written")


def check_what_is_left(launcher: Launcher, victim: str, said: str) -> None:
    """After the kill: nothing is missing but what was being written, and it is cleared away."""
    (folder,) = launcher.captures()
    shown = launcher.report(folder)
    assert shown.returncode == 0, shown.stderr
    outer, leaf = calls(shown.stdout, "outer"), calls(shown.stdout, "leaf")
    if victim == "program":
        assert calls(said, "outer") == outer, said
    made = int.from_bytes((launcher.folder / "count").read_bytes(), sys.byteorder)
    # At most the one event that was being written is missing; a call may have begun after the last count.
    assert made <= outer <= made + 1, (made, outer)
    assert 2 * made <= leaf + 1 <= 2 * made + 3, (made, leaf)
    assert "open" in shown.stderr, "calls that were open are said to be"
    shutil.rmtree(folder)
    for name in ("ready", "count"):
        (launcher.folder / name).unlink()


@pytest.mark.parametrize("victim", ["program", "parent", "both"])
def test_nothing_is_lost(launcher: Launcher, victim: str) -> None:
    moments = random.Random(victim)
    launcher.script(PROGRAM)
    for _ in range(TIMES):
        words = launcher.tare("--keep", "program.py")
        with launcher.start(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as parent:
            wait_until((launcher.folder / "ready").exists, "the program did not start")
            pid = int((launcher.folder / "ready").read_text())
            time.sleep(moments.uniform(0, 0.2))
            if victim != "program":
                parent.kill()
            if victim == "parent":
                # Nobody harmed: the program runs on.
                before = (launcher.folder / "count").read_bytes()
                wait_until(lambda old=before: (launcher.folder / "count").read_bytes() != old, "it stopped")
            os.kill(pid, signal.SIGKILL)
            out, _ = parent.communicate(timeout=60)
        wait_until(lambda path=Path(f"/proc/{pid}"): not path.exists(), "the program did not die")
        assert parent.returncode == (128 + signal.SIGKILL if victim == "program" else -signal.SIGKILL)
        check_what_is_left(launcher, victim, out)


def test_nothing_is_lost_when_memory_runs_out(launcher: Launcher, memory_group: Path) -> None:
    launcher.script(PROGRAM)
    join = ["sh", "-c", f'echo $$ >"{memory_group}/cgroup.procs" && exec "$@"', "x"]
    for _ in range(min(TIMES, 10)):
        launcher.finish([*join, *launcher.tare("--keep", "program.py", "hoard")])
        pid = int((launcher.folder / "ready").read_text())
        wait_until(lambda path=Path(f"/proc/{pid}"): not path.exists(), "the program did not die")
        check_what_is_left(launcher, "whoever the kernel chose", "")
