"""A finding: what does not work as it was asked for, why it matters, and what mends it.

A finding is stored as values and rendered in the reader's language, by the command line (`cli.verbs.doctor`) and by the
console.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from paddock.words.phrases import Phrase

Text: TypeAlias = Phrase
Where: TypeAlias = "Phrase | str"
"""A name, or a name and a line."""
"""What `phrase(...)` returns."""


class Severity(StrEnum):
    """WRONG: it does not work as asked. RISK: it works, and will fail one day. Both give exit code 1."""

    WRONG = "wrong"
    RISK = "risk"


@dataclass(frozen=True, slots=True)
class Finding:
    """One answer."""

    check: str
    """Its name, stable, kebab-case, one for each check (`cpu-wheel-on-gpu-machine`); shown, and in `-o json`."""
    severity: Severity
    where: Where
    """`worker-0`, `line 12`, `this machine`, `/dev/shm`."""
    what: Text
    """What was found, with its numbers."""
    why: Text
    """Why it matters."""
    mend: Text
    """What to do, one sentence."""
    command: str = ""
    """The command that mends it, or looks closer; typed as it is, so it has no translation."""
