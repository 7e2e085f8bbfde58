"""Batch scripts of Slurm, as the job that they mean."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paddock.script.foreign.job import Foreign, NoProgram
from paddock.script.foreign.ranks import add_ranks, explain_no_gpus, explain_no_ranks, explain_places
from paddock.script.foreign.slurm import read_batch, read_directives


def write(options: str, commands: str) -> str:
    return "#!/bin/bash\n" + "".join(f"#SBATCH {each}\n" for each in options.split("\n")) + commands


@pytest.mark.parametrize(
    ("options", "commands", "meant"),
    [
        ("--job-name=a\n-N 2\n--gres=gpu:a100:4", "srun torchrun --nnodes=$SLURM_NNODES --nproc_per_node=4 t.py",
         Foreign(5, ("torchrun", "--nproc_per_node=4", "t.py"), 2, gpus=4, name="a", framework="pytorch")),
        ("--nodes=2 --ntasks-per-node=8\n--gpus-per-node=8", "srun python -u t.py",
         Foreign(4, ("python", "-u", "t.py"), 2, gpus=8, processes=8)),
        ("-N 2 -n 8\n--gpus-per-task=1", "srun python t.py", Foreign(4, ("python", "t.py"), 2, gpus=4, processes=4)),
        ("-N2\n-G 8", "srun -n 2 python t.py", Foreign(4, ("python", "t.py"), 2, gpus=4)),
        ("--nodes 2-4", "srun python t.py", Foreign(3, ("python", "t.py"), 2)),
        ("--nodes 2", "python t.py --n $SLURM_NNODES", Foreign(3, ("python", "t.py", "--n", "2"))),
        ("--chdir=/w", "srun --container-image=nvcr.io#nvidia/pytorch:24.01 python t.py",
         Foreign(3, ("python", "t.py"), image="nvcr.io/nvidia/pytorch:24.01", workdir="/w")),
        ("--export=ALL,A=1", "srun bash -c 'torchrun t.py'",
         Foreign(3, ("torchrun", "t.py"), framework="pytorch", variables=(("A", "1"),))),
        ("-N 2 --ntasks-per-node=4", "srun bash -lc '\ncd w\npython t.py'",
         Foreign(3, ("python", "t.py"), 2, processes=4, workdir="w")),
        ("-n 4", "python t.py", Foreign(3, ("python", "t.py"))),
    ],
)  # fmt: skip
def test_a_batch_script_becomes_a_program_and_its_ranks(options: str, commands: str, meant: Foreign) -> None:
    assert replace(read_batch(write(options, commands)), left=(), starter="") == meant


@pytest.mark.parametrize(
    ("commands", "meant"),
    [
        ("srun python -c 'import os'\nsrun torchrun --nproc_per_node=2 t.py", "torchrun --nproc_per_node=2 t.py"),
        ("srun python index.py\nsrun torchrun t.py\nsrun python show.py", "torchrun t.py"),
        ("srun bash -c 'pip install . ; torchrun t.py'", "torchrun t.py"),
        ("srun apt-get update\nsrun tar xf a.tar\nsrun python t.py", "python t.py"),
        ("srun tar xf a.tar\npython t.py", "python t.py"),
        ("srun python -c 'import os'\npython t.py", "python t.py"),
        ("srun -N 1 torchrun t.py\nsrun python t.py", "python t.py"),
        ("srun python -c 1", "python -c 1"),
    ],
)
def test_what_prepares_behind_srun_is_no_job_beside_one_that_trains(commands: str, meant: str) -> None:
    assert " ".join(read_batch(write("-N 2", commands)).words) == meant


@pytest.mark.parametrize(
    "command",
    ["apt-get update", "pip install torch", "conda install torch", "python -m pip install .", "pip3 list"],
)
def test_packages_behind_srun_are_no_job(command: str) -> None:
    with pytest.raises(NoProgram):
        read_batch(write("-N 2", f"srun {command}"))


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--time=1:00:00", "--timeout TIME"),
        ("-o log.%j", "--output=log.%j is left out: `paddock logs`"),
        ("--partition=gpu", "--partition=gpu is left out"),
        ("--exclusive", "--exclusive is left out"),
        ("--array=0-3", "start it once for each value"),
        ("-c 8", "--cpus-per-task=8 is left out"),
        ("--nodes=2", "no srun starts the program elsewhere; --workers 2 has more"),
        ("-N 2-4", "the job has the least of the two"),
    ],
)
def test_what_slurm_alone_knows_is_a_line(option: str, said: str) -> None:
    assert [each.line for each in read_batch(write(option, "python t.py")).left if said in str(each.said)] == [2]


@pytest.mark.parametrize(
    ("framework", "names"),
    [
        ("pytorch", "RANK, LOCAL_RANK and WORLD_SIZE"),
        ("paddle", "PADDLE_TRAINER_ID and PADDLE_TRAINERS_NUM"),
        ("jax", "PROCESS_ID and NUM_PROCESSES"),
        ("", "PADDLE_TRAINER_ID and PADDLE_TRAINERS_NUM"),
    ],
)
def test_ranks_that_srun_started_are_told_otherwise(framework: str, names: str) -> None:
    job = read_batch(write("-N 2", "srun python t.py"))
    (said,) = explain_places(job.words, job.starter, framework)
    assert str(said) == f"a rank has {names}, and no SLURM_PROCID, SLURM_LOCALID and SLURM_NTASKS"


@pytest.mark.parametrize("commands", ["python t.py", "srun torchrun t.py"])
def test_ranks_that_srun_did_not_start_are_not_told_of_it(commands: str) -> None:
    job = read_batch(write("-N 2", commands))
    assert list(explain_places(job.words, job.starter, "pytorch")) == []


@pytest.mark.parametrize("option", ["--launcher slurm", "--launcher=slurm"])
def test_a_program_that_is_told_to_read_slurms_variables_has_another_option(option: str) -> None:
    (said,) = explain_places(f"python t.py {option}".split(), "", "pytorch")
    assert "reads SLURM_PROCID, which no rank has here; with --launcher pytorch it reads RANK" in str(said)


@pytest.mark.parametrize(
    ("words", "is_said"),
    [
        ("./run", True),
        ("colossalai run --nproc_per_node 8 t.py", False),
        ("python launch.py --num_gpus=8 t.py", False),
        ("python launch.py --devices 1 t.py", True),
        ("torchrun --nproc_per_node=8 t.py", False),
    ],
)
def test_ranks_become_one_of_each_worker_where_nothing_in_the_command_starts_several(words: str, is_said: bool) -> None:
    assert (explain_no_ranks(words.split(), words.split(), 8) is not None) == is_said


def test_directives_end_at_the_first_command() -> None:
    text = "#!/bin/bash\n# text\n#SBATCH -N 2 # two\n##SBATCH -N 3\n\nls\n#SBATCH -N 4\n"
    assert list(read_directives(text)) == [(3, "nodes", "2")]


@pytest.mark.parametrize(
    ("words", "framework", "meant"),
    [
        ("python -u t.py --a 1", "pytorch", "torchrun --nproc_per_node=4 t.py --a 1"),
        ("python -m pkg", "pytorch", "torchrun --nproc_per_node=4 -m pkg"),
        ("python t.py", "paddle", "python -m paddle.distributed.launch --nproc_per_node=4 t.py"),
        ("torchrun t.py", "pytorch", "torchrun t.py"),
        ("./run", "pytorch", "./run"),
    ],
)
def test_a_launcher_starts_the_ranks_that_srun_did(words: str, framework: str, meant: str) -> None:
    assert " ".join(add_ranks(words.split(), 4, framework)) == meant


@pytest.mark.parametrize(
    ("words", "workers", "option"),
    [
        ("torchrun --nproc_per_node=8 t.py", 1, "--nproc_per_node=8"),
        ("torchrun --nproc_per_node=gpu t.py", 1, "--nproc_per_node=gpu"),
        ("torchrun --nproc_per_node=1 t.py", 1, ""),
        ("deepspeed --num_gpus 1 t.py", 1, "--num_gpus 1"),
        ("accelerate launch --num_processes 8 t.py", 1, "--num_processes 8"),
        ("accelerate launch --num_processes 2 t.py", 2, ""),
        ("accelerate launch --cpu --num_processes 8 t.py", 1, ""),
        ("accelerate launch --multi_gpu t.py", 1, "--multi_gpu"),
        ("fabric run --accelerator cpu --devices 8 t.py", 1, ""),
        ("composer -n 8 t.py", 1, "-n 8"),
        ("python t.py --num_gpus 8", 1, ""),
    ],
)
def test_processes_of_a_launcher_without_gpus_are_said(words: str, workers: int, option: str) -> None:
    said = explain_no_gpus(words.split(), workers)
    assert str(said or "") == (
        f"{option}: nothing says how many GPUs a worker has; --gpus N asks for them" * bool(option)
    )
