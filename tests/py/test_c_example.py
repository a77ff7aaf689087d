# SPDX-License-Identifier: Apache-2.0
"""A C program that records itself, and the header in C++."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest


def test_the_example_is_recorded(build_dir: Path, tare: Path, tmp_path: Path) -> None:
    server = build_dir / "tests" / "example_server"
    done = subprocess.run([server, tmp_path], capture_output=True, text=True, timeout=60, check=True)
    capture = Path(done.stdout.strip())
    assert capture.parent == tmp_path
    table = subprocess.run([tare, "report", capture], capture_output=True, text=True, timeout=60, check=True)
    calls = {
        line.split("(")[-1].rstrip(")"): line.split()[0]
        for line in table.stdout.splitlines()
        if "server.c" in line
    }
    assert calls == {"serve": "2", "forward": "400", "layer": "2400", "tokenize": "400"}, table.stdout
    data = json.loads(
        subprocess.run([tare, "report", "--json", capture], capture_output=True, check=True).stdout
    )
    assert "tokens" in [column["name"] for column in data["columns"]]


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler: apt-get install g++")
def test_the_header_is_cplusplus_too(build_dir: Path, root: Path, tmp_path: Path) -> None:
    (tmp_path / "a.cc").write_text(
        "#include <tare/tare.h>\n"
        'static int f(int n) { TARE_SPAN("f"); TARE_COUNT("items", n); return n; }\n'
        "int main(int argc, char **argv) { char p[99];\n"
        "  if (argc > 1 && tare_record_begin(argv[1], p, sizeof p) < 0) return 1;\n"
        "  f(2); tare_record_end(); return 0; }\n"
    )
    command = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{root / 'include'}", "a.cc"]
    command += [str(build_dir / "src" / "libtare.a"), "-pthread", "-o", "a"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    subprocess.run(["./a", "."], cwd=tmp_path, check=True, timeout=60)
    assert len(list(tmp_path.glob("*.tarecap"))) == 1
