"""Which frameworks there are. Adding one is a module in this package and a line here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paddock.jobs.frameworks import Framework, paddle
from paddock.jobs.model import Job

FRAMEWORKS: Mapping[str, Framework] = {"paddle": paddle}


def main_container(job: Job, containers: Sequence[Mapping[str, Any]]) -> int:
    """The index of the container that trains: the one named after the framework, else the first."""
    wanted = FRAMEWORKS[job.framework].container
    return next((index for index, container in enumerate(containers) if container.get("name") == wanted), 0)
