# SPDX-License-Identifier: Apache-2.0
"""What the tests of `tare run` share: an interpreter that has tare installed, and ways to run a program."""

from __future__ import annotations

import os
import pstats
import shutil
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
Running = subprocess.Popen[str]
Done = subprocess.CompletedProcess[str]
OURS = ("TARE_RECORD", "TARE_RECORD_CAP", "TARE_RECORD_C")


def make_environment(folder: Path) -> Path:
    """A virtual environment with the package that this interpreter imports, as pip would install it."""
    package = pytest.importorskip(
        "tare", reason="tare is not installed here: bash .ci/run python_tests does it"
    )
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    site = Path(
        subprocess.run(
            [str(python), "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    )
    (site / "tare").symlink_to(Path(package.__file__).parent)
    shutil.copy(ROOT / "python" / "tareprof.pth", site)
    return python


def stats_of(path: Path) -> dict[tuple[str, int, str], tuple[Any, ...]]:
    """What pstats reads from a .prof file."""
    return pstats.Stats(str(path)).stats  # type: ignore[attr-defined,no-any-return]


def installed() -> Path | None:
    """This very interpreter, if tare is installed in it."""
    there = any((Path(sysconfig.get_path(name)) / "tareprof.pth").exists() for name in ("purelib", "platlib"))
    return Path(sys.executable) if there else None


class Launcher:
    """Runs one program both ways."""

    def __init__(self, command: Path, python: Path, folder: Path) -> None:
        self.command, self.python, self.folder = command, python, folder

    def script(self, code: str, name: str = "program.py") -> str:
        (self.folder / name).write_text(textwrap.dedent(code))
        return name

    def tare(self, *options: str) -> list[str]:
        return [str(self.command), "run", "--python", str(self.python), *options]

    def environment(self, **more: str) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if k not in (*OURS, "PYTHONPATH", "RANK", "LOCAL_RANK")}
        return {**kept, "PYTHONHASHSEED": "0", **more}

    def start(self, words: list[str], env: dict[str, str] | None = None, **more: Any) -> Running:
        given = self.environment(**(env or {}))
        return subprocess.Popen(words, cwd=self.folder, env=given, text=True, **more)

    def finish(self, words: list[str], env: dict[str, str] | None = None, **more: Any) -> Done:
        if "input" not in more:
            more.setdefault("stdin", subprocess.DEVNULL)
        given = self.environment(**(env or {}))
        more = {"timeout": 60, "text": True, "capture_output": True, "cwd": self.folder, **more}
        return subprocess.run(words, env=given, check=False, **more)

    def plain(self, *arguments: str, **more: Any) -> Done:
        return self.finish([str(self.python), *arguments], **more)

    def recorded(self, *arguments: str, **more: Any) -> Done:
        """Under tare, with the result in a file, so that standard output is the program's."""
        return self.finish(self.tare("-o", "result.prof", *arguments), **more)

    def report(self, target: Path | str, *options: str) -> Done:
        return self.finish([str(self.command), "report", str(target), *options])

    def captures(self) -> list[Path]:
        return sorted(self.folder.glob(".tare-*"))
