"""Warns of a command that sets the variables of its group by itself, to the same value in each of several pods. Pure.

The operator tells each pod where the others are by these variables; what a shell sets behind it counts more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from paddock.launches.launch import Launch
from paddock.launches.launchers import PADDLE, TORCH_LAUNCH, TORCHRUN, is_loopback
from paddock.launches.words import Word
from paddock.words.phrases import Names, Phrase, phrase

_NUMBER = re.compile(r"[0-9]{1,6}")
_OF_TORCHRUN = {"PET_NODE_RANK": "rank", "PET_MASTER_ADDR": "address", "PET_RDZV_ENDPOINT": "address",
                "PET_NNODES": "count"}  # fmt: skip
_READ: Mapping[str, Mapping[str, str]] = {
    "": {"RANK": "rank", "PADDLE_TRAINER_ID": "rank", "MASTER_ADDR": "address", "WORLD_SIZE": "count",
           "PADDLE_TRAINERS_NUM": "count"},
    PADDLE.name: {"PADDLE_RANK": "rank", "PADDLE_MASTER": "address", "PADDLE_NNODES": "count"},
    TORCHRUN.name: _OF_TORCHRUN,
    TORCH_LAUNCH.name: _OF_TORCHRUN,
}  # fmt: skip
"""The launcher's name, or none -> the variables by which it, or the program, finds its group."""
_NAMES = frozenset(name for names in _READ.values() for name in names)


def explain_variables(launch: Launch, given: Mapping[str, Word], pods: int, same: int) -> Iterator[Phrase]:
    """`given`: what the template sets; `pods`: of the group; `same`: those of them that have this command. Nothing of a
    command on which a condition decides: each pod may have its own."""
    starts = launch.launcher is not None or bool(launch.program.python)
    if pods < 2 or not starts or launch.elsewhere or launch.command.is_conditional:
        return
    found = [
        f"{name}={word.text}"
        for name, says in _READ.get(launch.launcher.name if launch.launcher else "", {}).items()
        if (word := launch.environment.get(name)) is not None
        and word != given.get(name)
        and _is_apart(says, word.text or "", pods, same)
    ]
    if found:
        yield phrase(
            "the command sets {variables} in each of {count} pods, which then do not train together: leave it out, as "
            "the operator tells each pod",
            variables=Names(tuple(found)), count=same if same > 1 else pods,
        )  # fmt: skip


def list_set(launch: Launch) -> frozenset[tuple[str, str | None]]:
    """The variables of a group that are set for a command, with their values: of two commands that have the same, the
    pods are told the same."""
    return frozenset((name, launch.environment[name].text) for name in _NAMES & launch.environment.keys())


def _is_apart(says: str, value: str, pods: int, same: int) -> bool:
    if says == "address":
        return is_loopback(value)
    if not _NUMBER.fullmatch(value):
        return False
    return same > 1 if says == "rank" else int(value) < pods
