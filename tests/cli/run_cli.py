# SPDX-License-Identifier: Apache-2.0
"""Runs the command-line expectation tests.

A test is NAME.sh. It runs with `sh -u` in a scratch folder of its own, with the built `tare` first on PATH
and $DATA naming tests/data. What it prints must equal NAME.out and NAME.err, and its exit status NAME.status;
a missing file means nothing printed, or 0. In both outputs the data folder reads $DATA and the scratch folder
$SCRATCH. Exit status 77 skips the test: the last line of stderr says why, and how to make it run.

    python3 tests/cli/run_cli.py --tare build/src/tare [--update] [--valgrind] [NAME...]
"""

from __future__ import annotations

import argparse
import concurrent.futures
import difflib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "data"
SKIP = 77
VALGRIND = (
    "valgrind --quiet --leak-check=full --show-leak-kinds=definite,possible --errors-for-leak-kinds=definite"
    ' --track-fds=no --log-file="$VALGRIND_LOGS/%p"'
)


def run(name: str, tare: Path, valgrind: bool) -> tuple[dict[str, str], str]:
    """The test's out, err and status, and what valgrind had to say."""
    with tempfile.TemporaryDirectory(prefix="tare-cli-") as top:
        scratch, path, logs = (Path(top) / part for part in ("scratch", "bin", "valgrind"))
        for folder in (scratch, path, logs):
            folder.mkdir()
        if valgrind:
            shim = path / "tare"
            shim.write_text(f'#!/bin/sh\nexec {VALGRIND} "{tare}" "$@"\n')
            shim.chmod(0o755)
        else:
            (path / "tare").symlink_to(tare)
        environment = {
            "PATH": f"{path}:{os.environ.get('PATH', os.defpath)}",
            "DATA": str(DATA),
            "HOME": str(scratch),
            "LC_ALL": "C.UTF-8",
            "VALGRIND_LOGS": str(logs),
        } | {key: value for key, value in os.environ.items() if key.endswith("SAN_OPTIONS")}
        done = subprocess.run(
            ["sh", "-u", str(HERE / f"{name}.sh")],
            cwd=scratch,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=300,
            check=False,
        )

        def text(raw: bytes) -> str:
            plain = raw.decode(errors="backslashreplace")
            return plain.replace(str(DATA), "$DATA").replace(str(scratch), "$SCRATCH")

        complaints = "".join(log.read_text(errors="replace") for log in sorted(logs.iterdir()))
        return {
            "out": text(done.stdout),
            "err": text(done.stderr),
            "status": f"{done.returncode}\n",
        }, complaints


def expected(name: str) -> dict[str, str]:
    missing = {"out": "", "err": "", "status": "0\n"}
    files = {kind: HERE / f"{name}.{kind}" for kind in missing}
    return {kind: path.read_text() if path.exists() else missing[kind] for kind, path in files.items()}


def update(name: str, got: dict[str, str]) -> None:
    for kind, text in got.items():
        path = HERE / f"{name}.{kind}"
        if text == ("0\n" if kind == "status" else ""):
            path.unlink(missing_ok=True)
        else:
            path.write_text(text)


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the command-line expectation tests.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--tare", type=Path, required=True, help="the command to test")
    parser.add_argument("--update", action="store_true", help="write what was printed as what is expected")
    parser.add_argument(
        "--valgrind", action="store_true", help="run the command under valgrind, and fail on any complaint"
    )
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    names = options.names or sorted(path.stem for path in HERE.glob("*.sh"))
    tare = options.tare.resolve(strict=True)

    passed = failed = skipped = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda name: run(name, tare, options.valgrind), names)
        for name, (got, complaints) in zip(names, results, strict=True):
            if got["status"] == f"{SKIP}\n":
                skipped += 1
                print(f"skip: {name}: {(got['err'].splitlines() or ['no reason given'])[-1]}")
                continue
            if options.update:
                update(name, got)
            problems = [f"valgrind:\n{complaints}"] if complaints else []
            for kind, want in expected(name).items():
                if got[kind] != want:
                    lines = difflib.unified_diff(
                        want.splitlines(True),
                        got[kind].splitlines(True),
                        f"{name}.{kind}",
                        f"{name}.{kind} now",
                    )
                    problems.append("".join(lines))
            if problems:
                failed += 1
                print(f"FAILED {name}", *problems, sep="\n")
            else:
                passed += 1
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
