# SPDX-License-Identifier: Apache-2.0
"""The Python package: loading, showing and saving results."""

from __future__ import annotations

import cProfile
import json
import os
import pstats
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path

import pytest

tare = pytest.importorskip(
    "tare", reason="the package is not installed here: bash .ci/run site makes such a place"
)

RUNS = Path(__file__).resolve().parents[1] / "data" / "runs"


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@pytest.fixture
def prof(tmp_path: Path) -> Path:
    profiler = cProfile.Profile()
    profiler.enable()
    fib(12)
    json.dumps({"n": [1, 2, 3]})
    profiler.disable()
    path = tmp_path / "some.prof"
    profiler.dump_stats(path)
    return path


def test_a_prof_shows_what_pstats_shows(prof: Path) -> None:
    profile = tare.load(prof)
    assert isinstance(profile, tare.Profile)
    assert profile.stacks == "caller pairs"
    top = {f.name: f for f in profile.functions()}["fib"]
    assert (top.calls, top.primitive_calls) == (465, 1)
    ((_, (cc, nc, tt, ct, _)),) = [
        item for item in pstats.Stats(str(prof)).stats.items() if item[0][2] == "fib"
    ]
    assert (nc, cc) == (465, 1)
    assert top.own == round(tt * 1e9)
    assert top.total == round(ct * 1e9)
    assert "465/1" in profile.table(sort="tottime", rows=3)
    assert "List reduced" in profile.table(rows=1)


def test_what_is_saved_reads_back(prof: Path, tmp_path: Path) -> None:
    profile = tare.load(str(prof))
    for name in ("a.pb.gz", "a.prof"):
        profile.save(tmp_path / name)
        again = tare.load(tmp_path / name)
        assert again.functions() == profile.functions()
    profile.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")
    profile.save(tmp_path / "odd.name", format="folded")
    assert "fib" in (tmp_path / "odd.name").read_text()


def test_to_dict_is_plain_data(prof: Path) -> None:
    data = tare.load(prof).to_dict()
    assert json.loads(json.dumps(data)) == data
    assert [c["name"] for c in data["columns"]] == ["calls", "primitive_calls", "tottime", "cumtime"]


def test_repr_says_what_it_is(prof: Path) -> None:
    text = repr(tare.load(prof))
    assert "some.prof" in text
    assert "caller pairs" in text


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_notebook_view_is_sound_and_escaped(tmp_path: Path) -> None:
    path = tmp_path / "evil.folded"
    path.write_text("main;<script>alert(1)</script> 3\nmain;fine 4\n")
    html = tare.load(path)._repr_html_()
    assert "<script>alert" not in html
    parser = _Tags()
    parser.feed(html)
    assert parser.open == []
    assert "iframe" in parser.seen
    assert "table" in parser.seen


def test_a_difference(prof: Path, tmp_path: Path) -> None:
    (tmp_path / "a.folded").write_text("main;f 10\nmain;g 10\n")
    (tmp_path / "b.folded").write_text("main;f 30\nmain;g 10\n")
    change = tare.load(tmp_path / "b.folded").difference(tare.load(tmp_path / "a.folded"))
    assert change.stacks == "difference"
    assert "+20" in change.table()
    assert "+20" in change._repr_html_()


def test_a_run(tmp_path: Path) -> None:
    run = tare.load(RUNS / "minilm_sweep.json")
    assert isinstance(run, tare.Run)
    data = run.to_dict()
    assert data["batch_profiles"][0]["batch_size"] > 0
    assert "configurations" in repr(run)
    assert "Batch" in run.table()
    assert "<pre>" in run._repr_html_()
    run.save(tmp_path / "run.csv")
    run.save(tmp_path / "run.json")
    assert tare.load(tmp_path / "run.json").to_dict() == data


def test_errors_have_the_right_names(tmp_path: Path, prof: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        tare.load(tmp_path / "missing")
    assert caught.value.filename == str(tmp_path / "missing")
    (tmp_path / "prose").write_text("nothing we know\n")
    with pytest.raises(tare.TareError, match="holds none of what tare reads"):
        tare.load(tmp_path / "prose")
    profile = tare.load(prof)
    with pytest.raises(tare.TareError, match="names no format"):
        profile.save(tmp_path / "x.unknown")
    with pytest.raises(tare.TareError, match="unknown sort key"):
        profile.table(sort="sideways")
    with pytest.raises(TypeError):
        tare.load(3)
    with pytest.raises(AttributeError):
        tare.nonsense  # noqa: B018
    assert set(os.listdir(tmp_path)) == {"some.prof", "prose"}


def test_a_profile_can_be_read_by_many_threads_at_once(prof: Path) -> None:
    profile = tare.load(prof)
    want = profile.table()
    got: list[str] = []
    threads = [threading.Thread(target=lambda: got.append(profile.table())) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [want] * 16


def test_python_m_tare_is_the_command(prof: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "tare", *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert run("--version").stdout.startswith(f"tare {tare.__version__}")
    assert "465/1" in run("report", str(prof)).stdout
    refused = run("report", "missing.prof")
    assert refused.returncode == 2
    assert "cannot open 'missing.prof'" in refused.stderr
    slow, quick = "fake:constant,mean=2ms", "fake:constant,mean=1ms"
    compared = run("compare", "--engine", "fake", quick, slow, "--blocks", "6", "--time", "20s")
    assert compared.returncode in (1, 3), compared.stderr  # its processes run this Python, not a `tare`
    assert "latency" in compared.stdout


@pytest.mark.skipif(sys.version_info < (3, 14), reason="interpreters from Python begin with 3.14")
def test_another_interpreter_can_use_it(prof: Path) -> None:
    from concurrent import interpreters

    other = interpreters.create()
    other.exec(f"import tare; assert '465/1' in tare.load({str(prof)!r}).table()")
    other.close()
