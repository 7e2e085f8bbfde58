"""The HorizontalPodAutoscaler of an elastic job with `elasticPolicy.metrics`: made, kept alike, and deleted in time.

As training-operator's (v1.9.4, pkg/controller.v1/pytorch/hpa.go): it has the job's name, scales the job itself, and has
the policy's bounds and metrics. It is deleted when the job is suspended, and, which training-operator leaves out, when
the job has ended or asks for no metrics any more: an autoscaler that outlives its job scales a finished one.

A difference is found by a hash of what was asked for, as the API server fills in defaults. One of the job's name that
somebody else made is used as it is: it is never changed or deleted.
"""

from __future__ import annotations

from paddock.jobs.actions import Built, Create, Delete, EventNote, Patch
from paddock.jobs.model import Child, Job, Observed, Phase, Settings, Status
from paddock.jobs.objects.children import build_autoscaler
from paddock.kube.meta import Key, annotations_of

Change = Create | Patch | Delete


def plan_autoscaler(job: Job, observed: Observed, settings: Settings) -> tuple[Change, ...]:
    """What an unfinished job that is not suspended needs. Nothing where no autoscalers are served."""
    resource, there = settings.autoscalers, observed.autoscaler
    if resource is None:
        return ()
    if not _is_asked_for(job):
        return plan_autoscaler_removal(job, observed)
    wanted = build_autoscaler(job, resource)
    if there is None:
        return (Create(resource, Built(wanted)),)
    if not there.owned or there.deleting or there.asked in annotations_of(wanted).values():
        return ()
    patch = {"metadata": {"annotations": dict(annotations_of(wanted))}, "spec": wanted["spec"]}
    return (Patch(resource, _key(job, there), there.uid, patch),)


def plan_autoscaler_removal(job: Job, observed: Observed) -> tuple[Delete, ...]:
    there = observed.autoscaler
    if there is None or not there.owned or there.deleting:
        return ()
    return (Delete(there.resource, _key(job, there), there.uid),)


def explain_none(job: Job, status: Status, refused: str) -> EventNote | None:
    """The event of an unfinished job that asks for an autoscaler where the API server refuses them. `refused`: the
    server's words; empty where it does not."""
    if not refused or not _is_asked_for(job) or status.phase.terminal or status.phase is Phase.SUSPENDED:
        return None
    said = "no HorizontalPodAutoscaler is made for elasticPolicy.metrics, and the number of workers stays as it is"
    return EventNote("NoAutoscaler", f"{said}: {refused}", "Warning")


def _is_asked_for(job: Job) -> bool:
    return job.launch.elastic is not None and job.launch.elastic.metrics is not None


def _key(job: Job, child: Child) -> Key:
    return Key(job.key.namespace, child.name)
