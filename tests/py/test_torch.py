# SPDX-License-Identifier: Apache-2.0
"""The processes that PyTorch starts are in one result: a DataLoader's workers, and the ranks of torchrun."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from launching import Launcher, stats_of

pytest.importorskip("torch", reason="torch is not installed here: bash .ci/run torch has a chroot with it")

LOADER = """
    import sys
    from torch.utils.data import DataLoader, Dataset

    class Squares(Dataset):
        def __len__(self):
            return 40

        def __getitem__(self, index):
            return square(index)

    def square(index):
        return index * index

    if __name__ == "__main__":
        loader = DataLoader(Squares(), batch_size=2, num_workers=4, multiprocessing_context=sys.argv[1])
        print(sum(int(batch.sum()) for batch in loader))
"""

RANKS = """
    import torch
    import torch.distributed as dist

    def exchange(rank):
        value = torch.tensor([rank + 1])
        dist.all_reduce(value)
        return int(value)

    def alone():
        pass

    dist.init_process_group("gloo")
    for _ in range(3):
        assert exchange(dist.get_rank()) == 3
    for _ in range(10 * (dist.get_rank() + 1)):
        alone()
    dist.destroy_process_group()
"""


def calls_by(path: Path, name: str, label: str) -> Counter[str]:
    """The calls of a function in a JSON profile, by a label of the threads that made them."""
    profile = json.loads(path.read_text())
    frames, nodes = profile["frames"], profile["nodes"]
    found: Counter[str] = Counter()
    roots: list[str] = []
    for parent, frame, calls in zip(nodes["parent"], nodes["frame"], nodes["values"][0], strict=True):
        labels = {one["key"]: one.get("text") or one["number"] for one in frames[frame].get("labels", [])}
        roots.append(str(labels.get(label)) if parent <= 0 else roots[parent])
        if frames[frame]["name"] == name:
            found[roots[-1]] += calls
    return found


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_a_dataloader_with_four_workers(launcher: Launcher, method: str) -> None:
    launcher.script(LOADER)
    done = launcher.finish(launcher.tare("-o", "all.json", "program.py", method), timeout=300)
    assert (done.returncode, done.stdout) == (0, f"{sum(n * n for n in range(40))}\n"), done.stderr
    path = launcher.folder / "all.json"
    workers = calls_by(path, "square", "process")
    assert sorted(workers.values()) == [10, 10, 10, 10], "each worker is a process of its own"
    assert calls_by(path, "square", "role") == {"spawn" if method == "spawn" else "fork": 40}


def test_torchrun_with_two_ranks(launcher: Launcher) -> None:
    launcher.script(RANKS)
    outputs = ["-o", "all.json", "-o", "rank-{rank}.prof"]
    # The ranks find each other through a file: Debian's torch is built without the default way, libuv.
    ways = ["--rdzv-backend", "c10d", "--rdzv-endpoint", "meet", "--rdzv-conf", "store_type=file"]
    ways += ["--local-addr", "127.0.0.1"]
    torchrun = ["-m", "torch.distributed.run", "--nproc-per-node", "2", *ways, "program.py"]
    env = {"USE_LIBUV": "0", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    done = launcher.finish(launcher.tare(*outputs, *torchrun), env=env, timeout=300)
    assert done.returncode == 0, done.stderr
    path = launcher.folder / "all.json"
    assert calls_by(path, "alone", "rank") == {"0": 10, "1": 20}
    assert calls_by(path, "exchange", "local_rank") == {"0": 3, "1": 3}
    for rank, calls in (("0", 10), ("1", 20)):
        rows = {key[2]: value[1] for key, value in stats_of(launcher.folder / f"rank-{rank}.prof").items()}
        assert rows["alone"] == calls
    assert "launch_agent" in {key[2] for key in stats_of(launcher.folder / "rank-none.prof")}
