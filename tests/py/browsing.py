# SPDX-License-Identifier: Apache-2.0
"""Runs the checks of tests/browser, or skips and says what is missing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

BROWSER = Path(__file__).resolve().parents[1] / "browser"
CACHE = Path.home() / ".cache" / "tare-ci" / "npm" / "node_modules"


def run_check(script: str, file: Path, shots: Path, expect: dict[str, object]) -> None:
    """Open a file in the browser and hold it against what is expected."""
    modules = Path(os.environ.get("NODE_PATH") or CACHE)
    if not shutil.which("node") or not (modules / "playwright-core").is_dir():
        pytest.skip("no playwright-core here: run .ci/run npm, or set NODE_PATH to a folder that has it")
    if not os.environ.get("CHROMIUM") and not shutil.which("chromium"):
        pytest.skip("no chromium here: install the package chromium, or set CHROMIUM")
    done = subprocess.run(
        ["node", BROWSER / script, file, shots, json.dumps(expect)],
        env={**os.environ, "NODE_PATH": str(modules)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed, 0 failed" in done.stdout
