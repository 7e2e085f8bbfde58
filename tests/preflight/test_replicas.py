"""The options of a typed torchrun, and those with which its workers would not meet."""

from __future__ import annotations

import pytest

from paddock.launches.reading import find_main, read_typed
from paddock.script import paddle_job
from paddock.script.pytorch_job import build_command, explain_refused
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


def test_machines_of_accelerate_are_the_workers_of_one_too() -> None:
    request = ScriptRequest(["accelerate", "launch", "--num_machines", "2", "t.py"], "pytorch")
    (said,) = map(str, explain_refused(request))
    assert said.endswith("than that of the workers, 1: leave it out, or --workers 2")


def test_fabric_as_a_module_gets_the_options_of_fabric() -> None:
    request = ScriptRequest(["python", "-m", "lightning", "fabric", "run", "t.py"], "pytorch", workers=2)
    assert [str(each) for each in build_command(request)][4:8] == ["run", "--num_nodes", "2", "--node_rank"]


def test_servers_of_the_launcher_are_refused_beside_those_of_the_job() -> None:
    words = ["fleetrun", "--worker_num", "2", "--server_num", "2", "x.py", "--lr", "1"]
    (said,) = map(str, paddle_job.explain_refused(ScriptRequest(words, "paddle", workers=2, servers=2)))
    assert "in each of the 4 pods" in said
    assert said.endswith("`paddock run --ps 2 --workers 2 -- python x.py --lr 1`")
    assert not list(paddle_job.explain_refused(ScriptRequest(["fleetrun", "x.py"], "paddle", workers=2, servers=2)))
