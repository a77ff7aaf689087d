# SPDX-License-Identifier: Apache-2.0
"""cProfile's files and tables: what tare reads, writes and prints beside what Python itself does."""

from __future__ import annotations

import io
import json
import marshal
import pstats
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PYTHONS = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15"]
STORED = ["python38", "python310", "python311", "python312", "python313", "python314", "python315", "pure312"]

# Run by each interpreter, so that it is its own marshal that reads both files.
COMPARE = """
import marshal, sys
with open(sys.argv[1], "rb") as f: before = marshal.load(f)
with open(sys.argv[2], "rb") as f: after = marshal.load(f)
near = lambda a, b: a == b or abs(a - b) <= 1e-9
def same(a, b):
    return a == b if isinstance(a, int) else a[:2] == b[:2] and near(a[2], b[2]) and near(a[3], b[3])
assert before.keys() == after.keys(), before.keys() ^ after.keys()
for key, entry in before.items():
    assert same(entry, after[key]), (key, entry, after[key])
    assert entry[4].keys() == after[key][4].keys(), key
    for caller, figures in entry[4].items():
        assert same(figures, after[key][4][caller]), (key, caller)
        assert type(figures) is type(after[key][4][caller])
print(len(before), sum(e[0] != e[1] for e in before.values()), before == after)
"""

# Recursion of all kinds over real library code.
WORK = """
import json, re, textwrap
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def even(n): return n == 0 or odd(n - 1)
def odd(n): return n != 0 and even(n - 1)
def walk(depth):
    for _ in range(2):
        if depth: walk(depth - 1)
    return sorted(range(9), key=lambda x: -x)
fib(15), even(300), walk(6)
json.loads(json.dumps({"a": [1, {"b": [None] * 9}] * 40}, indent=1))
re.compile(r"(a|b)*c[^x]+?(d{3}|e)$"), textwrap.fill("many words " * 60)
exec(compile("def grüß(): return max(3, 4)\\ngrüß()", "模型.py", "exec"))
"""


def report(tare: Path, *args: str | Path) -> str:
    """What `tare report` prints."""
    done = subprocess.run([tare, "report", *args], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.fixture(scope="session")
def folder(root: Path) -> Path:
    """The stored .prof files."""
    return root / "tests" / "data" / "prof"


@pytest.fixture(scope="session")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program worth profiling."""
    path = tmp_path_factory.mktemp("work") / "work.py"
    path.write_text(WORK, encoding="utf-8")
    return path


@pytest.fixture(params=PYTHONS)
def python(request: pytest.FixtureRequest) -> str:
    """Each Python that is here."""
    version = request.param
    candidates = [shutil.which(f"python{version}")]
    candidates += [str(p) for p in Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}")]
    for path in filter(None, candidates):
        done = subprocess.run([path, "-c", "import marshal"], capture_output=True, check=False)
        if done.returncode == 0:
            return path
    pytest.skip(f"no python{version} here: put one on PATH, or install it with pyenv")


def test_real_runs_survive(tare: Path, python: str, work: Path, tmp_path: Path) -> None:
    """.prof to .prof, directly and through pprof, gives the dictionary that cProfile wrote."""
    before = tmp_path / "before.prof"
    subprocess.run([python, "-m", "cProfile", "-o", before, work], check=True)
    report(tare, before, "-o", tmp_path / "direct.prof")
    report(tare, before, "-o", tmp_path / "between.pb.gz")
    report(tare, tmp_path / "between.pb.gz", "-o", tmp_path / "through.prof")
    for after in ("direct.prof", "through.prof"):
        done = subprocess.run(
            [python, "-c", COMPARE, before, tmp_path / after], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        functions, recursive, equal = done.stdout.split()
        assert int(functions) > 80
        assert int(recursive) > 4
        assert equal == "True"


@pytest.mark.parametrize("name", STORED)
def test_stored_files_survive(tare: Path, folder: Path, tmp_path: Path, name: str) -> None:
    source = folder / f"{name}.prof"
    report(tare, source, "-o", tmp_path / "direct.prof")
    report(tare, source, "-o", tmp_path / "between.pb.gz")
    report(tare, tmp_path / "between.pb.gz", "-o", tmp_path / "through.prof")
    for after in ("direct.prof", "through.prof"):
        subprocess.run([sys.executable, "-c", COMPARE, source, tmp_path / after], check=True)


def test_python2_is_read(tare: Path, folder: Path, tmp_path: Path) -> None:
    """Its marshal has references of its own, which Python 3 does not read."""
    report(tare, folder / "python27.prof", "-o", tmp_path / "it.prof")
    stats: Any = pstats.Stats(str(tmp_path / "it.prof"))
    fib = next(entry for key, entry in stats.stats.items() if key[2] == "fib")
    assert fib[:2] == (1, 465)
    assert {caller[2]: calls[:2] for caller, calls in fib[4].items()} == {"main": (1, 1), "fib": (464, 2)}


def pstats_text(
    path: Path,
    view: str,
    sort: str,
    rows: int = 0,
    match: str = "",
    reverse: bool = False,
    strip: bool = False,
) -> str:
    """What pstats prints, without the line that names the file."""
    stream = io.StringIO()
    stats: Any = pstats.Stats(str(path), stream=stream)
    stats.files = []
    if strip:
        stats.strip_dirs()
    stats.sort_stats(*sort.split(","))
    if reverse:
        stats.reverse_order()
    amount: list[Any] = ([match] if match else []) + ([rows] if rows else [])
    {"table": stats.print_stats, "callers": stats.print_callers, "callees": stats.print_callees}[view](
        *amount
    )
    return stream.getvalue()


def all_keys(path: Path) -> list[str]:
    """Every sort key and every abbreviation that pstats takes."""
    stats: Any = pstats.Stats(str(path))
    return [*stats.get_sort_arg_defs(), "cumulative,name", "calls,stdname", "file,line", "time,nfl"]


@pytest.fixture(scope="session")
def fresh(work: Path) -> Path:
    """A profile of a real run."""
    path = work.with_name("fresh.prof")
    subprocess.run([sys.executable, "-m", "cProfile", "-o", path, work], check=True)
    return path


@pytest.mark.parametrize("view", ["table", "callers", "callees"])
def test_text_equals_pstats(tare: Path, fresh: Path, folder: Path, view: str) -> None:
    """To the byte, for every key and abbreviation."""
    keys = all_keys(fresh)
    assert len(keys) > 40
    for key in keys:
        assert report(tare, fresh, "-f", view, "-s", key) == pstats_text(fresh, view, key)
    for name in STORED:
        path = folder / f"{name}.prof"
        for key in ("stdname", "cumulative", "tottime", "pcalls"):
            assert report(tare, path, "-f", view, "-s", key) == pstats_text(path, view, key)


@pytest.mark.parametrize("view", ["table", "callers", "callees"])
def test_restrictions_equal_pstats(tare: Path, fresh: Path, view: str) -> None:
    for key in ("cumulative", "ncalls", "nfl"):
        assert report(tare, fresh, "-f", view, "-s", key, "-r") == pstats_text(fresh, view, key, reverse=True)
        assert report(tare, fresh, "-f", view, "-s", key, "-n", "7") == pstats_text(fresh, view, key, rows=7)
        got = report(tare, fresh, "-f", view, "-s", key, "-m", "json", "-n", "2")
        assert "due to restriction <'json'>" in got
        assert "due to restriction <2>" in got
        assert got == pstats_text(fresh, view, key, rows=2, match="json")
        assert report(tare, fresh, "-f", view, "-s", key, "-m", "no such") == pstats_text(
            fresh, view, key, match="no such"
        )


def test_stripped_table_equals_pstats(tare: Path, fresh: Path) -> None:
    for key in all_keys(fresh):
        assert report(tare, fresh, "-s", key, "--strip-dirs") == pstats_text(fresh, "table", key, strip=True)


def test_unknown_keys_name_the_keys(tare: Path, fresh: Path) -> None:
    for key, words in [
        ("speed", "unknown sort key 'speed'; use calls, cumtime"),
        ("n", "could mean name, ncalls or nfl"),
    ]:
        done = subprocess.run([tare, "report", fresh, "-s", key], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stdout == ""
        assert words in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.fixture
def from_tree(tare: Path, tmp_path: Path) -> Path:
    """A .prof written from stacks of samples, without calls or files."""
    (tmp_path / "it.folded").write_text("main;load;parse 30\nmain;load 5\nmain;train;train;step 60\n")
    report(tare, tmp_path / "it.folded", "-o", tmp_path / "it.prof")
    return tmp_path / "it.prof"


def test_trees_are_written(from_tree: Path) -> None:
    with from_tree.open("rb") as file:
        stats = marshal.load(file)
    assert stats["~", 0, "main"] == (0, 0, 0.0, 95.0, {})
    assert stats["~", 0, "train"] == (
        0, 0, 0.0, 60.0,
        {("~", 0, "main"): (0, 0, 0.0, 60.0), ("~", 0, "train"): (0, 0, 0.0, 60.0)},
    )  # fmt: skip
    assert stats["~", 0, "load"][2:4] == (5.0, 35.0)


def test_pstats_opens_it(tare: Path, python: str, fresh: Path, from_tree: Path, tmp_path: Path) -> None:
    """pstats of every Python prints what tare wrote, in all its views."""
    report(tare, fresh, "-o", tmp_path / "copy.prof")
    for path in (tmp_path / "copy.prof", from_tree):
        code = "import pstats, sys; pstats.Stats(sys.argv[1]).print_stats().print_callers().print_callees()"
        done = subprocess.run([python, "-c", code, path], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "function calls" in done.stdout
        assert "was called by..." in done.stdout


def test_snakeviz_opens_it(tare: Path, fresh: Path, from_tree: Path, tmp_path: Path) -> None:
    loader = pytest.importorskip("snakeviz.stats", reason="no snakeviz here: pip install snakeviz")
    report(tare, fresh, "-o", tmp_path / "copy.prof")
    original, copy = (pstats.Stats(str(path)) for path in (fresh, tmp_path / "copy.prof"))
    assert loader.table_rows(copy) == loader.table_rows(original)
    assert loader.json_stats(copy) == loader.json_stats(original)
    tree = pstats.Stats(str(from_tree))
    assert len(loader.table_rows(tree)) == 5
    assert loader.json_stats(tree)["~:0(load)"]["stats"][3] == 35.0


def test_gprof2dot_opens_it(tare: Path, fresh: Path, from_tree: Path, tmp_path: Path) -> None:
    tool = shutil.which("gprof2dot") or shutil.which("gprof2dot", path=str(Path(sys.executable).parent))
    if not tool:
        pytest.skip("no gprof2dot here: pip install gprof2dot")
    report(tare, fresh, "-o", tmp_path / "copy.prof")
    for path, name in ((tmp_path / "copy.prof", "fib"), (from_tree, "train")):
        done = subprocess.run([tool, "-f", "pstats", path], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert name in done.stdout
    graphs = [
        subprocess.run([tool, "-f", "pstats", path], capture_output=True, text=True, check=True).stdout
        for path in (fresh, tmp_path / "copy.prof")
    ]
    assert graphs[0] == graphs[1]


def test_pprof_agrees_on_flat_time(tare: Path, fresh: Path, tmp_path: Path) -> None:
    tool = shutil.which("pprof") or shutil.which("pprof", path=str(Path.home() / ".cache/tare-ci/bin"))
    if not tool:
        pytest.skip("no pprof here: go install github.com/google/pprof@latest")
    report(tare, fresh, "-o", tmp_path / "it.pb.gz")
    command = [tool, "-top", "-sample_index=tottime", "-unit=ns", "-nodecount=100000", "-nodefraction=0",
               "-edgefraction=0", tmp_path / "it.pb.gz"]  # fmt: skip
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    flat: dict[str, float] = {}
    for line in printed.splitlines():
        row = re.match(r"\s*([\d.e+]+)(?:ns)?\s+\S+%\s+\S+%\s+\S+\s+\S+%\s+(.*)", line)
        if row:
            name = row[2].removesuffix(" (inline)")
            flat[name] = flat.get(name, 0) + float(row[1])
    want: dict[str, int] = {}
    stats: Any = pstats.Stats(str(fresh))
    for (_, _, name), entry in stats.stats.items():
        want[name] = want.get(name, 0) + round(entry[2] * 1e9)
    assert len(flat) > 40
    total = sum(want.values())
    assert sum(flat.values()) == pytest.approx(total, rel=1e-6)
    for name, ns in flat.items():
        assert ns == pytest.approx(want[name], abs=1), name


def test_estimates_keep_the_time(tare: Path, fresh: Path) -> None:
    """Stacks made from pairs are a guess, but every nanosecond is in them, once."""
    stats: Any = pstats.Stats(str(fresh))
    total = sum(round(entry[2] * 1e9) for entry in stats.stats.values())
    lines = report(tare, fresh, "-f", "folded").splitlines()
    weights = [int(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")]
    assert sum(weights) == total
    assert max(line.count(";") for line in lines) > 5


BAD = {
    "empty": b"",
    "cut": b"{)\x03z\x01a",
    "gigabytes": b"{)\x03u\xff\xff\xff\x7f",
    "many": b"{(\x03\x00\x00\x00(\xff\xff\xff\x7f",
    "deep": b"{" + b")\x03" * 1_000_000,
    "number": b"{)\x03z\x01ai\x01\x00\x00\x00z\x01fi\x01\x00\x00\x00",
    "negative": marshal.dumps({("a.py", 1, "f"): (1, 1, -1.0, 0.0, {})}),
    "nan": marshal.dumps({("a.py", 1, "f"): (1, 1, 0.0, float("nan"), {})}),
    "other": marshal.dumps({("a.py", 1, "f"): "figures"}),
    "list": marshal.dumps([1, 2]),
    "codes": marshal.dumps({("a.py", 1, compile("1", "a", "eval")): (1, 1, 0.0, 0.0, {})}),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused(tare: Path, tmp_path: Path, name: str) -> None:
    """One clear line, exit status 2, nothing left behind."""
    (tmp_path / "bad.prof").write_bytes(BAD[name])
    command = [tare, "report", tmp_path / "bad.prof", "-o", tmp_path / "out.prof"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "bad.prof" in done.stderr
    assert not (tmp_path / "out.prof").exists()
    if name in ("negative", "nan"):
        assert "a.py:1(f)" in done.stderr


def test_odd_names_survive(tare: Path, tmp_path: Path) -> None:
    """Surrogates from undecodable file names, NULs, empty names and huge counts."""
    odd = {
        ("/data/\udcff\udc80.py", 3, "na\0me"): (
            2**40,
            2**62,
            1.5,
            2.5,
            {("", 0, ""): (2**62, 2**40, 1.5, 2.5)},
        ),
        ("", 0, ""): (1, 1, 0.25, 2.75, {}),
        ("~", 0, "<"): (1, 1, 0, 0, {}),
    }
    for version in range(2, 5):
        (tmp_path / "odd.prof").write_bytes(marshal.dumps(odd, version))
        report(tare, tmp_path / "odd.prof", "-o", tmp_path / "copy.prof")
        assert marshal.loads((tmp_path / "copy.prof").read_bytes()) == odd
    shown = report(tare, tmp_path / "odd.prof", "-s", "name")
    assert r"na\x00me" in shown
    assert json.dumps(shown)
