"""All frameworks. A new one is a module in this package and a line here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paddock.jobs.frameworks import Framework, paddle, pytorch
from paddock.jobs.model import Job

FRAMEWORKS: Mapping[str, Framework] = {"paddle": paddle, "pytorch": pytorch}

COLUMNS = tuple(dict.fromkeys(heading for framework in FRAMEWORKS.values() for heading in framework.columns))
"""The headings under which `paddock get` counts pods, of all frameworks, each once."""


def main_container(job: Job, containers: Sequence[Mapping[str, Any]]) -> int:
    """The index of the container that trains: the one named after the framework, or the first."""
    wanted = FRAMEWORKS[job.framework].container
    return next((index for index, container in enumerate(containers) if container.get("name") == wanted), 0)
