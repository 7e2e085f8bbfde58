"""Which scheduler places a job's pods, and whether it places them as a gang.

A scheduler places the pods that name it in `schedulerName`. So a job has a PodGroup only if its pods go to the gang's
scheduler: another name in one of its templates (`default-scheduler` too) is the user's choice of no gang, as in
paddle-operator. On a laptop one scheduler places the pods of every name, as gangs.
"""

from __future__ import annotations

from collections.abc import Mapping

from paddock.jobs.model import Job, Settings
from paddock.kube.meta import POD_GROUPS, VOLCANO_POD_GROUPS, Resource

VOLCANO = "volcano"
GANG_SCHEDULERS: Mapping[Resource, str] = {VOLCANO_POD_GROUPS: VOLCANO, POD_GROUPS: "scheduler-plugins-scheduler"}
"""The usual name of the scheduler of these PodGroups: that of its own charts."""
DEFAULT_SCHEDULER = "default-scheduler"
"""The name that the API server writes into a pod without one."""


def find_pod_groups(job: Job, settings: Settings) -> Resource | None:
    """The resource of the job's PodGroup; None for a job without one."""
    others = {name for name in _named(job) if name and settings.gang_scheduler not in ("", name)}
    return None if others else settings.pod_groups


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


def _named(job: Job) -> set[str]:
    return {str(role.template["spec"].get("schedulerName") or "") for role in job.roles}
