"""The progress of an Environment's build. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from paddock.words.message_facts import read_stage, split_progress


@dataclass(frozen=True, slots=True)
class Building:
    """An Environment that is being built."""

    name: str
    what: str
    """`building (paddlepaddle 3.0.0, 193 MB)`."""
    percent: int
    """From 0 to 100."""
    pace: str = ""
    """`12 MB/s, 9 s left`."""
    stage: str = ""
    """Set if `percent` is not of the Environment itself, but of an interpreter or of another try."""


def read_building(name: str, status: Mapping[str, object]) -> Building | None:
    """The build in an Environment's status; None if none is running."""
    if status.get("phase") != "Building":
        return None
    percent = status.get("progress")
    what, pace = split_progress(str(status.get("message") or "building"))
    return Building(name, what, percent if isinstance(percent, int) else 0, pace, read_stage(what))
