"""All frameworks. A new one is a module in this package and a line here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from paddock.jobs.frameworks import Framework, jax, paddle, pytorch
from paddock.jobs.model import Job

FRAMEWORKS: Mapping[str, Framework] = {"paddle": paddle, "pytorch": pytorch, "jax": jax}


def order_columns(headings: Collection[str]) -> tuple[str, ...]:
    """The headings under which `paddock get` counts pods, each once: first what leads, workers last."""
    place: dict[str, int] = {}
    for framework in FRAMEWORKS.values():
        for number, heading in enumerate(framework.columns):
            place[heading] = max(number, place.get(heading, 0))
    return tuple(sorted((heading for heading in place if heading in headings), key=place.__getitem__))


def main_container(job: Job, containers: Sequence[Mapping[str, Any]]) -> int:
    """The index of the container that trains: the one named after the framework, or the first."""
    wanted = FRAMEWORKS[job.framework].container
    return next((index for index, container in enumerate(containers) if container.get("name") == wanted), 0)
