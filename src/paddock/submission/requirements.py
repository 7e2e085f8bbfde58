"""The Environments of a job that is sent, and what their requirements files say, for `paddock history`. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from paddock.environments.from_files import describe_requirements
from paddock.environments.images import read_used
from paddock.environments.sources import read_source
from paddock.jobs.labels import REQUIREMENTS_DIGEST_ANNOTATION
from paddock.jobs.model import Job, Rank, Settings
from paddock.jobs.objects.pods import build_pod
from paddock.kube.meta import Manifest, annotations_of, name_of
from paddock.submission.documents import Checked


def find_used(jobs: Sequence[Job], environments: Sequence[Manifest]) -> frozenset[str]:
    """The names of the Environments that the pods of the jobs run in."""
    return frozenset(name for job in jobs for pod in _build_pods(job) for name in read_used(pod, environments))


def record_requirements(each: Checked, environments: Sequence[Manifest]) -> Checked:
    """A job with what the files of its Environments say (`REQUIREMENTS_DIGEST_ANNOTATION`); what has none stays as it
    is."""
    used = find_used([each.job], environments) if each.job else ()
    said = describe_requirements([source for stored in environments if name_of(stored) in used
                                  if (source := read_source(stored)) is not None])  # fmt: skip
    if not said:
        return each
    metadata = each.manifest["metadata"]
    annotations = {**annotations_of(each.manifest), REQUIREMENTS_DIGEST_ANNOTATION: json.dumps(said)}
    return each.with_manifest({**each.manifest, "metadata": {**metadata, "annotations": annotations}})


def _build_pods(job: Job) -> Iterator[Manifest]:
    """One of each role."""
    return (build_pod(job, Rank(role.name, 0), 0, None, Settings(environments=True)) for role in job.roles)
