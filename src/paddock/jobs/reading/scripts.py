"""Finds the script that a container starts, from its command and arguments.

A script with a relative path, in a container without workingDir, must be in the image. The files of an image are not
known here; the caller checks them.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

LAUNCHERS = frozenset(
    {
        "paddle.distributed.launch",
        "paddle.distributed.run",
        "paddle.distributed.fleet.launch",
        "torch.distributed.run",
        "torch.distributed.launch",
    }
)
"""Modules that start the script that follows their own options."""

LAUNCHER_PROGRAMS = frozenset({"fleetrun", "torchrun"})
SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh"})
_SHELL_SYNTAX = re.compile(r"[;&|<>$`(){}*?\n]")
_PYTHON = re.compile(r"python[\d.]*")
_WITH_VALUE = frozenset({"-W", "-X"})


def read_words(container: Mapping[str, Any]) -> tuple[str, ...]:
    """The program and its arguments, without a shell that only starts it (`sh -c "python train.py"`)."""
    words = tuple(map(str, (*(container.get("command") or ()), *(container.get("args") or ()))))
    if len(words) == 3 and _name(words[0]) in SHELLS and re.fullmatch(r"-[a-z]*c", words[1]):
        inner = _split(words[2])
        return inner[1:] if inner[:1] == ("exec",) else inner or words
    return words


def read_launch(words: Sequence[str]) -> tuple[str, ...] | None:
    """The arguments of a launcher: its options, then the script and its arguments. None without a launcher."""
    if words and _name(words[0]) in LAUNCHER_PROGRAMS:
        return tuple(words[1:])
    for index, word in enumerate(words[:-1]):
        if word == "-m" and _PYTHON.fullmatch(_name(words[0])):
            return tuple(words[index + 2 :]) if words[index + 1] in LAUNCHERS else None
    return None


def starts_one_process(container: Mapping[str, Any]) -> bool:
    """Whether the command is `python FILE` or `python -c TEXT`: one process, unless the program starts others. False
    where it is not known."""
    if not all(isinstance(container.get(key) or [], list) for key in ("command", "args")):
        return False
    words = read_words(container)
    told = len(words) > 2 and bool(_PYTHON.fullmatch(_name(words[0]))) and words[1] == "-c"
    return read_launch(words) is None and (told or bool(_of_python(words)))


def find_script(container: Mapping[str, Any]) -> str:
    """`train.py` of `python -m paddle.distributed.launch train.py --epochs=10`: a path relative to the working
    directory. Empty if the path is absolute, the container has a workingDir (in its image or a volume), or a shell does
    more than start one program."""
    if container.get("workingDir"):
        return ""
    words = read_words(container)
    launched = read_launch(words)
    script = _first_script(launched) if launched is not None else _of_python(words) or _of_shell(words)
    if not script or "$(" in script or posixpath.isabs(script):
        return ""
    path = posixpath.normpath(script)
    return "" if path.startswith("..") else path


def _of_python(words: Sequence[str]) -> str:
    if not words or not _PYTHON.fullmatch(_name(words[0])):
        return ""
    rest = iter(words[1:])
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, None)
        elif word in ("-m", "-c"):
            return ""
        elif not word.startswith("-"):
            return word if word.endswith(".py") else ""
    return ""


def _of_shell(words: Sequence[str]) -> str:
    """`train.sh` of `bash train.sh`. A shell with options may read its program elsewhere."""
    if len(words) < 2 or _name(words[0]) not in SHELLS:
        return ""
    return words[1] if words[1].endswith(".sh") and not words[1].startswith("-") else ""


def _first_script(words: Sequence[str]) -> str:
    """The first Python file: options of a launcher may have values, but none of these is a Python file."""
    return next((word for word in words if word.endswith(".py") and not word.startswith("-")), "")


def _split(text: str) -> tuple[str, ...]:
    """The words of one simple command; empty if it has shell syntax."""
    if _SHELL_SYNTAX.search(text):
        return ()
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return ()


def _name(program: str) -> str:
    return posixpath.basename(program)
