# SPDX-License-Identifier: Apache-2.0
"""tare doctor under conditions that are really made: fewer rights, another user, a CPU quota."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")
needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can give rights up: run the tests as root"
)


def rows(text: str) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in json.loads(text)["checks"]}


def doctor(*command: str | Path, **keywords: Any) -> dict[str, dict[str, Any]]:
    done = subprocess.run(
        [*map(str, command), "doctor", "--json"],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
        **keywords,
    )
    assert done.stderr == ""
    return rows(done.stdout)


@pytest.fixture
def shared_tare(tare: Path) -> Iterator[Path]:
    """The command where any user may run it."""
    folder = Path(tempfile.mkdtemp(prefix="tare-doctor-"))
    folder.chmod(0o755)
    shutil.copy(tare, folder / "tare")
    yield folder / "tare"
    shutil.rmtree(folder)


def test_takes_under_two_seconds(tare: Path) -> None:
    """The best of five: other tests may be running beside this one."""
    times = []
    for _ in range(5):
        start = time.monotonic()
        doctor(tare)
        times.append(time.monotonic() - start)
    assert min(times) < 2, times


@needs_root
def test_root_without_the_capability(tare: Path) -> None:
    found = doctor("setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace", tare)["sample pid"]
    assert "CAP_SYS_PTRACE" in found["found"]
    assert found["status"] == ("missing" if YAMA.exists() and int(YAMA.read_text()) else "degraded")


@needs_root
def test_a_plain_user(shared_tare: Path) -> None:
    found = doctor(
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        shared_tare,
        cwd="/",
        env={"HOME": "/nonexistent"},
    )
    if YAMA.exists() and int(YAMA.read_text()):
        assert found["sample pid"]["status"] == "missing"
        assert "ptrace_scope" in found["sample pid"]["found"]
    else:
        assert found["sample pid"]["status"] == "ok"
        assert "those of others need root" in found["sample pid"]["found"]
    assert found["disk space"]["status"] == "missing"
    assert "Permission denied" in found["disk space"]["found"]
    # Without PATH and home there is no Python, and so nothing but the system's ONNX Runtime.
    assert found["python"]["status"] == "missing"


@needs_root
def test_not_even_files_may_be_opened(shared_tare: Path) -> None:
    """With few descriptors left the doctor says less, and still answers."""
    done = subprocess.run(
        ["prlimit", "--nofile=8", str(shared_tare), "doctor"],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert done.stdout.splitlines()[-1].endswith("missing")


@pytest.fixture
def a_fifth_of_a_cpu() -> Iterator[Callable[[], None]]:
    """A function that puts the calling process into a control group with a fifth of a CPU."""
    folder = None
    for line in Path("/proc/mounts").read_text().splitlines():
        _, mount, kind, options, *_ = line.split()
        if kind == "cgroup" and "cpu" in options.split(","):
            folder, files = Path(mount), {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "20000"}
            break
        if kind == "cgroup2" and "cpu" in (Path(mount) / "cgroup.subtree_control").read_text().split():
            folder, files = Path(mount), {"cpu.max": "20000 100000"}
    if folder is None:
        pytest.skip("no control group with a cpu controller: mount one, or delegate it")
    group = folder / f"tare-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(
            f"cannot make a control group ({error}): run the tests as root on a writable /sys/fs/cgroup"
        )
    try:
        for name, value in files.items():
            (group / name).write_text(value)
        yield lambda: (group / "cgroup.procs").write_text("0") and None
    finally:
        group.rmdir()


def test_a_quota_and_its_throttling(tare: Path, a_fifth_of_a_cpu: Callable[[], None]) -> None:
    busy = 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exec "$0" doctor --json'
    done = subprocess.run(
        ["sh", "-c", busy, str(tare)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        preexec_fn=a_fifth_of_a_cpu,
    )
    machine = json.loads(done.stdout)["machine"]
    found = rows(done.stdout)["cpu quota"]
    assert machine["cgroup"]["cpus"] == 0.2
    assert machine["cgroup"]["throttled"] > 0
    assert found["status"] == "degraded"
    assert found["found"].startswith("0.2 of ")
    assert "stopped in" in found["found"]
    assert found["fix"] == "export OMP_NUM_THREADS=1"


def test_fingerprint_follows_the_quota(tare: Path, a_fifth_of_a_cpu: Callable[[], None]) -> None:
    """The same machine has the same key, and another one inside a quota."""

    def key(enter: Callable[[], None] | None = None) -> str:
        done = subprocess.run(
            [str(tare), "doctor", "--json"],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
            preexec_fn=enter,
        )
        return str(json.loads(done.stdout)["machine"]["fingerprint"])

    outside = key()
    assert outside == key()
    assert outside != key(a_fifth_of_a_cpu)
