"""A job in a queue of Kueue: by which queue and which way, and the marks of its pods where Kueue admits plain pods.

Two ways lead into a queue. By `suspend`: Kueue's integration of the job's kind, or any controller that keeps its
contract, suspends the job and resumes it with nodeSelector, tolerations and labels in its templates. By plain pods:
Kueue holds the pods by a scheduling gate that its webhook adds, and admits all of a group at once, which needs no
integration of the kind. The annotation `paddock.dev/kueue` chooses. Without it a kind for which Kueue has an
integration goes by `suspend`, and a batch PaddleJob, for which it has none, by pods: its label is never passed over.

Each attempt is a group of its own, of exactly its ranks, which takes no replacements: Kueue keeps ended pods of any
other group until they are replaced, and the pods of the next attempt have their names.

Where Kueue's webhook leaves pods alone (its integration `pod` is off, or not for this namespace, or the API server has
no scheduling gates, before Kubernetes 1.26) they would run at once, beside the queue. So an operator asks the API
server first, by a create that stores nothing (`operator.queue_gates`), and the job waits (`causes.QueueNotInForce`).

Sources: kueue, pkg/controller/jobs/pod (pod_webhook.go, pod_controller.go), pkg/constants, of 2026-08.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.jobs.labels import KUEUE_ANNOTATION, QUEUE_LABEL
from paddock.jobs.model import NOBODY, Displaced, Job, Pod, RestartScope, Settings
from paddock.jobs.names import queue_group_name
from paddock.jobs.rejoining import rejoins
from paddock.kube.meta import Manifest, labels_of, metadata

PODS, SUSPEND = "Pods", "Suspend"
"""The values of the annotation."""
GROUP_LABEL = "kueue.x-k8s.io/pod-group-name"
COUNT_ANNOTATION = "kueue.x-k8s.io/pod-group-total-count"
RETRIABLE_ANNOTATION = "kueue.x-k8s.io/retriable-in-group"
GATE = "kueue.x-k8s.io/admission"
"""The scheduling gate of pods that Kueue has not admitted."""
MANAGED = "kueue.x-k8s.io/managed"
"""Label and finalizer of pods that Kueue's webhook has seen."""
_PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
"""Kueue's label of a WorkloadPriorityClass: of a group it reads that of the pods."""
POD_SET_LABEL = "kueue.x-k8s.io/podset"
"""On the templates of a job that Kueue has admitted by `suspend`, until it stops the job again."""
_OF_PODS = "batch.paddlepaddle.org"
"""The group of the kind that Kueue has no integration for."""


def find_queue(job: Job) -> str:
    """The LocalQueue that the job names; empty for none."""
    return job.labels.get(QUEUE_LABEL, "")


def find_pod_queue(job: Job, settings: Settings) -> str:
    """The LocalQueue of the job's pods, where Kueue is to admit them as plain pods; empty else. A pod that starts again
    alone has the name of one that Kueue keeps, so such jobs are left out. A laptop has no Kueue: what does not ask for
    this way by the annotation starts there at once."""
    return find_queue(job) if _goes_by_pods(job, settings) and not starts_alone(job) else ""


def _goes_by_pods(job: Job, settings: Settings) -> bool:
    way = job.annotations.get(KUEUE_ANNOTATION)
    if way in (PODS, SUSPEND):
        return way == PODS
    return job.resource.group == _OF_PODS and is_on_cluster(settings) and not _is_admitted(job)


def is_on_cluster(settings: Settings) -> bool:
    """Whether somebody else's cluster runs the pods, which may have Kueue."""
    return settings.output_root is None


def _is_admitted(job: Job) -> bool:
    """Whether a controller has admitted the job by `suspend`: its pods would ask for quota a second time."""
    return any(POD_SET_LABEL in labels_of(role.template) for role in job.roles)


def starts_alone(job: Job) -> bool:
    """Whether a rank may start again without the others, in the attempt that it was in."""
    if FRAMEWORKS[job.framework].needs_addresses(job):
        return False
    return job.scope is RestartScope.POD or any(rejoins(job, rank) for role in job.roles for rank in role.ends())


def misses_queue(job: Job) -> bool:
    """Whether no way leads into the queue that the job names: Kueue has no integration of its kind, and takes no pods
    of it."""
    return bool(find_queue(job)) and job.resource.group == _OF_PODS and starts_alone(job) and not _is_admitted(job)


def is_left_alone(gang: Sequence[Pod]) -> bool:
    """Whether pods of the attempt are there that no queue was named to, as an operator made them before it took the
    label: the rest of the gang is made like them, as a group of the rest would never be complete."""
    there = [pod for pod in gang if not pod.cleared]
    return bool(there) and not any(pod.queued for pod in there)


def mark_pod(job: Job, attempt: int, settings: Settings, labels: dict[str, str], annotations: dict[str, str]) -> None:
    """Adds the marks of a group to the metadata of a pod."""
    if queue := find_pod_queue(job, settings):
        labels |= {QUEUE_LABEL: queue, GROUP_LABEL: queue_group_name(job, attempt)}
        if urgency := job.labels.get(_PRIORITY_CLASS):
            labels[_PRIORITY_CLASS] = urgency
        annotations |= {COUNT_ANNOTATION: str(job.size), RETRIABLE_ANNOTATION: "false"}


def is_held(pod: Manifest) -> bool:
    """Whether Kueue's webhook has taken this pod: it has its gate, or had it."""
    spec = pod.get("spec")
    gates = spec.get("schedulingGates") if isinstance(spec, Mapping) else None
    named = [each.get("name") for each in gates if isinstance(each, Mapping)] if isinstance(gates, list) else []
    return GATE in named or MANAGED in labels_of(pod) or MANAGED in (metadata(pod).get("finalizers") or ())


NOT_HELD = "Kueue would not hold it: its integration `pod` is not in force here, so it would run outside of the queue"
"""What an operator keeps of a pod that it did not make (`model.Refusal`)."""

_EVICTED = "WorkloadEvicted"
_DUE_TO = "WorkloadEvictedDueTo"
_STOPS = frozenset({"WorkloadDeleted", "NoMatchingWorkload", "NotAdmitted"})
TERMINATION_TARGET = "TerminationTarget"
"""The condition of a pod that Kueue deletes."""
PREEMPTED = "Preempted"
_BY = re.compile(r"\(UID: ([0-9A-Za-z-]{1,64}), JobUID: ([0-9A-Za-z-]{1,64})\)(?: due to ([^;]{1,80}))?")
_UNKNOWN = "UNKNOWN"
_PRIORITY = "prioritization"


def is_stopped(reason: str) -> bool:
    """Whether this is Kueue's reason (jobframework's StopReason) for a pod that it ends, such as
    `WorkloadEvictedDueToPreempted`."""
    return reason.startswith(_EVICTED) or reason in _STOPS


def read_stop(reason: str) -> str:
    """Of such a reason, that of the Workload's eviction: `Preempted`, `PodsReadyTimeout`, `ClusterQueueStopped`."""
    return reason.removeprefix(_DUE_TO) or reason


def read_displaced(message: str) -> Displaced:
    """For whom Kueue has preempted a Workload, by its message (pkg/scheduler/preemption, `preemptionMessage`)."""
    found = _BY.search(message)
    if found is None:
        return NOBODY
    uids = tuple(each for each in found.group(1, 2) if each != _UNKNOWN)
    due = (found[3] or "").strip()
    return Displaced(uids, "" if _PRIORITY in due or due == _UNKNOWN else due)


def leave_group(metadata: dict[str, Any]) -> None:
    """For a pod beyond the ranks of its attempt (`jobs.policies.spares`): Kueue would delete it as one too many. It
    stays in the queue, and asks for quota alone."""
    metadata["labels"].pop(GROUP_LABEL, None)
    for name in (COUNT_ANNOTATION, RETRIABLE_ANNOTATION):
        metadata["annotations"].pop(name, None)
