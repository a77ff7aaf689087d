# SPDX-License-Identifier: Apache-2.0
"""Weighs machine-learning code and models, and takes its own weight off the scale.

import tare

profile = tare.load("train.prof")       # or .pb.gz, .folded
print(profile.table(sort="tottime", rows=10))
profile.save("train.svg")               # a flame graph; the extension decides

@tare.profile_function(name="embed_query")  # profiling_results/embed_query_<unix time>.prof, .txt, .pb.gz
def embed_query(query): ...

with tare.profile("export_data"): ...

profiler = tare.ModelProfiler("model.onnx")     # or anything that can be called
profiler.profile(input_data=x)["latency"]["mean"]
"""

# What a name needs is imported when it is first used: a process that is only recorded must not pay for
# views, nor find modules imported that its program did not import: typing is one of those.
from tare._core import TareError, __version__

TYPE_CHECKING = False

if TYPE_CHECKING:
    from tare._configure import Settings, configure
    from tare._gate import Finding, Regressions, detect_regressions, load_baseline
    from tare._model import ModelProfiler
    from tare._profile import flush, profile, profile_function
    from tare._result import Column, Function, Profile, Run, load

__all__ = [
    "Column",
    "Finding",
    "Function",
    "ModelProfiler",
    "Profile",
    "Regressions",
    "Run",
    "Settings",
    "TareError",
    "__version__",
    "configure",
    "detect_regressions",
    "flush",
    "load",
    "load_baseline",
    "load_ipython_extension",
    "profile",
    "profile_function",
]

_HOMES = {
    "Column": "_result",
    "Finding": "_gate",
    "Function": "_result",
    "ModelProfiler": "_model",
    "Profile": "_result",
    "Regressions": "_gate",
    "Run": "_result",
    "Settings": "_configure",
    "configure": "_configure",
    "detect_regressions": "_gate",
    "flush": "_profile",
    "load": "_result",
    "load_baseline": "_gate",
    "profile": "_profile",
    "profile_function": "_profile",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tare' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"tare.{home}"), name)
    globals()[name] = value
    return value


def load_ipython_extension(shell: object) -> None:
    """What `%load_ext tare` calls."""
    from tare._magic import register

    register(shell)


def __dir__() -> list[str]:
    return sorted(__all__)
