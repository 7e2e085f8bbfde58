"""Adds numbers over all ranks of PaddlePaddle, a step each 0.2 s: `python collective.py STEPS`."""

import sys
import time

import paddle
import paddle.distributed as dist

dist.init_parallel_env()
rank, world = dist.get_rank(), dist.get_world_size()
for step in range(1, int(sys.argv[1]) + 1):
    total = paddle.to_tensor([float(rank + 1)])
    dist.all_reduce(total)
    assert total.item() == world * (world + 1) / 2, total.item()
    print(f"step {step}", flush=True)
    time.sleep(0.2)
print(f"rank {rank} of {world} is done", flush=True)
