# SPDX-License-Identifier: Apache-2.0
"""Profiles of chosen functions and blocks: spans in one recording, and their files.

The first span that opens starts a recording of this process, in which calls are seen only while a span
is open. Everything that is measured is measured in C; this file opens spans, and writes what
was recorded by name.
"""

from __future__ import annotations

import atexit
import functools
import inspect
import os
import re
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from types import CodeType
from typing import Any, Literal, TypeVar, cast, overload

from tare import _core
from tare._configure import environment_switch, output_folder
from tare._result import Profile

_F = TypeVar("_F", bound=Callable[..., Any])

Format = Literal["prof", "stats"]

_HERE = os.path.dirname(__file__)

_EXTENSIONS: dict[str, tuple[str, ...]] = {
    "prof": (".prof", ".txt", ".pb.gz"),
    "stats": (".stats", ".txt"),
}


class _Name:
    """What is to be written of a name, and where."""

    __slots__ = ("files", "folder", "format", "written")

    def __init__(self, folder: str, format: Format) -> None:
        self.folder = folder
        self.format = format
        self.files: list[str] = []
        self.written: dict[str, tuple[int, int]] = {}


class _Recording:
    """The recording of this process, and the names that it has seen."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.names: dict[tuple[str, str, Format], _Name] = {}
        self.capture = ""
        self.ours = False  # else `tare run` made it, and it is not ours to end
        self.refused = False
        self.save_every = 0.0

    def begin(self, folder: str) -> None:
        with self.lock:
            if self.refused or _core.status()["recording"]:
                return
            try:
                os.makedirs(folder, exist_ok=True)
                self.capture = _core.start(os.path.abspath(folder), 0, True, True)
                self.ours = True
            except Exception as why:
                self.refused = True
                warnings.warn(f"tare does not profile this process: {why}", RuntimeWarning, stacklevel=3)
                return
            if self.save_every:
                threading.Thread(target=self._save_on, name="tare-saver", daemon=True).start()

    def save(self) -> list[str]:
        """Write every name that ran; the files."""
        with self.lock:
            if not self.capture:
                self.capture = _core.status()["path"]
            if not self.capture or not self.names:
                return []
            whole = _core.load(self.capture)
            files: list[str] = []
            for (name, _, _), target in self.names.items():
                part = whole.span(name, _HERE)
                if part.contexts:
                    files += _write(name, target, part)
            return files

    def end(self) -> None:
        """The process ends: stop, write, and leave no capture behind. What runs later is not profiled."""
        with self.lock:
            self.refused = True
            if self.ours and _core.status()["recording"]:
                self.capture = _core.stop()
            try:
                self.save()
            except Exception as why:
                where = f"; `tare report {self.capture}` still reads it" if self.capture else ""
                print(f"tare: the profiles could not be written: {why}{where}", file=sys.stderr)
                return
            if self.ours and self.capture:
                os.unlink(self.capture)
            self.capture = ""
            self.names.clear()

    def every(self, seconds: float) -> None:
        """Write from now on at least this often."""
        if not seconds > 0:
            raise ValueError(f"save_every is {seconds!r}: write a number of seconds above 0")
        with self.lock:
            self.save_every = min(seconds, self.save_every or seconds)

    def _save_on(self) -> None:
        while self is _recording:
            time.sleep(self.save_every)
            try:
                self.save()
            except Exception as why:
                warnings.warn(f"tare could not write profiles: {why}", RuntimeWarning, stacklevel=1)


def _stem(name: str) -> str:
    """A name as the beginning of a file name."""
    return re.sub(r"[^\w.\-+=@ ]", "_", name).lstrip(".") or "_"


def _claim(folder: str, name: str) -> str:
    """A stem that no file has yet: NAME_<unix time>."""
    now = int(time.time())
    while True:
        stem = os.path.join(folder, f"{_stem(name)}_{now}")
        taken = any(os.path.exists(stem + extension) for extension in _EXTENSIONS["prof"])
        if not taken:
            try:
                os.close(os.open(f"{stem}.prof", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
                return stem
            except FileExistsError:
                pass
        now += 1


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _set_aside(path: str, name: str, extension: str) -> None:
    """Keep a file of an earlier run under the time it was written at."""
    when = int(os.stat(path).st_mtime)
    while True:
        kept = os.path.join(os.path.dirname(path), f"{_stem(name)}_{when}{extension}")
        try:
            os.link(path, kept)
            return
        except FileExistsError:
            when += 1


def _write(name: str, target: _Name, part: _core.Result) -> list[str]:
    os.makedirs(target.folder, exist_ok=True)
    if not target.files:
        stem = (
            os.path.join(target.folder, _stem(name))
            if target.format == "stats"
            else _claim(target.folder, name)
        )
        target.files = [stem + extension for extension in _EXTENSIONS[target.format]]
    for path, extension in zip(target.files, _EXTENSIONS[target.format], strict=True):
        if target.format == "stats":
            there = _identity(path)
            if there is not None and there != target.written.get(path):
                _set_aside(path, name, extension)
        part.save(path)
        if target.format == "stats":
            found = _identity(path)
            if found is not None:
                target.written[path] = found
    return target.files


_recording = _Recording()


def _forked() -> None:
    """In a forked child: names and files of its own."""
    global _recording
    before = _recording
    _recording = _Recording()
    _recording.names = {
        key: _Name(target.folder, target.format) for key, target in list(before.names.items())
    }
    _recording.ours = before.ours
    _recording.save_every = before.save_every
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        # Workers of multiprocessing leave without atexit; the list of what they do run is emptied after this.
        util.register_after_fork(_recording, _at_worker_end)


def _at_worker_end(recording: _Recording) -> None:
    sys.modules["multiprocessing.util"].Finalize(None, _end, exitpriority=-100)


def _end() -> None:
    _recording.end()


atexit.register(_end)
os.register_at_fork(after_in_child=_forked)


def flush() -> list[str]:
    """Write what was profiled so far; returns the files. Later calls add to the same files."""
    return _recording.save()


def _wrap(function: Callable[..., Any], span: _core.Span) -> Callable[..., Any]:
    """The function, with each of its calls inside a span. Of a generator, what it does between two values."""
    made: Callable[..., Any]
    if inspect.isasyncgenfunction(function):

        async def made_asyncgen(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
            with span:
                inner = function(*args, **kwargs)
            sent: tuple[Any, ...] = (None,)
            step = inner.asend
            while True:
                try:
                    with span:
                        value = await step(*sent)
                except StopAsyncIteration:
                    return
                try:
                    step, sent = inner.asend, ((yield value),)
                except GeneratorExit:
                    with span:
                        await inner.aclose()
                    raise
                except BaseException as problem:
                    step, sent = inner.athrow, (problem,)

        made = made_asyncgen
    elif inspect.iscoroutinefunction(function):

        async def made_async(*args: Any, **kwargs: Any) -> Any:
            with span:
                return await function(*args, **kwargs)

        made = made_async
    elif inspect.isgeneratorfunction(function):

        def made_generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            with span:
                inner = function(*args, **kwargs)
            sent: tuple[Any, ...] = (None,)
            step = inner.send
            while True:
                try:
                    with span:
                        value = step(*sent)
                except StopIteration as end:
                    return end.value
                try:
                    step, sent = inner.send, ((yield value),)
                except GeneratorExit:
                    with span:
                        inner.close()
                    raise
                except BaseException as problem:
                    step, sent = inner.throw, (problem,)

        made = made_generator
    else:

        def made_plain(*args: Any, **kwargs: Any) -> Any:
            with span:
                return function(*args, **kwargs)

        made = made_plain
    return functools.wraps(function)(made)


class Off:
    """What stands in for a profile where profiling is switched off: it does nothing."""

    __slots__ = ()

    def __enter__(self) -> Off:
        return self

    def __exit__(self, *problem: object) -> Literal[False]:
        return False

    async def __aenter__(self) -> Off:
        return self

    async def __aexit__(self, *problem: object) -> Literal[False]:
        return False

    def __call__(self, function: _F) -> _F:
        return function


def _is_on() -> bool:
    return environment_switch() is not False


class profile(_core.Span):  # noqa: N801  a verb to its users, like contextlib's
    """Profile a block (`with`, `async with`) or each call of a function (as a decorator) under a name.

    One may be entered many times, also inside itself, and by several threads and tasks at once. What runs
    inside is merged by name and written as NAME_<unix time>.prof, .txt and .pb.gz; format="stats" writes
    NAME.stats and NAME.txt instead. Files appear at the end of the process, on tare.flush(), and
    every `save_every` seconds.
    """

    _folder: str

    def __new__(cls, name: str, **options: Any) -> Any:
        return super().__new__(cls) if _is_on() else Off()

    def __init__(
        self,
        name: str,
        *,
        format: Format = "prof",
        output_dir: str | os.PathLike[str] | None = None,
        save_every: float | None = None,
    ) -> None:
        if not isinstance(name, str) or not name or "\0" in name:
            raise ValueError(f"a profile cannot be called {name!r}: write a text that is not empty")
        if format not in _EXTENSIONS:
            raise ValueError(f"format is {format!r}: write one of {', '.join(_EXTENSIONS)}")
        super().__init__(name)
        self._folder = output_folder() if output_dir is None else os.fsdecode(output_dir)
        key = (name, self._folder, format)
        if key not in _recording.names:
            _recording.names[key] = _Name(self._folder, format)
        if save_every is not None:
            _recording.every(save_every)

    def _begin(self) -> None:
        """The first span of this process: called from C."""
        _recording.begin(self._folder)

    def __call__(self, function: _F) -> _F:
        return cast(_F, _wrap(function, self))

    def __repr__(self) -> str:
        return f"<tare.profile {self.name!r} to {self._folder!r}>"


@overload
def profile_function(function: _F, /) -> _F: ...


@overload
def profile_function(
    *,
    name: str | None = None,
    format: Format = "prof",
    output_dir: str | os.PathLike[str] | None = None,
    save_every: float | None = None,
) -> Callable[[_F], _F]: ...


def profile_function(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    format: Format = "prof",
    output_dir: str | os.PathLike[str] | None = None,
    save_every: float | None = None,
) -> Any:
    """Profile every call of a function, under `name` (else its own name). Options as of tare.profile."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        called = name if name is not None else getattr(function, "__name__", type(function).__name__)
        made = profile(called, format=format, output_dir=output_dir, save_every=save_every)
        return made(function)  # type: ignore[no-any-return,unused-ignore]

    return decorate if function is None else decorate(function)


class _Once(_core.Span):
    """A span of its own recording, whose profile is wanted at once and leaves no files."""

    _count = 0

    def __init__(self, label: str) -> None:
        _Once._count += 1
        # Where a recording goes on anyway, its other spans must not be taken for this one.
        super().__init__(f"{label} {_Once._count}")
        self._folder = tempfile.TemporaryDirectory(prefix="tare-")

    def _begin(self) -> None:
        with _recording.lock:
            if not _core.status()["recording"]:
                _core.start(self._folder.name, 0, True, True)

    def result(self, label: str) -> Profile:
        status = _core.status()
        path = status["path"]
        mine = os.path.dirname(path) == self._folder.name
        if mine:
            _core.stop()
        whole = _core.load(path)
        self._folder.cleanup()
        return Profile(whole.span(self.name, _HERE), label)


def measure(
    label: str, code: CodeType, names: dict[str, Any], own: Mapping[str, Any]
) -> tuple[Profile, BaseException | None]:
    """The profile of running code, and what it raised."""
    span = _Once(label)
    raised: BaseException | None = None
    try:
        with span:
            exec(code, names, own)
    except BaseException as problem:
        raised = problem
    return span.result(label), raised
