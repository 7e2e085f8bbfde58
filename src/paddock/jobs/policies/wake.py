"""Pods whose kubelet looked for the attempt's ConfigMap before it was there: told, once, that it is there now.

Every rank starts by this road: the ConfigMap can be made only once its pod has an address, and the kubelet that gives
it one then finds no ConfigMap (CreateContainerConfigError). It looks again after 10 to 15 seconds (its backOffPeriod
with jitter), and at once when the pod changes: so the pod is changed, by an annotation. Where that is refused, nothing
is lost but those seconds. On a laptop the kubelet hears of the ConfigMap itself.
"""

from __future__ import annotations

from paddock.jobs import pods
from paddock.jobs.labels import WOKEN_ANNOTATION
from paddock.jobs.model import Job, Observed, Patch, Pod, PodPhase, Settings, Status
from paddock.kube.meta import PODS, Key

_NO_CONFIG_MAP = "CreateContainerConfigError"
"""The kubelet's reason of a container whose environment cannot be made: a ConfigMap or Secret is missing."""


def plan_wakes(job: Job, status: Status, observed: Observed, settings: Settings) -> tuple[Patch, ...]:
    """Once for each pod of the attempt that was seen waiting for it, whatever else its container may wait for."""
    name = pods.config_map_name(job, status.attempt)
    there = any(child.name == name and not child.deleting for child in observed.config_maps)
    if settings.shared_network or not there:
        return ()
    note = {"metadata": {"annotations": {WOKEN_ANNOTATION: name}}}
    waiting = (pod for pod in observed.of_attempt(status.attempt) if _waits(pod))
    return tuple(Patch(PODS, Key(job.key.namespace, pod.name), pod.uid, note, optional=True) for pod in waiting)


def _waits(pod: Pod) -> bool:
    return (
        pod.phase in (PodPhase.PENDING, PodPhase.STARTING)
        and pod.waiting is not None
        and pod.waiting[0] == _NO_CONFIG_MAP
        and not pod.woken
        and not pod.deleting
    )
