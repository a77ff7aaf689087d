# SPDX-License-Identifier: Apache-2.0
"""Whether profiling is on, and where its files go: the environment, and a project's own configuration."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tare._profile import Off, profile

DEFAULT_FOLDER = "profiling_results"
_YES = ("true", "1", "yes", "on")
_NO = ("false", "0", "no", "off")


class Settings(NamedTuple):
    """What tare.configure() understood. `enabled` has the environment's last word."""

    enabled: bool
    every_n_steps: int
    output_dir: str

    def due(self, step: int) -> bool:
        """Is this step one of those to profile?"""
        return self.enabled and step % self.every_n_steps == 0

    def profile(self, name: str, step: int | None = None) -> profile | Off:
        """tare.profile(name) where profiling is enabled and the step due; else what does nothing."""
        from tare._profile import Off, profile

        on = self.enabled if step is None else self.due(step)
        return profile(name) if on else Off()


_folder: str | None = None


def _switch(value: object, source: str) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower() if isinstance(value, (str, int)) else ""
    if text in _YES:
        return True
    if text in _NO:
        return False
    raise ValueError(f"{source} is {value!r}: write one of {', '.join(_YES)} or {', '.join(_NO)}")


def environment_switch() -> bool | None:
    """What ENABLE_PROFILING says; None where it is not set, or empty."""
    value = os.environ.get("ENABLE_PROFILING", "")
    return _switch(value, "the environment variable ENABLE_PROFILING") if value else None


def output_folder() -> str:
    """PROFILE_OUTPUT_DIR, else what was configured, else profiling_results."""
    return os.environ.get("PROFILE_OUTPUT_DIR") or _folder or DEFAULT_FOLDER


def _get(mapping: Any, key: str) -> Any:
    """The value of a key, None where there is none: of a mapping, or of anything that has .get()."""
    getter = getattr(mapping, "get", None)
    if callable(getter):
        return getter(key)
    try:
        return mapping[key]
    except KeyError:
        return None
    except TypeError:
        raise TypeError(
            f"configure() takes a mapping, or something with .get(), and this is a {type(mapping).__name__}"
        ) from None


def configure(mapping: Any) -> Settings:
    """Take `enable_profiling`, `profile_every_n_steps` and `profile_output_dir` from a configuration.

    The mapping may be a dict, a Hydra or OmegaConf configuration, or anything with .get(). Other keys are
    left alone. ENABLE_PROFILING and PROFILE_OUTPUT_DIR win where they are set.
    """
    global _folder
    wish = _get(mapping, "enable_profiling")
    wanted = False if wish is None else _switch(wish, "enable_profiling")
    every = _get(mapping, "profile_every_n_steps")
    if every is None:
        every = 1
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise ValueError(f"profile_every_n_steps is {every!r}: write a whole number, 1 or more")
    folder = _get(mapping, "profile_output_dir")
    if folder is not None and (not isinstance(folder, (str, os.PathLike)) or not os.fspath(folder)):
        raise ValueError(f"profile_output_dir is {folder!r}: write the path of a folder")
    _folder = None if folder is None else os.fsdecode(folder)
    switch = environment_switch()
    return Settings(wanted if switch is None else switch, every, output_folder())
