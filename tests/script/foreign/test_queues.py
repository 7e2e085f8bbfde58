"""Batch scripts of PBS, LSF and Grid Engine, as the job that they mean."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paddock.script.foreign.job import Foreign
from paddock.script.foreign.tools import find_tool, read_foreign

MPIRUN = "mpirun python t.py"


def write(mark: str, options: str, commands: str) -> str:
    return "#!/bin/bash\n" + "".join(f"#{mark} {each}\n" for each in options.split("\n")) + commands


@pytest.mark.parametrize(
    ("mark", "options", "commands", "meant"),
    [
        ("PBS", "-N tr\n-l nodes=2:ppn=8:gpus=4,walltime=1:00:00", MPIRUN,
         Foreign(4, ("python", "t.py"), 2, gpus=4, processes=8, name="tr")),
        ("PBS", "-l select=2:ncpus=8:ngpus=4:mpiprocs=4", "mpirun -np 8 python t.py",
         Foreign(3, ("python", "t.py"), 2, gpus=4, processes=4)),
        ("PBS", "-l select=1:ngpus=4+2:ngpus=4", MPIRUN, Foreign(3, ("python", "t.py"), 3, gpus=4)),
        ("PBS", "-l select=2:ngpus=4", "python t.py", Foreign(3, ("python", "t.py"), gpus=4)),
        ("PBS", "-V -N a -l nodes=2", "torchrun --nnodes $PBS_NUM_NODES t.py",
         Foreign(3, ("torchrun", "t.py"), 2, name="a", framework="pytorch")),
        ("BSUB", '-J tr[1-4]\n-n 16\n-R "span[ptile=8]"\n-gpu "num=8:mode=shared"', MPIRUN,
         Foreign(6, ("python", "t.py"), 2, gpus=8, processes=8, name="tr")),
        ("BSUB", "-nnodes 2\n-cwd /w", MPIRUN, Foreign(4, ("python", "t.py"), 2, workdir="/w")),
        ("BSUB", "-n 8", "jsrun -n 2 -a 4 -g 4 python t.py",
         Foreign(3, ("python", "t.py"), 2, gpus=4, processes=4)),
        ("BSUB", "-nnodes 2", "jsrun -n12 -a1 -g1 -r6 -c 7 python t.py",
         Foreign(3, ("python", "t.py"), 2, gpus=6, processes=6)),
        ("BSUB", "-nnodes 2", "jsrun --nrs=4 --gpu_per_rs 2 python t.py",
         Foreign(3, ("python", "t.py"), 2, gpus=4, processes=2)),
        ("BSUB", "-n 2", "jsrun -n 2 -r 1 -g 4 torchrun --nproc_per_node 4 t.py",
         Foreign(3, ("torchrun", "--nproc_per_node=4", "t.py"), 2, gpus=4, framework="pytorch")),
        ("$", "-N tr\n-l gpu=2,h_rt=1:00:00\n-cwd", "torchrun --nproc_per_node=2 t.py",
         Foreign(5, ("torchrun", "--nproc_per_node=2", "t.py"), gpus=2, name="tr", framework="pytorch")),
        ("$", "-wd /w\n-pe mpi 8", "mpirun -np $NSLOTS python t.py",
         Foreign(4, ("python", "t.py"), processes=8, workdir="/w")),
        ("BSUB", '-n 4 -R "span[hosts=1]"', MPIRUN, Foreign(3, ("python", "t.py"), 1, processes=4)),
    ],
)  # fmt: skip
def test_a_batch_script_becomes_a_program_and_its_ranks(mark: str, options: str, commands: str, meant: Foreign) -> None:
    assert replace(read_foreign(write(mark, options, commands)), left=(), starter="") == meant


@pytest.mark.parametrize(
    ("mark", "option", "said"),
    [
        ("PBS", "-l walltime=1:00:00", "-l walltime=1:00:00 is left out: `paddock run --timeout TIME`"),
        ("PBS", "-q gpu", "-q gpu is left out: no option"),
        ("PBS", "-o a.log", "-o a.log is left out: `paddock logs`"),
        ("PBS", "-l select=2", "-l select=2: the job has one worker, as no mpirun starts the program elsewhere"),
        ("BSUB", "-W 2:00", "-W 2:00 is left out: `paddock run --timeout TIME`"),
        ("BSUB", "-J a[1-3]", "-J a[1-3] is left out"),
        ("BSUB", "-n 8", "-n 8 is left out: --cpus N and --memory"),
        ("$", "-pe smp 8", "-pe smp 8 is left out: --cpus N and --memory"),
        ("$", "-l h_rt=1:00:00,gpu=1", "-l h_rt=1:00:00 is left out: `paddock run --timeout TIME`"),
        ("$", "-t 1-4", "-t 1-4 is left out: no option"),
        ("BSUB", "-M 16GB", "-M 16GB is left out: --cpus N and --memory"),
    ],
)
def test_what_the_batch_system_alone_knows_is_a_line(mark: str, option: str, said: str) -> None:
    left = read_foreign(write(mark, option, "python t.py")).left
    assert [each.line for each in left if said in str(each.said)] == [2]


@pytest.mark.parametrize(("mark", "key"), [("PBS", "pbs"), ("BSUB", "lsf"), ("$", "sge")])
def test_a_script_is_of_the_system_that_its_header_is_for(mark: str, key: str) -> None:
    tool = find_tool("a", write(mark, "-q gpu", "ls"))
    assert tool is not None and tool.key == key
    assert find_tool("a", f"# a file\nx #{mark} -q gpu\n") is None


def test_the_directory_in_which_a_script_was_submitted_is_the_jobs() -> None:
    for mark, name in (("PBS", "PBS_O_WORKDIR"), ("BSUB", "LS_SUBCWD"), ("SBATCH", "SLURM_SUBMIT_DIR")):
        job = read_foreign(write(mark, "-J a" if mark != "PBS" else "-N a", f"cd ${name}/src\npython t.py"))
        assert (job.workdir, job.variables, job.name) == ("src", (), "a")


def test_a_number_of_resource_sets_that_is_not_known_is_said() -> None:
    left = read_foreign(write("BSUB", "-nnodes 2", "jsrun -n ALL_HOSTS -g $G --smpiargs=off python t.py")).left
    assert {str(each.said) for each in left} >= {
        "-n ALL_HOSTS: the number is not known here: --workers N says it",
        "-g $G: the number is not known here: --gpus N says it",
        "--smpiargs off: left out, as Paddock starts the ranks",
    }
