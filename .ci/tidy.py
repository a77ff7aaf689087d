# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy on our sources, two at a time, and remembers what was clean.

tidy.py BUILD CACHE: BUILD holds compile_commands.json. A file is known by what the compiler would see of it
(the preprocessed text, comments included, and its flags) and by the list of checks; CACHE keeps an empty file
for each that was clean.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import itertools
import json
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TIDY = "clang-tidy-14"
# What differs from one build folder to the next without changing what is compiled.
PLACES = ("-o", "-MF", "-MQ", "-MT")


def identity(entry: dict[str, str], checks: bytes) -> str:
    words = shlex.split(entry["command"])
    words = words[words.index("clang") :]
    flags = [word for before, word in itertools.pairwise(words) if before not in PLACES]
    flags = [word for word in flags if word not in (*PLACES, "-MD", "-c")]
    seen = subprocess.run(
        [words[0], "-E", "-CC", "-P", *flags], cwd=entry["directory"], capture_output=True, check=True
    )
    plain = " ".join(flag for flag in flags if not flag.startswith("-I") and str(ROOT) not in flag)
    return hashlib.sha256(b"\0".join((checks, plain.encode(), seen.stdout))).hexdigest()


def check(entry: dict[str, str], build: Path, stamp: Path) -> str | None:
    if stamp.exists():
        return None
    done = subprocess.run(
        [TIDY, "-p", str(build), "--quiet", entry["file"]],
        cwd=entry["directory"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        stamp.touch()
        return None
    return done.stdout


def main() -> int:
    build, cache = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    cache.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([TIDY, "--version"], capture_output=True, check=True).stdout
    checks = version + (ROOT / ".clang-tidy").read_bytes()
    entries = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = (Path(entry["directory"]) / entry["file"]).resolve().relative_to(ROOT)
        if path.parts[0] in ("src", "python"):
            entries.append(entry)
    if not entries:
        print("compile_commands.json names none of our sources")
        return 1
    known = unclean = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        stamps = [cache / name for name in pool.map(lambda entry: identity(entry, checks), entries)]
        known = sum(stamp.exists() for stamp in stamps)
        for words in pool.map(check, entries, [build] * len(entries), stamps):
            if words is not None:
                unclean += 1
                print(words)
    print(f"{len(entries)} files, {known} of them known to be clean, {unclean} not clean")
    return 1 if unclean else 0


if __name__ == "__main__":
    sys.exit(main())
