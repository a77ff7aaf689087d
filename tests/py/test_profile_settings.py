# SPDX-License-Identifier: Apache-2.0
"""What switches profiling on and off, what configures it, and notebooks."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

tare = pytest.importorskip("tare", reason="tare is not installed here: bash .ci/run python_tests does it")

from profiled import run  # noqa: E402  only where tare is


@pytest.mark.parametrize(
    ("value", "on"),
    [
        *((value, True) for value in ("true", "1", "Yes", "on", "", None)),
        *((value, False) for value in ("false", "0", "NO", "off")),
    ],
)
def test_the_environment_switch(value: str | None, on: bool, tmp_path: Path) -> None:
    environment = {"PROFILE_OUTPUT_DIR": "runs/profiling"}
    if value is not None:
        environment["ENABLE_PROFILING"] = value
    run(
        """
        import asyncio, sys, tare

        def plain(): pass
        on = sys.argv[1] == "True"
        assert (tare.profile_function(plain) is plain) is not on
        assert (tare.profile_function(name="x")(plain) is plain) is not on
        assert (tare.profile("x")(plain) is plain) is not on
        with tare.profile("block"): plain()
        async def main():
            async with tare.profile("block"): plain()
        asyncio.run(main())
        assert ("_core" in str(tare._core.Span)) and tare._core.status()["recording"] is on
        assert tare.configure({"enable_profiling": False}).enabled is (len(sys.argv) > 2 and on)
        assert tare.configure({"enable_profiling": True}).enabled is on
        assert tare.configure({"profile_output_dir": "elsewhere"}).output_dir == "runs/profiling"
        """,
        tmp_path,
        str(on),
        *(["set"] if value else []),
        **environment,
    )
    assert bool(list(tmp_path.glob("runs/profiling/block_*.prof"))) is on
    assert not (tmp_path / "profiling_results").exists()


def test_a_wrong_switch_is_refused(tmp_path: Path) -> None:
    done = run("import tare; tare.profile('x')", tmp_path, status=1, ENABLE_PROFILING="maybe")
    assert "ENABLE_PROFILING is 'maybe': write one of true, 1, yes, on or false, 0, no, off" in done.stderr


def test_a_folder_that_cannot_be_written_harms_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run(
        """
        import tare
        @tare.profile_function(name="x", output_dir="file/below")
        def f(): return 3
        assert f() == 3 and f() == 3
        """,
        tmp_path,
    )
    assert done.stderr.count("tare does not profile this process") == 1


class Like:
    """Has .get() and nothing else of a mapping, as some configurations do."""

    def __init__(self, **values: object) -> None:
        self.values = values

    def get(self, key: str) -> object:
        return self.values.get(key)


def test_configure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENABLE_PROFILING", raising=False)
    monkeypatch.delenv("PROFILE_OUTPUT_DIR", raising=False)
    assert tare.configure({}) == (False, 1, "profiling_results")
    made = tare.configure(Like(enable_profiling="yes", profile_every_n_steps=100, profile_output_dir="runs"))
    assert made == (True, 100, "runs")
    assert [step for step in range(301) if made.due(step)] == [0, 100, 200, 300]
    assert repr(made.profile("train_step", 100)) == "<tare.profile 'train_step' to 'runs'>"
    assert type(made.profile("train_step", 101)).__name__ == "Off"
    monkeypatch.setenv("ENABLE_PROFILING", "0")
    assert not tare.configure({"enable_profiling": True}).enabled
    for wrong, message in [
        ({"enable_profiling": "maybe"}, "enable_profiling is 'maybe'"),
        ({"enable_profiling": 2}, "enable_profiling is 2"),
        ({"profile_every_n_steps": 0}, "profile_every_n_steps is 0"),
        ({"profile_every_n_steps": True}, "profile_every_n_steps is True"),
        ({"profile_output_dir": 3}, "profile_output_dir is 3"),
    ]:
        with pytest.raises(ValueError, match=message):
            tare.configure(wrong)
    with pytest.raises(TypeError, match="takes a mapping"):
        tare.configure(3)
    monkeypatch.undo()
    tare.configure({})


def test_configure_from_omegaconf() -> None:
    omegaconf = pytest.importorskip("omegaconf", reason="pip install omegaconf makes this run")
    config = omegaconf.OmegaConf.create({"train": {"enable_profiling": True, "profile_every_n_steps": 100}})
    made = tare.configure(config.train)
    assert made.every_n_steps == 100
    assert made.enabled is (os.environ.get("ENABLE_PROFILING", "1").lower() in ("1", "true", "yes", "on"))
    assert tare.configure(omegaconf.OmegaConf.create({"other": 1})).every_n_steps == 1


def test_wrong_arguments_are_refused() -> None:
    for wrong in ("", "a\0b", None, 3):
        with pytest.raises(ValueError, match="cannot be called"):
            tare.profile(wrong)
    with pytest.raises(ValueError, match="format is 'xml'"):
        tare.profile("x", format="xml")
    with pytest.raises(ValueError, match="save_every is 0"):
        tare.profile("x", save_every=0)


def test_notebooks(tmp_path: Path) -> None:
    pytest.importorskip("IPython", reason="pip install ipython makes this run")
    done = run(
        """
        import json
        from IPython.core.interactiveshell import InteractiveShell
        shell = InteractiveShell.instance()
        def do(cell):
            result = shell.run_cell(cell)
            result.raise_error()
            return result.result
        do("%load_ext tare")
        do("def leaf(): pass\\ndef work(n):\\n    for _ in range(n): leaf()\\n")
        line = do("%tare work(7)")
        cell = do("%%tare\\nwork(2)\\nwork(3)\\nkept = 5\\n")
        do("profile = %tare work(1)")
        rows = [{f.name: f.calls for f in p.functions()} for p in (line, cell, shell.user_ns["profile"])]
        assert [r["leaf"] for r in rows] == [7, 5, 1], rows
        assert shell.user_ns["kept"] == 5
        assert "<table>" in cell._repr_html_() and "leaf" in cell._repr_html_()
        failed = shell.run_cell("%%tare\\nwork(2)\\n1/0\\n")
        assert isinstance(failed.error_in_exec, ZeroDivisionError), failed
        print("fine")
        """,
        tmp_path,
        IPYTHONDIR=str(tmp_path / "ipython"),
    )
    assert done.stdout.strip().endswith("fine")
    assert "ZeroDivisionError" in done.stdout
    assert not (tmp_path / "profiling_results").exists()


def test_what_is_imported_is_little(tmp_path: Path) -> None:
    done = run(
        """
        import json, sys, tare
        print(json.dumps(sorted(m for m in sys.modules if m.startswith("tare"))))
        """,
        tmp_path,
    )
    assert json.loads(done.stdout) == ["tare", "tare._core"]
