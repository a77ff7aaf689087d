# SPDX-License-Identifier: Apache-2.0
"""The hooks see what cProfile sees, call for call, and the program sees nothing of them.

Each program runs in an interpreter of its own: once to warm up, once under cProfile, once recorded. Calls and
primitive calls of every function must be equal, but for the two that switch the profilers off.
"""

from __future__ import annotations

import os
import site
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

tare = pytest.importorskip("tare", reason="tare is not installed here: bash .ci/run python_tests does it")

PROGRAMS = {
    "calls": """
        def fib(n):
            return n if n < 2 else fib(n - 1) + fib(n - 2)

        class Point:
            def __init__(self, x, y=0, *rest, **more):
                self.x, self.y = x, y
            @property
            def norm(self):
                return abs(self.x) + abs(self.y)
            @staticmethod
            def origin():
                return Point(0)
            def __add__(self, other):
                return Point(self.x + other.x, y=self.y + other.y)

        def work():
            fib(13)
            p = Point.origin()
            for i in range(50):
                p = p + Point(i, 1, 2, three=3)
                p.norm
            sorted(range(20), key=lambda v: -v)
            [f(1) for f in (str, int, abs, lambda x: x)]
    """,
    "generators": """
        def count(n):
            for i in range(n):
                yield i

        def both(n):
            yield from count(n)
            return 3

        def unfinished():
            try:
                yield 1
                yield 2
            finally:
                len("x")

        def work():
            sum(count(30)), list(both(10)), sum(x * x for x in count(10))
            g = unfinished(); next(g); g.close()
            g = unfinished(); next(g)
            try:
                g.throw(ValueError)
            except ValueError:
                pass
            g = unfinished(); g.close()
            def echo():
                got = None
                while True:
                    got = yield got
            e = echo(); next(e); e.send(1); e.send(2); e.close()
    """,
    "exceptions": """
        def fail(depth):
            if depth == 0:
                raise KeyError(depth)
            try:
                return fail(depth - 1)
            finally:
                abs(depth)

        def caught(i):
            try:
                int("x" if i % 2 else "1")
            except ValueError as problem:
                return str(problem)

        class Manager:
            def __enter__(self):
                return self
            def __exit__(self, *_):
                return True

        def work():
            for i in range(20):
                caught(i)
                try:
                    fail(5)
                except KeyError:
                    pass
            with Manager():
                {}["missing"]
            try:
                [].pop()
            except IndexError:
                pass
    """,
    "recursion": """
        import sys
        sys.setrecursionlimit(6000)

        def down(n):
            return 0 if n == 0 else 1 + down(n - 1)

        def even(n):
            return True if n == 0 else odd(n - 1)

        def odd(n):
            return False if n == 0 else even(n - 1)

        def endless(n):
            return endless(n + 1)

        def work():
            down(2000), even(501), [down(3) for _ in range(10)]
            sys.setrecursionlimit(900)
            try:
                endless(0)
            except RecursionError:
                pass
            sys.setrecursionlimit(6000)
    """,
    "asyncio": """
        import asyncio

        async def leaf(n):
            await asyncio.sleep(0)
            return n

        async def numbers(n):
            for i in range(n):
                yield i
                await asyncio.sleep(0)

        async def main():
            total = sum(await asyncio.gather(*(leaf(i) for i in range(10))))
            async for n in numbers(5):
                total += n
            return total

        loop = asyncio.new_event_loop()

        def work():
            # On one loop, without a selector that waits: the number of turns is then always the same.
            loop.run_until_complete(main())
    """,
    "builtins": """
        import functools, itertools, json, operator, re

        pattern = re.compile(r"(\\w+)@(\\w+)")

        def work():
            data = {"a": [1, 2.5, None, "x"], "b": {"c": True}}
            for _ in range(5):
                json.loads(json.dumps(data)), json.dumps(data, indent=1)
            pattern.sub(lambda m: m.group(2), "me@here you@there")
            list(map(str.upper, ["a", "b"])), functools.reduce(operator.add, range(9), 0)
            words = "the quick brown fox".split()
            words.sort(key=len), max(words, key=len), "-".join(words), words.index("fox")
            list(itertools.accumulate(range(5), lambda a, b: a * b)), dict(zip("ab", range(2)))
            isinstance(3, int), len(words), [].append(1), print(end=""), type("X", (), {})(), hash("x")
            [x for x in range(3)], {x: 1 for x in "ab"}, "{:>5}".format(3), f"{3!r:>5}"
    """,
    "dataclasses": """
        import dataclasses

        def make(name):
            return dataclasses.make_dataclass(name, ["x", "y"])

        A, B = make("A"), make("B")

        def work():
            for i in range(10):
                A(i, i) == A(1, 1)
            for i in range(3):
                repr(B(i, i)), dataclasses.asdict(B(1, 2))
    """,
    "numpy": """
        import numpy as np

        rng = np.random.default_rng(0)
        a = rng.standard_normal((40, 40))

        def layer(x, w):
            return np.maximum(x @ w, 0.0)

        def work():
            x = a
            for _ in range(5):
                x = layer(x, a)
            x.sum(), np.linalg.norm(x), np.concatenate([x, x], axis=1).reshape(-1).argsort()
            np.vectorize(lambda v: v * 2)(a[0]), np.apply_along_axis(lambda row: row.max(), 1, a)
            np.array_equal(x, x), np.einsum("ij,jk->ik", a, a), a.tolist()
    """,
    "callbacks": """
        import copy, functools, pickle

        class Node:
            def __init__(self, value): self.value = value
            def __lt__(self, other): return self.value < other.value
            def __hash__(self): return self.value
            def __eq__(self, other): return self.value == other.value
            def __reduce__(self): return (Node, (self.value,))
            def __getattr__(self, name):
                if name.startswith("__"): raise AttributeError(name)
                return self.value
            def __del__(self): len("gone")

        @functools.lru_cache(maxsize=None)
        def cached(n): return n

        def work():
            nodes = sorted([Node(i % 7) for i in range(20)])
            set(nodes), {n: 1 for n in nodes}, copy.deepcopy(nodes[0]), pickle.loads(pickle.dumps(nodes[1]))
            nodes[0].anything, max(nodes), sum(map(hash, nodes)), [cached(i % 3) for i in range(9)]
            list(filter(lambda n: n.value, nodes))
    """,
}

DRIVER = """
import cProfile, gc, sys
from tare import _core

{program}

work()
gc.collect()
gc.disable()
profiler = cProfile.Profile()
profiler.enable()
work()
profiler.disable()
path = _core.start(sys.argv[1])
work()
_core.stop()

import collections
import tare

theirs = collections.Counter()
for entry in profiler.getstats():
    code = entry.code
    key = ("~", 0, code) if isinstance(code, str) else (code.co_filename, code.co_firstlineno, code.co_name)
    theirs[key] += entry.callcount
    theirs[key + ("primitive",)] += entry.callcount - entry.reccallcount
mine = collections.Counter()
for f in tare.load(path).functions():
    mine[f.file, f.line, f.name] = f.calls
    mine[f.file, f.line, f.name, "primitive"] = f.primitive_calls
own = ("disable' of '_lsprof", "_core.stop")
keys = [k for k in {{*theirs, *mine}} if not any(o in k[2] for o in own)]
different = [(k, mine[k], theirs[k]) for k in keys if mine[k] != theirs[k]]
# Where several code objects share a name, what is primitive for one of them need not be for their sum.
codes = [entry.code for entry in profiler.getstats() if not isinstance(entry.code, str)]
labels = collections.Counter((code.co_filename, code.co_firstlineno, code.co_name) for code in codes)
different = [d for d in different if not (len(d[0]) == 4 and labels[d[0][:3]] > 1)]
for key, ours, other in different:
    print(key, "tare", ours, "cProfile", other)
print(len(keys) // 2, "functions")
status = _core.status()
assert status["unmatched"] == status["skipped"] == 0, status
sys.exit(1 if different or len(keys) < 6 else 0)
"""


def run(code: str, folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    script = folder / "script.py"
    script.write_text(code)
    return subprocess.run(
        [sys.executable, str(script), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONHASHSEED": "0", **environment},
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_are_those_that_cprofile_counts(name: str, tmp_path: Path) -> None:
    if name == "numpy":
        pytest.importorskip("numpy", reason="numpy is not installed here: pip install numpy")
    done = run(DRIVER.format(program=textwrap.dedent(PROGRAMS[name])), tmp_path, str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_thread_has_its_own_stack(tmp_path: Path) -> None:
    code = """
    import sys, threading
    from tare import _core

    counted = 0
    lock = threading.Lock()

    def inner(n):
        return n

    def outer(n):
        global counted
        with lock:
            counted += 2
        return inner(n) + 1

    def work(gate):
        gate.wait()
        for i in range(2000):
            outer(i)

    gate = threading.Event()
    before = [threading.Thread(target=work, args=(gate,), name=f"before-{i}") for i in range(3)]
    for t in before: t.start()
    path = _core.start(sys.argv[1])
    after = [threading.Thread(target=work, args=(gate,), name=f"after-{i}") for i in range(3)]
    for t in after: t.start()
    gate.set()
    for t in before + after: t.join()
    _core.stop()
    import tare
    rows = {f.name: f for f in tare.load(path).functions()}
    assert rows["inner"].calls + rows["outer"].calls == counted == 24000, (rows, counted)
    folded = tare.load(path)._core.render("folded").decode()
    for t in before + after:
        assert t.name in folded, folded
    """
    done = run(textwrap.dedent(code), tmp_path, str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(sys.version_info < (3, 12), reason="before 3.12 the program's own profiler replaces ours")
def test_the_programs_own_profilers_work(tmp_path: Path) -> None:
    code = """
    import cProfile, sys
    from tare import _core

    def f():
        return len("x")

    path = _core.start(sys.argv[1])
    own = cProfile.Profile()
    own.enable(); f(); own.disable()
    seen = []
    sys.setprofile(lambda frame, event, arg: seen.append(event)); f(); sys.setprofile(None)
    sys.settrace(lambda *a: None); f(); sys.settrace(None)
    _core.stop()
    assert any(getattr(e.code, "co_name", "") == "f" for e in own.getstats())
    assert "c_call" in seen and "return" in seen
    import tare
    assert {g.name: g.calls for g in tare.load(path).functions()}["f"] == 3
    """
    done = run(textwrap.dedent(code), tmp_path, str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


def test_without_c_functions(tmp_path: Path) -> None:
    code = """
    import sys
    from tare import _core

    def f():
        return len("x")

    path = _core.start(sys.argv[1], 0, False)
    f()
    _core.stop()
    import tare
    rows = {g.name: g.calls for g in tare.load(path).functions()}
    assert rows == {"f": 1}, rows
    """
    done = run(textwrap.dedent(code), tmp_path, str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


def test_recording_twice_is_refused_and_again_is_fine(tmp_path: Path) -> None:
    code = """
    import sys
    from tare import TareError, _core

    def f(): pass

    for i in range(1, 4):
        path = _core.start(sys.argv[1])
        try:
            _core.start(sys.argv[1])
        except TareError as problem:
            assert "already" in str(problem)
        else:
            raise SystemExit("two recordings at once")
        for _ in range(i): f()
        assert _core.stop() == path
        import tare
        assert {g.name: g.calls for g in tare.load(path).functions()}["f"] == i
    try:
        _core.stop()
    except TareError as problem:
        assert "nothing" in str(problem)
    try:
        _core.start("/nowhere/at/all")
    except OSError:
        pass
    """
    done = run(textwrap.dedent(code), tmp_path, str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_fork_records_into_a_file_of_its_own(tmp_path: Path) -> None:
    code = """
    import os, sys
    from tare import _core

    def child(): return 1
    def parent(): return 2

    def main():
        pid = os.fork()
        if pid == 0:
            for _ in range(7): child()
            os._exit(0)
        os.waitpid(pid, 0)
        for _ in range(5): parent()

    _core.start(sys.argv[1])
    main()
    _core.stop()
    """
    done = run(textwrap.dedent(code), tmp_path, str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    found = {}
    for path in tmp_path.glob("*.tarecap"):
        for row in tare.load(path).functions():
            found[path.name.split("-")[0], row.name] = row.calls
    names = {(name, calls) for (_, name), calls in found.items() if name in ("child", "parent", "main")}
    assert names == {("child", 7), ("parent", 5), ("main", 1)}
    assert len({pid for pid, _ in found}) == 2


@pytest.mark.skipif(
    not any((Path(folder) / "tareprof.pth").exists() for folder in site.getsitepackages()),
    reason="tare is on the path but not installed: pip install . does that",
)
def test_children_are_reached_by_the_environment_alone(tmp_path: Path) -> None:
    code = """
    import subprocess, sys

    def f(): return 1

    if len(sys.argv) == 1:
        for flags in ([], ["-I"], ["-E"], ["-O"]):
            subprocess.run([sys.executable, *flags, __file__, "child"], check=True)
    else:
        assert not [m for m in sys.modules if m.partition(".")[0] == "tare"], sorted(sys.modules)
        for _ in range(4): f()
    """
    done = run(textwrap.dedent(code), tmp_path, TARE_RECORD=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    captures = list(tmp_path.glob("*.tarecap"))
    assert len(captures) == 5, list(tmp_path.iterdir())
    calls = [{f.name: f.calls for f in tare.load(path).functions()}.get("f", 0) for path in captures]
    assert sorted(calls) == [0, 4, 4, 4, 4]


def test_a_process_that_cannot_be_recorded_runs_on(tmp_path: Path) -> None:
    done = run("print('fine')", tmp_path, TARE_RECORD=str(tmp_path / "missing"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="interpreters with their own GIL begin with 3.12")
def test_another_interpreter_is_refused(tmp_path: Path) -> None:
    code = """
    import sys
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    other = interpreters.create()
    inside = '''
    import tare
    from tare import _core
    try:
        _core.start(%r)
    except tare.TareError as problem:
        assert "main interpreter" in str(problem)
    else:
        raise SystemExit("started")
    '''
    import textwrap
    failed = interpreters.run_string(other, textwrap.dedent(inside % sys.argv[1]))
    assert failed is None, failed
    """
    done = run(textwrap.dedent(code), tmp_path, str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
