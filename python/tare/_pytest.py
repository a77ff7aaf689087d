# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: a test is a gate. Nothing of tare is imported until a test asks for `tare_bench`.

A test's measurement fails it when a threshold is crossed, or, with --tare-compare, when it regressed. What
cannot be told is a warning. --tare-save writes all of them as one run (tare.run/1), a configuration per test.
"""

# An annotation that is a name would be an import, which every test session would pay for.
from __future__ import annotations

import pytest

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from tare._core import Result
    from tare._gate import Regressions
    from tare._model_result import Results


class Inconclusive(pytest.PytestWarning):
    """A gate that could not tell."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tare", "measuring with tare")
    group.addoption("--tare-save", metavar="FILE", help="write what tare_bench measured, as a run")
    group.addoption("--tare-compare", metavar="FILE", help="fail tests that got slower than in this run")
    group.addoption(
        "--tare-change", metavar="SHARE", type=float, default=0.05, help="how much slower counts (0.05)"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "tare(threshold=[...]): what tare_bench must keep in this test, such as 'latency:5ms'"
    )


def _texts(given: str | Iterable[str] | None) -> list[str]:
    return [] if given is None else [given] if isinstance(given, str) else list(given)


class _Session:
    """What the tests of a session share: the baseline, and what was measured."""

    def __init__(self, config: pytest.Config) -> None:
        from tare._gate import load_baseline

        self.save = config.getoption("--tare-save")
        compare = config.getoption("--tare-compare")
        self.change: float = config.getoption("--tare-change")
        self.base_name = compare or ""
        self.base = load_baseline(compare) if compare else None
        entries = self.base["configurations"] if self.base is not None else []
        self.known = {entry.get("keys", {}).get("labels", {}).get("test") for entry in entries}
        self.measured: dict[str, Any] | None = None
        self.names: set[str] = set()

    def keep(self, data: dict[str, Any]) -> None:
        if self.measured is None:
            self.measured = data
        else:
            self.measured["configurations"] += data["configurations"]

    def write(self) -> None:
        if self.save and self.measured is not None:
            import json

            from tare import _core

            _core.loads(json.dumps(self.measured).encode(), self.save).save(self.save, "json")


class TareBench:
    """The fixture: call it with a function and its arguments; it measures, judges, returns the figures."""

    def __init__(self, session: _Session, test: str, thresholds: list[str]) -> None:
        self._session, self._test, self._thresholds = session, test, thresholds

    def __call__(
        self,
        function: Callable[..., Any],
        *args: Any,
        threshold: str | Iterable[str] | None = None,
        name: str | None = None,
        runs: int = 100,
        warmup_runs: int = 10,
        **kwargs: Any,
    ) -> Results:
        from tare import _core
        from tare._model_result import configuration
        from tare._result import Run

        label = self._test if name is None else f"{self._test}:{name}"
        if label in self._session.names:
            raise ValueError(f"'{label}' was measured before: give each tare_bench of a test its own name=")
        self._session.names.add(label)
        made = _core.measure(
            [(args, kwargs or None, 1.0, 0)],
            function,
            None,
            None,
            None,
            label,
            "samples",
            "cpu",
            None,
            runs,
            warmup_runs,
        )
        core = self._labelled(made, label)
        run = Run(core, label)
        self._judge(core, label, _texts(threshold))
        return configuration(run.to_dict(), 0, run)

    def _labelled(self, core: Result, label: str) -> Result:
        import json

        from tare import _core

        data = json.loads(core.render("json"))
        data["benchmark"] = data["model"]["name"] = "pytest"
        data["configurations"][0].setdefault("keys", {})["labels"] = {"test": label}
        data["batch_profiles"] = []
        labelled = _core.loads(json.dumps(data).encode(), label)
        self._session.keep(data)
        return labelled

    def _judge(self, core: Result, label: str, thresholds: list[str]) -> None:
        from tare._gate import judge

        session = self._session
        base = session.base.run._core if session.base is not None and label in session.known else None
        if session.base is not None and base is None:
            _warn(f"{label}: not in {session.base_name}, so there is nothing to compare it with", 4)
        limits = [*self._thresholds, *thresholds]
        if base is None and not limits:
            return
        found = judge(core, base, limits, session.change, (label, session.base_name))
        self._tell(found)

    def _tell(self, found: Regressions) -> None:
        for finding in found.inconclusive:
            _warn(finding.text, 5)
        if found:
            pytest.fail("\n".join([str(found), *found.notes]), pytrace=False)


def _warn(text: str, level: int) -> None:
    """A warning about the line of the test, which is so many calls up."""
    import warnings

    warnings.warn(Inconclusive(text), stacklevel=level)


@pytest.fixture(scope="session")
def _tare_session(request: pytest.FixtureRequest) -> Iterable[_Session]:
    session = _Session(request.config)
    yield session
    session.write()


@pytest.fixture
def tare_bench(request: pytest.FixtureRequest, _tare_session: _Session) -> TareBench:
    """Measure a function: tare_bench(function, *args, threshold="latency:5ms", name=None, runs=100)."""
    thresholds: list[str] = []
    for marker in request.node.iter_markers("tare"):
        thresholds += _texts(marker.kwargs.get("threshold"))
        thresholds += list(marker.args)
    return TareBench(_tare_session, request.node.nodeid, thresholds)
