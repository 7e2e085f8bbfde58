"""What to do about a module that a rank has not found: in which environment it runs, and whose the module is. I/O."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.app.programs import read_content
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.output.paths import shorten_path
from paddock.environments.seeding import name_file
from paddock.environments.sources import read_source
from paddock.jobs.frameworks.registry import main_container
from paddock.jobs.labels import WORKING_DIRECTORY_ANNOTATION
from paddock.jobs.model import Job, Rank, Settings
from paddock.jobs.objects.pods import build_pod
from paddock.kube.meta import ENVIRONMENTS, Manifest, name_of
from paddock.logs.modules import advise_module, read_missing_module
from paddock.views.stored import StoredJob
from paddock.words.phrases import Phrase

if TYPE_CHECKING:
    from paddock.client.client import Client

_UP = 3
"""Directories above the working directory in which a module of the user's own is looked for."""
_MOST = 200
"""Directories below it."""


async def fetch_module_advice(
    client: Client, place: ClusterChoice, job: StoredJob, rank: str, complaint: str
) -> list[Phrase]:
    """The lines of `logs.modules.advise_module` for a rank such as `worker-0`; empty for any other complaint."""
    module = read_missing_module(complaint)
    if not module or job.job is None:
        return []
    if place.home is None:
        return advise_module(complaint, "")
    directory = job.job.annotations.get(WORKING_DIRECTORY_ANNOTATION, "")
    own = find_own(module, directory)
    environments = (await client.list(ENVIRONMENTS)).items
    image, name = find_environment(job.job, rank.rpartition("-")[0], environments)
    environment = next((each for each in environments if name_of(each) == name), {})
    built = bool((environment.get("spec") or {}).get("requirements"))
    file = name_file(environment, os.path.join(directory, "requirements.txt"))  # noqa: PTH118 - which may be empty
    is_new = read_source(environment) is None
    return advise_module(complaint, name, shorten_path(file), own, "" if built else image, is_new=is_new)


def find_environment(job: Job, role: str, environments: list[Manifest]) -> tuple[str, str]:
    """The image of the role's training container, and the Environment that it stands for; empty without one. Pure."""
    pod = build_pod(job, Rank(role, 0), 0, None, Settings(environments=True))
    containers = pod["spec"]["containers"]
    container = containers[main_container(job, containers)]
    content = read_content(container, pod, environments)
    return str(container.get("image") or ""), content.environment if content else ""


def find_own(module: str, directory: str) -> str:
    """The directory that holds a module of the user's own: above the working directory, or one level below it, where
    Python does not look by itself. Empty if there is none."""
    top = module.partition(".")[0]
    return next((str(each) for each in _places(directory) if _holds(each, top)), "") if directory else ""


def _places(directory: str) -> Iterator[Path]:
    here = Path(directory)
    yield here
    # the root and the directory of all homes hold more than a project
    yield from (each for each in list(here.parents)[:_UP] if len(each.parts) > 2)
    try:
        below = sorted(each.path for each in os.scandir(here) if each.is_dir() and not each.name.startswith("."))
    except OSError:
        return
    yield from map(Path, below[:_MOST])


def _holds(directory: Path, module: str) -> bool:
    try:
        package = directory / module
        return (directory / f"{module}.py").is_file() or (package.is_dir() and any(package.glob("*.py")))
    except OSError:
        return False
