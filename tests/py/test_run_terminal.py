# SPDX-License-Identifier: Apache-2.0
"""At a terminal the program is what the user deals with: its input, Ctrl-C and Ctrl-Z, once each."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest
from launching import Launcher

# A shell's part: a session with this terminal, the job in a group of its own in the foreground.
SHELL = """
import os, signal, sys
os.setsid()
import fcntl, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpgrp())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    pid, status = os.waitpid(job, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        break
    os.tcsetpgrp(0, os.getpgrp())
    print(f"[stopped by {os.WSTOPSIG(status)}]", flush=True)
    sys.stdin.readline()
    os.tcsetpgrp(0, job)
    os.killpg(job, signal.SIGCONT)
os.tcsetpgrp(0, os.getpgrp())
print(f"[status {os.waitstatus_to_exitcode(status)}]", flush=True)
"""


class Terminal:
    def __init__(self, launcher: Launcher, words: list[str]) -> None:
        self.master, slave = pty.openpty()
        self.process = launcher.start(
            [str(launcher.python), "-c", SHELL, *words], stdin=slave, stdout=slave, stderr=slave
        )
        os.close(slave)
        self.seen = ""

    def wait_for(self, text: str, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while text not in self.seen:
            assert time.monotonic() < end, f"{text!r} did not come: {self.seen!r}"
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.master, 65536).decode(errors="replace").replace("\r\n", "\n")
                except OSError:
                    assert text in self.seen, f"{text!r} did not come: {self.seen!r}"

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def close(self) -> None:
        os.close(self.master)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


@pytest.fixture
def terminal(launcher: Launcher, request: pytest.FixtureRequest) -> Iterator[Terminal]:
    launcher.script(request.param)
    made = Terminal(launcher, launcher.tare("program.py"))
    yield made
    made.close()


ASKS = """
import sys
print(sys.stdin.isatty(), sys.stdout.isatty())
name = input("name? ")
print("hello", name)
def f0(): pass
"""
ASKS += "".join(f"def f{i + 1}(): f{i}()\n" for i in range(40)) + "f40()\n"


@pytest.mark.parametrize("terminal", [ASKS], indirect=True)
def test_input_works_and_a_terminal_gets_25_rows(terminal: Terminal) -> None:
    terminal.wait_for("name? ")
    terminal.type("you\n")
    terminal.wait_for("[status 0]")
    assert "True True\n" in terminal.seen
    assert "hello you\n" in terminal.seen
    assert re.search(r"List reduced from \d+ to 25 due to restriction <25>", terminal.seen)
    assert len(re.findall(r"program\.py:\d+\(f\d+\)", terminal.seen)) <= 25


INTERRUPTED = """
import signal, time
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(1))
print("ready", flush=True)
while not seen:
    time.sleep(0.01)
time.sleep(0.3)
print("interrupts", len(seen))
signal.signal(signal.SIGINT, signal.default_int_handler)
print("again", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("terminal", [INTERRUPTED], indirect=True)
def test_ctrl_c_reaches_the_program_once(terminal: Terminal) -> None:
    terminal.wait_for("ready")
    terminal.type("\x03")
    terminal.wait_for("again")
    assert "interrupts 1\n" in terminal.seen
    terminal.type("\x03")
    terminal.wait_for("[status")
    assert f"[status {128 + signal.SIGINT}]" in terminal.seen
    assert "KeyboardInterrupt" in terminal.seen
    assert "function calls" in terminal.seen, "there is a profile"


STOPPED = """
import time
print("ready", flush=True)
line = input()
print("got", line)
"""


@pytest.mark.parametrize("terminal", [STOPPED], indirect=True)
def test_ctrl_z_stops_the_job_and_fg_continues_it(terminal: Terminal) -> None:
    terminal.wait_for("ready")
    for _ in range(2):
        terminal.seen = ""
        terminal.type("\x1a")
        terminal.wait_for(f"[stopped by {int(signal.SIGTSTP)}]")
        terminal.type("fg\n")
        time.sleep(0.2)
    terminal.type("on it goes\n")
    terminal.wait_for("got on it goes")
    terminal.wait_for("[status 0]")


DEBUGGED = """
def f(x):
    breakpoint()
    return x + 1
print("result", f(41))
"""


@pytest.mark.parametrize("terminal", [DEBUGGED], indirect=True)
def test_the_debugger_works(terminal: Terminal) -> None:
    terminal.wait_for("(Pdb)")
    terminal.type("p x * 2\n")
    terminal.wait_for("82")
    terminal.type("c\n")
    terminal.wait_for("result 42")
    terminal.wait_for("[status 0]")
