# SPDX-License-Identifier: Apache-2.0
"""The caller's data: arrays, tensors, lists, dictionaries and tuples of them.

Nothing here imports numpy or torch.
"""

from __future__ import annotations

import sys
from typing import Any


def detached(value: Any) -> Any:
    """A tensor as DLPack hands it out: without a gradient, in one piece."""
    if hasattr(value, "__dlpack__") and hasattr(value, "detach"):
        value = value.detach()
        if not value.is_contiguous():
            value = value.contiguous()
    return value


def named(data: Any) -> list[tuple[str | None, Any]]:
    """Inputs of a model: by name from a dictionary, in order from a tuple; one array is the first."""
    if data is None:
        return []
    if isinstance(data, dict):
        return [(str(name), detached(value)) for name, value in data.items()]
    if isinstance(data, (tuple, list)):
        return [(None, detached(value)) for value in data]
    if hasattr(data, "items") and hasattr(data, "keys"):  # what tokenizers return
        return [(str(name), detached(data[name])) for name in data.keys()]  # noqa: SIM118
    return [(None, detached(data))]


def arguments(data: Any) -> tuple[tuple[Any, ...], dict[str, Any] | None]:
    """How a callable is called: a tuple as arguments, a dictionary by name, all else as the one argument."""
    if data is None:
        return (), None
    if isinstance(data, tuple):
        return data, None
    if isinstance(data, dict):
        return (), {str(name): value for name, value in data.items()}
    return (data,), None


def batch_of(data: Any) -> int:
    """How many samples the data holds: the first dimension of its first array, the length of a list."""
    if isinstance(data, dict):
        return batch_of(next(iter(data.values()))) if data else 1
    if isinstance(data, tuple):
        return batch_of(data[0]) if data else 1
    shape = getattr(data, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) > 1 else 1
    return max(1, len(data)) if isinstance(data, list) else 1


def resized(data: Any, batch: int) -> Any:
    """The same data with so many samples: the first ones, or all of them again and again."""
    if isinstance(data, dict):
        return {name: resized(value, batch) for name, value in data.items()}
    if isinstance(data, tuple):
        return tuple(resized(value, batch) for value in data)
    if isinstance(data, list):
        if not data:
            raise ValueError("input_data is empty: there is no sample to repeat")
        return (data * (batch // len(data) + 1))[:batch]
    shape = getattr(data, "shape", None)
    if shape is None or len(shape) < 2:
        raise ValueError(
            "batch_size can be varied where input_data holds samples: an array of at least two dimensions, "
            "a list, or a dictionary or tuple of them"
        )
    times = -(-batch // int(shape[0]))
    if times > 1:
        package = type(data).__module__.partition(".")[0]
        if package == "torch":
            data = sys.modules["torch"].cat([data] * times)
        elif package == "numpy":
            data = sys.modules["numpy"].concatenate([data] * times)
        else:
            raise ValueError(f"input_data has {shape[0]} samples, and a batch of {batch} was asked for")
    return data[:batch]
