"""Who submits a job, written on it: the last step before it is created, after every check. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from paddock.jobs.labels import CHANGED_BY_ANNOTATION, CREATED_BY_ANNOTATION
from paddock.kube.meta import Manifest, annotations_of, metadata
from paddock.submission.documents import Checked


def sign(checked: Iterable[Checked], who: str) -> list[Checked]:
    """The documents, of which jobs say by whom they are. `who`: as the API names the user (`client.own_name`); empty
    where that is not known."""
    return [each.with_manifest(sign_manifest(each.manifest, who)) if each.is_job else each for each in checked]


def sign_manifest(job: Manifest, who: str) -> Manifest:
    """The job with `who` for its author. What its text says of that is another job's, whose manifest was copied."""
    of_another = (CREATED_BY_ANNOTATION, CHANGED_BY_ANNOTATION)
    kept = {name: value for name, value in annotations_of(job).items() if name not in of_another}
    annotations = {**kept, **({CREATED_BY_ANNOTATION: who} if who else {})}
    if annotations == annotations_of(job):
        return job
    return {**job, "metadata": {**metadata(job), "annotations": annotations}}
