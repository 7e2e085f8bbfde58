"""What a cure is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Move(StrEnum):
    """Whose move it is, as the page says it."""

    NOBODY = "Nothing to do: it goes on by itself."
    WATCH = "It goes on by itself; look if it lasts."
    YOU = "It needs you."
    END = "The job has ended."


@dataclass(frozen=True, slots=True)
class Cure:
    """`text`: plain English, with code in backticks. `commands`: as they are typed, the nearest first."""

    move: Move
    text: str
    commands: tuple[str, ...] = ()
