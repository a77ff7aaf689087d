# SPDX-License-Identifier: Apache-2.0
"""Reads the tree itself: which room includes which, and the habits that every file keeps.

Each rule is a function from the tree (path -> text) to the list of what breaks it. Each is tried on the real
tree, which must keep it, and on a small wrong tree, in which it must find the fault.
"""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

Tree = dict[str, str]

GROUND = {"base"}
NOUNS = GROUND | {"core"}
COLLECTORS = ("instrument", "sample", "bench", "judge", "report")
FLOW = NOUNS | set(COLLECTORS) | {"flow"}
MAY_INCLUDE: dict[str, set[str]] = {
    "base": GROUND,
    "core": NOUNS,
    **{room: NOUNS | {room} for room in COLLECTORS},
    "flow": FLOW,
    "cmd": FLOW | {"cmd"},
    "python": FLOW | {"cmd"},  # `python -m tare` is the command itself
}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)


def room_of(path: str) -> str | None:
    parts = PurePosixPath(path).parts
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    return "python" if parts[0] == "python" else None


def wrong_includes(tree: Tree) -> list[str]:
    problems = []
    for path, text in tree.items():
        room = room_of(path)
        if room is None or not path.endswith((".c", ".h")):
            continue
        if room not in MAY_INCLUDE:
            problems.append(f"{path}: '{room}' is not a room: add it to the map")
            continue
        for quote, target in INCLUDE.findall(text):
            folder = target.split("/")[0] if "/" in target else None
            if quote == "<":
                if folder in MAY_INCLUDE:
                    problems.append(f"{path}: <{target}> is ours: include it in quotes")
            elif room == "python" and f"{PurePosixPath(path).parent}/{target}" in tree:
                pass
            elif target == "tare/tare.h" and room == "instrument":
                pass  # the public header, by the room that implements it
            elif folder not in MAY_INCLUDE:
                problems.append(f'{path}: "{target}" does not carry its room')
            elif f"src/{target}" not in tree:
                problems.append(f"{path}: there is no src/{target}")
            elif folder not in MAY_INCLUDE[room]:
                problems.append(f"{path}: {room} may not include {target}")
    return problems


SAME_NAME_IN_EVERY_FOLDER = {"meson.build", "__init__.py", "README.md"}
DATA = ("fuzz/corpus/", "tests/data/", "tests/machine/")


def repeated_names(tree: Tree) -> list[str]:
    places = defaultdict(list)
    for path in tree:
        name = PurePosixPath(path).name
        if name not in SAME_NAME_IN_EVERY_FOLDER and not path.startswith(DATA):
            places[name].append(path)
    return [f"{' and '.join(paths)} share a name" for paths in places.values() if len(paths) > 1]


CODE = (".c", ".h", ".py", ".pyi", ".sh", ".toml", ".js", ".css", ".mjs")
CODE_NAMES = {
    "meson.build", "meson_options.txt", "run", ".clang-format", ".clang-tidy", ".editorconfig", ".gitignore",
}  # fmt: skip


def is_code(path: str) -> bool:
    return not path.startswith(DATA) and (path.endswith(CODE) or PurePosixPath(path).name in CODE_NAMES)


def missing_licence(tree: Tree) -> list[str]:
    line = "SPDX-License-Identifier: Apache-2.0"
    return [
        f"{path}: no '{line}' in its first two lines"
        for path, text in tree.items()
        if is_code(path) and line not in "\n".join(text.split("\n")[:2])
    ]


LONG = 600
REASON = f"Over {LONG} lines because"


def too_long(tree: Tree) -> list[str]:
    problems = []
    for path, text in tree.items():
        lines = text.count("\n")
        if is_code(path) and lines > LONG and REASON not in "\n".join(text.split("\n")[:40]):
            problems.append(f"{path}: {lines} lines; split it, or say in its head '{REASON} ...'")
    return problems


# Hosts that a text may name: namespaces, schemas and pages for the reader, never a package registry.
HOSTS = {
    "127.0.0.1",
    "docs.python.org",
    "git-lfs.github.com",
    "github.com",
    "json-schema.org",
    "localhost",
    "profiler.firefox.com",
    "semver.org",
    "keepachangelog.com",
    "ui.perfetto.dev",
    "www.apache.org",
    "www.speedscope.app",
    "www.w3.org",
}
URL = re.compile(r"\bhttps?://([A-Za-z0-9.-]+)")
MACHINE = re.compile(r"(?<![\w.$}{*)])/(?:" + "|".join(("root", "work")) + r")(?![\w.-])")


def one_machines_own(tree: Tree) -> list[str]:
    problems = []
    for path, text in tree.items():
        if path.startswith(DATA):
            continue
        for number, line in enumerate(text.split("\n"), 1):
            for host in URL.findall(line):
                if host.rstrip(".") not in HOSTS and not host.endswith(
                    (".example", "example.com", "example.org")
                ):
                    problems.append(f"{path}:{number}: names the host {host}")
            if MACHINE.search(line):
                problems.append(f"{path}:{number}: names a path of one machine")
    return problems


RULES: list[tuple[Callable[[Tree], list[str]], Tree]] = [
    (wrong_includes, {"src/base/a.h": "", "src/core/b.h": "", "src/base/a.c": '#include "core/b.h"\n'}),
    (wrong_includes, {"src/judge/a.h": "", "src/report/b.c": '  #  include "judge/a.h"\n'}),
    (wrong_includes, {"src/flow/a.h": "", "src/report/b.c": '#include "base/x.h"\n#include "flow/a.h"\n'}),
    (wrong_includes, {"src/cmd/a.h": "", "src/flow/b.c": '#include "cmd/a.h"\n'}),
    (wrong_includes, {"src/report/a.h": "", "src/core/b.c": '#include "report/a.h"\n'}),
    (wrong_includes, {"include/tare/tare.h": "", "src/flow/b.c": '#include "tare/tare.h"\n'}),
    (wrong_includes, {"src/base/a.h": "", "src/base/a.c": '#include "a.h"\n'}),
    (wrong_includes, {"src/base/a.h": "", "src/base/a.c": "#include <base/a.h>\n"}),
    (wrong_includes, {"src/base/a.h": "", "src/core/a.c": '#include "base/gone.h"\n'}),
    (wrong_includes, {"src/attic/a.c": ""}),
    (repeated_names, {"src/report/report.c": "", "src/cmd/report.c": ""}),
    (missing_licence, {"src/base/a.c": "/* a file */\nint a;\n"}),
    (missing_licence, {".ci/run": "#!/bin/sh\n\n# SPDX-License-Identifier: Apache-2.0\n"}),
    (too_long, {"src/base/a.c": "\n" * (LONG + 1)}),
    (one_machines_own, {"docs/a.md": "see http:/" + "/registry.invalid/simple\n"}),
    (one_machines_own, {"docs/a.md": "cd /" + "root/x\n"}),
    (one_machines_own, {"docs/a.md": "`/" + "work`\n"}),
]


@pytest.fixture(scope="module")
def tree(root: Path) -> Tree:
    """Every text file that git knows."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True)
    found = {}
    for path in listed.stdout.split("\0"):
        if path and (root / path).is_file():
            raw = (root / path).read_bytes()
            if b"\0" not in raw:
                found[path] = raw.decode(errors="replace")
    assert len(found) > 20, "git lists too few files to mean anything"
    return found


@pytest.mark.parametrize("rule", dict.fromkeys(rule for rule, _ in RULES), ids=lambda rule: rule.__name__)
def test_the_tree_keeps(rule: Callable[[Tree], list[str]], tree: Tree) -> None:
    assert rule(tree) == []


@pytest.mark.parametrize(("rule", "wrong"), RULES)
def test_a_fault_is_found(rule: Callable[[Tree], list[str]], wrong: Tree) -> None:
    assert rule(wrong) != []


def test_a_right_tree_is_let_through() -> None:
    licence = "/* SPDX-License-Identifier: Apache-2.0 */\n"
    right = {
        "src/base/a.h": licence,
        "src/report/b.h": licence + '#include "base/a.h"\n#include <stdio.h>\n',
        "src/flow/c.c": licence + '#include "report/b.h"\n',
        "python/tare/d.h": licence,
        "python/tare/d.c": licence + '#include "d.h"\n#include "report/b.h"\n',
        "src/flow/long.c": licence + f"/* {REASON} of its table. */\n" + "\n" * LONG,
        "docs/work/network.md": "$HOME/work, see https://ui.perfetto.dev/#!/viewer\n",
    }
    assert [problem for rule, _ in RULES for problem in rule(right)] == []
