# SPDX-License-Identifier: Apache-2.0
"""What someone does first after installing tare, with the interpreter that it was installed into.

Needs nothing but the standard library, and finds `tare` on PATH. Run from outside the source tree.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable


def command(*arguments: str) -> str:
    done = subprocess.run(
        ["tare", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, f"tare {' '.join(arguments)}: status {done.returncode}\n{done.stderr}"
    return done.stdout


def the_command_is_native_and_of_this_environment() -> None:
    path = shutil.which("tare")
    assert path is not None, "no tare on PATH"
    assert os.path.dirname(path) == sysconfig.get_path("scripts"), path
    with open(path, "rb") as file:
        assert file.read(4) == b"\x7fELF", f"{path} is not a native binary"


def the_package_imports_and_agrees_on_the_version() -> None:
    import tare

    assert re.fullmatch(r"\d+\.\d+\.\d+", tare.__version__), tare.__version__
    assert command("--version").splitlines()[0] == f"tare {tare.__version__}"


def models_can_be_run() -> None:
    """What was built without the header of ONNX Runtime has no engine for them."""
    assert re.search(r"^onnxruntime header: 1\.\d+$", command("--version"), re.MULTILINE)


def importing_keeps_a_free_threaded_build_free() -> None:
    import tare

    assert tare is not None
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        assert not sys._is_gil_enabled(), "importing tare switched the GIL on"


def the_doctor_answers() -> None:
    assert "ok" in command("doctor")


def a_program_is_run() -> None:
    code = "def weigh(): return sum(range(9))\nweigh()"
    assert "(weigh)" in command("run", "--python", sys.executable, "-c", code)


def a_profile_from_this_interpreter_is_reported() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "small.prof")
        code = "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(10)"
        script = os.path.join(folder, "small.py")
        with open(script, "w") as file:
            file.write(code)
        subprocess.run([sys.executable, "-m", "cProfile", "-o", path, script], timeout=60, check=True)
        table = command("report", path)
        assert "177/1" in table, table
        assert "small.py:1(fib)" in table, table


def main() -> int:
    tests: list[Callable[[], None]] = [
        the_command_is_native_and_of_this_environment,
        the_package_imports_and_agrees_on_the_version,
        models_can_be_run,
        importing_keeps_a_free_threaded_build_free,
        the_doctor_answers,
        a_program_is_run,
        a_profile_from_this_interpreter_is_reported,
    ]
    failed = 0
    print(sys.version)
    for test in tests:
        try:
            test()
        except Exception as problem:  # every test gets its turn
            failed += 1
            print(f"FAILED {test.__name__}: {problem}")
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
