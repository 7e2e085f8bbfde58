"""Makes a kubelet look again for the attempt's ConfigMap: an annotation on each pod that waits for it, once.

Every rank starts this way: the ConfigMap can be created only when all pods have addresses, and the kubelet that has
just given its pod an address then finds no ConfigMap (CreateContainerConfigError). It looks again after 10 to 15
seconds (its backOffPeriod with jitter), and at once when the pod changes: so an annotation changes the pod.
"""

from __future__ import annotations

from paddock.jobs.actions import Patch
from paddock.jobs.labels import WOKEN_ANNOTATION
from paddock.jobs.model import Job, Observed, Pod, PodPhase, Settings, Status
from paddock.jobs.objects import pods
from paddock.kube.meta import PODS, Key

NO_CONFIG_MAP = "CreateContainerConfigError"
"""The kubelet's reason of a container whose environment cannot be made: a ConfigMap or Secret is missing."""


def plan_wakes(job: Job, status: Status, observed: Observed, settings: Settings) -> tuple[Patch, ...]:
    """One patch for each pod of the attempt whose container waits with that reason."""
    name = pods.find_config_map(job, status.attempt, observed.pods)
    there = any(child.name == name and not child.deleting for child in observed.config_maps)
    # The embedded kubelet, whose pods share the machine's network, watches ConfigMaps itself.
    if settings.shared_network or not there:
        return ()
    note = {"metadata": {"annotations": {WOKEN_ANNOTATION: name}}}
    # The patch is optional: where it is refused, only those seconds are lost.
    waiting = (pod for pod in observed.of_attempt(status.attempt) if _waits(pod))
    return tuple(Patch(PODS, Key(job.key.namespace, pod.name), pod.uid, note, optional=True) for pod in waiting)


def _waits(pod: Pod) -> bool:
    return (
        pod.phase in (PodPhase.PENDING, PodPhase.STARTING)
        and pod.waiting is not None
        and pod.waiting[0] == NO_CONFIG_MAP
        and not pod.woken
        and not pod.deleting
    )
