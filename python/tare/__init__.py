# SPDX-License-Identifier: Apache-2.0
"""Weighs machine-learning code and models, and takes its own weight off the scale.

import tare

profile = tare.load("train.prof")       # or .pb.gz, .folded
print(profile.table(sort="tottime", rows=10))
profile.save("train.svg")               # a flame graph; the extension decides
"""

# What a name needs is imported when it is first used: a process that is only recorded must not pay for
# views, nor find modules imported that its program did not import.
from typing import TYPE_CHECKING

from tare._core import TareError, __version__

if TYPE_CHECKING:
    from tare._result import Column, Function, Profile, Run, load

__all__ = ["Column", "Function", "Profile", "Run", "TareError", "__version__", "load"]

_HOMES = {
    "Column": "_result",
    "Function": "_result",
    "Profile": "_result",
    "Run": "_result",
    "load": "_result",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tare' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"tare.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
