"""Trains a line over all ranks of torch, each with its own points: `python ddp.py STEPS`."""

import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(1, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(100 + rank)
for step in range(1, int(sys.argv[1]) + 1):
    points = torch.randn(64, 1)
    loss = torch.nn.functional.mse_loss(model(points), 3 * points + 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}", flush=True)
assert loss.item() < 0.1, loss.item()
print(f"rank {rank} of {world} is done", flush=True)
dist.destroy_process_group()
