"""A job in a queue of Kueue: by which queue, and the marks of its pods where Kueue admits plain pods.

Two ways lead into a queue. By `suspend`: Kueue's integration of the job's kind, or any controller that keeps its
contract, suspends the job and resumes it with nodeSelector, tolerations and labels in its templates. By plain pods
(annotation `paddock.dev/kueue: Pods`): Kueue holds the pods by a scheduling gate that its webhook adds, and admits all
of a group at once, which needs no integration of the kind.

Each attempt is a group of its own, of exactly its ranks, which takes no replacements: Kueue keeps ended pods of any
other group until they are replaced, and the pods of the next attempt have their names.
"""

from __future__ import annotations

from typing import Any

from paddock.jobs.labels import KUEUE_ANNOTATION, QUEUE_LABEL
from paddock.jobs.model import Job, RestartScope
from paddock.jobs.names import queue_group_name
from paddock.jobs.rejoining import rejoins

PODS = "Pods"
"""The value of the annotation."""
GROUP_LABEL = "kueue.x-k8s.io/pod-group-name"
COUNT_ANNOTATION = "kueue.x-k8s.io/pod-group-total-count"
RETRIABLE_ANNOTATION = "kueue.x-k8s.io/retriable-in-group"


def find_queue(job: Job) -> str:
    """The LocalQueue that the job names; empty for none."""
    return job.labels.get(QUEUE_LABEL, "")


def find_pod_queue(job: Job) -> str:
    """The LocalQueue of the job's pods, where Kueue is to admit them as plain pods. A pod that starts again alone has
    the name of one that Kueue keeps, so such jobs are left out."""
    by_pods = job.annotations.get(KUEUE_ANNOTATION) == PODS and not starts_alone(job)
    return find_queue(job) if by_pods else ""


def starts_alone(job: Job) -> bool:
    """Whether a rank may start again without the others, in the attempt that it was in."""
    return job.scope is RestartScope.POD or any(rejoins(job, rank) for role in job.roles for rank in role.ends())


def mark_pod(job: Job, attempt: int, labels: dict[str, str], annotations: dict[str, str]) -> None:
    """Adds the marks of a group to the metadata of a pod."""
    if queue := find_pod_queue(job):
        labels |= {QUEUE_LABEL: queue, GROUP_LABEL: queue_group_name(job, attempt)}
        annotations |= {COUNT_ANNOTATION: str(job.size), RETRIABLE_ANNOTATION: "false"}


def leave_group(metadata: dict[str, Any]) -> None:
    """For a pod beyond the ranks of its attempt (`jobs.policies.spares`): Kueue would delete it as one too many. It
    stays in the queue, and asks for quota alone."""
    metadata["labels"].pop(GROUP_LABEL, None)
    for name in (COUNT_ANNOTATION, RETRIABLE_ANNOTATION):
        metadata["annotations"].pop(name, None)
