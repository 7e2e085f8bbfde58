"""Where the Python programs of a pod are: the answer of the subresource `stacks` of a pod. Pure.

    GET /api/v1/namespaces/NAMESPACE/pods/NAME/stacks

The node takes the stacks (`node.stacks`), the API of the laptop hands them on, and `logs.stacks` folds and tells them.
A Kubernetes has no such subresource. The three do not know each other, so what they share is here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

MOST_PROCESSES = 64
"""Of one pod, whose stacks are taken at one time."""
MOST_BYTES = 256 * 1024
"""Of what a tool says of one process; what is longer is not read."""
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*(?:t|d)?(?: \(deleted\))?")
_RANKS = ("RANK", "PADDLE_TRAINER_ID")


def is_python(program: str) -> bool:
    """Whether the name of a program's file is that of a Python. Others may have it as a library."""
    return bool(_PYTHON.fullmatch(program))


def read_rank(variables: Mapping[str, str]) -> str:
    """The rank that a launcher has set; empty without one."""
    return next((variables[name] for name in _RANKS if variables.get(name, "").isdecimal()), "")


class Trouble(StrEnum):
    """Why a process has no stack here. A reader may meet a word of a later version."""

    NOT_ALLOWED = "NotAllowed"
    """The system lets nobody look into it, and it has not Paddock's own way."""
    NO_TOOL = "NoTool"
    """py-spy is not there, and it has not Paddock's own way."""
    NO_PYTHON = "NoPython"
    """It is no Python program, or has no frame of Python yet."""
    ENDED = "Ended"
    STOPPED = "Stopped"
    """By a signal or a debugger (state T)."""
    NO_ANSWER = "NoAnswer"
    """It was asked and has not answered in time."""
    TOO_LONG = "TooLong"
    """More than `MOST_BYTES`."""
    FAILED = "Failed"
    """The tool failed; `said` has its words."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One call."""

    function: str
    file: str
    """The path as the program knows it."""
    line: int
    """From 1; 0 where it is not known."""


@dataclass(frozen=True, slots=True)
class Thread:
    """One thread of Python."""

    name: str = ""
    """Empty where the way by which it was taken tells none."""
    main: bool = False
    frames: tuple[Frame, ...] = ()
    """As in a traceback: the most recent call last."""


@dataclass(frozen=True, slots=True)
class ProcessStacks:
    """What is known of one process."""

    pid: int
    """As the machine counts, not the container."""
    container: str
    command: str
    """The first of its words, for a reader; empty where it has ended."""
    rank: str = ""
    """RANK or PADDLE_TRAINER_ID in its environment, where a launcher has set one; else empty."""
    threads: tuple[Thread, ...] = ()
    by: str = ""
    """`py-spy` or `faulthandler`; empty without a stack."""
    trouble: str = ""
    """A word of `Trouble`; empty with a stack."""
    said: str = ""
    """The tool's own words, of a trouble."""


@dataclass(frozen=True, slots=True)
class PodStacks:
    """The answer."""

    pod: str
    processes: tuple[ProcessStacks, ...] = ()
    """Those that run Python, and those of which that is not known."""
    others: tuple[str, ...] = ()
    """The names of programs that are surely no Python, each once."""
    tool: str = ""
    """The path of the node's py-spy; empty without one."""
    left_out: int = 0
    """Processes beyond `MOST_PROCESSES`."""
    apiVersion: str = "paddock.dev/v1alpha1"  # noqa: N815 - the API's own name
    kind: str = "PodStacks"


def only_of(pod: PodStacks, container: str) -> PodStacks:
    """Of this container alone: a side-car waits and prints by its own rules."""
    return replace(pod, processes=tuple(each for each in pod.processes if each.container == container))


def count_beside(pods: Mapping[str, PodStacks], containers: Mapping[str, str]) -> Mapping[str, int]:
    """How many processes are of other containers than `containers`, by rank, names; by the name of the container."""
    return Counter(
        each.container for rank, pod in pods.items() for each in pod.processes if each.container != containers[rank]
    )
