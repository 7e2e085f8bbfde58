"""The PodGroup of a job, for each scheduler that places gangs: what it asks for, and what a resize changes of it.

Three API groups have the kind. What is written of Volcano's and of the scheduler-plugins' is what training-operator
v1.9 writes (pkg/controller.v1/common/scheduling.go, job.go, control/podgroup_control.go); docs/gangs.md has the table,
with the differences. Kubernetes' own (`scheduling.k8s.io/v1beta1`, Kubernetes 1.37, KEP-4671) has `minCount` within
`schedulingPolicy.gang`, and of its fields that one alone may change.

A PodGroup is changed only where what is asked for has changed, by a merge patch of our own fields, so that fields of
others (`minTaskMember`, `networkTopology`) stay.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from hashlib import sha256
from typing import Any

from paddock.jobs.labels import JOB_LABEL, POD_GROUP_ANNOTATION
from paddock.jobs.model import Child, Job, Role
from paddock.jobs.names import job_label, pod_group_name
from paddock.kube.meta import (
    KUBERNETES_POD_GROUPS,
    VOLCANO_POD_GROUPS,
    Manifest,
    Resource,
    annotations_of,
    owner_reference,
)
from paddock.kube.quantities import format_quantity, read_amounts

DEFAULT_QUEUE = "default"
"""The queue that Volcano installs, and that training-operator writes where a job names none."""
_WORKER = "worker"
_NOT_COPIED = ("paddock.dev/", "kubectl.kubernetes.io/")
"""Annotations of a job that say nothing to a scheduler: our own, and kubectl's copy of the whole manifest."""


def build_pod_group(job: Job, resource: Resource) -> Manifest:
    """The PodGroup of all ranks, or of as many as the gang needs to begin (`count_least`). It has the annotations of
    the job, as schedulers read options of their own there."""
    spec = _build_spec(job, resource)
    copied = {name: text for name, text in job.annotations.items() if not name.startswith(_NOT_COPIED)}
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": pod_group_name(job, resource),
            "namespace": job.key.namespace,
            "labels": {JOB_LABEL: job_label(job.key.name)},
            "annotations": {**copied, POD_GROUP_ANNOTATION: _hash(_changeable(spec, resource))},
            "ownerReferences": [owner_reference(job.owner())],
        },
        "spec": spec,
    }


def build_change(job: Job, group: Child) -> Manifest | None:
    """The merge patch after which `group`, which is ours, asks for what the job asks for now; None if it does."""
    wanted = build_pod_group(job, group.resource)
    asked = annotations_of(wanted)[POD_GROUP_ANNOTATION]
    # One that an older Paddock made has no hash: it is changed with its size, as it was then.
    if group.members in (None, read_members(wanted["spec"])) and group.asked in ("", asked):
        return None
    spec = _changeable(wanted["spec"], group.resource)
    if group.resource != KUBERNETES_POD_GROUPS and group.min_resources:
        # A merge patch leaves what it does not name.
        gone = dict.fromkeys(set(group.min_resources) - set(spec.get("minResources", {})))
        spec["minResources"] = {**gone, **spec["minResources"]} if spec.get("minResources") else None
    return {"metadata": {"annotations": {POD_GROUP_ANNOTATION: asked}}, "spec": spec}


def read_members(spec: Mapping[str, Any]) -> int | None:
    """How many pods a PodGroup of any of the three wants at the same time; None where it does not say."""
    policy = spec.get("schedulingPolicy")
    gang = policy.get("gang") if isinstance(policy, Mapping) else None
    found = gang.get("minCount") if isinstance(gang, Mapping) else spec.get("minMember")
    return found if isinstance(found, int) else None


def count_least(job: Job) -> int:
    """How many pods must be placed at the same time: `minAvailable`, else every rank; of an elastic role as many as a
    gang needs to begin. torchrun, which counts its ranks itself (`elasticPolicy`), begins with `minReplicas` workers;
    its Master is counted beside them."""
    elastic, asked = job.elasticity, job.scheduling.min_available
    if asked is not None:
        # A gang that has begun with fewer ranks would wait for ever for one that it does not have.
        return asked if elastic is None else min(asked, job.size)
    if elastic is not None:
        return sum(role.replicas for role in job.roles if role.name != elastic.role) + elastic.least
    workers = job.role(_WORKER)
    if job.launch.elastic is None or workers is None:
        return job.size
    return job.size - workers.replicas + min(job.launch.elastic.least, workers.replicas)


def find_priority_class(job: Job) -> str:
    """The PriorityClass of the PodGroup: the policy's, else the one that all its pods name."""
    named = {str(role.template["spec"].get("priorityClassName") or "") for role in job.roles}
    return job.scheduling.priority_class or (named.pop() if len(named) == 1 else "")


def _build_spec(job: Job, resource: Resource) -> Manifest:
    policy, least = job.scheduling, count_least(job)
    if resource == KUBERNETES_POD_GROUPS:
        # minCount 0 is refused, and minResources is not known there.
        spec: Manifest = {"schedulingPolicy": {"gang": {"minCount": max(1, least)}}}
        name = find_priority_class(job)
        return spec | ({"priorityClassName": name} if name else {})
    spec = {"minMember": least}
    if resources := dict(policy.min_resources) or _sum_of_requests(job, least):
        spec["minResources"] = resources
    if resource == VOLCANO_POD_GROUPS:
        spec["queue"] = policy.queue or DEFAULT_QUEUE
        if policy.priority_class:
            spec["priorityClassName"] = policy.priority_class
    elif policy.schedule_timeout is not None:
        spec["scheduleTimeoutSeconds"] = policy.schedule_timeout
    return spec


def _changeable(spec: Mapping[str, Any], resource: Resource) -> Manifest:
    """Without what stays as it was first: a PodGroup does not move to another queue (as in v1.9), and Kubernetes' own
    takes no other PriorityClass."""
    fixed = {"queue"} | ({"priorityClassName"} if resource == KUBERNETES_POD_GROUPS else set())
    return {name: value for name, value in spec.items() if name not in fixed}


def _hash(spec: Mapping[str, Any]) -> str:
    return sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:16]


def _sum_of_requests(job: Job, least: int) -> dict[str, str]:
    """Sum of the requests of the first `least` pods: roles in the job's order, an elastic role last. v1.9 means to
    order roles by the value of their PriorityClass, and in fact takes any order, as it never reads one."""
    total: dict[str, Fraction] = {}
    left = least
    for role in _in_order(job):
        count = min(role.wanted, left)
        left -= count
        for name, amount in _requests_of_pod(role.template["spec"]).items():
            total[name] = total.get(name, Fraction(0)) + amount * count
    return {name: format_quantity(amount) for name, amount in sorted(total.items()) if amount}


def _in_order(job: Job) -> Iterator[Role]:
    elastic = job.elasticity.role if job.elasticity is not None else None
    yield from (role for role in job.roles if role.name != elastic)
    yield from (role for role in job.roles if role.name == elastic)


def _requests_of_pod(spec: Mapping[str, Any]) -> dict[str, Fraction]:
    """Kubernetes' rule: the sum of the containers, or the largest init container if that is more."""
    requests = _add(_requests(container) for container in spec["containers"])
    for container in spec.get("initContainers") or ():
        for name, amount in _requests(container).items():
            requests[name] = max(amount, requests.get(name, Fraction(0)))
    return requests


def _requests(container: Mapping[str, Any]) -> dict[str, Fraction]:
    """For each resource its request, or its limit, as the API server's defaulting does."""
    resources: Mapping[str, Any] = container.get("resources") or {}
    return read_amounts(resources.get("limits")) | read_amounts(resources.get("requests"))


def _add(amounts: Iterable[Mapping[str, Fraction]]) -> dict[str, Fraction]:
    total: dict[str, Fraction] = {}
    for each in amounts:
        for name, amount in each.items():
            total[name] = total.get(name, Fraction(0)) + amount
    return total
