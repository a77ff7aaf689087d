# SPDX-License-Identifier: Apache-2.0
"""A program under `tare run` finds what it finds under plain `python`, and ends as it ends there."""

from __future__ import annotations

import marshal
import pstats
import re
import signal
import subprocess
from pathlib import Path

import pytest
from launching import OURS, Launcher, stats_of

LOOK = """
    import atexit, json, os, pickle, re, signal, sys

    class Thing:
        pass

    def late(name):
        print("atexit", name)

    def link(fd):
        try:
            return os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            return ""

    atexit.register(late, "first"), atexit.register(late, "second")
    main = sys.modules["__main__"]
    found = {
        "argv": sys.argv,
        "orig_argv": sys.orig_argv,
        "path": sys.path,
        "path0": sys.path[0] if sys.path else None,
        "modules": sorted(sys.modules),
        "flags": repr(sys.flags),
        "xoptions": sys._xoptions,
        "warnoptions": sys.warnoptions,
        "executable": sys.executable,
        "prefix": sys.prefix,
        "name": __name__,
        "main_is_this": main.Thing is Thing,
        "main": sorted(vars(main)),
        "spec": re.sub("0x[0-9a-f]+", "", repr(main.__spec__)),
        "file": globals().get("__file__"),
        "thing": pickle.loads(pickle.dumps(Thing())).__class__.__qualname__,
        "pickle": pickle.dumps(Thing(), 2).decode("latin-1"),
        "cwd": os.getcwd(),
        "hooks": [repr(sys.gettrace()), sys.excepthook is sys.__excepthook__, repr(sys.path_hooks[0])],
        "meta_path": [repr(getattr(f, "__name__", type(f))) for f in sys.meta_path],
        "signals": {s.name: repr(signal.getsignal(s)) for s in signal.Signals},
        "mask": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "group_of_parent": os.getpgid(os.getppid()) == os.getpgrp(),
        "inheritable": [os.get_inheritable(fd) for fd in (0, 1, 2)],
        "descriptors": sorted(target.split(":")[0] for target in map(link, os.listdir("/proc/self/fd"))
                              if target and "tarecap" not in target),
        "environment": {k: v for k, v in os.environ.items() if not k.startswith("TARE_RECORD")},
    }
    print(json.dumps(found, indent=1, sort_keys=True))
"""

WAYS = {
    "script": ["look.py", "one", "-o", "two", "--help", ""],
    "module": ["-m", "look", "-x", "--", "-s"],
    "package": ["-m", "bag", "1"],
    "folder": ["bag"],
    "code": ["-c", "exec(open('look.py').read())", "-c", "-m"],
    "flags": ["-O", "-X", "dev", "-W", "error::SyntaxWarning", "-u", "look.py"],
    "bundled": ["-OuB", "-Xutf8=1", "look.py"],
    "isolated": ["-I", "look.py"],
    "bundled module": ["-Bm", "look", "x"],
}


@pytest.mark.parametrize("way", WAYS)
def test_a_program_finds_what_it_finds_without_tare(launcher: Launcher, way: str) -> None:
    launcher.script(LOOK, "look.py")
    (launcher.folder / "bag").mkdir()
    launcher.script(LOOK, "bag/__main__.py")
    plain = launcher.plain(*WAYS[way])
    recorded = launcher.recorded(*WAYS[way])
    assert plain.returncode == recorded.returncode == 0, recorded.stderr + plain.stderr
    assert "atexit second\natexit first" in plain.stdout
    assert recorded.stdout == plain.stdout
    assert (launcher.folder / "result.prof").exists()
    assert not launcher.captures(), "the captures were left behind"


def test_only_our_variables_are_added_to_the_environment(launcher: Launcher) -> None:
    code = "import os; print(sorted(os.environ))"
    plain, recorded = (eval(run("-c", code).stdout) for run in (launcher.plain, launcher.recorded))
    assert sorted(set(recorded) - set(plain)) == sorted(OURS)
    assert set(plain) <= set(recorded)


ENDS = {
    "well": ("pass", 0),
    "status": ("import sys; sys.exit(3)", 3),
    "exception": ("def f():\n  raise KeyError('x')\nf()", 1),
    "text": ("raise SystemExit('last words')", 1),
    "os._exit": ("import os; os._exit(7)", 7),
    "abort": ("import os; os.abort()", 128 + signal.SIGABRT),
    "kill": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 128 + signal.SIGKILL),
    "term": ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 128 + signal.SIGTERM),
    "segv": ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", 128 + signal.SIGSEGV),
    "interrupt": ("raise KeyboardInterrupt", 128 + signal.SIGINT),
}


@pytest.mark.parametrize("end", ENDS)
def test_it_ends_as_the_program_did_and_has_a_profile(launcher: Launcher, end: str) -> None:
    code, status = ENDS[end]
    plain, recorded = launcher.plain("-c", code), launcher.recorded("-c", code)
    assert plain.returncode == (status if status < 128 else 128 - status)
    assert recorded.returncode == status, recorded.stderr
    assert plain.stderr in recorded.stderr, "what the program said is missing"
    functions = {key[2] for key in stats_of(launcher.folder / "result.prof")}
    assert "<module>" in functions
    assert not launcher.captures()


MISSING = {
    "script": ["missing.py"],
    "module": ["-m", "missing"],
    "submodule": ["-m", "missing.part"],
    "folder": ["empty"],
    "code": ["-c", "1 +"],
    "syntax": ["wrong.py"],
    "module syntax": ["-m", "wrong"],
}


@pytest.mark.parametrize("what", MISSING)
def test_a_program_that_never_began_has_no_profile(launcher: Launcher, what: str) -> None:
    (launcher.folder / "empty").mkdir()
    launcher.script("def f(:", "wrong.py")
    plain, recorded = launcher.plain(*MISSING[what]), launcher.recorded(*MISSING[what])
    table = launcher.finish(launcher.tare(*MISSING[what]))
    assert plain.returncode == recorded.returncode == table.returncode != 0
    for done in (recorded, table):
        assert done.stdout == ""
        first, _, rest = done.stderr.partition("\n")
        assert first.startswith("tare run: Python ")
        assert rest == plain.stderr, "nothing but what Python says"
    assert not (launcher.folder / "result.prof").exists()
    assert not launcher.captures()


def test_killed_before_the_program_began(launcher: Launcher) -> None:
    code = """
        import os, signal
        if "TARE_RECORD" in os.environ and os.path.exists("now"):
            os.kill(os.getpid(), signal.SIGKILL)
        """
    launcher.script(code, "sitecustomize.py")
    env = {"PYTHONPATH": str(launcher.folder)}
    assert "(f)" in launcher.finish(launcher.tare("-c", "def f(): pass\nf()"), env=env).stdout
    (launcher.folder / "now").touch()
    done = launcher.finish(launcher.tare("--keep", "-c", "pass"), env=env)
    assert (done.returncode, done.stdout) == (128 + signal.SIGKILL, "")
    assert "nothing was recorded: the program had not begun" in done.stderr
    (folder,) = launcher.captures()
    for target in (folder, *folder.iterdir()):
        shown = launcher.report(target)
        assert (shown.returncode, shown.stdout) == (2, "")
        assert "the program had not begun" in shown.stderr
    # Another process of the same run is shown, and this one named.
    code = f"import subprocess; subprocess.run([{str(launcher.python)!r}, '-c', 'pass'])"
    (launcher.folder / "now").unlink()
    outer = f"open('now', 'w')\n{code}\ndef outer(): pass\nouter()"
    done = launcher.finish(launcher.tare("-c", outer), env=env)
    assert "(outer)" in done.stdout
    assert "sitecustomize" not in done.stdout
    assert "ended before its program began" in done.stderr


def test_a_replaced_image_goes_on_recording(launcher: Launcher) -> None:
    launcher.script(
        """
        import os, sys
        def before():
            return 1
        def after():
            return 2
        if len(sys.argv) == 1:
            before()
            os.execv(sys.executable, [sys.executable, *sys.argv, "again"])
        after()
        print(sys.argv, os.getppid() > 0)
        """
    )
    plain, recorded = launcher.plain("program.py"), launcher.recorded("program.py")
    assert recorded.returncode == plain.returncode == 0, recorded.stderr
    assert recorded.stdout == plain.stdout
    functions = {key[2]: value[1] for key, value in stats_of(launcher.folder / "result.prof").items()}
    assert functions["before"] == functions["after"] == 1


def test_standard_input_reaches_the_program(launcher: Launcher) -> None:
    code = "import sys; print(input(), sys.stdin.read().upper(), sys.stdin.isatty())"
    plain = launcher.plain("-c", code, input="first\nthe rest\n")
    assert launcher.recorded("-c", code, input="first\nthe rest\n").stdout == plain.stdout
    # The program itself may come from there too.
    assert launcher.recorded("-", "word", input="import sys; print(sys.argv)").stdout == "['-', 'word']\n"


def test_a_closed_pipe_is_the_programs_own_affair(launcher: Launcher) -> None:
    launcher.script("import signal; print(signal.getsignal(signal.SIGPIPE), signal.getsignal(signal.SIGINT))")
    line = f"'{launcher.command}' run -o p.prof --python '{launcher.python}' program.py"
    for before in ("", "trap '' INT; "):
        plain = launcher.finish(["sh", "-c", f"{before}'{launcher.python}' program.py"])
        assert launcher.finish(["sh", "-c", before + line]).stdout == plain.stdout


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGINT", "SIGQUIT"])
def test_signals_sent_to_tare_reach_the_program_once(launcher: Launcher, name: str) -> None:
    number = signal.Signals[name]
    launcher.script(
        """
        import signal, sys, time
        seen = []
        signal.signal(int(sys.argv[1]), lambda *_: seen.append(1))
        print("ready", flush=True)
        end = time.monotonic() + 30
        while not seen and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.2)
        print("seen", len(seen))
        sys.exit(5)
        """
    )
    words = launcher.tare("-o", "result.prof", "program.py", str(int(number)))
    with launcher.start(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (out, process.returncode) == ("seen 1\n", 5), err
    assert (launcher.folder / "result.prof").exists()


def test_a_program_that_does_not_handle_sigterm_dies_of_it_with_a_profile(launcher: Launcher) -> None:
    launcher.script("import time\ndef wait():\n    print('ready', flush=True)\n    time.sleep(60)\nwait()")
    words = launcher.tare("program.py")
    with launcher.start(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.terminate()
        out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert "program.py:2(wait)" in out
    assert "calls had not ended" in err


def test_the_table_is_cprofiles(launcher: Launcher) -> None:
    launcher.script("def f(n):\n    return n and f(n - 1)\nf(3)\nlen('x')")
    table = launcher.finish(launcher.tare("program.py"))
    assert "Ordered by: cumulative time" in table.stdout
    assert re.search(r"^ +4/1 .*program.py:1\(f\)$", table.stdout, re.MULTILINE)
    assert re.search(r"^ +1 .*\{built-in method builtins.len\}$", table.stdout, re.MULTILINE)
    assert f"at {launcher.python}" in table.stderr
    by_name = launcher.finish(launcher.tare("-s", "name", "-n", "2", "program.py"))
    assert "Ordered by: function name" in by_name.stdout
    assert "due to restriction <2>" in by_name.stdout
    only = launcher.finish(launcher.tare("--python-only", "program.py")).stdout
    assert "program.py:1(f)" in only
    assert "{built-in method builtins.len}" not in only


def test_outputs_follow_their_extensions(launcher: Launcher) -> None:
    names = ["a.prof", "a.svg", "a.pb.gz", "a.folded", "a.speedscope.json", "a.txt", "a.stats", "a", "a.xyz"]
    options = [word for name in names for word in ("-o", name)]
    done = launcher.finish(launcher.tare(*options, "-c", "print('mine')"))
    assert done.stdout == "mine\n", "standard output is the program's alone"
    assert not launcher.captures()
    for name in ("a.prof", "a.txt", "a.stats", "a", "a.xyz"):
        assert stats_of(launcher.folder / name)
        said = f"wrote {name}, a pstats file" in done.stderr
        assert said == (name != "a.prof"), done.stderr
    assert (launcher.folder / "a.svg").read_text().startswith("<?xml")
    assert (launcher.folder / "a.pb.gz").read_bytes()[:2] == b"\x1f\x8b"
    with open(launcher.folder / "a.prof", "rb") as file:
        assert isinstance(marshal.load(file), dict)


def test_snakeviz_opens_the_prof(launcher: Launcher) -> None:
    stats = pytest.importorskip("snakeviz.stats", reason="snakeviz is not installed: pip install snakeviz")
    launcher.script("def f(): return sum(range(9))\nf()")
    launcher.recorded("program.py")
    loaded = pstats.Stats(str(launcher.folder / "result.prof"))
    assert any("f" in str(row) for row in stats.table_rows(loaded))
    assert "program.py" in str(stats.json_stats(loaded))


def test_captures_are_kept_when_asked_and_open_later(launcher: Launcher) -> None:
    done = launcher.finish(launcher.tare("--keep", "-o", "result.prof", "-c", "def f(): pass\nf()"))
    (folder,) = launcher.captures()
    assert str(folder) in done.stderr
    assert "(f)" in launcher.report(folder).stdout
    (capture,) = folder.glob("*.tarecap")
    assert "(f)" in launcher.report(capture).stdout
    # One that is damaged is named, and the others are shown.
    (folder / "99-damage.tarecap").write_bytes(capture.read_bytes()[:5000].replace(b"tarecap", b"notacap"))
    shown = launcher.report(folder)
    assert "(f)" in shown.stdout
    assert "99-damage.tarecap" in shown.stderr
    assert shown.returncode == 0


def test_the_command_is_in_the_result(launcher: Launcher) -> None:
    launcher.finish(launcher.tare("-o", "x.folded", "-o", "x.svg", "-c", "\nimport sys\n", "an argument"))
    assert "python -c  import sys  an argument</title>" in (launcher.folder / "x.svg").read_text()


def test_the_captures_lie_beside_the_first_output(launcher: Launcher) -> None:
    (launcher.folder / "out").mkdir()
    launcher.finish(launcher.tare("--keep", "-o", "out/x.prof", "-c", "pass"))
    assert len(list((launcher.folder / "out").glob(".tare-*/*.tarecap"))) == 1


def test_where_nothing_can_be_written_captures_go_elsewhere(launcher: Launcher, tmp_path: Path) -> None:
    spare = tmp_path / "spare"
    spare.mkdir()
    done = launcher.finish(launcher.tare("--keep", "-c", "pass"), env={"TMPDIR": str(spare)}, cwd="/proc")
    assert done.returncode == 0
    assert len(list(spare.glob(".tare-*/*.tarecap"))) == 1


def test_a_python_without_tare_is_told_how_to_get_it(launcher: Launcher, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([str(launcher.python), "-m", "venv", "--without-pip", str(bare)], check=True)
    python = bare / "bin" / "python"
    done = launcher.finish([str(launcher.command), "run", "--python", str(python), "-c", "print('ran')"])
    assert (done.returncode, done.stdout) == (125, "")
    assert f"{python} -m pip install tareprof" in done.stderr


def test_the_interpreter_is_the_active_environments(launcher: Launcher) -> None:
    prefix = str(launcher.python.parents[1])
    words = [str(launcher.command), "run", "-o", "x.prof", "-c", "import sys; print(sys.prefix)"]
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        other = {"VIRTUAL_ENV": "", "CONDA_PREFIX": "", name: prefix, "PATH": "/nowhere"}
        done = launcher.finish(words, env=other)
        assert done.stdout == prefix + "\n", done.stderr
        assert f"({name})" in done.stderr
    path = f"{launcher.python.parent}:/usr/bin"
    done = launcher.finish(words, env={"VIRTUAL_ENV": "", "CONDA_PREFIX": "", "PATH": path})
    assert done.stdout == prefix + "\n"


def test_python_m_tare_is_the_same(launcher: Launcher) -> None:
    code = "import sys; print(sys.executable); sys.exit(4)"
    done = launcher.plain("-m", "tare", "run", "-o", "x.prof", "-c", code)
    assert (done.returncode, done.stdout) == (4, f"{launcher.python}\n"), done.stderr
    assert stats_of(launcher.folder / "x.prof")


def test_a_run_inside_a_run_is_its_own(launcher: Launcher) -> None:
    inner = [*launcher.tare("-o", "inner.prof"), "-c", "def inner(): pass\ninner()"]
    code = f"import subprocess\ndef outer(): subprocess.run({inner!r}, check=True)\nouter()"
    done = launcher.recorded("-c", code)
    assert done.returncode == 0, done.stderr
    names = [{key[2] for key in stats_of(launcher.folder / name)} for name in ("result.prof", "inner.prof")]
    assert "outer" in names[0]
    assert "inner" not in names[0]
    assert "inner" in names[1]
    assert "outer" not in names[1]
