# SPDX-License-Identifier: Apache-2.0
"""ModelProfiler: how fast and heavy a model is. Nothing is measured here: the loops and statistics are C."""

from __future__ import annotations

import contextlib
import glob
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from tare import _core
from tare._model_input import arguments, batch_of, named, resized
from tare._model_result import (
    BatchProfile,
    Benchmark,
    Results,
    configuration,
    layers,
    memory_report,
)
from tare._result import Run

Path = str | os.PathLike[str]
Stage = Callable[[Any], Any]

_MEMORY_CALLS = 10
_SECOND = 1_000_000_000
_LAYERS_NS = 20 * _SECOND
# How configurations may be spelled; anything else is a dimension of the model.
_KEYS = {"batch_size": "batch", "batch": "batch", "precision": "precision", "threads": "threads"}
_KEYS |= {"num_threads": "threads", "device": "device"}


def _is_path(value: object) -> bool:
    return isinstance(value, (str, os.PathLike))


def _worker_command() -> list[str]:
    return [sys.executable, "-m", "tare", ".worker"]


def _runtime() -> str | None:
    """The ONNX Runtime of this very interpreter, unless the environment names another."""
    if os.environ.get("TARE_ORT"):
        return None
    found = importlib.util.find_spec("onnxruntime")
    folder = os.path.join(os.path.dirname(found.origin), "capi") if found and found.origin else ""
    libraries = sorted(glob.glob(os.path.join(glob.escape(folder), "libonnxruntime.so*"))) if folder else []
    return libraries[-1] if libraries else None


class ModelProfiler:
    """Weighs a model: an .onnx file, a folder that holds one, or anything that can be called.

    `preprocess` and `postprocess` make it a pipeline: then the latency is that of the whole, and its stages
    are timed apart. A device or precision that cannot be had is an error, never silently another.
    """

    def __init__(
        self,
        model_path: Path | Callable[..., Any] | None = None,
        device: str = "cpu",
        precision: str = "fp32",
        *,
        preprocess: Stage | None = None,
        postprocess: Stage | None = None,
        unit: str | None = None,
        threads: int | None = None,
        dims: Mapping[str, int] | None = None,
        precisions: Mapping[str, Path] | None = None,
        library: Path | None = None,
        name: str | None = None,
        time: float | None = None,
    ) -> None:
        self.device, self.precision = device, precision
        self._preprocess, self._postprocess = preprocess, postprocess
        self._unit, self._threads, self._name = unit, threads, name
        self._dims = dict(dims or {})
        self._precisions = {key: os.fspath(path) for key, path in (precisions or {}).items()}
        self._library = os.fspath(library) if library is not None else _runtime()
        self._time = time
        self._model: Callable[..., Any] | None = None
        self._path: str | None = None
        self._session: tuple[Any, _core.Session] | None = None
        self._last: Run | None = None
        self._data: Any = None
        if model_path is not None:
            self._take(model_path)

    # ---- what is measured ----

    def _take(self, model: Path | Callable[..., Any]) -> None:
        self._session = None
        if isinstance(model, (str, os.PathLike)):
            self._path, self._model = os.fspath(model), None
            if self._path.endswith((".pt", ".pth", ".ts", ".pt2", ".safetensors", ".bin")):
                raise _core.TareError(
                    f"'{self._path}' is not an ONNX model: load it with its framework and pass the object"
                )
        elif callable(model):
            self._path, self._model = None, model
            self._check_callable(model)
        else:
            raise TypeError(f"a model is a path or something to call, not {type(model).__name__}")

    def _torch_module(self) -> Any:
        torch = sys.modules.get("torch")
        return self._model if torch and isinstance(self._model, torch.nn.Module) else None

    def _check_callable(self, model: Callable[..., Any]) -> None:
        self._model = model
        module = self._torch_module()
        first = next(module.parameters(), None) if module is not None else None
        if first is not None:
            if first.device.type != self.device.partition(":")[0]:
                raise _core.TareError(
                    f"the module is on {first.device.type}: move it with .to('{self.device}')"
                )
            names = {"torch.float32": "fp32", "torch.float16": "fp16", "torch.bfloat16": "bf16"}
            has = names.get(str(first.dtype), str(first.dtype))
            if has != self.precision:
                raise _core.TareError(
                    f"the module's parameters are {has}, and precision='{self.precision}' was asked"
                )
        elif self.device != "cpu" and module is None:
            raise _core.TareError(
                f"device='{self.device}' cannot be chosen for a Python callable, which runs where it runs"
            )
        elif self.precision != "fp32":
            raise _core.TareError(
                f"precision='{self.precision}' cannot be had: a Python callable is not converted"
            )

    def _label(self) -> str:
        if self._name:
            return self._name
        if self._path is not None:
            return os.path.basename(self._path)
        return str(getattr(self._model, "__qualname__", None) or type(self._model).__name__)

    def _need_model(self) -> None:
        if self._path is None and self._model is None:
            raise _core.TareError("no model: ModelProfiler(model_path=…), or profile('model.onnx')")

    # ---- measuring ----

    def profile(
        self,
        input_data: Any = None,
        num_runs: int = 100,
        warmup_runs: int = 10,
        detailed_analysis: bool = False,
        *,
        batch_size: int | None = None,
    ) -> Results:
        """Measure it on this data: latency, throughput, memory; with detailed_analysis layers and advice too.

        One array goes to the model's first input and the others are made to fit; a tuple is taken in order, a
        dictionary by name. A path names a model. Without data, inputs are made from the model.
        """
        if _is_path(input_data) and self._preprocess is None and (self._model is None):
            self._take(input_data)
            input_data = None
        self._need_model()
        self._data = input_data if input_data is not None else self._data
        if self._path is not None and self._preprocess is None and self._postprocess is None:
            plan = self._plan(num_runs, warmup_runs, [batch_size] if batch_size else [])
            plan.update(given=named(input_data), no_layers=not detailed_analysis, no_answers=True)
            plan.update(no_advice=not detailed_analysis, in_process=True)
            self._last = self._bench(plan)
        else:
            case = input_data if batch_size is None else resized(input_data, batch_size)
            self._last = self._measure([case], num_runs, warmup_runs)
        return configuration(self._last.to_dict(), 0, self._last)

    def benchmark(
        self,
        configurations: Sequence[Mapping[str, Any]],
        input_data: Any = None,
        num_runs: int = 100,
        warmup_runs: int = 10,
    ) -> Benchmark:
        """Measure several configurations in turns, so that whatever changes on the machine hits all alike.

        An ONNX model runs in a process per configuration, for at most `time` seconds in all (60 unless said).
        """
        self._need_model()
        if not configurations:
            raise ValueError("benchmark() needs at least one configuration, such as {'batch_size': 8}")
        if self._path is None or self._preprocess or self._postprocess:
            data = self._sample_data(input_data)
            cases = [self._callable_case(dict(given), data) for given in configurations]
            self._last = self._measure(cases, num_runs, warmup_runs)
        else:
            plan = self._plan(num_runs, warmup_runs, [])
            choices = [self._choice(dict(given)) for given in configurations]
            wanted = dict.fromkeys(["fp32", *(choice["precision"] for choice in choices)])
            plan["choices"] = choices
            plan["precisions"] = [(name, self._precisions.get(name)) for name in wanted]
            plan["given"] = named(input_data)
            plan["no_layers"] = True
            self._last = self._bench(plan)
        data = self._last.to_dict()
        return Benchmark(
            [configuration(data, i, self._last) for i in range(len(configurations))],
            self._last,
        )

    def profile_batch_size(
        self, batch_size: int = 16, num_pairs: int = 10, input_data: Any = None
    ) -> BatchProfile:
        """One batch profile: the row that the JSON has for it, for a log line of a service."""
        self._need_model()
        unit = self._unit or "pairs"
        if self._path is not None and self._preprocess is None and self._postprocess is None:
            plan = self._plan(0, 0, [batch_size])
            plan.update(unit=unit, items=num_pairs, no_layers=True, no_answers=True, no_advice=True)
            self._last = self._bench(plan)
        else:
            data = resized(self._sample_data(input_data), batch_size)
            self._last = self._measure([data], max(1, -(-num_pairs // batch_size)), 1, unit=unit)
        rows = self._last.to_dict()["batch_profiles"]
        if not rows:
            raise _core.TareError(f"batch {batch_size} could not be measured")
        return BatchProfile(rows[0], self._last)

    def profile_layers(self, input_data: Any = None, layer_names: Sequence[str] | None = None) -> Results:
        """Where the time goes inside an ONNX model, by group (part of node names, or an op type) and node."""
        self._need_onnx("profile_layers")
        plan = self._plan(20, 3, [])
        plan["time_ns"] = plan["time_ns"] or _LAYERS_NS
        plan.update(given=named(input_data), groups=list(layer_names or []), no_memory=True, in_process=True)
        plan.update(no_answers=True, no_advice=True)
        self._last = self._bench(plan)
        made = layers(self._last.to_dict()["configurations"][0])
        return Results(
            {**made["groups"], "layers": made["nodes"], "residual_ms": made["residual_ms"]}, self._last
        )

    def memory_profile(
        self,
        track_allocations: bool = False,
        track_deallocations: bool = False,
        memory_snapshots: bool = False,
        *,
        input_data: Any = None,
    ) -> Results:
        """What memory it takes and whether it grows. Of a callable: the resident memory of this process."""
        self._need_model()
        if self._path is not None:
            plan = self._plan(5, 1, [])
            plan.update(given=named(input_data), no_layers=True, no_answers=True, no_advice=True)
            self._last = self._bench(plan)
        else:
            if track_allocations or track_deallocations:
                raise NotImplementedError(
                    "allocations of a Python callable are not tracked yet: ask for memory_snapshots"
                )
            self._last = self._measure([self._sample_data(input_data)], 5, 1)
        return memory_report(
            self._last.to_dict(), 0, self._last, track_allocations, track_deallocations, memory_snapshots
        )

    def gpu_profile(
        self, track_kernels: bool = True, track_memory_transfers: bool = False, profile_nvtx: bool = False
    ) -> NoReturn:
        """Not there yet."""
        raise NotImplementedError("gpu_profile is not built yet: this tare measures on the CPU only")

    # ---- what was measured last ----

    @property
    def run(self) -> Run:
        """The last measurement as a run, with every sample and bound."""
        if self._last is None:
            raise _core.TareError("nothing has been measured yet: call profile() or benchmark() first")
        return self._last

    def export_json(self, path: Path | None = None) -> str:
        """Write the last measurement as JSON (tare.run/1), and return the text."""
        text = self.run._core.render("json").decode()
        if path is not None:
            self.run.save(path, "json")
        return text

    def export_csv(self, path: Path | None = None) -> str:
        """Write the last measurement as CSV, one row per configuration, and return the text."""
        text = self.run._core.render("csv").decode()
        if path is not None:
            self.run.save(path, "csv")
        return text

    def generate_html_report(
        self, output_path: Path = "report.html", include_graphs: bool = True, include_details: bool = True
    ) -> NoReturn:
        """Not there yet."""
        raise NotImplementedError(
            "HTML reports are not built yet: use export_json(), export_csv() or .run.table()"
        )

    # ---- callables ----

    def _sample_data(self, input_data: Any) -> Any:
        data = input_data if input_data is not None else self._data
        if data is None and self._path is None:
            raise ValueError("a callable needs input_data: what should it be called with?")
        return data

    def _callable_case(self, given: dict[str, Any], data: Any) -> Any:
        data = given.pop("input_data", data)
        batch = given.pop("batch_size", given.pop("batch", None))
        for key, mine in (("precision", self.precision), ("device", self.device)):
            asked = given.pop(key, mine)
            if asked != mine:
                raise _core.TareError(
                    f"{key}='{asked}' cannot be had: this callable is {mine}, and is not converted"
                )
        if given:
            raise _core.TareError(f"'{next(iter(given))}' cannot be varied for a callable")
        return data if batch is None else resized(data, int(batch))

    @contextlib.contextmanager
    def _inference(self) -> Iterator[Callable[[], Any] | None]:
        """A torch module in eval and inference mode; yields what waits for the GPU, where one is in use."""
        module = self._torch_module()
        if module is None:
            yield None
            return
        torch = sys.modules["torch"]
        training = module.training
        module.eval()
        try:
            with torch.inference_mode():
                yield torch.cuda.synchronize if torch.cuda.is_initialized() else None
        finally:
            module.train(training)

    def _target(self) -> Callable[..., Any]:
        if self._model is not None:
            return self._model
        if self._session is None or self._session[0] != (self._path, self.device):
            session = _core.Session(self._path or "", self.device, self._threads or 0, self._library)
            self._session = ((self._path, self.device), session)
        return self._session[1]

    def _measure(self, cases: list[Any], runs: int, warmup_runs: int, unit: str | None = None) -> Run:
        prepared = []
        for data in cases:
            args, kwargs = ((data,), None) if self._preprocess else arguments(data)
            batch = batch_of(data)
            prepared.append((args, kwargs, float(batch), batch))
        with self._inference() as synchronize:
            core = _core.measure(
                prepared,
                self._target(),
                self._preprocess,
                self._postprocess,
                synchronize,
                self._label(),
                unit or self._unit or "samples",
                self.device,
                self.precision if self._torch_module() is not None or self._path else None,
                runs,
                warmup_runs,
                0,
                min(_MEMORY_CALLS, runs),
            )
        return Run(core, self._label())

    # ---- ONNX models ----

    def _need_onnx(self, what: str) -> None:
        self._need_model()
        if self._path is None:
            raise _core.TareError(f"{what}() looks inside ONNX models; for a Python callable use `tare run`")

    def _plan(self, runs: int, warmup_runs: int, batches: list[int]) -> dict[str, Any]:
        return {
            # Without a batch, one configuration: that of the data, else the model's own.
            "choices": [] if batches else [self._choice({})],
            "model_path": self._path,
            "library": self._library,
            "python": sys.executable,
            "batches": batches,
            "threads": [self._threads] if self._threads else [],
            "dims": [(name, [int(value)]) for name, value in self._dims.items()],
            "precisions": [(self.precision, self._precisions.get(self.precision))],
            "providers": [self.device],
            "unit": self._unit,
            "runs": runs,
            "warmup_runs": warmup_runs,
            "time_ns": int(self._time * _SECOND) if self._time else 0,
        }

    def _choice(self, given: dict[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = {
            "batch": 0,
            "threads": self._threads or 0,
            "precision": self.precision,
            "provider": self.device,
            "dims": dict(self._dims),
        }
        for key, value in given.items():
            name = _KEYS.get(key, key)
            if name == "device":
                made["provider"] = value
            elif name in made and name != "dims":
                made[name] = value
            elif key == "dims":
                made["dims"].update(value)
            else:
                made["dims"][name] = int(value)
        made["dims"] = list(made["dims"].items())
        return made

    def _bench(self, plan: dict[str, Any]) -> Run:
        return Run(_core.bench(plan, _worker_command()), self._label())
