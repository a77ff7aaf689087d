# SPDX-License-Identifier: Apache-2.0
from os import PathLike
from typing import final

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
    def difference(self, base: Result, column: str | None = None) -> Result: ...

def load(path: str | PathLike[str]) -> Result: ...
def main(argv: list[str]) -> int: ...
