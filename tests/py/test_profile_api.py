# SPDX-License-Identifier: Apache-2.0
"""Decorators and context managers: what belongs to a name is what ran inside it, and the files say so."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

tare = pytest.importorskip("tare", reason="tare is not installed here: bash .ci/run python_tests does it")

from profiled import calls, only, rows, run  # noqa: E402  only where tare is


def test_the_example_of_a_function(tmp_path: Path) -> None:
    before = int(time.time())
    run(
        """
        import tare

        @tare.profile_function(name="embed_query")
        def embed_query(query):
            return inner(query)

        def inner(query):
            return len(query)

        assert [embed_query("abc") for _ in range(4)] == [3] * 4
        inner("outside")
        """,
        tmp_path,
    )
    assert calls(tmp_path, "embed_query") == {
        "span embed_query": 4,
        "embed_query": 4,
        "inner": 4,
        "<built-in method builtins.len>": 4,
    }
    files = sorted(p.name for p in (tmp_path / "profiling_results").iterdir())
    assert [re.sub(r"\d+", "T", name) for name in files] == [
        "embed_query_T.pb.gz",
        "embed_query_T.prof",
        "embed_query_T.txt",
    ]
    (when,) = {int(re.findall(r"\d+", name)[0]) for name in files}
    assert before <= when <= time.time()
    table = only(tmp_path, "*.txt").read_text()
    assert "ncalls  tottime  percall  cumtime  percall filename:lineno(function)" in table
    assert "(inner)" in table


def test_a_decorated_function_is_the_function(tmp_path: Path) -> None:
    run(
        """
        import asyncio, inspect, pickle, tare

        def plain(a: int, b: str = "x", *c, d, **e) -> float:
            "What it says."
            raise KeyError(a)

        made = tare.profile_function(plain)
        assert made.__wrapped__ is plain and made.__name__ == "plain" and made.__doc__ == "What it says."
        assert inspect.signature(made) == inspect.signature(plain)
        try:
            made(7, d=1)
        except KeyError as problem:
            assert problem.args == (7,) and problem.__context__ is None
        else:
            raise SystemExit("no exception")

        class Model:
            @tare.profile_function
            def forward(self, x): return x + 1
            @staticmethod
            @tare.profile_function()
            def fixed(x): return x
            @classmethod
            @tare.profile("other")
            def made(cls): return cls
        assert Model().forward(1) == 2 and Model.fixed(3) == 3 and Model.made() is Model

        @tare.profile_function
        async def later(x):
            await asyncio.sleep(0)
            return x
        assert inspect.iscoroutinefunction(later) and asyncio.run(later(5)) == 5

        @tare.profile_function
        def numbers(n):
            try:
                for i in range(n):
                    got = yield i
                    if got: yield got * 10
            except ValueError:
                yield -1
            finally:
                closed.append(n)
            return "end"
        closed = []
        assert inspect.isgeneratorfunction(numbers) and list(numbers(3)) == [0, 1, 2]
        g = numbers(5); next(g)
        assert g.send(4) == 40 and g.throw(ValueError()) == -1
        g.close()
        def whole(): return (yield from numbers(0))
        try: next(whole())
        except StopIteration as end: assert end.value == "end"
        assert closed == [3, 5, 0]

        @tare.profile_function
        async def stream(n):
            try:
                for i in range(n):
                    await asyncio.sleep(0)
                    try:
                        got = yield i
                    except KeyError:
                        got = "thrown"
                    if got: yield got
            finally:
                closed.append("stream")
        async def use():
            assert inspect.isasyncgenfunction(stream)
            assert [x async for x in stream(3)] == [0, 1, 2]
            s = stream(3)
            assert await s.asend(None) == 0 and await s.asend("sent") == "sent"
            assert await s.asend(None) == 1 and await s.athrow(KeyError()) == "thrown"
            await s.aclose()
        asyncio.run(use())
        assert closed[3:] == ["stream", "stream"]
        """,
        tmp_path,
    )
    assert {re.sub(r"_\d+.*", "", p.name) for p in (tmp_path / "profiling_results").iterdir()} == {
        *("plain", "forward", "fixed", "other", "later", "numbers", "stream"),
    }


def test_of_a_generator_only_its_own_work(tmp_path: Path) -> None:
    run(
        """
        import tare

        def inside(): pass
        def between(): pass

        @tare.profile_function(name="numbers")
        def numbers(n):
            for i in range(n):
                inside()
                yield i

        for i in numbers(5):
            between()
        """,
        tmp_path,
    )
    got = calls(tmp_path, "numbers")
    assert got["inside"] == 5
    assert "between" not in got


def test_nested_recursive_and_side_by_side(tmp_path: Path) -> None:
    run(
        """
        import tare

        def leaf(): pass

        @tare.profile_function
        def down(n):
            leaf()
            if n: down(n - 1)

        outer, first, second = tare.profile("outer"), tare.profile("first"), tare.profile("second")
        with outer:
            leaf()
            down(3)
            with tare.profile("inner"):
                leaf(), leaf()
                with outer:
                    leaf()
        down(1)
        first.__enter__(); leaf()
        second.__enter__(); leaf()
        first.__exit__(None, None, None); leaf(); leaf(); leaf()
        second.__exit__(None, None, None); leaf()
        try:
            with tare.profile("failed"):
                leaf()
                raise ValueError
        except ValueError:
            leaf()
        """,
        tmp_path,
    )
    assert calls(tmp_path, "outer")["leaf"] == 1 + 4 + 2 + 1
    assert calls(tmp_path, "outer")["span outer"] == 2
    assert calls(tmp_path, "inner")["leaf"] == 3
    assert calls(tmp_path, "down")["leaf"] == 6
    assert calls(tmp_path, "first") == {"span first": 1, "leaf": 2, "span second": 1}
    assert calls(tmp_path, "second")["leaf"] == 4
    assert calls(tmp_path, "failed")["leaf"] == 1


def test_spans_that_outlive_the_call_that_opened_them(tmp_path: Path) -> None:
    run(
        """
        import contextlib, tare

        def leaf(): pass
        def opener(stack, name): stack.enter_context(tare.profile(name))

        @contextlib.contextmanager
        def region():
            with tare.profile("region"):
                yield

        for whole in (contextlib.nullcontext(), tare.profile("whole")):
            with whole:
                with contextlib.ExitStack() as stack:
                    opener(stack, "stacked")
                    leaf(), leaf()
                leaf()
                with region():
                    leaf()
        """,
        tmp_path,
    )
    assert calls(tmp_path, "stacked")["leaf"] == 4
    assert calls(tmp_path, "region")["leaf"] == 2
    assert calls(tmp_path, "whole")["leaf"] == 4


def test_each_thread_has_its_own(tmp_path: Path) -> None:
    run(
        """
        import threading, tare

        def inside(): pass
        def outside(): pass

        @tare.profile_function(name="job")
        def job(n):
            for _ in range(n): inside()

        def work(n):
            gate.wait()
            for i in range(20):
                outside()
                job(n)
                outside()

        gate = threading.Barrier(4)
        threads = [threading.Thread(target=work, args=(n,), name=f"worker-{n}") for n in (1, 10, 100)]
        for t in threads: t.start()
        with tare.profile("waiting"):
            gate.wait()
            for t in threads: t.join()
        """,
        tmp_path,
    )
    got = calls(tmp_path, "job")
    assert got["inside"] == 20 * 111
    assert got["job"] == got["span job"] == 60
    assert "outside" not in got
    assert "inside" not in calls(tmp_path, "waiting")
    folded = tare.load(only(tmp_path, "job_*.pb.gz"))._core.render("folded").decode()
    assert all(f"worker-{n}" in folded for n in (1, 10, 100))


@pytest.mark.parametrize("how", ["async with", "with"])
def test_tasks_take_turns(how: str, tmp_path: Path) -> None:
    run(
        f"""
        import asyncio, tare

        def one(): pass
        def two(): pass
        def child(): pass
        def stranger(): pass

        async def step(function, n):
            for _ in range(n):
                function()
                await asyncio.sleep(0)

        async def named(name, function, n):
            {how} tare.profile(name):
                function()
                await step(function, n)
            await step(stranger, 2)

        async def late():
            await asyncio.sleep(0.02)
            stranger()

        async def main():
            asyncio.create_task(step(stranger, 30))
            await asyncio.gather(named("one", one, 5), named("two", two, 7), step(stranger, 20))
            {how} tare.profile("family"):
                await asyncio.gather(step(child, 3), step(child, 4))
                task = asyncio.create_task(late())
            await task

        @tare.profile_function(name="decorated")
        async def decorated():
            await step(one, 6)

        async def three():
            await asyncio.gather(decorated(), decorated(), step(stranger, 9))

        asyncio.run(main())
        asyncio.run(three())
        """,
        tmp_path,
    )
    one, two, family = (calls(tmp_path, name) for name in ("one", "two", "family"))
    assert (one["one"], two["two"], one["span one"], two["span two"]) == (6, 8, 1, 1)
    assert "two" not in one
    assert "one" not in two
    assert family["child"] == 7
    for name in ("one", "two", "family", "decorated"):
        assert "stranger" not in calls(tmp_path, name)
    assert calls(tmp_path, "decorated")["one"] == 12


def test_tasks_that_are_cancelled_and_threads_that_a_task_asks(tmp_path: Path) -> None:
    run(
        """
        import asyncio, contextlib, tare

        def inside(): pass
        def outside(): pass
        def in_thread(): inside()

        async def endless():
            try:
                async with tare.profile("cancelled"):
                    inside()
                    await asyncio.sleep(60)
            finally:
                outside()
                await asyncio.sleep(0)
                outside()

        async def stacked():
            async with contextlib.AsyncExitStack() as stack:
                await stack.enter_async_context(tare.profile("stacked"))
                await asyncio.sleep(0)
                inside()
                await asyncio.sleep(0)
                inside()
            outside()

        async def main():
            task = asyncio.create_task(endless())
            await asyncio.sleep(0.01)
            outside()
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            await asyncio.gather(stacked(), *(asyncio.sleep(0, outside()) for _ in range(3)))
            async with tare.profile("asking"):
                await asyncio.to_thread(in_thread)
            await asyncio.to_thread(outside)

        asyncio.run(main())
        """,
        tmp_path,
    )
    for name in ("cancelled", "stacked", "asking"):
        assert "outside" not in calls(tmp_path, name)
    assert calls(tmp_path, "cancelled")["inside"] == 1
    assert calls(tmp_path, "stacked")["inside"] == 2
    if sys.version_info >= (3, 12):
        assert calls(tmp_path, "asking")["inside"] == 1


def test_the_programs_own_profiler_stays(tmp_path: Path) -> None:
    run(
        """
        import sys, tare

        seen = []
        def own(frame, event, arg):
            if event == "call": seen.append(frame.f_code.co_name)
        def leaf(): pass

        sys.setprofile(own)
        with tare.profile("job"):
            leaf()
        assert sys.getprofile() is own
        leaf()
        sys.setprofile(None)
        assert seen.count("leaf") == 2, seen
        with tare.profile("later"):
            leaf()
        assert sys.getprofile() is None
        """,
        tmp_path,
    )
    assert calls(tmp_path, "job")["span job"] == 1
    assert calls(tmp_path, "later")["leaf"] == 1


def test_under_tare_run(tmp_path: Path) -> None:
    script = tmp_path / "service.py"
    script.write_text(
        textwrap.dedent(
            """
            import tare

            def leaf(): pass

            @tare.profile_function(name="job")
            def job(): leaf()

            leaf()
            job()
            """
        )
    )
    done = subprocess.run(
        [sys.executable, "-m", "tare", "run", "--python", sys.executable, "-o", "whole.pb.gz", str(script)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert calls(tmp_path, "job") == {"span job": 1, "job": 1, "leaf": 1}
    whole = rows(tare.load(tmp_path / "whole.pb.gz"))
    assert whole["leaf"] == 2
    assert whole["span job"] == 1
    assert not list((tmp_path / "profiling_results").glob("*.tarecap"))


def test_code_outside_is_not_recorded_and_a_recording_goes_on(tmp_path: Path) -> None:
    run(
        """
        import sys, tare

        def leaf(): pass

        @tare.profile_function(name="job")
        def job(): leaf()

        for i in range(50):
            job()
            for _ in range(3000 if i % 10 == 0 else 3): leaf()
        """,
        tmp_path,
    )
    assert calls(tmp_path, "job") == {"span job": 50, "job": 50, "leaf": 50}


def test_inside_a_whole_recording(tmp_path: Path) -> None:
    """Where `tare run` records the process already, spans are part of that recording."""
    run(
        """
        import asyncio, os, sys, tare
        from tare import _core

        def leaf(): pass
        def outside(): pass

        @tare.profile_function(name="job")
        def job(): leaf()

        async def turn(name):
            async with tare.profile(name):
                for _ in range(3):
                    leaf()
                    await asyncio.sleep(0)
            outside()

        async def main():
            await asyncio.gather(turn("one"), turn("two"))

        path = _core.start(os.getcwd())
        outside()
        job()
        asyncio.run(main())
        status = _core.status()
        assert not status["skipped"], status
        """,
        tmp_path,
    )
    assert calls(tmp_path, "job") == {"span job": 1, "job": 1, "leaf": 1}
    for name in ("one", "two"):
        got = calls(tmp_path, name)
        assert got["leaf"] == 3
        assert got[f"span {name}"] == 1
        assert "outside" not in got
    (capture,) = tmp_path.glob("*.tarecap")
    whole = rows(tare.load(capture))
    assert whole["outside"] == 3
    assert whole["leaf"] == 7
