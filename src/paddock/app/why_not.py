"""What a job that does not exist yet would wait for: a dry run of `node.scheduler.placement` and of the images.

For the command line and the console, which have a manifest. Nothing is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from paddock.app.programs import explain_images
from paddock.jobs.causes import Cause, ImageUnavailable, WaitingForScheduler
from paddock.jobs.datasets import find_named, plan_gate
from paddock.jobs.model import CauseRecord, Datasets, Job, Role, Settings, Status
from paddock.jobs.objects.pods import build_pod, build_pod_group
from paddock.jobs.policies.suspend import explain_suspension
from paddock.kube.api import Api
from paddock.kube.datasets import read_status
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import CLAIMS, DATASETS, ENVIRONMENTS, NODES, POD_GROUPS, PODS, Key, Manifest, key_of
from paddock.kube.times import Moment
from paddock.node.scheduler.placement import Wait, plan_placement


def explain_placement(
    wanted: Sequence[Manifest],
    pods: Iterable[Manifest],
    nodes: Iterable[Manifest],
    groups: Iterable[Manifest],
    now: Moment,
    claims: Iterable[Manifest] = (),
) -> dict[str, str]:
    """Pod name -> the scheduler's sentence, for each pod of `wanted` that would wait. `pods`, `claims`: the existing
    ones."""
    names = {key_of(pod) for pod in wanted}
    others = [pod for pod in pods if key_of(pod) not in names]
    return {
        decision.name: decision.message
        for decision in plan_placement([*others, *wanted], nodes, groups, now, claims=claims)
        if isinstance(decision, Wait) and any(key_of(pod).name == decision.name for pod in wanted)
    }


def plan_images(job: Job, environments: Sequence[Manifest], now: Moment) -> list[CauseRecord]:
    """The cause that the operator would record for each image that stands for no environment here. Pure."""
    unknown = explain_images(job, environments).unknown
    return [ImageUnavailable(rank, message).record(now) for message, rank in unknown.items()]


def plan_hold(job: Job, now: Moment) -> list[CauseRecord]:
    """The cause of a job whose manifest suspends it, as one for Kueue does: it has no pods until that is taken back.
    Pure."""
    return [explain_suspension(job, Status()).record(now)] if job.policies.suspend else []


def without_claims(job: Job, claims: Collection[Key] | None) -> Job:
    """The job without the volumes of these claims (None: of any), for which no pod has to wait, and without its
    Datasets (`plan_datasets`). Pure."""

    def is_waited_for(volume: Manifest) -> bool:
        name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        return not name or (claims is not None and Key(job.key.namespace, str(name)) not in claims)

    def drop(role: Role) -> Role:
        spec = role.template.get("spec") or {}
        kept = [volume for volume in spec.get("volumes") or () if is_waited_for(volume)]
        return replace(role, template={**role.template, "spec": {**spec, "volumes": kept}})

    return replace(job, roles=tuple(map(drop, job.roles)), mounts=())


def plan_datasets(job: Job, datasets: Iterable[Manifest], now: Moment) -> list[CauseRecord]:
    """The cause that the operator would record while a Dataset that the job names is not ready. `datasets`: those of
    the place. Pure."""
    there = {each.name: each for each in map(read_status, datasets) if each.namespace == job.key.namespace}
    gate = plan_gate(job, Datasets(there, tuple(there)))
    return [gate.record(now)] if isinstance(gate, Cause) else []


def build_wanted(job: Job) -> list[Manifest]:
    """The pods of the job's first attempt. Pure."""
    settings = Settings(pod_groups=POD_GROUPS)
    return [build_pod(job, rank, 0, None, settings) for role in job.roles for rank in role.ranks()]


def plan_why_not(
    job: Job,
    pods: list[Manifest],
    nodes: list[Manifest],
    groups: list[Manifest],
    now: Moment,
    claims: Sequence[Manifest] = (),
) -> CauseRecord | None:
    """The cause that the operator would record if the job were submitted now; None if all of its pods fit. Pure."""
    wanted = build_wanted(job)
    group = build_pod_group(job, POD_GROUPS)
    waits = explain_placement(wanted, pods, nodes, [*groups, group], now, claims)
    if not waits:
        return None
    return WaitingForScheduler(len(waits), len(wanted), next(iter(waits.values()))).record(now)


async def fetch_waits(api: Api, job: Job, now: Moment) -> list[CauseRecord]:
    """What the job would wait for on this machine; nothing if it would start. Raises `ApiError`."""
    kinds = (PODS, NODES, POD_GROUPS, ENVIRONMENTS, CLAIMS)
    pods, nodes, groups, environments, claims = [(await api.list(kind)).items for kind in kinds]
    # In a thread: for 300 ranks it takes a second, and the cluster runs in this process.
    cause = await asyncio.to_thread(plan_why_not, replace(job, mounts=()), pods, nodes, groups, now, claims)
    awaited = await fetch_awaited(api, job, now)
    return [*plan_hold(job, now), *awaited, *plan_images(job, environments, now), *([cause] if cause else [])]


async def fetch_awaited(api: Api, job: Job, now: Moment) -> list[CauseRecord]:
    """As `plan_datasets`; nothing where this reader may not see them. Raises `ApiError`."""
    if not find_named(job):
        return []
    try:
        return plan_datasets(job, (await api.list(DATASETS, job.key.namespace)).items, now)
    except Forbidden:
        return []
    except NotFound:  # the kind is not served
        gate = plan_gate(job, Datasets(unserved=""))
        return [gate.record(now)] if isinstance(gate, Cause) else []


async def fetch_cluster_waits(api: Api, job: Job, now: Moment) -> list[CauseRecord]:
    """What the job would wait for by the nodes and pods that this reader may list; the cluster's scheduler decides, and
    whether its images can be pulled is not known. Raises `ApiError`, `Forbidden` among them."""
    held = plan_hold(job, now)
    pods, nodes = [(await api.list(kind)).items for kind in (PODS, NODES)]
    try:
        claims: list[Manifest] | None = (await api.list(CLAIMS, job.key.namespace)).items
    except Forbidden:
        claims = None
    # A claim that is there may be bound when its first pod is scheduled (its class says so): it is not waited for.
    usable = None if claims is None else {key_of(claim) for claim in claims}
    cause = await asyncio.to_thread(plan_why_not, without_claims(job, usable), pods, nodes, [], now, claims or ())
    return [*held, *await fetch_awaited(api, job, now), *([cause] if cause else [])]
