# SPDX-License-Identifier: Apache-2.0
"""What every Python-driven test may ask for."""

from __future__ import annotations

import functools
import os
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from launching import Launcher, installed, make_environment

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(
    os.environ.get("TARE_CI_CACHE")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tare-ci"
)


def twice(test: Callable[..., Any]) -> Callable[..., Any]:
    """The test, tried once more when it fails; the first failure is told among the warnings."""

    @functools.wraps(test)
    def tried(*args: Any, **named: Any) -> Any:
        try:
            return test(*args, **named)
        except (AssertionError, subprocess.TimeoutExpired) as first:
            warnings.warn(f"{test.__name__} was tried again after: {first}", stacklevel=1)
        return test(*args, **named)

    return tried


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is marked `timing` measures, and the machine may be busy at the wrong moment."""
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("timing"):
            item.obj = twice(item.obj)


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the source tree."""
    return ROOT


@pytest.fixture(scope="session")
def tare() -> Path:
    """The built command: $TARE_BIN, else build/src/tare."""
    path = Path(os.environ.get("TARE_BIN", ROOT / "build" / "src" / "tare")).resolve()
    if not os.access(path, os.X_OK):
        pytest.fail(f"no command at {path}: run `meson setup build && ninja -C build`, or set TARE_BIN")
    return path


@pytest.fixture(scope="session")
def build_dir(tare: Path) -> Path:
    """The build folder, with its test programs: $TARE_BUILD, else the one that the command is in."""
    return Path(os.environ.get("TARE_BUILD", tare.parents[1])).resolve()


@pytest.fixture(scope="session")
def recorded_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with tare installed, which `tare run` can record."""
    return installed() or make_environment(tmp_path_factory.mktemp("environment") / "venv")


@pytest.fixture
def launcher(tare: Path, recorded_python: Path, tmp_path: Path) -> Launcher:
    """Runs programs with and without `tare run`, in a folder of their own."""
    return Launcher(tare, recorded_python, tmp_path)


def cached(pattern: str) -> Path:
    """What `.ci/run models` has put into the cache."""
    found = sorted(CACHE.glob(pattern))
    if not found:
        pytest.skip(f"no {pattern} in the cache: bash .ci/run models")
    return found[-1]


@pytest.fixture(scope="session")
def ort() -> Path:
    """The library of the newest ONNX Runtime."""
    return cached("onnx/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*")


@pytest.fixture(scope="session")
def onnx_python() -> Path:
    """An interpreter with numpy, onnx and onnxruntime."""
    return cached("onnx/bin/python")


@pytest.fixture(scope="session")
def models() -> Path:
    """The folder of real models, by their names in tests/models/fetch.py; minilm.onnx and its twins."""
    return cached("models/minilm.onnx").parent


@pytest.fixture(scope="session")
def built_models() -> Path:
    """The folder of models whose truth is known; see tests/models/build.py."""
    return cached("models_built/known.json").parent
