"""Two workers of the common training libraries find each other, each by the variables or options that it reads.

The libraries are the real ones, on CPUs. Each program prints `rank R of N`, and what a sum over all ranks gives.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.commands import Cluster, open_cluster

LIGHTNING = """
import torch, lightning as L
from torch.utils.data import DataLoader, TensorDataset
class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(1, 1)
    def training_step(self, batch, i):
        return torch.nn.functional.mse_loss(self.net(batch[0]), batch[0])
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)
trainer = L.Trainer(accelerator="cpu", devices=1, num_nodes=2, strategy="ddp", max_steps=2, logger=False,
                    enable_progress_bar=False, enable_checkpointing=False)
trainer.fit(Model(), DataLoader(TensorDataset(torch.randn(32, 1)), batch_size=8))
print("rank", trainer.global_rank, "of", trainer.world_size, "sum",
      trainer.strategy.reduce(torch.tensor(trainer.global_rank + 1.0), reduce_op="sum").item(), flush=True)
"""
FABRIC = """
import torch
from lightning.fabric import Fabric
fabric = Fabric()
fabric.setup(torch.nn.Linear(1, 1))
total = fabric.all_reduce(torch.tensor(fabric.global_rank + 1.0), reduce_op="sum")
print("rank", fabric.global_rank, "of", fabric.world_size, "sum", total.item(), flush=True)
"""
ACCELERATE = """
import torch
from accelerate import Accelerator
a = Accelerator()
total = a.reduce(torch.tensor([a.process_index + 1.0], device=a.device))
print("rank", a.process_index, "of", a.num_processes, "sum", total.item(), flush=True)
"""
TRAINER = """
import torch
import torch.distributed as dist
from transformers import Trainer, TrainingArguments
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(1, 1)
    def forward(self, x=None, labels=None):
        y = self.net(x)
        return {"loss": torch.nn.functional.mse_loss(y, labels), "logits": y}
data = [{"x": torch.randn(1), "labels": torch.randn(1)} for _ in range(32)]
arguments = TrainingArguments("out", max_steps=2, report_to=[], save_strategy="no", disable_tqdm=True)
trainer = Trainer(Model(), arguments, train_dataset=data)
trainer.train()
total = torch.tensor(arguments.process_index + 1.0)
dist.all_reduce(total)
print("rank", arguments.process_index, "of", arguments.world_size, "sum", total.item(), flush=True)
"""
JAX = """
import os
import jax
where = os.environ["COORDINATOR_ADDRESS"] + ":" + os.environ["COORDINATOR_PORT"]
jax.distributed.initialize(where, int(os.environ["NUM_PROCESSES"]), int(os.environ["PROCESS_ID"]))
from jax.experimental.multihost_utils import process_allgather
total = process_allgather(jax.numpy.array([jax.process_index() + 1.0])).sum()
print("rank", jax.process_index(), "of", jax.process_count(), "sum", float(total), flush=True)
"""
ALONE = """
import os
import torch
if int(os.environ.get("RANK", -1)) != -1:
    torch.distributed.init_process_group("gloo")
    print("local rank", os.environ["LOCAL_RANK"])
else:
    print("rank 0 of 1, alone", flush=True)
"""
ON_TORCH = ("lightning", "accelerate", "transformers")
PROGRAMS = {
    "lightning": (LIGHTNING, ON_TORCH, ["python", "t.py"]),
    "fabric": (FABRIC, ON_TORCH, ["fabric", "run", "--accelerator", "cpu", "t.py"]),
    "accelerator": (ACCELERATE, ON_TORCH, ["python", "t.py"]),
    "accelerate launch": (ACCELERATE, ON_TORCH, ["accelerate", "launch", "t.py"]),
    "transformers": (TRAINER, ON_TORCH, ["python", "t.py"]),
    "transformers by torchrun": (TRAINER, ON_TORCH, ["torchrun", "t.py"]),
    "jax": (JAX, ("jax",), ["python", "t.py"]),
}
"""Library -> the program, the packages, the command."""


@pytest.fixture(scope="module")
def laptop() -> Iterator[Cluster]:
    """What is asked here is the libraries': one sandbox is enough."""
    with open_cluster("none") as opened:
        yield opened


def write(cluster: Cluster, text: str, packages: tuple[str, ...]) -> Path:
    directory = cluster.directory / "libraries"
    directory.mkdir(exist_ok=True)
    (directory / "t.py").write_text(text)
    requirements = directory / f"{packages[0]}.txt"
    requirements.write_text("\n".join(packages) + "\n")
    return requirements


@pytest.mark.paddle
@pytest.mark.timeout(900)
@pytest.mark.parametrize("library", PROGRAMS)
def test_two_workers_are_one_group(library: str, laptop: Cluster) -> None:
    text, packages, command = PROGRAMS[library]
    requirements = write(laptop, text, packages)
    words = ("run", "--workers", "2", "-r", str(requirements), "--workdir", str(requirements.parent))
    ended = laptop.paddock(*words, "--", *command, seconds=600)
    assert ended.code == 0, str(ended)
    found = {line.partition("│ ")[2] for line in ended.lines if "│ rank " in line}
    assert found == {"rank 0 of 2 sum 3.0", "rank 1 of 2 sum 3.0"}, str(ended)


@pytest.mark.paddle
@pytest.mark.timeout(900)
def test_a_program_that_asks_for_rank_runs_alone_as_in_a_shell(laptop: Cluster) -> None:
    requirements = write(laptop, ALONE, ON_TORCH)
    words = ("run", "-r", str(requirements), "--workdir", str(requirements.parent))
    ended = laptop.paddock(*words, "--", "python", "t.py", seconds=600)
    assert (ended.code, ended.lines) == (0, ["rank 0 of 1, alone"]), str(ended)
