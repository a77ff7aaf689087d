# SPDX-License-Identifier: Apache-2.0
"""What ModelProfiler returns: plain dictionaries made of a run, in the units that people index them by.

Times are milliseconds, sizes bytes, rates per second. The whole run, with every sample and bound, is `.run`.
"""

from __future__ import annotations

from typing import Any

from tare._result import Run

Plain = dict[str, Any]
_PERCENTILES = ("mean", "p50", "p90", "p95", "p99", "p999", "max")
_ITEMS = ("samples", "texts", "pairs", "images")


class Results(dict[str, Any]):
    """A dictionary, and the run that it was made of."""

    def __init__(self, values: Plain, run: Run) -> None:
        super().__init__(values)
        self.run = run


class BatchProfile(Results):
    """One batch size, flat: `profile["batch_size"]` and `profile.batch_size` are the same."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Benchmark(list[Results]):
    """A result for each configuration, in the order in which they were given, and the run of them all."""

    def __init__(self, values: list[Results], run: Run) -> None:
        super().__init__(values)
        self.run = run

    def best(self, metric: str = "samples_per_second") -> Results:
        """The configuration with the highest throughput."""
        return max(self, key=lambda r: r["throughput"].get(metric) or 0.0)


class Throughput(dict[str, float]):
    """Rates per second. A sample may be called what it is: texts, pairs and images are samples too."""

    def __missing__(self, key: str) -> float:
        if key in {f"{name}_per_second" for name in _ITEMS} and "samples_per_second" in self:
            return self["samples_per_second"]
        raise KeyError(key)


def _value(estimate: Plain | None, scale: float = 1.0) -> float | None:
    if not estimate or estimate.get("value") is None:
        return None
    return float(estimate["value"]) * scale


def latency(data: Plain) -> Plain:
    """A latency of the run in milliseconds; `bounds` has those of each figure that has them."""
    made: Plain = dict.fromkeys(_PERCENTILES)  # calls too short to be timed one by one have a mean only
    bounds: dict[str, tuple[float | None, float | None]] = {}
    for name in _PERCENTILES:
        estimate = data.get(f"{name}_ns")
        value = _value(estimate, 1e-6)
        if estimate is None or value is None:
            continue
        made[name] = value
        if "lower" in estimate or "upper" in estimate:
            low, high = estimate.get("lower"), estimate.get("upper")
            bounds[name] = (low and low * 1e-6, high and high * 1e-6)
    for name, key in (("min", "min_ns"), ("std", "stddev_ns")):
        if data.get(key) is not None:
            made[name] = data[key] * 1e-6
    made["count"] = data.get("count", 0)
    made["bounds"] = bounds
    return made


def _tokens(keys: Plain) -> int | None:
    """Tokens of a sample, where a dimension is called after a sequence."""
    for name, value in keys.get("dims", {}).items():
        if "seq" in name.lower() or name.lower() in {"length", "tokens"}:
            return int(value)
    return None


def throughput(config: Plain, unit: str) -> Throughput:
    made = Throughput()
    mean = _value(config.get("latency", {}).get("mean_ns"))
    if not mean:
        return made
    calls = 1e9 / mean
    batch = config["keys"].get("batch") or 1
    made["requests_per_second"] = calls
    made["samples_per_second"] = calls * batch
    tokens = _tokens(config["keys"])
    if tokens:
        made["tokens_per_second"] = calls * batch * tokens
    if unit != "samples":
        made[f"{unit}_per_second"] = calls * config.get("items_per_call", batch)
    return made


def memory(data: Plain, batch: int) -> Plain:
    growth = _value(data.get("growth_bytes"))
    made = {
        "peak": data.get("peak_bytes"),
        "average": data.get("average_bytes"),
        "per_sample": growth / batch if growth is not None else None,
        "growth": growth,
        "fragmentation": data.get("fragmentation_outside"),
        "fragmentation_inside": data.get("fragmentation_inside"),
        "weights": data.get("weights_bytes"),
        "activations": data.get("activations_bytes"),
    }
    return {key: value for key, value in made.items() if value is not None or key in {"peak", "average"}}


def _layer(data: Plain) -> Plain:
    made = {k: v for k, v in data.items() if k not in {"time_ns", "raw_ns"}}
    made["time_ms"] = _value(data.get("time_ns"), 1e-6)
    if data.get("raw_ns") is not None:
        made["raw_ms"] = data["raw_ns"] * 1e-6
    return made


def layers(config: Plain) -> Plain:
    """Groups and nodes of the model, by name."""
    data = config.get("layers", {})
    return {
        "groups": {row["name"]: _layer(row) for row in data.get("groups", [])},
        "nodes": [_layer(row) for row in data.get("nodes", [])],
        "residual_ms": data["residual_ns"] * 1e-6 if data.get("residual_ns") is not None else None,
    }


def stages(config: Plain) -> Plain:
    return {
        stage["name"]: {**latency(stage.get("latency", {})), "share": stage.get("share")}
        for stage in config.get("stages", [])
    }


def configuration(data: Plain, index: int, run: Run) -> Results:
    """One configuration of a run."""
    config = data["configurations"][index]
    keys = config["keys"]
    batch = keys.get("batch") or 1
    made: Plain = {
        "configuration": {"batch_size": batch, **{k: v for k, v in keys.items() if k != "batch"}},
        "status": config["status"],
        "latency": latency(config.get("latency", {})),
        "throughput": throughput(config, data.get("unit", "samples")),
        "memory": memory(config.get("memory", {}), batch),
        "resources": config.get("resources", {}),
        "accuracy": {row["name"]: row.get("value") for row in config.get("accuracy", [])},
        "model": data.get("model", {}),
        "bottlenecks": data.get("bottlenecks", []),
        "recommendations": data.get("recommendations", []),
    }
    if "reason" in config:
        made["reason"] = config["reason"]
    for name, scale_from in (("cold_ms", "cold_ns"), ("load_ms", "load_ns")):
        value = _value(config.get(scale_from), 1e-6)
        if value is not None:
            made[name] = value
    if config.get("stages"):
        made["stages"] = stages(config)
    if config.get("layers"):
        made["layers"] = layers(config)
    return Results(made, run)


def memory_report(
    data: Plain, index: int, run: Run, allocations: bool, frees: bool, moments: bool
) -> Results:
    """What memory_profile returns."""
    config = data["configurations"][index]
    source = config.get("memory", {})
    made = memory(source, config["keys"].get("batch") or 1)
    if allocations:
        made["allocations"] = source.get("allocations")
        made["largest_allocation"] = source.get("largest_bytes")
    if frees:
        made["deallocations"] = source.get("deallocations")
    if moments:
        made["snapshots"] = [
            {"time_ms": ns * 1e-6, "bytes": size}
            for ns, size in zip(source.get("timeline_ns", []), source.get("timeline_bytes", []), strict=False)
        ]
    made["growth_verdicts"] = [
        {
            "shapes": leak.get("shapes"),
            "verdict": leak.get("verdict"),
            "bytes_per_call": _value(leak.get("bytes_per_call")),
        }
        for leak in source.get("leaks", [])
    ]
    return Results(made, run)
