# SPDX-License-Identifier: Apache-2.0
"""`python -m tare` is the command `tare`."""

import os
import signal
import sys

from tare._core import main

if __name__ == "__main__":
    # The work is done in C, where Python's handler would not be heard until the end.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    arguments = sys.argv[1:]
    if arguments[:1] == ["run"]:
        arguments[1:1] = ["--python", sys.executable]  # this one, unless another is named
    else:
        os.environ["TARE_PYTHON"] = sys.executable  # what the command needs of Python, it takes from this one
    sys.exit(main(["tare", *arguments]))
