"""Whether a job may begin: every Dataset that it mounts must be ready before pods of an attempt are created. Pure.

It is asked where an attempt has no pod yet. A Dataset that is fetched again, fails or is deleted while pods run does
not touch them: their claim stays. The next attempt waits.

A job names Datasets by its annotation (`jobs.mounts`), which asks for them, or by the claim of one in a template. A
claim `dataset-NAME` without a Dataset NAME is a claim like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from paddock.jobs.causes import Cause, DatasetFailed, DatasetMissing, DatasetsUnserved, WaitingForDataset
from paddock.jobs.model import CauseRecord, Datasets, Job
from paddock.jobs.mounts import find_claimed
from paddock.kube.datasets import DatasetStatus, Phase
from paddock.kube.nearness import nearest

_MOST_KNOWN = 8
"""Names of other Datasets that a cause keeps."""


def find_named(job: Job) -> tuple[str, ...]:
    """The Datasets that a job names, those of its annotation first. Of a claim none need exist."""
    return tuple(dict.fromkeys((*(mount.dataset for mount in job.mounts), *find_claimed(job))))


def find_claims(datasets: Datasets) -> dict[str, str]:
    """The claim that pods mount, by Dataset."""
    return {name: status.claim for name, status in datasets.found.items()}


def find_awaited(job: Job, datasets: Datasets) -> Iterator[str]:
    """The Datasets of which a change may let the job begin, or may change what it tells."""
    for name in find_named(job):
        status = datasets.found.get(name)
        if status is None or status.deleting or status.phase is not Phase.READY:
            yield name


def find_relevant(status: DatasetStatus) -> DatasetStatus:
    """The part of a Dataset that a waiting job tells: bytes between two whole per cents are none of it."""
    said = status.message if status.phase in (Phase.PENDING, Phase.FAILED) else ""
    return replace(status, done=0 if status.total else _round_down(status.done), files=0, message=said)


def plan_gate(job: Job, datasets: Datasets, recorded: CauseRecord | None = None) -> Cause | CauseRecord | None:
    """The reason why no pod of the job is created yet; None if all is there. What a person must mend comes first, then
    the Dataset of which least is there. `recorded`: the cause until now, which stays while no whole per cent is new."""
    if datasets.unserved is not None:
        return DatasetsUnserved(job.mounts[0].dataset, datasets.unserved) if job.mounts else None
    for mount in job.mounts:
        status = datasets.found.get(mount.dataset)
        if status is None or status.deleting:
            return _explain_missing(job, mount.dataset, datasets, deleting=status is not None)
    unready = list(_find_unready(job, datasets.found))
    if not unready:
        return None
    failed = [status for status in unready if status.phase is Phase.FAILED]
    if failed:
        worst = min(failed, key=lambda status: (status.retries, status.name))
        return DatasetFailed(worst.name, worst.message, worst.retries)
    return _keep(_explain_waiting(unready), recorded)


def _find_unready(job: Job, found: Mapping[str, DatasetStatus]) -> Iterator[DatasetStatus]:
    asked, claimed = {mount.dataset for mount in job.mounts}, find_claimed(job)
    for name in find_named(job):
        status = found.get(name)
        if status is None or status.phase is Phase.READY:
            continue
        # A Dataset whose source is another claim has not made `dataset-NAME`.
        if name in asked or claimed.get(name) == status.claim:
            yield status


def _explain_missing(job: Job, dataset: str, datasets: Datasets, *, deleting: bool) -> DatasetMissing:
    if deleting:
        return DatasetMissing(dataset, job.key.namespace, deleting=True)
    known = tuple(sorted(datasets.known))[:_MOST_KNOWN]
    return DatasetMissing(dataset, job.key.namespace, nearest(dataset, sorted(datasets.known)), known)


def _explain_waiting(unready: Sequence[DatasetStatus]) -> WaitingForDataset:
    first = min(unready, key=lambda status: (status.phase is Phase.FETCHING, status.percent, status.name))
    fetching = first.phase is Phase.FETCHING
    return WaitingForDataset(
        first.name,
        min(first.percent, 100),
        first.done if first.total else _round_down(first.done),
        first.total,
        "" if fetching else first.message,
        len(unready) - 1,
    )


def _keep(cause: WaitingForDataset, recorded: CauseRecord | None) -> Cause | CauseRecord:
    """The recorded cause while the per cent of the same Dataset is the same: a write for each chunk that arrives would
    keep the API server busy, for each job that waits."""
    if recorded is None or recorded.reason != cause.reason or not cause.total:
        return cause
    now = {**cause.args(), "done": recorded.args.get("done")}
    return recorded if now == dict(recorded.args) else cause


def _round_down(count: int) -> int:
    """To two digits, where no per cent says how far it is: 3_276_800 -> 3_200_000."""
    digits = str(count)
    return int(digits[:2].ljust(len(digits), "0"))
