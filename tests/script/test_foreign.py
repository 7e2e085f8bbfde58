"""Commands of a run.sh and of Docker, as the job that they mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.script.foreign import Foreign, read_foreign

LAUNCH = ("python", "-m", "paddle.distributed.launch")
DOCUMENT = Path(__file__).parents[1] / "preflight/run.sh"


def test_the_documents_script_is_a_job_of_two_machines_with_four_cards() -> None:
    first, second = read_foreign(DOCUMENT.read_text())
    assert first == Foreign(5, (*LAUNCH, "train_with_fleet.py"), 2, gpus=4)
    assert (second.line, second.workers, second.gpus) == (3, 1, 8)


@pytest.mark.parametrize(
    ("script", "meant"),
    [
        ("fleetrun --nnodes=3 --devices 0,1 t.py --lr 1", Foreign(1, (*LAUNCH, "t.py", "--lr", "1"), 3, gpus=2)),
        ("fleetrun --nnodes 2:4 t.py", Foreign(1, (*LAUNCH, "t.py"), 2)),
        ("fleetrun --ips=a,b,c t.py", Foreign(1, (*LAUNCH, "t.py"), 3)),
        ("fleetrun --servers=a:1,b:1 --workers=a:2,b:2,c:2 t.py", Foreign(1, ("python", "t.py"), 3, 2)),
        ("fleetrun --server_num=1 --trainer_num=2 t.py", Foreign(1, ("python", "t.py"), 2, 1)),
        ("torchrun --nnodes=2 --nproc_per_node=4 --rdzv_endpoint=x:1 t.py --nnodes 9",
         Foreign(1, ("torchrun", "--nproc_per_node=4", "t.py", "--nnodes", "9"), 2)),
        ("docker run --name p -it --net=host -v $PWD:/paddle reg/paddle:2.2 fleetrun --nnodes 2 t.py",
         Foreign(1, (*LAUNCH, "t.py"), 2, image="reg/paddle:2.2")),
        ("docker run --gpus all --rm --shm-size 8g reg/x torchrun t.py",
         Foreign(1, ("torchrun", "t.py"), 1, image="reg/x")),
    ],
)  # fmt: skip
def test_a_command_becomes_a_program_and_its_ranks(script: str, meant: Foreign) -> None:
    assert read_foreign(script) == (meant,)


@pytest.mark.parametrize(
    "script", ["", "ls", "docker run -it img /bin/bash", "docker run", "fleetrun --selected_gpus 0,1 t.py"]
)
def test_what_starts_no_distributed_program_is_none(script: str) -> None:
    assert read_foreign(script) == ()
