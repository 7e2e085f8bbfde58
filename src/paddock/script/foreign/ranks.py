"""Several ranks in each worker that another tool started itself, as srun does: the launcher for them here. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from paddock.launches.programs import Kind
from paddock.launches.reading import find_main, read_typed
from paddock.script.paddle_job import LAUNCHER, add_launcher
from paddock.words.phrases import Phrase, phrase

_SEVERAL = re.compile(r"--nproc[_-]per[_-]node=([2-9]|\d\d+|gpu|auto)")


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


def explain_no_ranks(before: Sequence[str], words: Sequence[str], processes: int) -> Phrase | None:
    """For ranks that no launcher was added for, and that are to be more than one of each worker."""
    if processes < 2 or tuple(before) != tuple(words) or find_main(read_typed(words)).launcher is not None:
        return None
    return phrase(
        "{count} ranks of each machine become one of each worker: no launcher is known for the program", count=processes
    )


def explain_no_gpus(words: Sequence[str]) -> Phrase | None:
    """For a job without GPUs: processes of a launcher mostly have one each, and nothing said so."""
    counted = next((each for each in words if _SEVERAL.fullmatch(each)), "")
    if not counted:
        return None
    return phrase("{option}: nothing says how many GPUs a worker has; --gpus N asks for them", option=counted)
