"""The Environments of jobs that are about to be submitted to the local cluster: does each image stand for one, and have
the requirements files changed since? On a cluster images are containers, and nothing is done.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.app.programs import explain_images
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.submit.file_environments import Needed, Notify, prepare_environment, refresh_environments
from paddock.cli.submit.workdir import place_directories
from paddock.environments.failures import redact
from paddock.environments.images import read_used
from paddock.environments.sources import Source, read_source
from paddock.jobs.labels import REQUIREMENTS_DIGEST_ANNOTATION
from paddock.jobs.model import Job, Rank, Settings
from paddock.jobs.objects.pods import build_pod
from paddock.kube.meta import ENVIRONMENTS, Manifest, annotations_of, name_of
from paddock.submission.documents import Checked
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
    """Raises `UserError` for an image that stands for no environment, unless there is a terminal: there the job waits
    with that cause until somebody has made one. Changes Environments whose files have changed."""
    jobs = [each.job for each in checked if each.job]
    if place.home is None or not jobs:
        return
    stored = (await api.list(ENVIRONMENTS)).items
    created = [each.manifest for each in checked if each.resource == ENVIRONMENTS]
    if not sys.stderr.isatty():
        refuse_unknown(jobs, [*stored, *created])
    used = find_used(jobs, stored)
    await refresh_environments(api, [each for each in stored if name_of(each) in used], notify)


def refuse_unknown(jobs: Sequence[Job], environments: Sequence[Manifest]) -> None:
    """Raises `UserError` with what to type for each image that stands for none of the environments."""
    if not any(explain_images(job, environments) for job in jobs):
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


def find_used(jobs: Sequence[Job], environments: Sequence[Manifest]) -> frozenset[str]:
    """The names of the Environments that the pods of the jobs run in. Pure."""
    return frozenset(name for job in jobs for pod in _build_pods(job) for name in read_used(pod, environments))


def record_requirements(each: Checked, environments: Sequence[Manifest]) -> Checked:
    """A job with what the files of its Environments say (`REQUIREMENTS_DIGEST_ANNOTATION`); what has none stays as it
    is. Pure."""
    used = find_used([each.job], environments) if each.job else ()
    said = describe_requirements([source for stored in environments if name_of(stored) in used
                                  if (source := read_source(stored)) is not None])  # fmt: skip
    if not said:
        return each
    metadata = each.manifest["metadata"]
    annotations = {**annotations_of(each.manifest), REQUIREMENTS_DIGEST_ANNOTATION: json.dumps(said)}
    return each.with_manifest({**each.manifest, "metadata": {**metadata, "annotations": annotations}})


def describe_requirements(sources: Sequence[Source]) -> dict[str, str]:
    """By the name of a file the digest of what was read, by its path where two have the same name; as `--add` the
    packages beside them, without what a URL of theirs may hide."""
    names = Counter(Path(source.files[0]).name for source in sources if source.files)
    said = {}
    for source in sources:
        if source.files:
            path = Path(source.files[0])
            said[path.name if names[path.name] == 1 else str(path)] = source.digest
    added = sorted({redact(package) for source in sources for package in source.added})
    return {**said, "--add": ", ".join(added)} if added else said


def _build_pods(job: Job) -> Iterator[Manifest]:
    """One of each role."""
    return (build_pod(job, Rank(role.name, 0), 0, None, Settings()) for role in job.roles)
