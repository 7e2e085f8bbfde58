"""The PriorityClasses of jobs that are about to be submitted, of which the server says nothing before their pods come.

Nothing is refused: a class may be made later. A cluster makes no pod whose class is not there, and the job waits; a
laptop makes it, and it comes after all that have a priority. Pure, but for an `Api`.

Source: Kubernetes, plugin/pkg/admission/priority.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from paddock.jobs.model import Job
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import PRIORITY_CLASSES, Key
from paddock.kube.priority_classes import SYSTEM_PREFIX
from paddock.views.flags import Flags
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api


async def find_missing_classes(api: Api, jobs: Sequence[Job], brought: Collection[Key]) -> Mapping[str, Job]:
    """The classes that are neither `brought` nor stored, each with the first job that names it. Of who may not read
    PriorityClasses, none."""
    named: dict[str, Job] = {}
    for job in jobs:
        for name in read_classes(job):
            if Key("", name) not in brought and not name.startswith(SYSTEM_PREFIX):
                named.setdefault(name, job)
    missing = {}
    for name, job in named.items():
        with suppress(Forbidden):
            try:
                await api.get(PRIORITY_CLASSES, "", name)
            except NotFound:
                missing[name] = job
    return missing


def read_classes(job: Job) -> Iterator[str]:
    """The classes that a job names, for its gang and in its templates. Pure."""
    yield from (name for name in (job.scheduling.priority_class, *_read_templates(job)) if name)


def _read_templates(job: Job) -> Iterator[str]:
    for role in job.roles:
        yield str(role.template["spec"].get("priorityClassName") or "")


def explain_missing_class(name: str, flags: Flags, *, is_local: bool) -> Phrase:
    """What is missing, what follows, and what makes it."""
    command = f"{flags.kubectl} create priorityclass {name} --value=1000"
    if is_local:
        return phrase(
            "there is no PriorityClass {name}: pods that name it have the priority of pods without a class, and a "
            "cluster would refuse them: `{command}` makes it",
            name=name, command=command,
        )  # fmt: skip
    return phrase(
        "there is no PriorityClass {name}: the cluster refuses pods that name it, and the job waits until an "
        "administrator makes it: `{command}`",
        name=name, command=command,
    )  # fmt: skip
