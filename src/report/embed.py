#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turn text files into C arrays: embed.py OUTPUT.c NAME=FILE…

Each NAME becomes `const char NAME[]`, ending in a zero byte. C limits string literals to 4,095 bytes:
hence arrays.
"""

from __future__ import annotations

import sys
from pathlib import Path


def array(name: str, data: bytes) -> str:
    numbers = [str(byte) for byte in data + b"\0"]
    rows = [", ".join(numbers[at : at + 24]) for at in range(0, len(numbers), 24)]
    return f"const char {name}[] = {{\n" + ",\n".join(rows) + "};\n"


def main(output: str, *pairs: str) -> None:
    parts = ['/* Made by embed.py. */\n#include "report/svg_assets.h"\n']
    for pair in pairs:
        name, _, path = pair.partition("=")
        data = Path(path).read_bytes()
        if not data.isascii() or b"]]>" in data:
            sys.exit(f"{path}: only ASCII, and no ']]>', can be embedded")
        parts.append(array(name, data))
    Path(output).write_text("\n".join(parts))


main(*sys.argv[1:])
