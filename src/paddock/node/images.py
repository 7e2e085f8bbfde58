"""What an image means on a machine without a container engine: the question, not the answer.

The kubelet asks an `Images` before it starts a container; `paddock.environments` answers, and `paddock.app` joins the
two. The rooms do not know each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from paddock.kube.meta import Manifest


@dataclass(frozen=True, slots=True)
class Image:
    """An image that can run now, as a container engine would know it.

    `environment` is the image's ENV (PATH with the environment's bin directory first); the container's own env wins.
    `command` is its ENTRYPOINT. `files` is a directory whose content is the image's WORKDIR: it is copied, fresh, to
    the container's own working directory before each start, as writes to an image do not outlive a container.
    """

    name: str
    environment: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    files: Path | None = None


@dataclass(frozen=True, slots=True)
class Preparing:
    """Not yet: shown as the container's waiting reason. `message` carries progress (`paddle-ps: installing, 61 %`)."""

    message: str
    reason: str = "EnvironmentBuilding"


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Not as things are: `message` says what was found and what to do. Asked again when `Images` says so."""

    message: str
    reason: str = "ErrImagePull"


class Images(Protocol):
    """Answers at once, from memory; starts a build in the background where one is needed."""

    def resolve(self, image: str, pod: Manifest) -> Image | Preparing | Unavailable: ...

    async def changed(self) -> None:
        """Returns when any answer may have become another one."""
        ...


class HostPrograms:
    """The simplest answer: every image is this machine itself, with its programs. For tests and for bare pods."""

    def resolve(self, image: str, pod: Manifest) -> Image:
        return Image(name=image)

    async def changed(self) -> None:
        from asyncio import Event

        await Event().wait()
