"""Which scheduler places a job's pods, and whether it places them as a gang.

A scheduler places the pods that name it in `schedulerName`. So a job has a PodGroup only if its pods go to the gang's
scheduler: another name in one of its templates (`default-scheduler` too) is the user's choice of no gang, as in
paddle-operator. On a laptop one scheduler places the pods of every name, as gangs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paddock.jobs.model import Job, Settings
from paddock.kube.meta import KUBERNETES_POD_GROUPS, POD_GROUPS, VOLCANO_POD_GROUPS, Resource

VOLCANO = "volcano"
KUBE_SCHEDULER = "kube-scheduler"
"""The program of a cluster's own scheduler, whose name in pods is `DEFAULT_SCHEDULER`."""
DEFAULT_SCHEDULER = "default-scheduler"
"""The name that the API server writes into a pod without one."""
GANG_SCHEDULERS: Mapping[Resource, str] = {
    VOLCANO_POD_GROUPS: VOLCANO,
    POD_GROUPS: "scheduler-plugins-scheduler",
    KUBERNETES_POD_GROUPS: DEFAULT_SCHEDULER,
}
"""The usual name of the scheduler of these PodGroups: that of its own charts, or of a cluster's own scheduler."""

WHO_SERVES = (
    "Kubernetes serves it from 1.37, with the feature gate GenericWorkload of kube-apiserver and of kube-scheduler; "
    "versions before v1beta1 have other shapes, which Paddock does not write"
)
"""Of Kubernetes' own PodGroups."""


def explain_versions(served: Sequence[str]) -> str:
    """Why no gangs are made by a cluster that serves PodGroups of `scheduling.k8s.io` in these versions; empty if they
    can be."""
    known = KUBERNETES_POD_GROUPS.version
    if known in served:
        return ""
    found = f"in {', '.join(served)}" if served else "in no version"
    name = KUBERNETES_POD_GROUPS.qualified
    return f"this cluster serves {name} {found}, and Paddock knows {known}: jobs wait until it is served. {WHO_SERVES}"


def find_pod_groups(job: Job, settings: Settings) -> Resource | None:
    """The resource of the job's PodGroup; None for a job without one. A template that names a PodGroup of Kubernetes'
    own itself (`schedulingGroup`) belongs to that one, as a pod has one alone."""
    if find_other_schedulers(job, settings):
        return None
    if settings.pod_groups == KUBERNETES_POD_GROUPS and _names_own_group(job):
        return None
    return settings.pod_groups


def find_other_schedulers(job: Job, settings: Settings) -> tuple[str, ...]:
    """The schedulers that the job's templates name and that do not place its gang; none where no gangs are made."""
    if settings.pod_groups is None:
        return ()
    return tuple(sorted(name for name in _named(job) if name and settings.gang_scheduler not in ("", name)))


def is_of_volcano(job: Job, settings: Settings) -> bool:
    """Whether the pods have Volcano's annotations: by the settings, or because a role names it, as users create their
    own PodGroups. paddle-operator's examples name it for the workers only and mean all roles."""
    if settings.pod_groups is not None:
        return find_pod_groups(job, settings) == VOLCANO_POD_GROUPS
    return VOLCANO in _named(job)


def find_scheduler(job: Job, settings: Settings) -> str:
    """The scheduler of the pods whose template names none; empty for the cluster's default."""
    if find_pod_groups(job, settings) is not None:
        return settings.gang_scheduler
    return VOLCANO if is_of_volcano(job, settings) else ""


def _names_own_group(job: Job) -> bool:
    return any(role.template["spec"].get("schedulingGroup") for role in job.roles)


def _named(job: Job) -> set[str]:
    return {str(role.template["spec"].get("schedulerName") or "") for role in job.roles}
