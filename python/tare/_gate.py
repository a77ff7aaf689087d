# SPDX-License-Identifier: Apache-2.0
"""Did it get slower? What is judged is a saved or fresh run; the judge is that of `tare check`, in C."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tare import _core
from tare._model_result import Results
from tare._result import Run

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Finding:
    """One metric of one configuration. `ratio` is of costs: above 1 is worse, also for a throughput."""

    verdict: str  # regressed, improved, same, inconclusive; of a threshold: failed, passed, inconclusive
    metric: str
    configuration: str
    ratio: float | None
    lower: float | None
    upper: float | None
    p: float | None
    text: str

    def __str__(self) -> str:
        return self.text


class Regressions(list[Finding]):
    """What got worse; nothing else is in the list, so an empty one is false. `str()` is for people."""

    def __init__(self, findings: Iterable[Finding], notes: Iterable[str] = ()) -> None:
        every = list(findings)
        super().__init__(f for f in every if f.verdict in {"regressed", "failed"})
        self.inconclusive = [f for f in every if f.verdict == "inconclusive"]
        self.improvements = [f for f in every if f.verdict == "improved"]
        self.notes = list(notes)

    def __str__(self) -> str:
        if self:
            return "\n".join(f.text for f in self)
        if self.inconclusive:
            return f"no regression found; {len(self.inconclusive)} inconclusive"
        return "no regression"

    def __format__(self, how: str) -> str:
        return format(str(self), how)


def load_baseline(path: Path) -> Results:
    """Read a run that `export_json` or `tare bench` wrote: its JSON as a dictionary, and `.run`."""
    try:
        core = _core.load(path)
    except FileNotFoundError:
        remedy = "no baseline there: write one with ModelProfiler.export_json() or `tare bench -o`"
        raise FileNotFoundError(errno.ENOENT, remedy, os.fspath(path)) from None
    if core.kind != "run":
        raise _core.TareError(f"'{os.fspath(path)}' is a profile: a baseline is a run")
    run = Run(core, os.path.basename(os.fspath(path)))
    return Results(run.to_dict(), run)


def _run_of(value: Any, name: str) -> tuple[_core.Result, str]:
    if isinstance(value, (str, os.PathLike)):
        return load_baseline(value).run._core, os.fspath(value)
    run = value if isinstance(value, Run) else getattr(value, "run", None)
    if isinstance(run, Run):
        return run._core, name
    if isinstance(value, Mapping) and "configurations" in value:
        return _core.loads(json.dumps(dict(value)).encode(), name), name
    raise TypeError(f"{name} is a {type(value).__name__}: give what was measured, a run, or the path of one")


def judge(
    run: _core.Result,
    base: _core.Result | None = None,
    thresholds: Iterable[str] = (),
    change: float = 0.05,
    names: tuple[str, str] = ("current", "baseline"),
) -> Regressions:
    """Hold a run against its base and against thresholds, spelled as for `tare check`."""
    text, sentences = _core.judge(run, base, list(thresholds), change, *names)
    data = json.loads(text)
    return Regressions(
        [
            Finding(
                row["verdict"],
                row["metric"],
                row["configuration"],
                row.get("cost_ratio"),
                row.get("cost_ratio_lower"),
                row.get("cost_ratio_upper"),
                row.get("p"),
                sentence,
            )
            for row, sentence in zip(data["rows"], sentences, strict=True)
        ],
        data["notes"],
    )


def detect_regressions(baseline: Any, current: Any, *, change: float = 0.05) -> Regressions:
    """What got worse by more than `change`, worst first; what could not be told is `.inconclusive`.

    Each is what ModelProfiler returned, what load_baseline returned, a Run, or a path. Fewer than 10
    processes on a side say nothing of how processes differ: then only a change beyond 24 % is called.
    """
    base, base_name = _run_of(baseline, "baseline")
    run, run_name = _run_of(current, "current")
    return judge(run, base, (), change, (run_name, base_name))
