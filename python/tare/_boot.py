# SPDX-License-Identifier: Apache-2.0
"""Starts the recording of a Python process that a recorded process started, before its program's first line.

tareprof.pth calls start() when the environment names a folder for captures. Afterwards the program must find
the interpreter as if nothing had happened: no module of ours is left where it could see one. Nothing here may
fail it: a process that cannot be recorded runs unrecorded, and leaves a note in the folder that says why.
"""

import os
import sys


def _ours() -> set[str]:
    return {name for name in sys.modules if name == "tare" or name.startswith("tare.")}


def _refuse(folder: str, why: BaseException) -> None:
    try:
        with open(os.path.join(folder, f"{os.getpid()}.refused"), "w", encoding="utf-8") as note:
            note.write(f"{why}\n")
    except OSError:
        pass  # the folder is gone or full: nobody is left to tell


def start() -> None:
    folder = os.environ["TARE_RECORD"]
    before = _ours() - {"tare", "tare._boot", "tare._core"}
    try:
        from tare import _core

        # A .pth file may be read twice, through two names of one folder.
        if not _core.status()["recording"]:
            cap = int(os.environ.get("TARE_RECORD_CAP", "0"))
            c_functions = os.environ.get("TARE_RECORD_C", "1") != "0"
            # A program that embeds Python gives it no command line, and may never begin a __main__.
            _core.start(folder, cap, c_functions, False, bool(sys.orig_argv))
    except Exception as why:
        _refuse(folder, why)
    for name in _ours() - before:
        del sys.modules[name]
