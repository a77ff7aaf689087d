# SPDX-License-Identifier: Apache-2.0
"""`python -m tare` is the command `tare`."""

import signal
import sys

from tare._core import main

if __name__ == "__main__":
    # The work is done in C, where Python's handler would not be heard until the end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(main(["tare", *sys.argv[1:]]))
