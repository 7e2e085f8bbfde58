"""A job while its command is read: what its wrappers, its launcher and its program have said so far. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field

from paddock.launches.launch import Launch
from paddock.launches.programs import is_python
from paddock.script.foreign.carried import Ledger
from paddock.script.foreign.hostfiles import Hosts
from paddock.words.phrases import phrase


@dataclass(frozen=True, slots=True)
class Tasks:
    """What a batch system says of the tasks that srun starts; 0 where it does not."""

    nodes: int = 0
    each_node: int = 0
    """Tasks of each node."""
    total: int = 0


NO_TASKS = Tasks()


@dataclass(slots=True)
class Draft:
    """A job, as its command is read."""

    launch: Launch
    ledger: Ledger
    before: tuple[str, ...] = ()
    """What stands before the program."""
    runner: tuple[str, ...] = ()
    """What stands before all of it and chooses its environment."""
    workers: int = 0
    servers: int = 0
    gpus: int = 0
    processes: int = 0
    starter: str = ""
    slots: int = 0
    """Processes of each host, as a file of hosts says."""
    restarts: int = 0
    image: str = ""
    framework: str = ""
    variables: dict[str, str] = field(default_factory=dict)
    tasks: Tasks = NO_TASKS
    files: Mapping[str, Hosts] = field(default_factory=dict)
    """Files of hosts that the script writes."""
    places: list[str] = field(default_factory=list)
    """Options that say the place of a rank."""


def name_python(draft: Draft, word: str) -> str:
    """`python`, as the environment or the image has one of its own."""
    name = posixpath.basename(word)
    if not is_python(word) or "ipython" in name or word in ("python", "python3"):
        return word
    return rename(draft, word, "python")


def rename(draft: Draft, word: str, name: str) -> str:
    if word != name:
        said = phrase("{typed} becomes {name}: that of the environment or the image", typed=word, name=name)
        draft.ledger.note(draft.launch.line, said)
    return name
