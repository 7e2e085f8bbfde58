"""What is told of a group that runs without some of its ranks, or that was resized within its attempt
(`elastic.rejoining`)."""

from __future__ import annotations

from collections.abc import Sequence

from paddock.jobs import causes
from paddock.jobs.actions import EventNote
from paddock.jobs.model import Job, Pod, PodPhase, Status
from paddock.jobs.policies.lacking import find_lacking, find_message
from paddock.jobs.rejoining import all_rejoin, find_changed
from paddock.words.phrases import counted

_WORKER = "worker"


def explain_smaller(job: Job, status: Status, gang: Sequence[Pod]) -> causes.RunsSmaller:
    """Of a group that `runs_on` without ranks that have no room. Bounds are pods in all, as torchrun counts them."""
    elastic, said = job.launch.elastic, find_message(gang)
    assert elastic is not None, f"{job.key} is not elastic"
    running = sum(pod.phase is PodPhase.RUNNING and not pod.deleting for pod in gang)
    role = job.role(_WORKER)
    lacks = find_lacking(role, said) if role is not None else ()
    after = status.gang_loss or None
    return causes.RunsSmaller(_WORKER, running, elastic.least, elastic.most, after, lacks or None, said or None)


def build_notes(job: Job, status: Status, gang: Sequence[Pod]) -> tuple[EventNote, ...]:
    """The event of a new number of ranks within an attempt whose pods are there."""
    changed = find_changed(job, status.sizes, ())
    if not changed or not gang or not all_rejoin(job, changed):
        return ()
    said = counted(
        "the job was resized from {before} to {count} pod, and the ranks that run form their group anew",
        "the job was resized from {before} to {count} pods, and the ranks that run form their group anew",
        before=sum(status.sizes.values()),
        count=job.size,
    )
    return (EventNote("Resized", str(said)),)
