"""The answers of `Environments.resolve`. Pure; fields as in `paddock.node.runtime.images`.

`environments` and `node` do not import each other: `paddock.app.images` converts the answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Ready:
    """The image can run: its ENV, its ENTRYPOINT and the content of its WORKDIR (a directory to copy, or None)."""

    environment: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    files: Path | None = None
    notice: str = ""


@dataclass(frozen=True, slots=True)
class Preparing:
    """The environment is being built; `message` contains the progress."""

    message: str
    notice: str = ""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The image cannot run."""

    message: str
    """Why, and what to do."""
    reason: str = "ErrImagePull"
    """The waiting container's: no Environment matches the image (`ErrImagePull`), or its build failed
    (`EnvironmentFailed`)."""
    notice: str = ""


Answer = Ready | Preparing | Unavailable
