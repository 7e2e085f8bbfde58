"""PaddlePaddle's Collective mode: a sum over all ranks in each step. Arguments: steps, seconds of a step."""

import sys
import time

import paddle
import paddle.distributed as dist

dist.init_parallel_env()
for step in range(int(sys.argv[1])):
    value = paddle.to_tensor([1.0])
    dist.all_reduce(value)
    print(f"step {step} of rank {dist.get_rank()}: sum {value.item():.0f}", flush=True)
    time.sleep(float(sys.argv[2]))
