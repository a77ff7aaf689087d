# SPDX-License-Identifier: Apache-2.0
"""Runs the commands that the documentation shows.

Every ```sh block of the pages at the top and in docs/ is run: the blocks of one page in order, by one
`bash -eu`, in a scratch folder, with the built `tare` and a `python` that has the package on PATH, and
$TARE_SOURCE naming the source tree. A page must therefore make what it uses. Commands not meant to be
run there (installing, cloning) stand in ```console blocks. Some measure, so a page that fails is tried once
more. First the runner shows that it can fail.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^( *)```sh\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def script_of(text: str) -> tuple[str, int]:
    """The page's blocks as one script that says where it is, and how many blocks there are."""
    parts = []
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        indent = block[1]
        body = "\n".join(part.removeprefix(indent) for part in block[2].split("\n"))
        parts.append(f"echo '# the block at line {line}' >&2\n{body}")
    return "\n".join(parts), len(parts)


def environment(folder: Path) -> Path:
    """An interpreter with tare installed as pip does it, and with whatever else this one has."""
    package = import_module("tare").__file__
    assert package is not None
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "tare").symlink_to(Path(package).parent)
    shutil.copy(ROOT / "python" / "tareprof.pth", site)
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin" / "python"


def run_page(text: str, tare: Path, python: Path) -> tuple[int, int, str]:
    """Blocks, status and output of one page."""
    script, blocks = script_of(text)
    if not blocks:
        return 0, 0, ""
    with tempfile.TemporaryDirectory(prefix="tare-docs-") as top:
        tools, scratch = Path(top) / "bin", Path(top) / "scratch"
        tools.mkdir()
        scratch.mkdir()
        (tools / "tare").symlink_to(tare)
        for name in ("python", "python3"):
            (tools / name).write_text(f'#!/bin/sh\nexec "{python}" "$@"\n')
            (tools / name).chmod(0o755)
        done = subprocess.run(
            ["bash", "-eu", "-o", "pipefail", "-c", script],
            cwd=scratch,
            env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "TARE_SOURCE": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=300,
            check=False,
        )
        return blocks, done.returncode, done.stdout


def self_test(tare: Path, python: Path) -> bool:
    page = "text\n```sh\necho one\n```\n```console\nfalse\n```\n1. item\n   ```sh\n   {}\n   ```\n"
    right = run_page(page.format("echo two"), tare, python)
    wrong = run_page(page.format("false"), tare, python)
    return right[:2] == (2, 0) and "two" in right[2] and wrong[0] == 2 and wrong[1] != 0


def main() -> int:
    tare = Path(os.environ.get("TARE_BIN", ROOT / "build" / "src" / "tare")).resolve(strict=True)
    with tempfile.TemporaryDirectory(prefix="tare-docs-python-") as top:
        return run_all(tare, environment(Path(top)))


def run_all(tare: Path, python: Path) -> int:
    passed = failed = 0
    if self_test(tare, python):
        passed += 1
    else:
        failed += 1
        print("FAILED self-test: a wrong command in a page was not noticed")
    for page in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]):
        blocks, status, output = run_page(page.read_text(), tare, python)
        if status:
            print(f"again after status {status}: {page.relative_to(ROOT)}\n{output}")
            blocks, status, output = run_page(page.read_text(), tare, python)
        if status == 0:
            passed += blocks
        else:
            failed += 1
            print(f"FAILED {page.relative_to(ROOT)}: status {status}\n{output}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
