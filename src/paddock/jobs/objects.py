"""What a job has besides its pods: a Service for each rank, a ConfigMap for each attempt, one PodGroup.

The ConfigMap is what ranks share: it is made once all of an attempt's pods have addresses, never changes, and until
it exists no rank starts. Attempt 0 has the job's own name, as with paddle-operator. Pods are in `jobs.pods`, names in
`jobs.names`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from hashlib import sha256
from typing import Any

from paddock.jobs.apis.registry import KINDS
from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.jobs.labels import ADDRESSES_ANNOTATION, ATTEMPT_LABEL, INDEX_LABEL, JOB_LABEL, ROLE_LABEL
from paddock.jobs.model import Job, Rank
from paddock.jobs.names import config_map_name, host_name, job_label, pod_group_name
from paddock.kube.meta import VOLCANO_POD_GROUPS, Manifest, Resource, owner_reference
from paddock.kube.quantities import format_quantity, read_amounts


def needs_config_map(job: Job) -> bool:
    return FRAMEWORKS[job.framework].needs_addresses(job)


def build_service(job: Job, rank: Rank) -> Manifest:
    """A headless Service that resolves the rank's name, before the pod is ready too, as ranks meet while they start."""
    labels = {ROLE_LABEL: rank.role, INDEX_LABEL: str(rank.index)}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(job, host_name(job, rank), labels),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": dict(KINDS[job.resource].build_marks(job, rank).selector),
            "ports": FRAMEWORKS[job.framework].build_service_ports(job),
        },
    }


def build_config_map(job: Job, attempt: int, addresses: Mapping[Rank, str], port: int | None) -> Manifest:
    """The endpoints of `attempt`. `addresses` holds every rank's; `port` as for `build_pod`."""
    framework = FRAMEWORKS[job.framework]
    labels = {"paddle-res-name": job_label(job.key.name), ATTEMPT_LABEL: str(attempt)}
    mark = mark_addresses(job, addresses)
    marked = {"annotations": {ADDRESSES_ANNOTATION: mark}} if mark else {}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(job, config_map_name(job, attempt), labels) | marked,
        "immutable": True,
        "data": framework.build_endpoints(job, addresses, framework.default_port if port is None else port),
    }


def mark_addresses(job: Job, addresses: Mapping[Rank, str]) -> str:
    """Stands for the addresses of all ranks: other ones have another mark. Empty where the endpoints are names, which
    stay true whatever addresses are behind them."""
    framework = FRAMEWORKS[job.framework]
    nowhere = {rank: str(rank) for rank in job.ranks()}
    if framework.build_endpoints(job, addresses, 0) == framework.build_endpoints(job, nowhere, 0):
        return ""
    told = ",".join(f"{rank}={addresses[rank]}" for rank in job.ranks())
    return sha256(told.encode()).hexdigest()[:16]


def build_pod_group(job: Job, resource: Resource) -> Manifest:
    """All ranks or none. `schedulingPolicy` may ask for fewer, and then the sum of resources is the scheduler's."""
    policy = job.scheduling
    least = job.size if policy.min_available is None else policy.min_available
    spec: Manifest = {"minMember": least}
    resources = dict(policy.min_resources)
    if not resources and least >= job.size:
        resources = _sum_of_requests(job)
    if resources:
        spec["minResources"] = resources
    if resource.group == VOLCANO_POD_GROUPS.group:
        if policy.queue:
            spec["queue"] = policy.queue
        if policy.priority_class:
            spec["priorityClassName"] = policy.priority_class
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": _metadata(job, pod_group_name(job, resource), {}),
        "spec": spec,
    }


def _metadata(job: Job, name: str, labels: Mapping[str, str]) -> Manifest:
    return {
        "name": name,
        "namespace": job.key.namespace,
        "labels": {JOB_LABEL: job_label(job.key.name), **labels},
        "ownerReferences": [owner_reference(job.owner())],
    }


def _sum_of_requests(job: Job) -> dict[str, str]:
    total: dict[str, Fraction] = {}
    for role in job.roles:
        for name, amount in _requests_of_pod(role.template["spec"]).items():
            total[name] = total.get(name, Fraction(0)) + amount * role.replicas
    return {name: format_quantity(amount) for name, amount in sorted(total.items())}


def _requests_of_pod(spec: Mapping[str, Any]) -> dict[str, Fraction]:
    """As the scheduler counts: the containers together, or the largest init container if that is more."""
    requests = _add(_requests(container) for container in spec["containers"])
    for container in spec.get("initContainers") or ():
        for name, amount in _requests(container).items():
            requests[name] = max(amount, requests.get(name, Fraction(0)))
    return requests


def _requests(container: Mapping[str, Any]) -> dict[str, Fraction]:
    """Resource by resource: what is requested, else the limit, as the API server defaults it."""
    resources: Mapping[str, Any] = container.get("resources") or {}
    return read_amounts(resources.get("limits")) | read_amounts(resources.get("requests"))


def _add(amounts: Iterable[Mapping[str, Fraction]]) -> dict[str, Fraction]:
    total: dict[str, Fraction] = {}
    for each in amounts:
        for name, amount in each.items():
            total[name] = total.get(name, Fraction(0)) + amount
    return total
