# SPDX-License-Identifier: Apache-2.0
"""Programs that profile themselves: running them, and reading the files they leave."""

from __future__ import annotations

import os
import pstats
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import tare


def run(
    code: str, folder: Path, *arguments: str, status: int = 0, **environment: str
) -> subprocess.CompletedProcess[str]:
    script = folder / "script.py"
    script.write_text(textwrap.dedent(code))
    clean = {k: v for k, v in os.environ.items() if k not in ("ENABLE_PROFILING", "PROFILE_OUTPUT_DIR")}
    done = subprocess.run(
        [sys.executable, str(script), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=folder,
        env={**clean, **environment},
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done


def only(folder: Path, pattern: str) -> Path:
    found = sorted((folder / "profiling_results").glob(pattern))
    assert len(found) == 1, (pattern, sorted(p.name for p in folder.rglob("*")))
    return found[0]


def row(file: str, name: str) -> str:
    """The name of a function; a span, which may have the same, with the word before it."""
    return f"span {name}" if file in ("", "~") and name[0] != "<" else name


def rows(profile: tare.Profile) -> Counter[str]:
    """Calls by name."""
    found: Counter[str] = Counter()
    for f in profile.functions():
        found[row(f.file, f.name)] += f.calls
    return found


def calls(folder: Path, name: str) -> Counter[str]:
    """Calls by name in the one profile of a span, as its .pb.gz and its .prof both say."""
    ours = rows(tare.load(only(folder, f"{name}_*.pb.gz")))
    theirs: Counter[str] = Counter()
    for key, value in pstats.Stats(str(only(folder, f"{name}_*.prof"))).stats.items():
        theirs[row(key[0], key[2])] += value[1]
    assert theirs == ours
    return ours
