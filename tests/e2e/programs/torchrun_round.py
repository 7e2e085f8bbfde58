"""Two ranks, of which one fails in the first round; torchrun starts both again in place."""

import datetime
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

# Not TORCHELASTIC_RESTART_COUNT: an agent that joins the next round before it sees its own process fail counts none.
FAILED = Path("failed")
round_, rank = int(FAILED.exists()), os.environ["RANK"]
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=25))
x = torch.ones(1)
dist.all_reduce(x)
if round_ == 0:
    if rank == "1":
        FAILED.touch()
        sys.exit(3)
    for _ in range(30):
        dist.all_reduce(x)
        time.sleep(0.2)
print(f"round {round_} rank {rank} of {dist.get_world_size()} done {x.item()}", flush=True)
dist.destroy_process_group()
