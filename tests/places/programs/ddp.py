"""torch DistributedDataParallel over gloo. Arguments: steps, seconds of a step."""

import sys
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
for step in range(int(sys.argv[1])):
    model(torch.ones(1, 1)).sum().backward()
    value = torch.ones(1)
    dist.all_reduce(value)
    print(f"step {step} of rank {dist.get_rank()}: sum {value.item():.0f}", flush=True)
    time.sleep(float(sys.argv[2]))
dist.destroy_process_group()
