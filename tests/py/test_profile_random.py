# SPDX-License-Identifier: Apache-2.0
"""Random spans on threads and tasks, nested and awaited, against a count that the program keeps itself."""

from __future__ import annotations

from pathlib import Path

import pytest

tare = pytest.importorskip("tare", reason="tare is not installed here: bash .ci/run python_tests does it")

from profiled import run  # noqa: E402  only where tare is

PROGRAM = """
import asyncio, collections, contextvars, os, random, sys, threading
import tare

NAMES = ["a", "b", "c"]
PROFILES = {name: tare.profile(name) for name in NAMES}
truth = collections.Counter()
lock = threading.Lock()
of_task = contextvars.ContextVar("of_task", default=())
of_thread = threading.local()

def leaf():
    with lock:
        truth.update({*getattr(of_thread, "names", ()), *of_task.get()})

def work(rng, depth):
    for _ in range(rng.randint(1, 3)):
        what = rng.random()
        if what < 0.5 or depth == 0:
            leaf()
        elif what < 0.85:
            name, before = rng.choice(NAMES), getattr(of_thread, "names", ())
            with PROFILES[name]:
                of_thread.names = (*before, name)
                work(rng, depth - 1)
                of_thread.names = before
        else:
            try:
                work(rng, depth - 1)
                raise KeyError
            except KeyError:
                pass

async def task(rng, depth):
    for _ in range(rng.randint(1, 3)):
        what = rng.random()
        if depth == 0 or what < 0.2:
            leaf()
        elif what < 0.35:
            await asyncio.sleep(0)
        elif what < 0.45:
            work(rng, depth - 1)
        elif what < 0.6:
            await asyncio.gather(*(task(random.Random(rng.random()), depth - 1) for _ in range(3)))
        elif what < 0.7:
            await task(rng, depth - 1)
        else:
            name, before = rng.choice(NAMES), of_task.get()
            if rng.random() < 0.5:
                async with PROFILES[name]:
                    of_task.set((*before, name))
                    await task(rng, depth - 1)
                    leaf()
                    of_task.set(before)
            else:
                with PROFILES[name]:
                    of_task.set((*before, name))
                    await task(rng, depth - 1)
                    of_task.set(before)

async def tasks(seed):
    await asyncio.gather(*(task(random.Random(seed * 100 + i), 6) for i in range(6)))

def both(seed):
    rng = random.Random(seed)
    for _ in range(30):
        work(rng, 6)
    asyncio.run(tasks(seed))

seed = int(sys.argv[1])
threads = [threading.Thread(target=both, args=(seed * 10 + i,)) for i in range(3)]
for t in threads: t.start()
both(seed * 10 + 9)
for t in threads: t.join()
found = {}
for file in tare.flush():
    if file.endswith(".pb.gz"):
        calls = {f.name: f.calls for f in tare.load(file).functions()}
        found[os.path.basename(file)[0]] = calls["leaf"]
print(found, dict(truth))
assert found == truth and sum(truth.values()) > 1000
"""


@pytest.mark.parametrize("seed", range(3))
def test_what_belongs_to_a_name(seed: int, tmp_path: Path) -> None:
    run(PROGRAM, tmp_path, str(seed))
