# SPDX-License-Identifier: Apache-2.0
from collections.abc import Awaitable, Callable
from os import PathLike
from typing import Any, Literal, TypedDict, final

from typing_extensions import Self

__version__: str

class TareError(Exception): ...

@final
class Result:
    @property
    def kind(self) -> str: ...
    @property
    def contexts(self) -> int: ...
    @property
    def stacks(self) -> str: ...
    def render(
        self,
        format: str | None = None,
        column: str | None = None,
        sort: str | None = None,
        match: str | None = None,
        title: str | None = None,
        rows: int = 0,
        reverse: bool = False,
        strip_dirs: bool = False,
    ) -> bytes: ...
    def save(
        self,
        path: str | PathLike[str],
        format: str | None = None,
        column: str | None = None,
        sort: str | None = None,
        match: str | None = None,
        title: str | None = None,
        rows: int = 0,
        reverse: bool = False,
        strip_dirs: bool = False,
    ) -> None: ...
    def columns(self) -> list[tuple[str, str, int]]: ...
    def functions(self) -> tuple[str, bool, list[tuple[str, int, str, int, int, int, int]]]: ...
    def notes(self) -> list[str]: ...
    def span(self, name: str, own_folder: str | None = None) -> Result: ...
    def difference(self, base: Result, column: str | None = None) -> Result: ...

class Span:
    def __init__(self, name: str) -> None: ...
    @property
    def name(self) -> str: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *problem: object) -> Literal[False]: ...
    def __aenter__(self) -> Awaitable[Self]: ...
    def __aexit__(self, *problem: object) -> Awaitable[Literal[False]]: ...

class Status(TypedDict):
    recording: bool
    spans_only: bool
    path: str
    unmatched: int
    skipped: int

@final
class Session:
    def __init__(
        self, path: str, provider: str = "cpu", threads: int = 0, library: str | None = None
    ) -> None: ...
    def __call__(self, *inputs: object, **named: object) -> list[object]: ...
    @property
    def inputs(self) -> list[tuple[str, str, list[int | str]]]: ...
    @property
    def outputs(self) -> list[tuple[str, str, list[int | str]]]: ...

def bench(plan: dict[str, Any], worker: list[str]) -> Result: ...
def judge(
    run: Result, base: Result | None, thresholds: list[str], change: float, run_name: str, base_name: str
) -> tuple[str, list[str]]: ...
def load(path: str | PathLike[str]) -> Result: ...
def loads(data: bytes, name: str) -> Result: ...
def main(argv: list[str]) -> int: ...
def measure(
    cases: list[tuple[tuple[Any, ...], dict[str, Any] | None, float, int]],
    model: Callable[..., Any],
    preprocess: Callable[[Any], Any] | None,
    postprocess: Callable[[Any], Any] | None,
    synchronize: Callable[[], Any] | None,
    name: str,
    unit: str,
    device: str,
    precision: str | None,
    runs: int = 0,
    warmup_runs: int = 0,
    duration_ns: int = 0,
    memory_calls: int = 0,
) -> Result: ...
def start(
    folder: str, cap: int = 0, c_functions: bool = True, spans: bool = False, starting: bool = False
) -> str: ...
def stop() -> str: ...
def status() -> Status: ...
