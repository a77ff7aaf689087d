# SPDX-License-Identifier: Apache-2.0
"""Every process of a run is in its result, however it was started, and no two write one file."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from launching import Done, Launcher, stats_of

POOL = """
    import multiprocessing, os, sys

    def work(n):
        return leaf(n)

    def leaf(n):
        return n * n

    if __name__ == "__main__":
        context = multiprocessing.get_context(sys.argv[1])
        with context.Pool(4) as pool:
            print(sum(pool.map(work, range(40), chunksize=1)))
            pool.close()
            pool.join()
"""


def calls(path: Path, name: str) -> int:
    return sum(int(value[1]) for key, value in stats_of(path).items() if key[2] == name)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_pool_is_followed_into_one_result(launcher: Launcher, method: str) -> None:
    launcher.script(POOL)
    done = launcher.recorded("--keep", "program.py", method)
    assert (done.returncode, done.stdout) == (0, "20540\n"), done.stderr
    assert calls(launcher.folder / "result.prof", "leaf") == 40, "every call, of every worker"
    (folder,) = launcher.captures()
    profile = json.loads(launcher.report(folder, "--json").stdout)
    roles = Counter(re.findall(r'"role", ?"text": ?"(\w+)"|"role": ?"(\w+)"', json.dumps(profile)))
    named = {role for pair in roles for role in pair if role}
    assert {"main", "spawn" if method == "spawn" else "fork"} <= named, named


def test_files_of_single_processes(launcher: Launcher) -> None:
    launcher.script(
        """
        import os, subprocess, sys
        def ranked():
            return os.environ.get("RANK")
        ranked()
        if len(sys.argv) == 1:
            for rank in "01":
                ranks = {"RANK": rank, "LOCAL_RANK": rank}
                subprocess.run([sys.executable, __file__, "x"], env={**os.environ, **ranks})
        """
    )
    names = ["{pid}.prof", "r{rank}.prof", "all.pb.gz", "{rank}-{pid}.svg"]
    done = launcher.finish(launcher.tare(*[word for name in names for word in ("-o", name)], "program.py"))
    assert done.returncode == 0, done.stderr
    by_pid = [path for path in launcher.folder.glob("*.prof") if path.stem.isdigit()]
    assert len(by_pid) == 3
    assert {calls(path, "ranked") for path in by_pid} == {1}
    by_rank = sorted(path.name for path in launcher.folder.glob("r*.prof"))
    assert by_rank == ["r0.prof", "r1.prof", "rnone.prof"]
    assert len(list(launcher.folder.glob("*-*.svg"))) == 3
    shown = launcher.report("all.pb.gz", "-m", "ranked").stdout
    assert re.search(r"^ +3 .*\(ranked\)$", shown, re.MULTILINE)


def test_processes_of_one_rank_are_added_up(launcher: Launcher) -> None:
    launcher.script("import os\ndef f(): pass\nif os.fork() == 0:\n    f()\n    os._exit(0)\nos.wait()\nf()")
    done = launcher.finish(launcher.tare("-o", "{rank}.prof", "program.py"), env={"RANK": "7/../x"})
    assert done.returncode == 0, done.stderr
    (path,) = launcher.folder.glob("*.prof")
    assert path.name == "7____x.prof", "a rank is no way out of the folder"
    assert calls(path, "f") == 2


def test_fork_from_a_thread(launcher: Launcher) -> None:
    launcher.script(
        """
        import os, threading, warnings
        warnings.simplefilter("ignore")
        def child():
            return grandchild()
        def grandchild():
            return 1
        def forking():
            pid = os.fork()
            if pid == 0:
                child()
                os._exit(0)
            print(os.waitpid(pid, 0)[1])
        thread = threading.Thread(target=forking)
        thread.start()
        thread.join()
        """
    )
    done = launcher.recorded("program.py")
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
    assert calls(launcher.folder / "result.prof", "grandchild") == 1


def test_a_daemon_that_outlives_the_program_is_listed_and_added_later(launcher: Launcher) -> None:
    launcher.script(
        """
        import os, sys, time
        def lasting():
            with open("pid", "w") as file:
                file.write(str(os.getpid()))
            while not os.path.exists("stop"):
                time.sleep(0.01)
            last()
        def last():
            pass
        if os.fork() == 0:
            os.setsid()
            os.close(0), os.close(1), os.close(2)
            lasting()
            os._exit(0)
        while not os.path.exists("pid"):
            time.sleep(0.01)
        """
    )
    done = launcher.recorded("program.py")
    assert done.returncode == 0, done.stderr
    pid = (launcher.folder / "pid").read_text()
    try:
        assert re.search(rf"still running.* {pid}$", done.stderr, re.MULTILINE), done.stderr
        (folder,) = launcher.captures()
        assert str(folder) in done.stderr
        assert calls(launcher.folder / "result.prof", "lasting") == 1
        assert calls(launcher.folder / "result.prof", "last") == 0
    finally:
        (launcher.folder / "stop").touch()
    for _ in range(500):
        if not Path(f"/proc/{pid}").exists():
            break
        time.sleep(0.01)
    later = launcher.report(folder)
    assert "(last)" in later.stdout
    assert "still running" not in later.stderr


def test_a_process_that_cannot_be_recorded_is_named(launcher: Launcher) -> None:
    launcher.script(
        """
        import os, subprocess, sys
        environment = {**os.environ, "TARE_RECORD": os.environ["TARE_RECORD"], "TARE_RECORD_CAP": "nonsense"}
        print(subprocess.run([sys.executable, "-c", "print('child')"], env=environment).returncode)
        """
    )
    done = launcher.recorded("program.py")
    assert done.stdout == "child\n0\n", "the child ran as if nothing was the matter"
    assert re.search(r"process \d+ was not recorded: ", done.stderr), done.stderr


def test_as_the_first_process_it_reaps_orphans(launcher: Launcher) -> None:
    unshare = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        unshare = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespace of processes can be made here: run as root, or allow user namespaces")
    launcher.script(
        """
        import os, time
        if os.fork() == 0:
            if os.fork() == 0:
                os._exit(0)      # its parent is gone by now or soon: the first process gets it
            os._exit(0)
        os.wait()
        def others():
            return {int(pid) for pid in os.listdir("/proc") if pid.isdigit()} - {1, os.getpid()}
        end = time.monotonic() + 10
        while others() and time.monotonic() < end:
            time.sleep(0.01)
        print(os.getppid(), others())
        """
    )
    done = launcher.finish([*unshare, *launcher.tare("-o", "result.prof", "program.py")])
    assert (done.returncode, done.stdout) == (0, "1 set()\n"), done.stderr


CONTEXTS = """
    import os, sys
    def make(n):
        exec(f"def f{n}(x):\\n    return x and f{n}(x - 1)\\nf{n}(40)", {})
    def fill():
        try:
            with open("fill", "wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
        except OSError as full:
            print(full.strerror)
    if "fill" in sys.argv:
        fill()
    for n in range(3000):
        make(n)
    print("whole")
"""


def in_small_space(launcher: Launcher, size: str, before: str, *arguments: str) -> Done:
    """Run the program in a file system of a size; there is no other place that can be written to."""
    small = launcher.folder / "small"
    small.mkdir()
    mount = f"mount -t tmpfs -o size={size} tmpfs '{small}' && cd '{small}' && exec \"$@\""
    words = ["unshare", "--mount", "sh", "-c", mount, "x"]
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here: run as root with the right to mount")
    launcher.script(CONTEXTS)
    enter = f'mount --rbind /tmp /tmp && mount -o remount,ro,bind /tmp && {before} && "$@"'
    command = launcher.tare("--keep", "-n", "1", str(launcher.folder / "program.py"), *arguments)
    return launcher.finish([*words, "sh", "-c", enter, "x", *command], env={"TMPDIR": str(small)})


def test_a_tiny_file_system_costs_contexts_and_nothing_else(launcher: Launcher) -> None:
    done = in_small_space(launcher, "1m", "true")
    assert done.stdout.startswith("whole\n"), done.stdout + done.stderr
    assert done.returncode == 0, done.stderr
    assert "contexts may be cut" in done.stderr
    assert "<truncated>" in done.stderr


def test_a_disk_that_fills_costs_contexts_and_nothing_else(launcher: Launcher) -> None:
    done = in_small_space(launcher, "8m", "true", "fill")
    assert done.stdout.startswith("No space left on device\nwhole\n"), done.stdout + done.stderr
    assert done.returncode == 0, done.stderr
    assert "<truncated>" in done.stderr


def test_on_a_full_disk_the_program_runs_unrecorded(launcher: Launcher) -> None:
    done = in_small_space(launcher, "1m", "! head -c 2m /dev/zero >fill 2>/dev/null")
    assert done.stdout == "whole\n", done.stdout + done.stderr
    assert done.returncode == 0, done.stderr
    assert "nothing was recorded" in done.stderr


def test_memory_is_capped(launcher: Launcher) -> None:
    launcher.script(CONTEXTS)
    done = launcher.recorded("--keep", "--memory", "1MiB", "program.py")
    assert done.stdout == "whole\n"
    assert "<truncated>" in done.stderr
    (capture,) = launcher.captures()[0].glob("*.tarecap")
    assert capture.stat().st_size <= 1 << 20


def test_group_signals_of_the_program_are_its_own(launcher: Launcher) -> None:
    launcher.script(
        """
        import os, signal, time
        seen = []
        signal.signal(signal.SIGTERM, lambda *_: seen.append(1))
        os.killpg(0, signal.SIGTERM)
        time.sleep(0.3)
        print(len(seen))
        """
    )
    words = launcher.tare("-o", "result.prof", "program.py")
    done = launcher.finish(words, start_new_session=True)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
