"""What an image brings on this machine: the joint of the command line, which has manifests, and `environments`.

The kubelet asks the same through `app.images`, when the pod is there; here it is asked before anything is submitted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from paddock.environments.definition import PROGRAMS, read_definition
from paddock.environments.images import choose_for_pod, explain_no_environment, explain_no_name, read_named
from paddock.kube.meta import Manifest


@dataclass(frozen=True, slots=True)
class Content:
    """`environment`: its name; `command`: the entry point; `files`: what lies in the working directory, if anything."""

    environment: str
    command: tuple[str, ...]
    files: Path | None


def read_content(image: str, pod: Manifest, environments: Iterable[Manifest]) -> Content | None:
    """Of a container's image. `environments`: the Environment objects there are. None: it stands for none of them."""
    chosen = choose_for_pod(image, pod, map(read_definition, environments))
    if chosen is None:
        return None
    return Content(chosen.name, chosen.command, PROGRAMS / chosen.program if chosen.program else None)


def explain_no_content(image: str, pod: Manifest, environments: Iterable[Manifest]) -> str:
    """The kubelet's sentence for an image that stands for no environment; empty where it stands for one."""
    known = [read_definition(each) for each in environments]
    if choose_for_pod(image, pod, known) is not None:
        return ""
    named = read_named(image, pod)
    return explain_no_name(named, known) if named else explain_no_environment(image, known)


def read_used(pod: Manifest, environments: Iterable[Manifest]) -> frozenset[str]:
    """The names of the Environments that the containers of `pod` run in."""
    known, spec = tuple(environments), pod.get("spec") or {}
    containers = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    found = (read_content(str(each.get("image") or ""), pod, known) for each in containers)
    return frozenset(content.environment for content in found if content is not None)
