"""What the operator and the node must agree on about Environments: the annotations of a pod that choose one. Pure.

On a laptop an image stands for an Environment (`paddock.environments`). The operator knows which framework a pod trains
with and which of its containers trains, the node which Environments there are; `DEFAULT_ANNOTATION` tells the one what
the other knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.kube.meta import annotations_of

ENVIRONMENT_ANNOTATION = "paddock.dev/environment"
"""On a laptop: the Environment in which a job's pods run, whatever their images. The same annotation in a pod template
takes precedence for its role (`jobs.objects.pods`)."""
PATH_ANNOTATION = "paddock.dev/path"
"""On a laptop, written when a job is submitted: PATH of the shell that submitted it. The job's pods look for programs
there, behind those of their environment (`environments.library`)."""
DEFAULT_ANNOTATION = "paddock.dev/default-environment"
"""On pods of a laptop: `CONTAINER=ENVIRONMENT`. The container runs in that Environment where it has a command and its
image stands for none."""

DEFAULT_CONDITION = "paddock.dev/DefaultEnvironment"
"""A condition of a pod, True where a container runs in its default Environment, with the sentence as its message. It is
the reason of the event as well, without the prefix."""


def write_default(container: str, environment: str) -> str:
    """The value of `DEFAULT_ANNOTATION`."""
    return f"{container}={environment}"


def read_default(pod: Mapping[str, Any], container: Mapping[str, Any]) -> str:
    """The default Environment of a container of `pod`; empty if it has none, or no command: what an image starts by
    itself is in the image alone."""
    name, _, environment = annotations_of(pod).get(DEFAULT_ANNOTATION, "").partition("=")
    return environment if container.get("command") and container.get("name") == name else ""


def read_notice(pod: Mapping[str, Any]) -> str:
    """The message of `DEFAULT_CONDITION`; empty where the images of all containers chose their Environments."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return next((str(each.get("message") or "") for each in conditions if each.get("type") == DEFAULT_CONDITION), "")
