# SPDX-License-Identifier: Apache-2.0
"""Saved results: thin clothes over what C has loaded."""

from __future__ import annotations

import base64
import html
import json
import os
from typing import Any, NamedTuple

from tare import _core

_NOTEBOOK_ROWS = 12
_FLAME_BYTES = 2_000_000


class Column(NamedTuple):
    """A value that a profile counts, and its sum."""

    name: str
    unit: str
    total: int


class Function(NamedTuple):
    """What a profile says of one function. `own` leaves out what it called, `total` does not."""

    file: str
    line: int
    name: str
    calls: int | None
    primitive_calls: int | None
    own: int
    total: int

    @property
    def label(self) -> str:
        """As cProfile writes it: file:line(name)."""
        if self.file in ("~", ""):
            return self.name
        return f"{self.file}:{self.line}({self.name})"


def _short(value: int, unit: str) -> str:
    """A value a person can read: 1.24 s, 3.1 MiB, 12,345."""
    if unit == "nanoseconds":
        for size, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
            if abs(value) >= size:
                return f"{value / size:.3g} {name}"
        return f"{value} ns"
    if unit == "bytes":
        for size, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
            if abs(value) >= size:
                return f"{value / size:.3g} {name}"
        return f"{value} B"
    return f"{value:,}"


class Profile:
    """Where time (or memory, or samples) went, by calling context."""

    __slots__ = ("_core", "_name")

    def __init__(self, core: _core.Result, name: str) -> None:
        self._core = core
        self._name = name

    @property
    def columns(self) -> list[Column]:
        """The values it counts."""
        return [Column(*row) for row in self._core.columns()]

    @property
    def contexts(self) -> int:
        """How many calling contexts it has."""
        return self._core.contexts

    @property
    def stacks(self) -> str:
        """What the contexts are: 'stacks', 'caller pairs' (a .prof) or 'difference'."""
        return self._core.stacks

    @property
    def notes(self) -> list[str]:
        """What reading the file had to leave out."""
        return self._core.notes()

    def functions(self) -> list[Function]:
        """What each function took, the largest total first; times are nanoseconds."""
        _, has_calls, rows = self._core.functions()
        made = [
            Function(
                file, line, name, calls if has_calls else None, primitive if has_calls else None, own, total
            )
            for file, line, name, calls, primitive, own, total in rows
        ]
        return sorted(made, key=lambda row: (-row.total, -row.own, row.label))

    def table(
        self,
        sort: str | None = None,
        rows: int = 0,
        *,
        column: str | None = None,
        match: str | None = None,
        reverse: bool = False,
        strip_dirs: bool = False,
    ) -> str:
        """The table that cProfile prints; `sort` takes every key of pstats."""
        return self._core.render(None, column, sort, match, None, rows, reverse, strip_dirs).decode(
            errors="replace"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain data: the JSON format."""
        made: dict[str, Any] = json.loads(self._core.render("json"))
        return made

    def save(
        self,
        path: str | os.PathLike[str],
        format: str | None = None,
        *,
        column: str | None = None,
    ) -> None:
        """Write it; the extension of path decides the format: .prof .pb.gz .svg .folded .txt .json …"""
        self._core.save(path, format, column)

    def difference(self, base: Profile, column: str | None = None) -> Profile:
        """What changed since base."""
        return Profile(self._core.difference(base._core, column), f"{self._name} less {base._name}")

    def __repr__(self) -> str:
        sums = ", ".join(f"{c.name} {_short(c.total, c.unit)}" for c in self.columns)
        return f"<tare.Profile {self._name!r}: {self.contexts:,} contexts of {self.stacks}; {sums}>"

    def _repr_html_(self) -> str:
        if self.stacks == "difference":
            return f"<pre>{html.escape(self.table(rows=_NOTEBOOK_ROWS))}</pre>"
        unit, has_calls, _ = self._core.functions()
        functions = self.functions()
        whole = max(1, sum(row.own for row in functions))
        cells = []
        for row in functions[:_NOTEBOOK_ROWS]:
            calls = f"<td style='text-align:right'>{row.calls:,}</td>" if row.calls is not None else ""
            cells.append(
                f"<tr>{calls}<td style='text-align:right'>{_short(row.own, unit)}</td>"
                f"<td style='text-align:right'>{100 * row.own / whole:.1f} %</td>"
                f"<td style='text-align:right'>{_short(row.total, unit)}</td>"
                f"<td style='text-align:left'><code>{html.escape(row.label)}</code></td></tr>"
            )
        left_out = len(functions) - len(cells)
        more = f"<p>and {left_out:,} more functions</p>" if left_out else ""
        head = ("<th>calls</th>" if has_calls else "") + "<th>own</th><th>share</th><th>total</th>"
        return (
            f"<p><b>{html.escape(repr(self)[1:-1])}</b></p>{self._flame()}"
            f"<table><thead><tr>{head}<th style='text-align:left'>function</th></tr></thead>"
            f"<tbody>{''.join(cells)}</tbody></table>{more}"
        )

    def _flame(self) -> str:
        """The flame graph in a frame of its own, where its script may run and reach nothing else."""
        svg = self._core.render("svg")
        if len(svg) > _FLAME_BYTES:
            return "<p>The flame graph is large: <code>.save('flame.svg')</code> and open it.</p>"
        data = base64.b64encode(svg).decode("ascii")
        return (
            "<iframe sandbox='allow-scripts' style='width:100%;height:420px;border:0' "
            f"src='data:image/svg+xml;base64,{data}'></iframe>"
        )


class Run:
    """One benchmark result: machine, model, engine, and what was measured."""

    __slots__ = ("_core", "_name")

    def __init__(self, core: _core.Result, name: str) -> None:
        self._core = core
        self._name = name

    def table(self) -> str:
        """The result as text, with bounds."""
        return self._core.render().decode(errors="replace")

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain data: schema tare.run/1."""
        made: dict[str, Any] = json.loads(self._core.render("json"))
        return made

    def save(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Write it; the extension of path decides the format: .json .csv .md .txt"""
        self._core.save(path, format)

    def __repr__(self) -> str:
        data = self.to_dict()
        count = len(data.get("batch_profiles", []))
        return f"<tare.Run {self._name!r}: {count} configurations, {data.get('timestamp', 'undated')}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.table())}</pre>"


def load(path: str | os.PathLike[str]) -> Profile | Run:
    """Read a saved result: pprof, a .prof of cProfile, folded stacks, or a run.

    A file is recognised by what it holds, not by its name.
    """
    core = _core.load(path)
    name = os.path.basename(os.fspath(path))
    return Profile(core, name) if core.kind == "profile" else Run(core, name)
