# SPDX-License-Identifier: Apache-2.0
"""What recording costs, as a share of what cProfile costs. python bench/cost.py [-n ROUNDS] [--json]

Three programs that do little but call: a recursive function, a simulation of tasks that hand packets to
each other, and a network of one-way constraints. Each round runs every way of recording once, in turn, in
this process; a way's cost is its time less that of the same round with nothing recorded. Where a compiler is
found, two hooks stand beside it that record nothing (bench/hook_floor.c): an empty one, and one that reads
the clock. yappi and viztracer are measured when they are installed. On a busy machine: chrt -f 10 python ...
"""

from __future__ import annotations

import argparse
import cProfile
import importlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from typing import Any

from tare import _core

# the programs


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


class Packet:
    __slots__ = ("hops", "kind", "value")

    def __init__(self, kind: int, value: int) -> None:
        self.kind = kind
        self.value = value
        self.hops = 0


class Task:
    """Takes packets from its queue and hands them on."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.queue: list[Packet] = []
        self.handled = 0

    def put(self, packet: Packet) -> None:
        packet.hops += 1
        self.queue.append(packet)

    def ready(self) -> bool:
        return len(self.queue) > 0

    def take(self) -> Packet:
        return self.queue.pop()

    def target(self, packet: Packet, count: int) -> int:
        return (self.number + packet.value + 1) % count

    def work(self, packet: Packet) -> None:
        self.handled += 1
        packet.value = (packet.value * 5 + 3) & 1023

    def step(self, tasks: Scheduler) -> None:
        packet = self.take()
        self.work(packet)
        tasks.send(packet, self.target(packet, tasks.count()))


class Sorter(Task):
    def work(self, packet: Packet) -> None:
        Task.work(self, packet)
        packet.kind = max(packet.kind, 1)


class Scheduler:
    def __init__(self, size: int) -> None:
        self.tasks: list[Task] = [Sorter(i) if i % 3 else Task(i) for i in range(size)]

    def count(self) -> int:
        return len(self.tasks)

    def send(self, packet: Packet, number: int) -> None:
        self.tasks[number].put(packet)

    def run(self, steps: int) -> None:
        done = 0
        while done < steps:
            for task in self.tasks:
                if task.ready():
                    task.step(self)
                    done += 1


def tasks() -> None:
    scheduler = Scheduler(7)
    for i in range(12):
        scheduler.send(Packet(i & 1, i), i % 7)
    scheduler.run(1500)


class Variable:
    def __init__(self, value: int) -> None:
        self.value = value
        self.constraints: list[Constraint] = []
        self.mark = 0

    def add(self, constraint: Constraint) -> None:
        self.constraints.append(constraint)


class Constraint:
    """target = source * factor + offset, when it is stronger than none."""

    def __init__(self, source: Variable, target: Variable, factor: int, offset: int) -> None:
        self.source, self.target = source, target
        self.factor, self.offset = factor, offset
        source.add(self)

    def input(self) -> Variable:
        return self.source

    def output(self) -> Variable:
        return self.target

    def known(self, mark: int) -> bool:
        return self.input().mark == mark

    def execute(self) -> None:
        self.target.value = (self.source.value * self.factor + self.offset) & 0xFFFF


class Planner:
    def __init__(self) -> None:
        self.mark = 0

    def next_mark(self) -> int:
        self.mark += 1
        return self.mark

    def plan(self, start: Variable) -> list[Constraint]:
        mark = self.next_mark()
        start.mark = mark
        todo, plan = list(start.constraints), []
        while todo:
            constraint = todo.pop()
            if isinstance(constraint, Constraint) and constraint.known(mark):
                output = constraint.output()
                if output.mark != mark:
                    output.mark = mark
                    plan.append(constraint)
                    todo.extend(output.constraints)
        return plan


def constraints() -> None:
    variables = [Variable(i) for i in range(60)]
    for i in range(59):
        Constraint(variables[i], variables[i + 1], 3, i)
    planner = Planner()
    for value in range(20):
        variables[0].value = value
        for constraint in planner.plan(variables[0]):
            constraint.execute()


def together() -> None:
    """All three, each for about a third of the time."""
    for _ in range(2):
        tasks()
    constraints()
    for _ in range(16):
        fib(16)


PROGRAMS: dict[str, Callable[[], Any]] = {
    "together": together,
    "fib": lambda: fib(16),
    "tasks": tasks,
    "constraints": constraints,
}

# ways of recording: each is a context that starts and stops


class Nothing:
    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass


class CProfile:
    def start(self) -> None:
        self.profile = cProfile.Profile()
        self.profile.enable()

    def stop(self) -> None:
        self.profile.disable()


class Tare:
    def __init__(self, folder: str, c_functions: bool) -> None:
        self.folder, self.c_functions = folder, c_functions

    def start(self) -> None:
        _core.start(self.folder, 0, self.c_functions)

    def stop(self) -> None:
        os.unlink(_core.stop())


class Floor:
    """A hook that records nothing."""

    def __init__(self, module: Any, clock: bool, c_functions: bool) -> None:
        self.module, self.clock, self.c_functions = module, clock, c_functions

    def start(self) -> None:
        self.module.start(self.clock, self.c_functions)

    def stop(self) -> None:
        self.module.stop()


class Yappi:
    def __init__(self, module: Any) -> None:
        self.module = module

    def start(self) -> None:
        self.module.set_clock_type("wall")
        self.module.start(builtins=True)

    def stop(self) -> None:
        self.module.stop()
        self.module.clear_stats()


class VizTracer:
    def __init__(self, module: Any) -> None:
        self.tracer = module.VizTracer(verbose=0, tracer_entries=2000000)

    def start(self) -> None:
        self.tracer.start()

    def stop(self) -> None:
        self.tracer.stop()
        self.tracer.clear()


def floor_module(folder: str) -> Any:
    """bench/hook_floor.c, compiled for this interpreter; None without a compiler."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hook_floor.c")
    if not compiler:
        return None
    target = os.path.join(folder, "hook_floor" + sysconfig.get_config_var("EXT_SUFFIX"))
    include = sysconfig.get_paths()["include"]
    command = [compiler, "-O2", "-shared", "-fPIC", "-D_GNU_SOURCE", f"-I{include}", source, "-o", target]
    if subprocess.run(command, capture_output=True).returncode != 0:
        return None
    sys.path.insert(0, folder)
    return importlib.import_module("hook_floor")


def installed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def ways_here(folder: str) -> dict[str, Any]:
    ways: dict[str, Any] = {
        "nothing": Nothing(),
        "cProfile": CProfile(),
        "tare": Tare(folder, True),
    }
    if sys.version_info >= (3, 12):
        ways["tare python-only"] = Tare(folder, False)
    floor = floor_module(folder)
    if floor:
        ways["empty hook"] = Floor(floor, False, True)
        ways["hook + clock"] = Floor(floor, True, True)
        if sys.version_info >= (3, 12):
            ways["hook + clock, python-only"] = Floor(floor, True, False)
    if (yappi := installed("yappi")) is not None:
        ways["yappi"] = Yappi(yappi)
    if (viztracer := installed("viztracer")) is not None:
        ways["viztracer"] = VizTracer(viztracer)
    return ways


# measuring


def measure(program: Callable[[], Any], ways: dict[str, Any], rounds: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in ways}
    clock = time.perf_counter
    for _ in range(rounds):
        for name, way in ways.items():
            way.start()
            program()  # warms up what starting changed
            begin = clock()
            program()
            program()
            times[name].append(clock() - begin)
            way.stop()
    return times


def quartiles(values: list[float]) -> tuple[float, float, float]:
    ordered = sorted(values)
    count = len(ordered)
    return ordered[count // 4], ordered[count // 2], ordered[(3 * count) // 4]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=15, help="rounds")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="tare-cost-")
    rows = []
    try:
        ways = ways_here(folder)
        for program, function in PROGRAMS.items():
            function()
            times = measure(function, ways, options.n)
            for name in ways:
                if name == "nothing":
                    continue
                plain, peer, own = times["nothing"], times["cProfile"], times[name]
                added = [100 * (b / a - 1) for a, b in zip(plain, own, strict=True)]
                share = [(b - a) / (p - a) for a, p, b in zip(plain, peer, own, strict=True)]
                rows.append((program, name, quartiles(added), quartiles(share)))
    finally:
        shutil.rmtree(folder)
    if options.json:
        print(json.dumps({"python": sys.version.split()[0], "rows": rows}))
        return
    print(f"CPython {sys.version.split()[0]}: medians of {options.n} rounds (quartiles)")
    print(f"{'program':<12} {'way':<26} {'added time':>24} {'share of cProfile':>26}")
    for program, name, added, share in rows:
        print(
            f"{program:<12} {name:<26} {added[1]:7.0f} % ({added[0]:.0f} to {added[2]:.0f})"
            f"{share[1]:12.2f} ({share[0]:.2f} to {share[2]:.2f})"
        )


if __name__ == "__main__":
    main()
