"""The Environments of jobs that are about to be submitted to the local cluster: does each image stand for one, and have
the requirements files changed since? On a cluster images are containers, and nothing is done.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from paddock.app.programs import explain_images
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.submit.file_environments import Notify, prepare_environment, refresh_environments
from paddock.cli.submit.workdir import place_directories
from paddock.environments.needed import Needed
from paddock.jobs.model import Job
from paddock.kube.meta import ENVIRONMENTS, Manifest, name_of
from paddock.submission.documents import Checked
from paddock.submission.requirements import find_used, record_requirements
from paddock.views.flags import LOCAL, build_next
from paddock.views.steps import build_steps
from paddock.words.phrases import Foreign, Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api


async def write_environments(
    api: Api,
    place: ClusterChoice,
    needed: Sequence[Needed],
    checked: Sequence[Checked],
    workdir: str | None,
    notify: Notify,
) -> list[Checked]:
    """Makes the Environments of requirements files, and changes the others whose files have changed. Returns the
    documents with what those files say, for `paddock history`. It is called last, so that a refused submission
    changes none. Raises `UserError` for what is only known then: an image without an environment, a script that the
    new environment does not have."""
    for each in needed:
        await prepare_environment(api, each, notify)
    await settle_environments(api, place, checked, notify)
    if place.home is not None and needed:
        await place_directories(api, place, checked, workdir, notify)
    if place.home is None:
        return list(checked)
    stored = (await api.list(ENVIRONMENTS)).items
    return [record_requirements(each, stored) for each in checked]


async def settle_environments(api: Api, place: ClusterChoice, checked: Sequence[Checked], notify: Notify) -> None:
    """Says in which Environment a command runs whose image stands for none. Raises `UserError` for any other image that
    stands for none, unless there is a terminal: there the job waits with that cause until somebody has made one.
    Changes Environments whose files have changed."""
    jobs = [each.job for each in checked if each.job]
    if place.home is None or not jobs:
        return
    stored = (await api.list(ENVIRONMENTS)).items
    created = [each.manifest for each in checked if each.resource == ENVIRONMENTS]
    if not sys.stderr.isatty():
        refuse_unknown(jobs, [*stored, *created])
    for said in find_defaults(jobs, [*stored, *created]):
        notify(said)
    used = find_used(jobs, stored)
    await refresh_environments(api, [each for each in stored if name_of(each) in used], notify)


def find_defaults(jobs: Sequence[Job], environments: Sequence[Manifest]) -> list[Phrase]:
    """The sentence for each image in whose place the default Environment of a framework is taken."""
    return list(dict.fromkeys(said for job in jobs for said in explain_images(job, environments).defaults))


def refuse_unknown(jobs: Sequence[Job], environments: Sequence[Manifest]) -> None:
    """Raises `UserError` with what to type for each image that stands for none of the environments."""
    if not any(explain_images(job, environments).unknown for job in jobs):
        return
    # late: the scheduler and the classes of all causes, which a job that can start needs none of
    from paddock.app.why_not import plan_images

    said: list[Phrase] = []
    for job in jobs:
        for cause in plan_images(job, environments, time.time()):
            why = Foreign(str(cause.args["message"]))
            said.append(phrase("{option}: {problem}", option=f"{job.resource.kind} {job.key}", problem=why))
            said += build_next(build_steps(cause, job.key.name, job.key.namespace), LOCAL)
    raise UserError(*said, phrase("nothing was submitted"))
