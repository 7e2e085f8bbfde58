"""The protocol that resolves images on a machine without a container engine.

The kubelet calls an `Images` before it starts a container. `paddock.environments` implements it and `paddock.app`
connects the two, which do not import each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from paddock.kube.meta import Manifest


@dataclass(frozen=True, slots=True)
class Image:
    """An image that is ready to run, with the settings of a container image."""

    name: str
    environment: Mapping[str, str] = field(default_factory=dict)
    """The image's ENV (PATH with the environment's bin directory first); the container's own env wins."""
    command: tuple[str, ...] = ()
    """Its ENTRYPOINT."""
    files: Path | None = None
    """A directory whose content is the image's WORKDIR: it is copied to the container's working directory before each
    start, because writes to an image do not outlive a container."""
    notice: str = ""
    """What the pod's status and an event are to say of the choice; empty where the image's name made it."""


@dataclass(frozen=True, slots=True)
class Preparing:
    """The image is being built: the container waits. `message` has the progress (`paddle-ps: installing, 61 %`)."""

    message: str
    reason: str = "EnvironmentBuilding"
    notice: str = ""  # as in `Image`


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The image cannot be used: `message` says why and what to do. Resolved again after `Images.changed`."""

    message: str
    reason: str = "ErrImagePull"
    notice: str = ""  # as in `Image`


class Images(Protocol):
    """Resolves images from memory, without blocking; starts a background build if one is needed."""

    def resolve(self, container: Manifest, pod: Manifest) -> Image | Preparing | Unavailable:
        """The image of a container of `pod`."""
        ...

    async def changed(self) -> None:
        """Returns when the result of `resolve` may have changed for any image."""
        ...
