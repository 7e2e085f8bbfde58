"""Options that torchrun does not know: it ends with exit code 2, as was seen with PyTorch 2.13."""

from __future__ import annotations

import re

import pytest

from paddock.launches.launchers import ACCELERATE, DEEPSPEED, FABRIC, PADDLE
from paddock.launches.reading import read_script
from paddock.preflight.torchrun_options import explain_unknown

NAMES = sorted({name for each in (PADDLE, ACCELERATE, DEEPSPEED, FABRIC) for name in each.options})


def explain(command: str) -> list[str]:
    return [str(said) for launch in read_script(command).launches for said in explain_unknown(launch)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--nprocs_per_node=2", "torchrun does not know --nprocs_per_node, and ends with exit code 2: write "
         "--nproc_per_node 2"),
        ("--gpus 0,1", "write --nproc_per_node 2"),
        ("--gpus=4", "write --nproc_per_node 4"),
        ("--rank 0 --num_machines 2", "--rank and --num_machines, and ends with exit code 2: write --node_rank 0 "
         "--nnodes 2"),
        ("--batch-size=2", "leave it out, or write an option of the program behind it"),
    ],
)  # fmt: skip
def test_the_option_that_is_meant_is_written(options: str, said: str) -> None:
    (found,) = explain(f"torchrun {options} t.py")
    assert said in found


@pytest.mark.parametrize("name", [*NAMES, "nproc_per_nodes", "batch-size"])
@pytest.mark.parametrize("form", ["--{}=1", "--{} 1", "--{}"])
def test_what_is_written_is_an_option_of_torchrun(name: str, form: str) -> None:
    for text in explain(f"torchrun {form.format(name)} t.py"):
        for words in re.findall(r"write (--.*)", text):
            assert explain(f"torchrun {words} t.py") == []


@pytest.mark.parametrize("command", ["torchrun --nproc-per-node=2 t.py --gpus 1", "torchrun $ARGS --lr 1 t.py",
                                     "torchrun -m pkg.train --lr 1", "accelerate launch --foo t.py"])  # fmt: skip
def test_options_that_it_knows_or_does_not_read_are_not_told(command: str) -> None:
    assert explain(command) == []
