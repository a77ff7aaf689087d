# SPDX-License-Identifier: Apache-2.0
"""The shell lines of examples/ci, taken out of the files and run in a repository with a small model.

Not run: lines that install, and the fetch from a remote, which has nothing to fetch from here.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

pytestmark = pytest.mark.timing

LEFT_OUT = ("pip install", "git fetch")


def github_lines(text: str) -> list[str]:
    """What follows `run:`, on its line or in the block under it."""
    lines: list[str] = []
    block: int | None = None
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if block is not None and line.strip() and indent > block:
            lines.append(line.strip())
            continue
        block = None
        found = re.match(r"\s*(?:- )?run: (.*)$", line)
        if found and found[1] == "|":
            block = indent
        elif found:
            lines.append(found[1])
    return lines


def gitlab_lines(text: str) -> list[str]:
    """The items under `script:`."""
    script = text.partition("  script:\n")[2]
    return re.findall(r"\s{4}- (.*)\n", script.partition("  artifacts:")[0])


@pytest.fixture
def repository(tmp_path: Path, built_models: Path, root: Path) -> Path:
    def git(*words: str) -> None:
        who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    shutil.copy(built_models / "mlp.onnx", tmp_path / "model.onnx")
    shutil.copy(root / "examples" / "ci" / "thresholds.txt", tmp_path)
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "the model")
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    return tmp_path


def run_lines(lines: list[str], folder: Path, tare: Path, ort: Path, **more: str) -> list[str]:
    done = []
    env = {k: v for k, v in os.environ.items() if not k.startswith(("GITHUB_", "CI"))}
    env |= {"PATH": f"{tare.parent}:{env['PATH']}", "TARE_ORT": str(ort)} | more
    for line in lines:
        if line.startswith(LEFT_OUT):
            continue
        ran = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", line],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=400,
        )
        assert ran.returncode == 0, f"{line}\n{ran.stdout}{ran.stderr}"
        done.append(line)
    return done


def test_github(repository: Path, root: Path, tare: Path, ort: Path) -> None:
    summary = repository / "summary.md"
    lines = github_lines((root / "examples" / "ci" / "github.yml").read_text())
    done = run_lines(lines, repository, tare, ort, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary))
    assert [line.split()[:2] for line in done] == [
        ["tare", "check"],
        ["mkdir", "-p"],
        ["tare", "bench"],
        ["tare", "check"],
        ["tare", "history"],
    ]
    assert "latency" in summary.read_text()
    assert "latency" in (repository / "verdicts.md").read_text()


def test_gitlab(repository: Path, root: Path, tare: Path, ort: Path) -> None:
    done = run_lines(
        gitlab_lines((root / "examples" / "ci" / "gitlab.yml").read_text()), repository, tare, ort
    )
    assert len(done) == 5
    for name in ("tare.xml", "thresholds.xml"):
        cases = list(ET.parse(repository / name).iter("testcase"))
        assert cases, name
