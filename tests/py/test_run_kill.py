# SPDX-License-Identifier: Apache-2.0
"""Whoever is killed, and whenever: what was recorded until then is there, and opens."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from launching import Launcher

TIMES = int(os.environ.get("TARE_KILLS", "10"))

# Counts its own calls in shared memory, so that it is known how many there were when it died.
PROGRAM = """
    import mmap, os, struct
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

    count = 0
    while True:
        outer()
        count += 1
        shared[0] = count
"""


def calls(table: str, name: str) -> int:
    found = re.search(rf"^ +(\d+)(?:/\d+)? .*\({name}\)$", table, re.MULTILINE)
    return int(found[1]) if found else 0


def wait_until(condition: object, what: str) -> None:
    end = time.monotonic() + 30
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, what
        time.sleep(0.002)


@pytest.mark.parametrize("victim", ["program", "parent", "both"])
def test_nothing_is_lost(launcher: Launcher, victim: str) -> None:
    moments = random.Random(victim)
    launcher.script(PROGRAM)
    for _ in range(TIMES):
        for name in ("ready", "count"):
            (launcher.folder / name).unlink(missing_ok=True)
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
            out, err = parent.communicate(timeout=60)
        wait_until(lambda path=Path(f"/proc/{pid}"): not path.exists(), "the program did not die")
        (folder,) = launcher.captures()
        shown = launcher.report(folder)
        assert shown.returncode == 0, shown.stderr
        if victim == "program":
            assert parent.returncode == 128 + signal.SIGKILL
            assert calls(out, "outer") == calls(shown.stdout, "outer"), err
        else:
            assert parent.returncode == -signal.SIGKILL
        made = int.from_bytes((launcher.folder / "count").read_bytes(), "little")
        # At most the one event that was being written is missing; a call may have begun after the last count.
        outer, leaf = calls(shown.stdout, "outer"), calls(shown.stdout, "leaf")
        assert made <= outer <= made + 1, (made, outer)
        assert 2 * made <= leaf + 1 <= 2 * made + 3, (made, leaf)
        assert "open" in shown.stderr, "calls that were open are said to be"
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()
