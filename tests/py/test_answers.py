# SPDX-License-Identifier: Apache-2.0
"""The hooks see what cProfile sees, call for call.

Each program runs in an interpreter of its own: once to warm up, once under cProfile, once recorded. Calls and
primitive calls of every function must be equal, but for the two that switch the profilers off.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

pytest.importorskip("tare", reason="tare is not installed here: bash .ci/run python_tests does it")

from profiled import run

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
    "torch": """
        import torch
        from torch import nn

        torch.manual_seed(0)
        torch.set_num_threads(1)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        model = nn.Sequential(nn.Embedding(50, 32), encoder)
        model.append(nn.LayerNorm(32)).append(nn.Linear(32, 5))
        words = torch.arange(24).reshape(2, 12) % 50
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)

        def work():
            with torch.inference_mode():
                out = model.eval()(words)
                torch.stack([out, out]).mean(dim=0).argmax(-1).tolist(), out.shape, torch.is_tensor(out)
                torch.cat((out, out), 1), torch.where(out > 0, out, out), out[0, 0, 0].item(), repr(out.dtype)
            loss = nn.functional.cross_entropy(model.train()(words).flatten(0, 1), words.flatten() % 5)
            loss.backward(), optimizer.step(), optimizer.zero_grad()
    """,
    "package": """
        # The tests of a package as pytest collects and rewrites them, in the order it runs them.
        import contextlib, io, pytest

        class Collector:
            def pytest_collection_modifyitems(self, items):
                self.tests = [
                    item.obj for item in items
                    if not any(mark.args and mark.args[0] for mark in item.iter_markers("skipif"))
                ]

        collector = Collector()
        with contextlib.redirect_stdout(io.StringIO()) as said:
            words = ["--collect-only", "-q", "-p", "no:cacheprovider", "--pyargs", "toolz.tests"]
            assert pytest.main(words, plugins=[collector]) == 0, said.getvalue()
        assert len(collector.tests) > 150

        def work():
            for test in collector.tests:
                test()
    """,
}

NEEDS = {"numpy": "numpy", "torch": "torch", "package": "toolz"}

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


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_are_those_that_cprofile_counts(name: str, tmp_path: Path) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"not installed here: pip install {NEEDS[name]}")
    code = DRIVER.format(program=textwrap.dedent(PROGRAMS[name]))
    # Not where modules are looked for: a new file there costs the importer calls.
    captures = tmp_path / "captures"
    captures.mkdir()
    run(code, tmp_path, str(captures), PYTHONHASHSEED="0")
