"""Handwritten digits with PyTorch on one rank or on several, and what a job needs to survive a restart.

The data is scikit-learn's: 1,797 real digits of 8 x 8 pixels, which ship with the package, so nothing is downloaded.
Started alone it trains alone: `python train.py`. In a PyTorchJob the ranks find each other by RANK, WORLD_SIZE and
MASTER_ADDR, which the operator sets.

Each epoch is the same whenever it is trained: the order of the data follows from its number. Rank 0 writes a checkpoint
after each epoch, all ranks read it when they start, and so a restart goes on with the loss that it had.
"""

import argparse
import hashlib
import os
import signal
from pathlib import Path

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel

BATCH = 32


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--kill-rank", type=int, help="this rank ends itself with SIGKILL, once, to show a restart")
    parser.add_argument("--at-epoch", type=int, default=5, help="in the middle of which epoch it does")
    return parser.parse_args()


def read_digits() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Pixels and digits to train with, then those of the test: each sixth."""
    digits = load_digits()
    pixels = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(digits.target, dtype=torch.long)
    tests = torch.arange(len(labels)) % 6 == 0
    return pixels[~tests], labels[~tests], pixels[tests], labels[tests]


def build_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 4 * 4, 10)
    )  # fmt: skip


class Checkpoint:
    """The model, the optimizer and the number of epochs that they have had, in one file."""

    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self.path = Path(os.environ.get("PADDOCK_CHECKPOINT_DIR", ".")) / "latest.pt"
        self.model, self.optimizer = model, optimizer

    def read(self) -> int:
        """How many epochs are done; 0 without a file."""
        if not self.path.exists():
            return 0
        state = torch.load(self.path, map_location="cpu", weights_only=True)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        return int(state["epoch"])

    def write(self, epoch: int) -> None:
        """Whole or not at all: a kill in the middle of a write is the normal case."""
        draft = self.path.with_suffix(".new")
        state = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "epoch": epoch}
        torch.save(state, draft)
        draft.replace(self.path)


def hash_parameters(model: nn.Module) -> str:
    numbers = b"".join(each.detach().numpy().tobytes() for each in model.parameters())
    return hashlib.sha256(numbers).hexdigest()[:12]


def gather(text: str, world: int) -> list[str]:
    """What each rank has, in the order of the ranks."""
    found = [text] * world
    if world > 1:
        dist.all_gather_object(found, text)
    return found


def main() -> None:
    options = read_options()
    torch.set_num_threads(1)  # ranks share the cores of this machine
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    if world > 1:
        dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
        print(f"rank {rank} of {world}", flush=True)
    pixels, labels, test_pixels, test_labels = read_digits()
    model = build_model()
    optimizer = torch.optim.Adam(model.parameters(), options.lr)
    checkpoint = Checkpoint(model, optimizer)
    done = checkpoint.read()
    if done and rank == 0:
        print(f"goes on after epoch {done}", flush=True)
    trained = DistributedDataParallel(model) if world > 1 else model  # averages the gradients of all ranks

    for epoch in range(done + 1, options.epochs + 1):
        order = torch.randperm(len(pixels), generator=torch.Generator().manual_seed(epoch))
        batches = order[: len(order) // world * world][rank::world].split(BATCH)
        total = torch.zeros(1)
        for number, batch in enumerate(batches):
            if rank == options.kill_rank and not done and (epoch, number) == (options.at_epoch, len(batches) // 2):
                print(f"rank {rank} ends itself with SIGKILL in epoch {epoch}", flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
            loss = nn.functional.cross_entropy(trained(pixels[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach() / len(batches)
        if world > 1:
            dist.all_reduce(total)
        if rank == 0:
            checkpoint.write(epoch)
            print(f"Epoch [{epoch}/{options.epochs}], Loss: {total.item() / world:.4f}", flush=True)
        if world > 1:
            dist.barrier()  # no rank begins the next epoch before the checkpoint of this one is whole

    same = gather(hash_parameters(model), world)
    if rank == 0:
        print(f"parameters of {world} {'rank' if world == 1 else 'ranks'}: {' '.join(same)}", flush=True)
        with torch.no_grad():
            right = (model(test_pixels).argmax(1) == test_labels).float().mean().item()
        print(f"Test accuracy: {right:.1%} of {len(test_labels)} digits", flush=True)
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
