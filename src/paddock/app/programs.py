"""What an image contains on this machine, for the command line, before a manifest is submitted.

The kubelet gets the same answer through `app.images`, once the pod exists.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from paddock.environments.definition import PROGRAMS, read_definition
from paddock.environments.images import choose_for_pod, explain_no_environment, explain_no_name, read_named
from paddock.jobs.model import Job, Rank, Settings
from paddock.jobs.objects.pods import build_pod
from paddock.kube.meta import Manifest


@dataclass(frozen=True, slots=True)
class ImageContent:
    """What an image stands for."""

    environment: str
    """Its name."""
    command: tuple[str, ...]
    """The entry point."""
    files: Path | None
    """The content of the working directory, or None."""

    def has(self, script: str) -> bool:
        """Whether an example program of Paddock, for which the image stands, has this file."""
        return self.files is not None and bool(script) and (self.files / script).is_file()


def read_content(image: str, pod: Manifest, environments: Iterable[Manifest]) -> ImageContent | None:
    """The content of a container's image; None if no object of `environments` (Environments) matches the image."""
    chosen = choose_for_pod(image, pod, map(read_definition, environments))
    if chosen is None:
        return None
    return ImageContent(chosen.name, chosen.command, PROGRAMS / chosen.program if chosen.program else None)


def explain_no_content(image: str, pod: Manifest, environments: Iterable[Manifest]) -> str:
    """The kubelet's sentence for an image that matches no Environment; empty if one matches."""
    known = [read_definition(each) for each in environments]
    if choose_for_pod(image, pod, known) is not None:
        return ""
    named = read_named(image, pod)
    return str(explain_no_name(named, known) if named else explain_no_environment(image, known))


def explain_images(job: Job, environments: Sequence[Manifest]) -> dict[str, str]:
    """The kubelet's sentence for each image of the job that matches no Environment -> the first rank that has it."""
    found: dict[str, str] = {}
    for role in job.roles:
        rank = Rank(role.name, 0)
        pod = build_pod(job, rank, 0, None, Settings())
        for container in (*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]):
            if message := explain_no_content(str(container.get("image") or ""), pod, environments):
                found.setdefault(message, str(rank))
    return found
