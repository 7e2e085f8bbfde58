"""Trains by torchrun until the file `enough` is in PADDOCK_OUTPUT_DIR, and goes on in a group of any size.

Each sample is one number of a stream, and each step takes the next `world` of them, one for each rank. Rank 0 writes
down what its checkpoint has seen, so that a test can say whether each sample was seen once.
"""

import os
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

OUTPUT, KEPT = Path(os.environ["PADDOCK_OUTPUT_DIR"]), Path(os.environ["PADDOCK_CHECKPOINT_DIR"])


def read_sample(number: int) -> tuple[torch.Tensor, torch.Tensor]:
    pixels = torch.randn(16, 8, generator=torch.Generator().manual_seed(number))
    return pixels, (pixels @ torch.arange(8.0) / 8).unsqueeze(1)


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    steps = torch.optim.SGD(model.parameters(), 0.01)
    seen, path = [], KEPT / "latest.pt"
    if path.exists():
        state = torch.load(path, weights_only=True)
        model.load_state_dict(state["model"])
        seen = state["seen"]
    if rank == 0:
        print(f"a group of {world} begins at sample {len(seen)}", flush=True)
    ranks = DistributedDataParallel(model)
    while True:
        pixels, wanted = read_sample(len(seen) + rank)
        loss = ((ranks(pixels) - wanted) ** 2).mean()
        steps.zero_grad()
        loss.backward()
        steps.step()
        seen += range(len(seen), len(seen) + world)
        total = loss.detach()
        dist.all_reduce(total)
        if rank == 0:
            torch.save(
                {"model": model.state_dict(), "seen": seen, "loss": total.item() / world}, path.with_suffix(".new")
            )
            path.with_suffix(".new").replace(path)
            print(f"{len(seen)} samples, group of {world}, loss {total.item() / world:.4f}", flush=True)
        done = torch.tensor(float((OUTPUT / "enough").exists()))
        dist.all_reduce(done)  # all ranks end after the same step
        if done:
            break
        time.sleep(0.2)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
