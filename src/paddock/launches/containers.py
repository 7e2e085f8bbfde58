"""What others ask of a container's command: its words without a shell that only starts one program, its script, whether
it is one process. Pure."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from paddock.launches.budget import LARGEST_COMMAND, LARGEST_WATCHED, MOST_STEPS_WATCHED, Budget
from paddock.launches.launch import Launch
from paddock.launches.launchers import TORCHRUN, Means
from paddock.launches.programs import Kind, is_shell, read_program
from paddock.launches.reading import Reading, read_container, read_script
from paddock.launches.words import build_word, read_number

_PROCESSES = (Kind.SCRIPT, Kind.CODE)


def read_kept(container: Mapping[str, Any]) -> Reading:
    """What a container starts, as far as an operator reads it, which asks at each pass: within a budget of its own, and
    once, as the last readings are kept. Of a container whose command and variables are longer nothing is known."""
    parts = {key: container[key] for key in ("command", "args", "env") if container.get(key)}
    text = json.dumps(parts, default=str)
    return _read_text(text) if len(text) <= LARGEST_COMMAND else Reading(whole=False)


@lru_cache(maxsize=128)
def _read_text(text: str) -> Reading:
    return read_container(json.loads(text), budget=Budget(LARGEST_WATCHED, MOST_STEPS_WATCHED))


def read_command(container: Mapping[str, Any]) -> tuple[str, ...]:
    """The program and its arguments, without a shell that only starts it (`sh -c "python train.py"`)."""
    lists = [container.get(key) for key in ("command", "args")]
    words = tuple(str(word) for each in lists if isinstance(each, list) for word in each)
    is_small = sum(map(len, words)) <= LARGEST_COMMAND
    return _simplify(words) if words and is_small and is_shell(words[0]) else words


@lru_cache(maxsize=128)
def _simplify(words: tuple[str, ...]) -> tuple[str, ...]:
    program = read_program([build_word(word) for word in words])
    if program.kind is not Kind.SHELL or program.length != len(words):
        return words
    reading = read_script(program.word.text or "", ())
    only = reading.launches[0].command if len(reading.launches) == 1 and reading.whole and not reading.unread else None
    if only is None or only.redirections or only.environment or only.directory or only.may_run or only.piped:
        return words
    inner = [word.text for word in only.words if word.text is not None]
    if len(inner) != len(only.words) or only.stdin is not None:
        return words
    return tuple(inner[1:]) if inner[0] == "exec" else tuple(inner)


def find_launch(container: Mapping[str, Any]) -> Launch | None:
    """What a container starts, where that is one command; None where it is not known, or several."""
    reading = read_kept(container)
    return reading.launches[0] if len(reading.launches) == 1 and reading.whole and not reading.unread else None


def find_script(container: Mapping[str, Any]) -> str:
    """`train.py` of `python -m paddle.distributed.launch train.py --epochs=10`: a path relative to the working
    directory. Empty if the path is absolute or not known, the container has a workingDir (in its image or a volume), or
    a shell does more than start one program."""
    launch = find_launch(container) if not container.get("workingDir") else None
    if launch is None or launch.elsewhere or launch.command.directory is not None:
        return ""
    script = launch.program.script
    if not script.endswith((".py", ".sh")) or script.startswith("-") or posixpath.isabs(script):
        return ""
    path = posixpath.normpath(script)
    return "" if path.startswith("..") else path


def starts_one_process(container: Mapping[str, Any]) -> bool:
    """Whether the command is `python FILE` or `python -c TEXT`: one process, unless the program starts others. False
    where it is not known."""
    launch = find_launch(container)
    if launch is None or launch.launcher is not None or launch.elsewhere:
        return False
    program = launch.program
    is_file = program.kind is Kind.SCRIPT and program.script.endswith(".py")
    return bool(program.python) and (is_file or program.kind is Kind.CODE)


_MEETING = (Means.BACKEND, Means.MASTER, Means.MASTER_ADDRESS, Means.MASTER_PORT, Means.STANDALONE, Means.NODE_RANK)
_OF_MEETING = frozenset(
    {"PET_RDZV_BACKEND", "PET_RDZV_ENDPOINT", "PET_MASTER_ADDR", "PET_MASTER_PORT", "PET_STANDALONE", "PET_NODE_RANK"}
)


def meets_elsewhere(launch: Launch) -> bool:
    """Whether a torchrun is told by its command where its agents meet."""
    return any(map(launch.find, _MEETING)) or not _OF_MEETING.isdisjoint(launch.environment)


def count_restarts(launch: Launch) -> int:
    """How often a torchrun starts failed processes again; 0 where that is not known."""
    variable = launch.environment.get("PET_MAX_RESTARTS")
    return read_number(launch.text(Means.RESTARTS) or (variable.text if variable is not None else "")) or 0


def restarts_in_place(container: Mapping[str, Any]) -> bool:
    """Whether the command is one torchrun that starts failed processes again, and leaves to the operator where its
    agents meet."""
    launch = find_launch(container)
    if launch is None or launch.launcher is not TORCHRUN or launch.text(Means.NODES) == "1":
        return False
    return not meets_elsewhere(launch) and count_restarts(launch) > 0
