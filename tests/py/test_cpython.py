# SPDX-License-Identifier: Apache-2.0
"""CPython's own tests of what the hooks touch end under tare as they end without it, test by test."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from launching import Launcher

# Each test by its name and how it ended; subtests count by themselves.
RUNNER = """
    import collections, json, re, sys, unittest

    class Result(unittest.TestResult):
        # Some tests leave it ten calls of stack: only note here, and look later.
        def __init__(self):
            super().__init__()
            self.ends = []

        def addSuccess(self, test): self.ends.append((test, "ok", None))
        def addError(self, test, error): self.ends.append((test, "error", error[1]))
        def addFailure(self, test, error): self.ends.append((test, "failed", error[1]))
        def addSkip(self, test, reason): self.ends.append((test, "skipped", reason))
        def addExpectedFailure(self, test, error): self.ends.append((test, "failed as expected", None))
        def addUnexpectedSuccess(self, test): self.ends.append((test, "ok unexpectedly", None))
        def addSubTest(self, test, subtest, error): self.ends.append((subtest, "part", error and error[1]))

    result = Result()
    unittest.defaultTestLoader.loadTestsFromNames(sys.argv[2:]).run(result)
    lines = (f"{test.id()}: {how} {why!r}" for test, how, why in result.ends)
    with open(sys.argv[1], "w") as out:
        # Addresses and process ids differ from run to run.
        json.dump(collections.Counter(re.sub("0x[0-9a-f]+|@test_[0-9]+", "", line) for line in lines), out)
"""

# When no memory is left 3.15 crashes under every profiler: cProfile does the same to these two.
CRASHES = ("test_exec_set_nomemory_hang", "test_memory_error_in_PyErr_PrintEx")


@pytest.mark.parametrize("suite", ["generators", "coroutines", "threading", "exceptions"])
def test_cpythons_own_tests_end_as_without_tare(launcher: Launcher, suite: str) -> None:
    name = f"test.test_{suite}"
    if launcher.plain("-c", f"import {name}").returncode:
        pytest.skip(f"this Python comes without {name}: on Debian, libpython3.X-testsuite has it")
    launcher.script(RUNNER, "runner.py")
    # Most of their time they wait: both at once. Each has a folder of its own for what it writes.
    running = {}
    for way, words in (("plain", [str(launcher.python)]), ("recorded", launcher.tare("-o", "result.prof"))):
        (launcher.folder / way).mkdir()
        command = [*words, "../runner.py", "ends.json", name]
        running[way] = subprocess.Popen(
            command,
            cwd=launcher.folder / way,
            env=launcher.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    ends: dict[str, dict[str, int]] = {}
    for way, process in running.items():
        said, _ = process.communicate(timeout=300)
        assert process.returncode == 0, said
        found = json.loads((launcher.folder / way / "ends.json").read_text())
        ends[way] = {
            end: count
            for end, count in found.items()
            if sys.version_info < (3, 15) or not any(crash in end for crash in CRASHES)
        }
    assert sum(count for end, count in ends["plain"].items() if end.endswith(": ok None")) > 20
    assert ends["recorded"] == ends["plain"]
