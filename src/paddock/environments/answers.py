"""What `Environments.resolve` answers, in this room's own words. Pure; fields as in `paddock.node.images`.

The rooms do not import each other: `paddock.app.images` turns one into the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Ready:
    """Can run now: ENV, ENTRYPOINT and the content of WORKDIR (a directory to copy, or None)."""

    environment: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    files: Path | None = None


@dataclass(frozen=True, slots=True)
class Preparing:
    """Is being built; `message` carries the progress."""

    message: str


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Cannot be had as things are; `message` says why and what to do. `reason` is that of the waiting container: no
    image stands for it, or what it stands for cannot be built (`EnvironmentFailed`)."""

    message: str
    reason: str = "ErrImagePull"


Answer = Ready | Preparing | Unavailable
