"""The command behind a program that nobody knows, as in `doppler run -- python train.py`. Pure.

What the program does with its words is not known: it may start what they name. So that command tells of the framework,
and nothing is put into it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import replace

from paddock.launches.launch import Launch, read_command
from paddock.launches.launchers import BY_PROGRAM, find_by_module
from paddock.launches.programs import Kind, is_python
from paddock.launches.words import Word
from paddock.script.libraries import BRING_NOTHING, COMMANDS
from paddock.script.notebook import RUNNERS
from paddock.script.request import ScriptRequest
from paddock.words.phrases import Phrase, phrase

_MOST_WORDS = 200
"""Words of a command that are looked at."""
_NAME_OTHERS = frozenset({"egrep", "killall", "make", "pgrep"})
"""Programs that name others and start none, or nobody says which."""


def find_behind(launch: Launch) -> Launch | None:
    """The command that an unknown program names, as it would start; None where it names none."""
    program = launch.program
    name = posixpath.basename(program.word.text or "")
    known = name in BRING_NOTHING or name in COMMANDS or name in RUNNERS or name in _NAME_OTHERS
    if program.kind is not Kind.PROGRAM or program.script.endswith(".py") or launch.launcher is not None or known:
        return None
    words = launch.arguments[:_MOST_WORDS]
    place = next((place for place, word in enumerate(words) if _is_starter(word)), None)
    if place is None or not (launch.starts or _has_program(words[place + 1 :])):
        return None
    return read_command(replace(launch.command, words=launch.arguments[place:]))


def _is_starter(word: Word) -> bool:
    text = word.text or ""
    return is_python(text) or posixpath.basename(text) in BY_PROGRAM or find_by_module(text) is not None


def _has_program(words: Sequence[Word]) -> bool:
    return any((word.text or "").endswith(".py") or (word.text or "") in ("-m", "-c") for word in words)


def explain_behind(request: ScriptRequest, launches: Sequence[Launch]) -> Iterator[Phrase]:
    """What is not done for a command behind an unknown program. `launches`: what the typed command starts."""
    for launch in launches:
        inner = find_behind(launch)
        if inner is None:
            continue
        program, started = launch.program.word.typed, posixpath.basename(inner.words[0].typed)
        if request.workers == 1:
            yield phrase("{program} may start {launcher}: it is not read", program=program, launcher=started)
        else:
            yield phrase(
                "{program} may start {launcher}: it is not read, and nothing is put into the command; each of the "
                "{count} workers is told of the others by variables",
                program=program, launcher=started, count=request.workers,
            )  # fmt: skip
