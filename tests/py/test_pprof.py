# SPDX-License-Identifier: Apache-2.0
"""pprof files as the pprof tool sees them, before and after tare read and wrote them."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

STORED = ["go-cpu", "go-goroutine", "go-heap", "go-mutex", "node-heap", "node-wall"]
FRESH = ["allocs", "block", "cpu", "goroutine", "heap", "mutex", "threadcreate"]


@pytest.fixture(scope="session")
def pprof() -> str:
    """The pprof tool."""
    path = shutil.which("pprof") or shutil.which("pprof", path=str(Path.home() / ".cache/tare-ci/bin"))
    if not path:
        pytest.skip("no pprof here: go install github.com/google/pprof@latest")
    return path


@pytest.fixture(scope="session")
def fresh(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    """A folder of profiles that a Go program has just made of itself."""
    if not shutil.which("go"):
        pytest.skip("no go here: install Go to make fresh profiles")
    folder = tmp_path_factory.mktemp("go")
    program = folder / "gen"
    source = root / "tests" / "data" / "pprof" / "gen"
    subprocess.run(["go", "build", "-o", program, "."], cwd=source, check=True)
    subprocess.run([program, folder], check=True)
    return folder


def copy(tare: Path, source: Path, target: Path) -> str:
    """Read and write again; what was said about it."""
    done = subprocess.run([tare, "report", source, "-o", target], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def ask(pprof: str, *args: str | Path) -> str:
    """What the pprof tool prints."""
    done = subprocess.run([pprof, *args], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def raw(pprof: str, path: Path) -> tuple[dict[str, list[str]], Counter[tuple[object, ...]]]:
    """`pprof -raw` without the numbers that each file gives its own way: what stands above the samples and
    the mappings, and how often each value vector belongs to each stack with its labels. Samples of one stack
    are added up, as pprof itself does when it merges, and those that weigh nothing are left out."""
    parts: dict[str, list[str]] = {"head": []}
    part = "head"
    for line in ask(pprof, "-raw", path).splitlines():
        if line.rstrip(":") in ("Samples", "Locations", "Mappings"):
            part = line.rstrip(":")
            parts[part] = []
        else:
            parts[part].append(line)
    locations: dict[str, list[str]] = {}
    current: list[str] = []
    for line in parts.pop("Locations"):
        start = re.match(r" *(\d+): (0x.*)$", line)
        if start:
            current = locations.setdefault(start[1], [])
            line = start[2]
        current.append(line.strip())
    lines = parts.pop("Samples")
    parts["head"].append(lines[0])
    values: dict[tuple[object, ...], list[int]] = {}
    for i, line in enumerate(lines[1:], 1):
        if line.startswith(" " * 16) and ":[" in line:
            continue
        numbers, _, stack = line.partition(":")
        labels = [at for at in lines[i + 1 : i + 3] if at.startswith(" " * 16) and ":[" in at]
        key = (tuple(tuple(locations[at]) for at in stack.split()), tuple(labels))
        sums = values.setdefault(key, [0] * len(numbers.split()))
        values[key] = [a + int(b) for a, b in zip(sums, numbers.split(), strict=True)]
    samples = Counter((key, tuple(sums)) for key, sums in values.items() if any(sums))
    return parts, samples


def traces(pprof: str, path: Path) -> list[str]:
    """`pprof -traces` as sorted blocks. The file is given twice, which makes pprof add up samples of one
    stack."""
    return sorted(ask(pprof, "-traces", path, path).split("-----------+" + "-" * 55 + "\n"))


def check_same(pprof: str, before: Path, after: Path) -> None:
    """Both files say the same."""
    head_before, samples_before = raw(pprof, before)
    head_after, samples_after = raw(pprof, after)
    assert samples_before
    assert samples_after == samples_before
    assert head_after == head_before
    for view in (["-top"], ["-top", "-cum", "-lines"], ["-top", "-addresses"], ["-tags"], ["-comments"]):
        assert ask(pprof, *view, after) == ask(pprof, *view, before), view
    assert traces(pprof, after) == traces(pprof, before)


@pytest.mark.parametrize("name", STORED)
def test_stored_profiles_come_back_equal(
    name: str, root: Path, tare: Path, pprof: str, tmp_path: Path
) -> None:
    source = root / "tests" / "data" / "pprof" / f"{name}.pb.gz"
    assert copy(tare, source, tmp_path / "copy.pb.gz") == ""
    check_same(pprof, source, tmp_path / "copy.pb.gz")


@pytest.mark.parametrize("name", FRESH)
def test_fresh_go_profiles_come_back_equal(
    name: str, fresh: Path, tare: Path, pprof: str, tmp_path: Path
) -> None:
    source = fresh / f"{name}.pb.gz"
    assert copy(tare, source, tmp_path / "copy.pb.gz") == ""
    check_same(pprof, source, tmp_path / "copy.pb.gz")


def test_through_the_pprof_tool_and_back(root: Path, tare: Path, pprof: str, tmp_path: Path) -> None:
    source = root / "tests" / "data" / "pprof" / "go-heap.pb.gz"
    ours, theirs, again = (tmp_path / name for name in ("ours.pb.gz", "theirs.pb.gz", "again.pb.gz"))
    copy(tare, source, ours)
    subprocess.run([pprof, "-proto", "-output", theirs, ours], check=True, capture_output=True)
    assert copy(tare, theirs, again) == ""
    check_same(pprof, source, again)


def test_plain_is_read_and_equal_input_gives_equal_bytes(root: Path, tare: Path, tmp_path: Path) -> None:
    source = root / "tests" / "data" / "pprof" / "go-cpu.pb.gz"
    plain, one, two = (tmp_path / name for name in ("plain.pb", "one.pb.gz", "two.pb.gz"))
    plain.write_bytes(gzip.decompress(source.read_bytes()))
    copy(tare, source, one)
    copy(tare, plain, two)
    assert one.read_bytes() == two.read_bytes()
    assert one.read_bytes()[4:8] == bytes(4), "the gzip header holds a time"


def varint(value: int) -> bytes:
    """A protobuf number."""
    out = bytearray()
    value &= 2**64 - 1
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """A protobuf field that is a number."""
    return varint(field << 3) + varint(value)


def message(field: int, *parts: bytes) -> bytes:
    """A protobuf field that is bytes."""
    data = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(data)) + data


def test_python_names_survive_the_pprof_tool(tare: Path, pprof: str, tmp_path: Path) -> None:
    """pprof cuts <module> from a name that is also the system name, and merges functions of one name."""
    names = ["", "wall", "nanoseconds", "<module>", "a.py", "forward", "A.forward", "B.forward", "~", "<len>"]
    functions = [(3, 0, 4), (6, 5, 4), (7, 5, 4), (9, 0, 8)]
    data = message(1, number(1, 1), number(2, 2))
    for i, (name, system, file) in enumerate(functions, 1):
        data += message(2, number(1, i), number(2, 10**i))
        data += message(4, number(1, i), message(4, number(1, i), number(2, 7)))
        data += message(5, number(1, i), number(2, name), number(3, system), number(4, file), number(5, i))
    data += b"".join(message(6, text.encode()) for text in names)
    source, target = tmp_path / "source.pb", tmp_path / "target.pb.gz"
    source.write_bytes(data)
    assert copy(tare, source, target) == ""
    top = ask(pprof, "-top", "-unit=ns", "-nodefraction=0", target)
    flat = {line.split()[-1]: line.split()[0] for line in top.splitlines() if line.strip()[:1].isdigit()}
    assert flat == {"<module>": "10ns", "A.forward": "100ns", "B.forward": "1000ns", "<len>": "10000ns"}
    check_same(pprof, source, target)


def packed(*parts: tuple[bytes, int]) -> bytes:
    """gzip of each piece, so many times over."""
    pack = zlib.compressobj(9, wbits=31)
    out = bytearray()
    for piece, times in parts:
        for _ in range(times):
            out += pack.compress(piece)
    return bytes(out + pack.flush())


MIB = 1 << 20
TYPES = message(1, number(1, 1), number(2, 2))
STRINGS = b"".join(message(6, text) for text in (b"", b"wall", b"nanoseconds"))
DEEP = message(2, message(1, b"\x01" * MIB), number(2, 1))
HOSTILE: dict[str, Callable[[], bytes]] = {
    "zeros": lambda: packed((bytes(MIB), 1024)),
    "strings": lambda: packed((TYPES + STRINGS, 1), (b"\x32\x00" * MIB, 200)),
    "locations": lambda: packed((TYPES + STRINGS, 1), (b"\x22\x02\x08\x01" * MIB, 100)),
    "unknown": lambda: packed((TYPES + STRINGS, 1), (message(99, bytes(MIB)), 1024)),
    "claims": lambda: TYPES + STRINGS + varint(2 << 3 | 2) + varint(3 << 30),
    "deep": lambda: packed((TYPES + STRINGS + message(4, number(1, 1)) + DEEP, 1)),
    "cut": lambda: (TYPES + STRINGS + message(2, message(1, b"\x01" * 100), number(2, 1)))[:-9],
    "no strings": lambda: TYPES + message(2, number(2, 1)),
    "gzip of text": lambda: gzip.compress(b"This is no profile at all, but a letter.\n" * 99),
    "empty gzip": lambda: gzip.compress(b""),
    "cut gzip": lambda: gzip.compress(TYPES + STRINGS)[:-9],
}

LIMITS = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
use = resource.getrusage(resource.RUSAGE_CHILDREN)
print(done.returncode, use.ru_utime + use.ru_stime, use.ru_maxrss)
sys.stderr.write(done.stderr)
"""


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_end_in_one_line(name: str, tare: Path, tmp_path: Path) -> None:
    """Within a second of processor time, in less than 64 MiB, with exit status 2 and nothing left behind."""
    source, target = tmp_path / "hostile", tmp_path / "out.pb.gz"
    source.write_bytes(HOSTILE[name]())
    done = subprocess.run(
        [sys.executable, "-c", LIMITS, tare, "report", source, "-o", target],
        capture_output=True,
        text=True,
        check=True,
    )
    status, seconds, peak_kib = done.stdout.split()
    assert int(status) == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "hostile" in done.stderr
    assert float(seconds) < 1
    assert int(peak_kib) < 64 * 1024
    assert [at.name for at in tmp_path.iterdir()] == ["hostile"]
