# SPDX-License-Identifier: Apache-2.0
"""Weighs machine-learning code and models, and takes its own weight off the scale."""

from tare._core import __version__

__all__ = ["__version__"]
