# SPDX-License-Identifier: Apache-2.0
"""When the files of profiles are written, and by whom: nothing is lost, nothing overwritten."""

from __future__ import annotations

import pstats
from pathlib import Path

import pytest

tare = pytest.importorskip("tare", reason="tare is not installed here: bash .ci/run python_tests does it")

from profiled import calls, only, row, rows, run  # noqa: E402  only where tare is


def test_saving(tmp_path: Path) -> None:
    code = """
    import os, tare

    @tare.profile_function(name="job", format="stats")
    def job(): pass

    @tare.profile_function(name="a/b c")
    def other(): pass

    job(); other()
    files = tare.flush()
    names = {os.path.basename(f) for f in [*files, tare._core.status()["path"]]}
    assert names <= set(os.listdir("profiling_results")) and len(names) == 6, files
    job(); other()
    assert tare.flush() == files
    """
    run(code, tmp_path)
    results = tmp_path / "profiling_results"
    stats = pstats.Stats(str(results / "job.stats")).stats  # type: ignore[attr-defined]
    assert {row(key[0], key[2]): value[1] for key, value in stats.items()} == {"span job": 2, "job": 2}
    assert "job" in (results / "job.txt").read_text()
    first = {p.name: p.read_bytes() for p in results.iterdir()}
    assert len(first) == 5
    assert calls(tmp_path, "a_b c")["span a/b c"] == 2
    run(code, tmp_path)
    second = {p.name: p.read_bytes() for p in results.iterdir()}
    assert len(second) == 10
    kept = sorted(first.values())
    assert all(content in second.values() for content in kept), "something was overwritten"


def test_saving_again_and_again(tmp_path: Path) -> None:
    run(
        """
        import glob, time, tare

        @tare.profile_function(name="job", save_every=0.05)
        def job(): pass

        job()
        deadline = time.monotonic() + 20
        while not glob.glob("profiling_results/job_*.txt"):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        job()
        """,
        tmp_path,
    )
    assert calls(tmp_path, "job") == {"span job": 2, "job": 2}


def test_a_killed_process_leaves_its_capture(tmp_path: Path) -> None:
    run(
        """
        import os, signal, tare
        def leaf(): pass
        with tare.profile("job"):
            leaf()
            os.kill(os.getpid(), signal.SIGKILL)
        """,
        tmp_path,
        status=-9,
    )
    profile = tare.load(only(tmp_path, "*.tarecap"))
    assert rows(profile)["leaf"] == rows(profile)["span job"] == 1


def test_processes_have_files_of_their_own(tmp_path: Path) -> None:
    run(
        """
        import multiprocessing, os, sys, tare

        def leaf(): pass

        @tare.profile_function(name="job")
        def job(n):
            for _ in range(n): leaf()

        if __name__ == "__main__":
            job(1)
            context = multiprocessing.get_context("fork")
            workers = [context.Process(target=job, args=(n,)) for n in (10, 100)]
            workers.append(context.Process(target=leaf))
            for w in workers: w.start()
            for w in workers: w.join()
            if os.fork() == 0:
                os._exit(0)
            os.wait()
            with tare.profile("during"):
                if os.fork() == 0:
                    leaf(); leaf()
                    sys.exit(0)
                os.wait()
        """,
        tmp_path,
    )
    results = tmp_path / "profiling_results"
    jobs = [tare.load(p) for p in results.glob("job_*.pb.gz")]
    assert sorted(rows(p)["leaf"] for p in jobs) == [1, 10, 100]
    during = [tare.load(p) for p in results.glob("during_*.pb.gz")]
    assert sorted(rows(p).get("leaf", 0) for p in during) == [0, 2]
    assert not list(results.glob("*.tarecap"))
