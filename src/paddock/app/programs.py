"""What an image contains on this machine, for the command line, before a manifest is submitted.

The kubelet gets the same answer through `app.images`, once the pod exists.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from paddock.environments.definition import PROGRAMS, read_definition
from paddock.environments.images import choose
from paddock.jobs.model import Job, Rank, Settings
from paddock.jobs.objects.pods import build_pod
from paddock.kube.meta import Manifest
from paddock.words.phrases import Phrase


@dataclass(frozen=True, slots=True)
class ImageContent:
    """What an image stands for."""

    environment: str
    """Its name."""
    command: tuple[str, ...]
    """The entry point."""
    files: Path | None
    """The content of the working directory, or None."""
    is_default: bool = False
    """Whether it is the default Environment of a framework: nobody knows here what the image itself has."""

    def has(self, script: str) -> bool:
        """Whether an example program of Paddock, for which the image stands, has this file."""
        return self.files is not None and bool(script) and (self.files / script).is_file()


@dataclass(frozen=True, slots=True)
class Explained:
    """The kubelet's sentences about the images of a job."""

    unknown: Mapping[str, str]
    """For each image that no Environment stands for, and in whose place none is taken -> the first rank that has it."""
    defaults: tuple[Phrase, ...]
    """For each image in whose place the default Environment of the framework is taken."""


def read_content(container: Manifest, pod: Manifest, environments: Iterable[Manifest]) -> ImageContent | None:
    """The content of a container's image; None if no object of `environments` (Environments) matches the image."""
    choice = choose(container, pod, map(read_definition, environments))
    if (chosen := choice.definition) is None:
        return None
    files = PROGRAMS / chosen.program if chosen.program else None
    return ImageContent(chosen.name, chosen.command, files, is_default=choice.said is not None)


def explain_images(job: Job, environments: Iterable[Manifest]) -> Explained:
    """What the kubelet will say of the job's images, by one pod of each role. Pure."""
    known, unknown, defaults = tuple(map(read_definition, environments)), dict[str, str](), dict[Phrase, None]()
    for role in job.roles:
        rank = Rank(role.name, 0)
        pod = build_pod(job, rank, 0, None, Settings(environments=True))
        for container in (*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]):
            choice = choose(container, pod, known)
            if choice.said is not None and choice.definition is None:
                unknown.setdefault(str(choice.said), str(rank))
            elif choice.said is not None:
                defaults[choice.said] = None
    return Explained(unknown, tuple(defaults))
