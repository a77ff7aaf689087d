# SPDX-License-Identifier: Apache-2.0
"""The hooks keep threads, processes and interpreters apart, and the program sees nothing of them."""

from __future__ import annotations

import site
import sys
from pathlib import Path

import pytest

tare = pytest.importorskip("tare", reason="tare is not installed here: bash .ci/run python_tests does it")

from profiled import run  # noqa: E402  only where tare is


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
    run(code, tmp_path, str(tmp_path))


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
    run(code, tmp_path, str(tmp_path))


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
    run(code, tmp_path, str(tmp_path))


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
    run(code, tmp_path, str(tmp_path))


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
    run(code, tmp_path, str(tmp_path))
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
    done = run(code, tmp_path, TARE_RECORD=str(tmp_path))
    assert done.stderr == ""
    captures = list(tmp_path.glob("*.tarecap"))
    assert len(captures) == 5, list(tmp_path.iterdir())
    calls = [{f.name: f.calls for f in tare.load(path).functions()}.get("f", 0) for path in captures]
    assert sorted(calls) == [0, 4, 4, 4, 4]


def test_a_process_that_cannot_be_recorded_runs_on(tmp_path: Path) -> None:
    done = run("print('fine')", tmp_path, TARE_RECORD=str(tmp_path / "missing"))
    assert (done.stdout, done.stderr) == ("fine\n", "")


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
    run(code, tmp_path, str(tmp_path))
