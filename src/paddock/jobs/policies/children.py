"""The difference between the children that an unfinished job should have and those that exist: creates and deletes.

Services and pods have deterministic names, so the API refuses to create one twice. Order: the PodGroup alone first,
then pods and services together, then the attempt's ConfigMap, once every pod has an address. `jobs.objects.pods` builds
the objects; `jobs.plan` decides when to create them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from paddock.jobs.actions import Built, Create, Delete, Patch
from paddock.jobs.model import Child, Job, Observed, Pod, Rank, Settings, Status
from paddock.jobs.objects import pods
from paddock.jobs.objects.pod_groups import build_change
from paddock.jobs.objects.schedulers import find_pod_groups
from paddock.jobs.policies.ports import kept_port
from paddock.kube.meta import CONFIG_MAPS, PODS, SERVICES, Key


def plan_pods(
    job: Job,
    status: Status,
    ranks: Sequence[Rank],
    port: int | None,
    settings: Settings,
    claims: Mapping[str, str],
    config_map: str,
    *,
    queued: bool,
) -> tuple[Create, ...]:
    """`claims`: by Dataset what the pods mount of it. `config_map`: the name of the attempt's. `queued`: as in
    `build_pod`."""
    made = (status.attempt, port, settings)
    return tuple(
        Create(PODS, pods.RankPod(job, rank, *made, status.renewal(rank), claims, config_map, queued)) for rank in ranks
    )


def plan_services(job: Job, observed: Observed) -> tuple[Create, ...]:
    """A Service for each rank without one."""
    # A Service that is being deleted keeps its name until it is gone.
    there = {child.name for child in observed.services}
    return tuple(
        Create(SERVICES, pods.RankService(job, rank)) for rank in job.ranks() if pods.host_name(job, rank) not in there
    )


def plan_pod_group(job: Job, observed: Observed, settings: Settings) -> tuple[Create | Patch, ...]:
    """The gang's PodGroup, or what it asks for after the job was edited. A PodGroup that the user created stays as it
    is."""
    resource = find_pod_groups(job, settings)
    if resource is None:
        return ()
    group = observed.pod_group
    if group is None:
        return (Create(resource, Built(pods.build_pod_group(job, resource))),)
    change = None if group.deleting or not group.owned else build_change(job, group)
    if change is None:
        return ()
    return (Patch(group.resource, Key(job.key.namespace, group.name), group.uid, change),)


def plan_config_map(job: Job, status: Status, observed: Observed) -> tuple[Create, ...]:
    """The endpoints of the attempt, once all its pods have addresses; never changed afterwards."""
    name = pods.find_config_map(job, status.attempt, observed.pods)
    if not pods.needs_config_map(job) or any(child.name == name for child in observed.config_maps):
        return ()
    gang = observed.gang(status)
    addresses = {pod.rank: pod.address for pod in gang if pod.address}
    if any(rank not in addresses for rank in job.ranks()):
        return ()
    return (Create(CONFIG_MAPS, Built(pods.build_config_map(job, status.attempt, addresses, kept_port(gang), name))),)


def plan_leftovers(job: Job, status: Status, observed: Observed) -> tuple[Delete, ...]:
    """Services of ranks that the job no longer has, and ConfigMaps of earlier attempts."""
    names = {pods.host_name(job, rank) for rank in job.ranks()}
    current = pods.find_config_map(job, status.attempt, observed.pods)
    services = [child for child in observed.services if child.name not in names]
    config_maps = [child for child in observed.config_maps if child.name != current]
    return plan_deletes(job, (*services, *config_maps))


def plan_removal(job: Job, observed: Observed, *, services: bool) -> tuple[Delete, ...]:
    """Deletes at the end of a job: the job's own PodGroup, and with `services` its Services."""
    # A PodGroup holds quota in a queue, so it goes under every cleanPodPolicy.
    group = (observed.pod_group,) if observed.pod_group is not None and observed.pod_group.owned else ()
    return plan_deletes(job, (*(observed.services if services else ()), *group))


def plan_deletes(job: Job, children: Iterable[Child]) -> tuple[Delete, ...]:
    return tuple(
        Delete(child.resource, Key(job.key.namespace, child.name), child.uid, former=child.former)
        for child in children
        if not child.deleting
    )


def plan_pod_delete(job: Job, pod: Pod, *, former: bool = False) -> Delete:
    """With the pod's own grace period: the program may save its work."""
    return Delete(PODS, Key(job.key.namespace, pod.name), pod.uid, former=former)
