# SPDX-License-Identifier: Apache-2.0
"""Flame graphs: well-formed whatever the names are, true to the profile, and usable in a browser."""

from __future__ import annotations

import random
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import pytest
from browsing import run_check

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "</script><script>alert(1)</script>",
    "]]>",
    "&amp;&lt;&#0;&",
    "\"quoted\" 'single' <b>",
    "tab\there\x01\x02\x7f\x1b[31m",
    "\u202eright to left\u202c \u2066x\u2069",
    "\u65e5\u672c\u8a9e\u306e\u95a2\u6570\u540d\u306f\u3068\u3066\u3082\u9577\u3044",
    "\U0001f525\U0001f525 hot \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "e\u0301\u0301\u0301 combining",
    "\ufffe\uffff\ufdd0",
    "x" * 5000,
    "--><!--",
    "${{ '$' }} {{ jinja }} %s %n",
]


def draw(tare: Path, folded: str | bytes, tmp_path: Path, *options: str) -> Path:
    """The flame graph of folded stacks."""
    source, target = tmp_path / "in.folded", tmp_path / "out.svg"
    source.write_bytes(folded if isinstance(folded, bytes) else folded.encode())
    subprocess.run([tare, "report", source, "-o", target, *options], check=True)
    return target


def frames(path: Path) -> list[tuple[str, list[str], int, int, int]]:
    """Name, tooltip, start, total and depth of each frame, from a strict parser."""
    root = ElementTree.parse(path).getroot()
    (group,) = [g for g in root.findall(f"{SVG}g") if g.get("class") == "frames"]
    found = []
    for frame in group.findall(f"{SVG}g"):
        lines = (frame.findtext(f"{SVG}title") or "").split("\n")
        start, total, depth = map(int, frame.attrib["data-f"].split(","))
        found.append((lines[0], lines[1:], start, total, depth))
    return found


def test_hostile_names_stay_text(tare: Path, tmp_path: Path) -> None:
    lines = [f"{name.replace(';', '')};{i} {100 + i}" for i, name in enumerate(HOSTILE)]
    lines.append("plain 1")
    path = draw(tare, "\n".join(lines) + "\n", tmp_path)
    text = path.read_text("utf-8")
    assert "alert(1)</script>" not in text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]", text)
    names = {name for name, *_ in frames(path)}
    assert HOSTILE[0] in names
    assert HOSTILE[3] in names
    assert HOSTILE[6] in names
    assert "tab\u2409here\u2401\u2402\u2421\u241b[31m" in names
    assert max(map(len, names)) <= 400


def test_bytes_that_are_not_utf8(tare: Path, tmp_path: Path) -> None:
    path = draw(tare, b"main;\xff\xfe\xc0\x80\xed\xa0\x80x;\xf5 3\n", tmp_path)
    assert any("\ufffd" in name for name, *_ in frames(path))


def test_random_bytes_are_well_formed(tare: Path, tmp_path: Path) -> None:
    random.seed(7)
    alphabet = bytes(set(range(1, 256)) - {10, 13, 32, 35, 59})
    for _ in range(20):
        rows = []
        for _ in range(random.randint(1, 30)):
            stack = [
                bytes(random.choices(alphabet, k=random.randint(1, 12))) for _ in range(random.randint(1, 6))
            ]
            rows.append(b"m;" + b";".join(stack) + b" %d" % random.randint(1, 99))
        assert frames(draw(tare, b"\n".join(rows), tmp_path))


def test_widths_are_the_totals(tare: Path, tmp_path: Path, root: Path) -> None:
    folded = (root / "tests/data/folded/pyspy.folded").read_text()
    totals: Counter[tuple[str, ...]] = Counter()
    whole = 0
    for line in folded.splitlines():
        stack, count = line.rsplit(" ", 1)
        whole += int(count)
        names = [re.sub(r" \([^()]*:\d+\)$", "", frame) for frame in stack.split(";") if frame]
        for depth in range(1, len(names) + 1):
            totals[tuple(names[:depth])] += int(count)
    drawn: Counter[tuple[str, ...]] = Counter()
    path: list[str] = []
    ends: list[int] = []
    for name, lines, start, total, depth in frames(draw(tare, folded, tmp_path)):
        path[depth:] = [name]
        ends[depth:] = [start + total]
        assert depth == 0 or ends[depth] <= ends[depth - 1]
        if depth:
            drawn[tuple(path[1:])] += total
            assert f"{100 * total / whole:.1f} % of total" in lines[1]
        else:
            assert total == whole
    assert drawn == totals


def test_small_frames_are_left_out_and_counted(tare: Path, tmp_path: Path) -> None:
    rows = ["big 1000000"] + [f"big;tiny{i} 1" for i in range(30)] + ["wide;deep 200000"]
    path = draw(tare, "\n".join(rows), tmp_path)
    names = [name for name, *_ in frames(path)]
    assert names == ["all", "big", "wide", "deep"]
    assert "30 frames narrower than 0.1 px left out (&lt;0.1 % of the total)" in path.read_text()


def test_a_large_profile_stays_openable(tare: Path, tmp_path: Path) -> None:
    random.seed(1)
    rows = []
    for _ in range(150_000):
        depth = random.randint(3, 9)
        rows.append(";".join(f"f{random.randint(0, 11)}" for _ in range(depth)) + f" {random.randint(1, 9)}")
    path = draw(tare, "\n".join(rows), tmp_path)
    shown = len(frames(path))
    assert 1000 < shown <= 20000
    left_out = re.search(r"([\d,]+) frames narrower than ([\d.]+) px", path.read_text())
    assert left_out
    assert int(left_out[1].replace(",", "")) > 100_000
    assert path.stat().st_size < 10_000_000


def test_nothing_to_draw(tare: Path, tmp_path: Path) -> None:
    path = draw(tare, "a;b 0\n", tmp_path)
    assert "There is nothing to show" in path.read_text()
    assert frames(path) == []


def test_it_needs_nothing_else(tare: Path, tmp_path: Path) -> None:
    text = draw(tare, "a;b 1\n", tmp_path).read_text()
    addresses = set(re.findall(r"https?://[^\s'\"<>]+", text))
    assert addresses == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"}
    assert not re.search(r"\b(href|src|url\()\s*=?", text)


def test_difference_is_red_and_blue(tare: Path, tmp_path: Path) -> None:
    (tmp_path / "base.folded").write_text("m;same 100\nm;more 100\nm;less 100\nm;gone 50\n")
    now = "m;same 100\nm;more 300\nm;less 20\nm;new 40\n"
    path = draw(tare, now, tmp_path, "--base", str(tmp_path / "base.folded"))
    colours, tips = {}, {}
    for frame in ElementTree.parse(path).getroot().iter(f"{SVG}g"):
        if "data-f" in frame.attrib:
            lines = (frame.findtext(f"{SVG}title") or "").split("\n")
            rect = frame.find(f"{SVG}rect")
            assert rect is not None
            colours[lines[0]] = rect.get("class")
            tips[lines[0]] = lines[-1]
    assert colours == {"all": "u4", "m": "u4", "more": "u4", "same": "d0", "new": "u3", "less": "l4"}
    assert tips["more"] == "before 100 samples, change +200, +200.0 %"
    assert tips["new"] == "before 0 samples, change +40, new"
    text = path.read_text()
    assert "350 samples before, 460 samples after, +110, +31.4 %" in text
    assert "1 context with 50 samples before is gone and without width" in text


def test_in_a_browser(tare: Path, root: Path, tmp_path: Path) -> None:
    path = draw(tare, (root / "tests/data/folded/training.folded").read_text(), tmp_path)
    # Matches inside matches count once: what is under any of them, as a share of the whole.
    whole = matched = 0
    for line in (root / "tests/data/folded/training.folded").read_text().splitlines():
        stack, count = line.rsplit(" ", 1)
        whole += int(count)
        matched += int(count) if "torch" in stack else 0
    hits = sum("torch" in name or "torch" in lines[0] for name, lines, *_ in frames(path))
    expect = {
        "frames": len(frames(path)),
        "title": "Flame graph",
        "zoom": "train_step",
        "beside": "DataLoader.__iter__",
        "tip": ["train.py", "9,207 samples", "75.7 % of total", "81.6 % of parent"],
        "search": "torch",
        "share": f"{100 * matched / whole:.1f} % of total in {hits} frames",
    }
    run_check("svg_check.js", path, tmp_path, expect)


@pytest.mark.parametrize("name", ["wide", "narrow"])
def test_odd_names_in_a_browser(tare: Path, tmp_path: Path, name: str) -> None:
    names = [hostile.replace(";", "") for hostile in HOSTILE]
    each = 300 if name == "wide" else 20
    rows = [f"start;{hostile};below{i} {each}" for i, hostile in enumerate(names)]
    rows.append(f"beside {each}")
    path = draw(tare, "\n".join(rows), tmp_path)
    total, whole = each * len(names), each * (len(names) + 1)
    expect = {
        "frames": 3 + 2 * len(names),
        "title": "Flame graph",
        "zoom": "start",
        "beside": "beside",
        "tip": [f"{100 * total / whole:.1f} % of total"],
        "search": "^below[0-4]$",
        "share": f"{100 * 5 * each / whole:.1f} % of total in 5 frames",
    }
    run_check("svg_check.js", path, tmp_path, expect)
