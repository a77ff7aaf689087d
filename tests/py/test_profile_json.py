# SPDX-License-Identifier: Apache-2.0
"""The JSON of a profile, held against its page in the documentation and against the profile."""

from __future__ import annotations

import cProfile
import json
import pstats
import re
import subprocess
from pathlib import Path


def as_json(tare: Path, source: Path) -> dict:
    done = subprocess.run([tare, "report", source, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_documented_example_is_what_comes_out(tare: Path, root: Path, tmp_path: Path) -> None:
    page = (root / "docs/profile-json.md").read_text()
    (example,) = re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (printf,) = re.findall(r"^(printf .*) >example.folded$", page, re.MULTILINE)
    source = tmp_path / "example.folded"
    source.write_bytes(subprocess.run(["sh", "-c", printf], capture_output=True, check=True).stdout)
    got = as_json(tare, source)
    assert got == json.loads(example)
    (snippet,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(got))
    names: dict[str, object] = {}
    exec(snippet.replace('"profile.json"', repr(str(path))), names)
    assert names["total"] == [7, 7, 5]


def test_every_key_is_documented(tare: Path, root: Path) -> None:
    page = (root / "docs/profile-json.md").read_text()
    data = as_json(tare, root / "tests/data/pprof/go-heap.pb.gz")
    keys = set(data) | set(data["nodes"])
    for part in ("columns", "frames", "mappings"):
        for item in data[part]:
            keys |= set(item)
    for frame in data["frames"]:
        for label in frame.get("labels", []):
            keys |= set(label)
    missing = {key for key in keys if f"`{key}`" not in page and f'"{key}"' not in page}
    assert not missing


def test_nodes_are_a_tree_with_parents_first(tare: Path, root: Path) -> None:
    data = as_json(tare, root / "tests/data/folded/pyspy.folded")
    nodes = data["nodes"]
    count = nodes["count"]
    assert [len(nodes[key]) for key in ("parent", "frame", "line")] == [count] * 3
    assert [len(values) for values in nodes["values"]] == [count] * len(data["columns"])
    assert nodes["parent"][0] == nodes["frame"][0] == -1
    for node in range(1, count):
        assert 0 <= nodes["parent"][node] < node
        assert 0 <= nodes["frame"][node] < len(data["frames"])
    lines = (root / "tests/data/folded/pyspy.folded").read_text().splitlines()
    assert data["columns"][0]["sum"] == sum(int(line.rsplit(" ", 1)[1]) for line in lines)


def test_caller_pairs_add_up_to_the_functions(tare: Path, tmp_path: Path) -> None:
    source = tmp_path / "in.prof"
    profiler = cProfile.Profile()
    profiler.runcall(lambda: json.loads(json.dumps([list(range(50))] * 20)))
    profiler.dump_stats(source)
    data = as_json(tare, source)
    assert data["kind"] == "pairs"
    columns = [column["name"] for column in data["columns"]]
    assert columns == ["calls", "primitive_calls", "tottime", "cumtime"]
    calls: dict[tuple[str, str], int] = {}
    for frame, value in zip(data["nodes"]["frame"], data["nodes"]["values"][0], strict=True):
        if frame >= 0:
            key = (data["frames"][frame].get("file", ""), data["frames"][frame]["name"])
            calls[key] = calls.get(key, 0) + value
    want: dict[tuple[str, str], int] = {}
    for (file, _, name), (_, total, *_) in pstats.Stats(str(source)).stats.items():
        want[(file, name)] = want.get((file, name), 0) + total
    builtins = {name: count for (file, name), count in want.items() if file == "~"}
    assert {k: v for k, v in calls.items() if k[0] not in ("~", "")} == {
        k: v for k, v in want.items() if k[0] != "~"
    }
    assert {name: count for (file, name), count in calls.items() if file in ("~", "")} == builtins
