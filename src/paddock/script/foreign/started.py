"""A launcher or Python that another program starts, as tmux, xargs and `ray job submit` do: named, and not
read. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from paddock.launches.launch import Launch, starts_nothing
from paddock.launches.launchers import BY_PROGRAM, PADDLE, TORCHRUN, find_by_module
from paddock.launches.programs import Kind, is_python
from paddock.launches.words import show_words
from paddock.script.foreign.carried import cut
from paddock.script.libraries import COMMANDS
from paddock.words.phrases import Phrase, phrase

_MOST_WORDS = 200
"""Words of a command that are looked at."""


def find_started(launch: Launch) -> str:
    """The launcher, or the Python, that the program may start; empty where it names none."""
    program = launch.program
    name = posixpath.basename(program.word.text or "")
    if program.kind is not Kind.PROGRAM or launch.launcher is not None or starts_nothing(launch.words):
        return ""
    if name in COMMANDS:
        return PADDLE.name if COMMANDS[name].startswith("paddle") else TORCHRUN.name
    words = " ".join(word.typed for word in launch.arguments[:_MOST_WORDS]).split()[:_MOST_WORDS]
    plain = [word.strip("'\"();&|`") for word in words]
    starts = [place for place, word in enumerate(plain) if _is_starter(word)]
    has_program = bool(starts) and any(word.endswith(".py") or word == "-m" for word in plain[starts[0] + 1 :])
    return posixpath.basename(plain[starts[0]]) if has_program else ""


def _is_starter(word: str) -> bool:
    return posixpath.basename(word) in BY_PROGRAM or is_python(word) or find_by_module(word) is not None


def explain_started(launch: Launch, name: str) -> Phrase:
    return phrase(
        "`{command}` may start {launcher}, and is not read",
        command=cut(show_words(launch.command.words)),
        launcher=name,
    )


def find_typed(named: Sequence[tuple[Launch, str]]) -> tuple[str, ...]:
    """What to type in place of the last of them: it, where it is a program that trains by itself; else an example."""
    if not named:
        return ()
    launch, _ = named[-1]
    words = [word.text for word in launch.words]
    known = tuple(word for word in words if word is not None)
    is_whole = posixpath.basename(launch.program.word.text or "") in COMMANDS and len(known) == len(words)
    return known if is_whole else ("python", "train.py")
