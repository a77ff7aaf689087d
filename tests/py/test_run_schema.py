# SPDX-License-Identifier: Apache-2.0
"""A run's file, held against its schema and used as people's scripts use it."""

from __future__ import annotations

import copy
import csv
import gzip
import itertools
import json
import math
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

Run = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted((ROOT / "tests" / "data" / "runs").glob("*.json"))


@pytest.fixture(scope="session")
def tool(tare: Path) -> Path:
    """Built beside the command: makes runs in C and converts files."""
    return tare.parents[1] / "tests" / "run_tool"


@pytest.fixture(scope="session")
def schema(root: Path) -> Run:
    loaded: Run = json.loads((root / "docs" / "schema" / "tare.run-1.json").read_text())
    jsonschema.Draft202012Validator.check_schema(loaded)
    return loaded


@pytest.fixture(scope="session")
def validator(schema: Run) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema)


def call(tool: Path, *args: str | Path) -> str:
    return subprocess.run([tool, *args], check=True, capture_output=True, text=True).stdout


def made(tool: Path, name: str) -> Run:
    run: Run = json.loads(call(tool, name))
    return run


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_saved_runs_are_valid(path: Path, validator: jsonschema.Draft202012Validator) -> None:
    validator.validate(json.loads(path.read_text()))


@pytest.mark.parametrize("name", ["full", "small"])
def test_runs_made_in_c_are_valid(name: str, tool: Path, validator: jsonschema.Draft202012Validator) -> None:
    validator.validate(made(tool, name))


def change(path: str, value: Any) -> Callable[[Run], None]:
    """Put value at "a.0.b"; the path exists but for its last step."""

    def apply(run: Run) -> None:
        *steps, last = path.split(".")
        at: Any = run
        for step in steps:
            at = at[int(step) if isinstance(at, list) else step]
        at[int(last) if isinstance(at, list) else last] = value

    return apply


def remove(key: str) -> Callable[[Run], None]:
    return lambda run: run.pop(key)


# Whatever the schema refuses, the reader refuses, and the other way round. (derived: only the schema sees it,
# because the reader takes nothing from those keys.)
BAD = {
    "another version": change("schema", "tare.run/2"),
    "no schema": remove("schema"),
    "no timestamp": remove("timestamp"),
    "no configurations": remove("configurations"),
    "a local time": change("timestamp", "2026-01-31T12:00:00+01:00"),
    "a unit of two words": change("unit", "text pairs"),
    "a sample that is no number": change("configurations.0.samples.0.ns.0", "fast"),
    "half a nanosecond": change("configurations.0.samples.0.ns.0", 0.5),
    "a negative sample": change("configurations.0.samples.0.ns.0", -1),
    "samples without a process": change("configurations.0.samples.0", {"ns": [1]}),
    "an unknown status": change("configurations.0.status", "great"),
    "unstable without a reason": change("configurations.0.status", "unstable"),
    "not measured without a reason": change("configurations.0", {"status": "not_measured"}),
    "a batch in words": change("configurations.0.keys.batch", "eight"),
    "a negative dimension": change("configurations.0.keys.dims.seq", -8),
    "a label that is a number": change("configurations.0.keys.labels", {"a": 1}),
    "a bound in words": change("configurations.0.latency.p50_ns.upper", "inf"),
    "confidence in percent": change("configurations.0.latency.confidence", 95),
    "negative memory": change("configurations.0.memory", {"peak_bytes": -1}),
    "accuracy without a name": change("configurations.0.accuracy.0", {"value": 1}),
    "a short hash": change("model.sha256", "abc123"),
    "a verdict that does not exist": change("thresholds", [{"metric": "latency", "status": "meh"}]),
    "advice without a text": change("advice.0", {"tried": True}),
    "null in a list": change("other_models", [None]),
    "a command that is no list": change("command", "tare bench"),
}
BAD_DERIVED = {
    "no system": remove("system"),
    "no profiles": remove("batch_profiles"),
    "a profile without throughput": lambda run: run["batch_profiles"][0].pop("throughput_pairs_per_sec"),
    "a profile without latency": change("batch_profiles.0", {"batch_size": 1, "throughput_pairs_per_sec": 1}),
    "throughput as text": change("batch_profiles.0.throughput_pairs_per_sec", "100/s"),
    "recommendations as objects": change("recommendations", [{}]),
}


@pytest.mark.parametrize("how", BAD.values(), ids=BAD.keys())
def test_schema_and_reader_refuse(
    how: Callable[[Run], None], tool: Path, tmp_path: Path, validator: jsonschema.Draft202012Validator
) -> None:
    run = made(tool, "small")
    how(run)
    assert not validator.is_valid(run)
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(run))
    read = subprocess.run([tool, "json", path], capture_output=True, text=True)
    assert read.returncode == 2
    assert read.stdout == ""
    assert read.stderr.count("\n") == 1
    assert str(path) in read.stderr


@pytest.mark.parametrize("how", BAD_DERIVED.values(), ids=BAD_DERIVED.keys())
def test_schema_refuses_derived(
    how: Callable[[Run], Any], tool: Path, validator: jsonschema.Draft202012Validator
) -> None:
    run = made(tool, "small")
    how(run)
    assert not validator.is_valid(run)


def test_derived_keys_are_never_read(tool: Path, tmp_path: Path) -> None:
    """Whatever stands in them, they are written from the configurations."""
    text = call(tool, "small")
    run = json.loads(text)
    run["batch_profiles"] = [{"batch_size": 99, "throughput_pairs_per_sec": 1e9}]
    run["system"] = {"device": "quantum"}
    run["recommendations"] = None
    del run["bottlenecks"]
    path = tmp_path / "run.json"
    path.write_text(json.dumps(run))
    assert call(tool, "json", path) == text


def follow(schema: Run, node: Run) -> Run:
    while "$ref" in node:
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return node


JSON_TYPE = {
    "text": "string",
    "int": "integer",
    "real": "number",
    "flag": "boolean",
    "texts": "array",
    "ints": "array",
    "reals": "array",
    "dims": "object",
    "labels": "object",
    "object": "object",
    "list": "array",
    "machine": "object",
}


def differences(schema: Run, node: Run, shape: Run, at: str) -> Iterator[str]:
    """Where the schema and the tables that the reader and the writer go by disagree."""
    properties = node["properties"]
    for key in shape.keys() ^ (properties.keys() - {"schema"}):
        yield f"{at}.{key}: only in {'the tables' if key in shape else 'the schema'}"
    required = set(node.get("required", [])) - {"schema"}
    for key in shape.keys() & properties.keys():
        field, target = shape[key], follow(schema, properties[key])
        if field["kind"] == "derived":
            continue
        if field["required"] != (key in required):
            yield f"{at}.{key}: required differs"
        if field["kind"] == "enum":
            if [name for name in target["enum"] if name is not None] != field["names"]:
                yield f"{at}.{key}: names differ"
            continue
        types = [target["type"]] if isinstance(target["type"], str) else target["type"]
        if JSON_TYPE[field["kind"]] not in types:
            yield f"{at}.{key}: type differs"
        if field["kind"] in ("int", "real"):
            bounded = "minimum" in target or "exclusiveMinimum" in target
            if bounded == field["signed"]:
                yield f"{at}.{key}: sign differs"
        if "shape" in field:
            inner = follow(schema, target["items"]) if field["kind"] == "list" else target
            yield from differences(schema, inner, field["shape"], f"{at}.{key}")


def test_schema_and_tables_agree(tool: Path, schema: Run) -> None:
    assert list(differences(schema, schema, json.loads(call(tool, "shapes")), "")) == []


def test_every_key_is_described(schema: Run, root: Path) -> None:
    def undescribed(node: Any, at: str) -> Iterator[str]:
        for key, value in node.get("properties", {}).items():
            if "description" not in follow(schema, value) and "const" not in value:
                yield f"{at}.{key}"

    assert list(undescribed(schema, "")) == []
    for name, node in schema["$defs"].items():
        assert node.get("description"), name
    page = (root / "docs" / "run.md").read_text()
    for key in schema["properties"]:
        assert f"`{key}`" in page, key


def test_a_script_indexes_it(tool: Path) -> None:
    """What scripts that exist today do with their own result files."""
    results = made(tool, "small")
    assert results["timestamp"].startswith("2026-01-31")
    assert results["system"]["device"] == "cpu"
    assert results["system"]["model"] == "nli.onnx"
    best = max(results["batch_profiles"], key=lambda p: p["throughput_pairs_per_sec"])
    assert best["batch_size"] == 8
    assert best["latency_ms_per_pair"] == 5.0
    assert best["memory_delta_mb"] == 2.8
    assert best["accuracy_metrics"]["max_abs"] == 2.5e-7
    assert f"{best['throughput_pairs_per_sec']:.1f} pairs/sec" == "200.0 pairs/sec"
    assert best["throughput_pairs_per_sec_lower"] < best["throughput_pairs_per_sec"]
    assert best["latency_ms_per_pair_upper"] > best["latency_ms_per_pair"]
    assert ", ".join(results["bottlenecks"]) == "one core is idle"
    assert ", ".join(results["recommendations"]) == "batch 8"
    for profile in results["batch_profiles"]:
        config = results["configurations"][profile["configuration"]]
        assert config["keys"]["batch"] == profile["batch_size"]
        samples = [ns for process in config["samples"] for ns in process["ns"]]
        assert sum(samples) / len(samples) / 1e6 / profile["batch_size"] == pytest.approx(
            profile["latency_ms_per_pair"]
        )


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_profiles_follow_the_unit(path: Path) -> None:
    run = json.loads(path.read_text())
    measured = [c for c in run["configurations"] if c["status"] != "not_measured"]
    assert len(run["batch_profiles"]) == len(measured)
    for profile, config in zip(run["batch_profiles"], measured, strict=True):
        rate = profile[f"throughput_{run['unit']}_per_sec"]
        assert rate == config["throughput_per_sec"]["value"]
        assert profile[f"latency_ms_per_{run['unit'][:-1]}"] == pytest.approx(1000 / rate, rel=1e-4)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_statistics_follow_from_the_samples(path: Path, tool: Path) -> None:
    for config in json.loads(call(tool, "derive", path))["configurations"]:
        raw = sorted(ns for process in config.get("samples", []) for ns in process["ns"])
        if not raw:
            continue
        latency = config["latency"]
        assert latency["count"] == len(raw)
        assert latency["mean_ns"]["value"] == pytest.approx(sum(raw) / len(raw), rel=1e-12)
        for percent, key in ((50, "p50"), (90, "p90"), (95, "p95"), (99, "p99"), (99.9, "p999")):
            estimate = latency[f"{key}_ns"]
            assert estimate["value"] == raw[math.ceil(percent / 100 * len(raw)) - 1]
            assert estimate.get("lower", 0) <= estimate["value"] <= estimate.get("upper", math.inf)
            assert ("more_samples" in estimate) != estimate["supported"]
        assert (latency["min_ns"], latency["max_ns"]["value"]) == (raw[0], raw[-1])
        rate = config["throughput_per_sec"]
        assert rate["value"] == pytest.approx(config["items_per_call"] * 1e9 / latency["mean_ns"]["value"])
        assert rate["lower"] < rate["value"] < rate["upper"]


def test_csv_has_a_row_per_configuration(tool: Path, root: Path) -> None:
    path = root / "tests" / "data" / "runs" / "not_measured.json"
    text = subprocess.run([tool, "csv", path], check=True, capture_output=True).stdout.decode()
    assert text.count("\r\n") == 5
    rows = list(csv.DictReader(text.splitlines()))
    run = json.loads(path.read_text())
    assert [row["status"] for row in rows] == [c["status"] for c in run["configurations"]]
    assert [row["batch"] for row in rows] == ["1", "8", "256", "512"]
    assert rows[2]["reason"] == "needs 2.1 GB and 1.4 GB are free"
    assert rows[2]["throughput_pairs_per_sec"] == ""
    for row, profile in zip(rows, run["batch_profiles"], strict=False):
        for key in ("throughput_pairs_per_sec", "latency_ms_per_pair", "memory_delta_mb"):
            assert float(row[key]) == profile[key]
    latency = run["configurations"][0]["latency"]
    assert float(rows[0]["latency_p99_ns"]) == latency["p99_ns"]["value"]
    assert rows[0]["latency_p99_ns_supported"] == "false"
    assert int(rows[0]["latency_p99_ns_more_samples"]) == latency["p99_ns"]["more_samples"]
    names = next(csv.reader(text.splitlines()))
    assert len(set(names)) == len(names)


def test_text_shows_the_console_table(tool: Path, root: Path) -> None:
    text = call(tool, "text", root / "tests" / "data" / "runs" / "unsupported_percentiles.json")
    system, model, table = (
        text.index(s) for s in ("System ", "Model ", "Batch | Pairs/Sec | Latency (ms) | Memory (MB)")
    )
    assert system < model < table
    assert re.search(r"\(needs \d+ more samples\)", text)
    assert "sure enough: batch=8" in text


def test_markdown_tables_are_whole(tool: Path, root: Path) -> None:
    text = call(tool, "markdown", root / "tests" / "data" / "runs" / "minilm_sweep.json")
    widths = [line.replace("\\|", "").count("|") for line in text.splitlines()]
    for before, width in itertools.pairwise(widths):
        assert not before or not width or before == width
    assert "| Batch | seq | Texts/Sec | Latency (ms) | Memory (MB) |" in text


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_reading_is_lossless(path: Path, tool: Path, tmp_path: Path) -> None:
    """Through another tool's JSON writer, and compressed."""
    run = json.loads(path.read_text())
    shuffled = tmp_path / "sorted.json.gz"
    shuffled.write_bytes(gzip.compress(json.dumps(run, sort_keys=True).encode()))
    back = json.loads(call(tool, "json", shuffled))
    assert back == run


def test_unknown_keys_survive(tool: Path, tmp_path: Path) -> None:
    run = made(tool, "full")
    changed = copy.deepcopy(run)

    def add(node: Any, free: bool) -> None:
        if isinstance(node, dict):
            for key, value in node.items():
                add(value, key in ("dims", "labels", "options", "accuracy_metrics"))
            if not free:
                node["from_the_future"] = {"deep": [1, 2.5, None, {"x": "y"}]}
        elif isinstance(node, list):
            for value in node:
                add(value, False)

    add(changed, False)
    for derived in ("system", "batch_profiles"):
        changed[derived] = run[derived]
    path = tmp_path / "future.json"
    path.write_text(json.dumps(changed))
    assert json.loads(call(tool, "json", path)) == changed
