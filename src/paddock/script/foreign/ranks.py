"""Several ranks in each worker that another tool started itself, as srun does: the launcher for them here. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from paddock.launches.launch import Launch, Option
from paddock.launches.launchers import SRUN, Means
from paddock.launches.programs import Kind
from paddock.launches.reading import find_main, read_typed
from paddock.script.foreign.carried import count_listed, read_number
from paddock.script.paddle_job import LAUNCHER, add_launcher
from paddock.words.phrases import Names, Phrase, phrase

_PLACES = {
    "paddle": ("PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM"),
    "pytorch": ("RANK", "LOCAL_RANK", "WORLD_SIZE"),
    "jax": ("PROCESS_ID", "NUM_PROCESSES"),
}
"""Framework -> the variables that tell a rank its place."""
_COUNTED = ("nproc", "gpu", "device", "processes")
"""What stands in the names of options by which a program that nobody knows starts several ranks itself."""
_EACH_GPU = frozenset({"gpu", "auto", "-1"})
"""One process for each GPU that is there."""


def add_ranks(words: Sequence[str], processes: int, framework: str) -> tuple[str, ...]:
    """`python train.py` -> `torchrun --nproc_per_node=8 train.py`; unchanged where a launcher starts the ranks, or
    where none is known to do it."""
    launch = find_main(read_typed(words))
    program = launch.program
    is_python = bool(program.python) and program.kind in (Kind.SCRIPT, Kind.MODULE)
    if processes < 2 or launch.launcher is not None or launch.wrappers or not is_python:
        return tuple(words)
    counted = f"--nproc_per_node={processes}"
    if framework == "paddle":
        made = add_launcher(launch)
        place = made.index(LAUNCHER[-1]) + 1
        return (*made[:place], counted, *made[place:])
    return ("torchrun", counted, *words[1 + len(program.flags) :]) if framework == "pytorch" else tuple(words)


def explain_places(words: Sequence[str], starter: str, framework: str) -> Iterator[Phrase]:
    """What ranks that srun started read of Slurm, and do not have. `framework`: empty where nothing tells it, as then
    PaddlePaddle is taken."""
    if starter == SRUN.name:
        yield phrase(
            "a rank has {names}, and no SLURM_PROCID, SLURM_LOCALID and SLURM_NTASKS",
            names=Names(_PLACES.get(framework, _PLACES["paddle"])),
        )
    if "--launcher=slurm" in words or ("--launcher", "slurm") in pairwise(words):
        yield phrase(
            "--launcher slurm: the program reads SLURM_PROCID, which no rank has here; with --launcher pytorch it "
            "reads RANK"
        )


def explain_no_ranks(before: Sequence[str], words: Sequence[str], processes: int) -> Phrase | None:
    """For ranks that no launcher was added for, and that are to be more than one of each worker."""
    if processes < 2 or tuple(before) != tuple(words) or find_main(read_typed(words)).launcher is not None:
        return None
    if any(map(_counts_ranks, words, (*words[1:], ""))):
        return None
    return phrase(
        "{count} ranks of each machine become one of each worker: no launcher is known for the program", count=processes
    )


def _counts_ranks(word: str, following: str) -> bool:
    """Of `--nproc_per_node=8`, and of `--gpus` before a word `8`."""
    name, equals, value = word.partition("=")
    value = value if equals else following
    is_several = value in _EACH_GPU or read_number(value) > 1
    return name.startswith("-") and is_several and any(each in name for each in _COUNTED)


def explain_no_gpus(words: Sequence[str], workers: int = 1) -> Phrase | None:
    """For a job without GPUs: processes of a launcher mostly have one each, and nothing said so. `workers`: among
    which an option that counts all processes divides them."""
    launch = find_main(read_typed(words))
    option = _find_count(launch, max(workers, 1)) if launch.launcher is not None and not _is_for_cpu(launch) else None
    if option is None:
        return None
    return phrase("{option}: nothing says how many GPUs a worker has; --gpus N asks for them", option=option.typed)


def _find_count(launch: Launch, workers: int) -> Option | None:
    """The option by which a worker has several processes, or GPUs."""
    each, total = launch.find(Means.PROCESSES), launch.find(Means.ALL_PROCESSES)
    if each is not None and (each.name == "num_gpus" or each.text in _EACH_GPU or _is_several(each.text or "", 1)):
        return each
    if total is not None and _is_several(total.text or "", workers):
        return total
    return launch.named("multi_gpu")


def _is_several(text: str, workers: int) -> bool:
    return count_listed(text) > 1 if "," in text else read_number(text) > workers


def _is_for_cpu(launch: Launch) -> bool:
    """Whether accelerate or Fabric is told to train without GPUs."""
    accelerator = launch.named("accelerator")
    return launch.named("cpu") is not None or (accelerator is not None and accelerator.text == "cpu")
