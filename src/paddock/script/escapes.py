"""Words of a command line <-> words of a container's command, which the kubelet expands. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Variable:
    """A word that the kubelet replaces by a variable of the container."""

    name: str


def write_word(word: str | Variable) -> str:
    """The word as a container's command has it."""
    return f"$({word.name})" if isinstance(word, Variable) else escape(word)


def escape(word: str) -> str:
    """A word that the kubelet's expansion of `$(NAME)` and `$$` leaves as it was typed."""
    return re.sub(r"\$\$+\(?|\$\(", lambda found: found[0].replace("$", "$$"), word)


def unescape(word: str) -> str:
    """What a program gets of a word without `$(NAME)`."""
    return word.replace("$$", "$")
