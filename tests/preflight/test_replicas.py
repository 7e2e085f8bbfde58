"""The options of a typed torchrun, and those with which its workers would not meet."""

from __future__ import annotations

import pytest

from paddock.launches.reading import find_main, read_typed
from paddock.script.pytorch_job import explain_refused
from paddock.script.request import ScriptRequest


@pytest.mark.parametrize(
    ("typed", "options"),
    [
        ("torchrun train.py", {}),
        ("torchrun --nproc_per_node=2 --nnodes 1 train.py", {"nproc_per_node": "2", "nnodes": "1"}),
        ("torchrun --standalone --nproc-per-node gpu train.py", {"standalone": "", "nproc_per_node": "gpu"}),
        ("torchrun -m pkg.train --nnodes 3", {"module": ""}),
        ("/opt/bin/torchrun --no-python ./train", {"no_python": ""}),
        ("python3 -u -m torch.distributed.run --max_restarts 2 train.py", {"max_restarts": "2"}),
        ("torchrun --nnodes", {"nnodes": ""}),
        ("python train.py --nnodes 3", {}),
    ],
)
def test_its_own_options_end_at_the_script(typed: str, options: dict[str, str]) -> None:
    assert {each.name: each.text for each in find_main(read_typed(typed.split())).options} == options


@pytest.mark.parametrize(
    ("typed", "workers", "said"),
    [
        ("torchrun --standalone --nproc_per_node=2 train.py", 1, ""),
        ("torchrun --standalone train.py", 3, "torchrun's --standalone would keep the 3 workers apart"),
        ("torchrun --node_rank=0 train.py", 2, "torchrun's --node_rank would keep the 2 workers apart"),
        ("torchrun --rdzv_endpoint localhost:0 train.py", 2, "torchrun's --rdzv_endpoint would keep the 2 workers"),
        ("torchrun --nnodes 2 train.py", 2, ""),
        ("torchrun --nnodes 2 train.py", 1, "torchrun's --nnodes 2 waits for 2 workers, and the job has 1: `--workers"),
        ("torchrun --nnodes 1:2 train.py", 2, "torchrun's --nnodes 1:2: a number of workers that changes is elastic"),
        ("torchrun train.py --standalone", 2, ""),
        ("python train.py", 2, ""),
    ],
)
def test_options_that_would_keep_the_workers_apart_are_refused(typed: str, workers: int, said: str) -> None:
    found = [str(each) for each in explain_refused(ScriptRequest(typed.split(), "pytorch", workers=workers))]
    assert "".join(found).startswith(said) and len(found) == bool(said)
