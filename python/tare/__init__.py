# SPDX-License-Identifier: Apache-2.0
"""Weighs machine-learning code and models, and takes its own weight off the scale.

import tare

profile = tare.load("train.prof")       # or .pb.gz, .folded
print(profile.table(sort="tottime", rows=10))
profile.save("train.svg")               # a flame graph; the extension decides
"""

from tare._core import TareError, __version__
from tare._result import Column, Function, Profile, Run, load

__all__ = ["Column", "Function", "Profile", "Run", "TareError", "__version__", "load"]
