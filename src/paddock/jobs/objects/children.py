"""A job's objects besides its pods: a Service for each rank, a ConfigMap for each attempt, one PodGroup.

The ConfigMap has the variables that all ranks share. It is created when all pods of an attempt have addresses, and is
immutable; no rank starts before it exists. The ConfigMap of attempt 0 has the job's name, as in paddle-operator. Pods
are in `jobs.objects.pods`, names in `jobs.names`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from hashlib import sha256
from typing import Any

from paddock.jobs.apis.registry import KINDS
from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.jobs.labels import (
    ADDRESSES_ANNOTATION,
    ATTEMPT_LABEL,
    AUTOSCALER_ANNOTATION,
    INDEX_LABEL,
    JOB_LABEL,
    ROLE_LABEL,
)
from paddock.jobs.model import Job, Rank
from paddock.jobs.names import config_map_name, host_name, job_label, pod_group_name
from paddock.kube.meta import VOLCANO_POD_GROUPS, Manifest, Resource, owner_reference
from paddock.kube.quantities import format_quantity, read_amounts


def needs_config_map(job: Job) -> bool:
    return FRAMEWORKS[job.framework].needs_addresses(job)


def build_service(job: Job, rank: Rank) -> Manifest:
    """A headless Service that resolves the rank's name, also before the pod is ready: ranks connect while they
    start. By the labels of the API group its own operator finds it, should the job go back there."""
    of_group = KINDS[job.resource].build_pod_labels(job, rank)
    labels = {**of_group.service, ROLE_LABEL: rank.role, INDEX_LABEL: str(rank.index)}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(job, host_name(job, rank), labels),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": dict(of_group.selector),
            "ports": FRAMEWORKS[job.framework].build_service_ports(job, rank),
        },
    }


def build_config_map(job: Job, attempt: int, addresses: Mapping[Rank, str], port: int | None) -> Manifest:
    """The endpoints of `attempt`. `addresses` has all ranks; `port` as for `build_pod`."""
    framework = FRAMEWORKS[job.framework]
    labels = KINDS[job.resource].build_config_map_labels(job) | {ATTEMPT_LABEL: str(attempt)}
    hashed = hash_addresses(job, addresses)
    annotations = {"annotations": {ADDRESSES_ANNOTATION: hashed}} if hashed else {}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(job, config_map_name(job, attempt), labels) | annotations,
        "immutable": True,
        "data": framework.build_endpoints(job, addresses, framework.default_port if port is None else port),
    }


def hash_addresses(job: Job, addresses: Mapping[Rank, str]) -> str:
    """A hash of the addresses of all ranks. Empty if the endpoints are names, which stay valid when addresses
    change."""
    framework = FRAMEWORKS[job.framework]
    placeholders = {rank: str(rank) for rank in job.ranks()}
    # the same endpoints from other addresses: they consist of names
    if framework.build_endpoints(job, addresses, 0) == framework.build_endpoints(job, placeholders, 0):
        return ""
    joined = ",".join(f"{rank}={addresses[rank]}" for rank in job.ranks())
    return sha256(joined.encode()).hexdigest()[:16]


def build_pod_group(job: Job, resource: Resource) -> Manifest:
    """The PodGroup of all ranks, or of `minAvailable` of them. The sum of requests is set for all ranks only. Volcano's
    has no timeout."""
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
    elif policy.schedule_timeout is not None:
        spec["scheduleTimeoutSeconds"] = policy.schedule_timeout
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": _metadata(job, pod_group_name(job, resource), {}),
        "spec": spec,
    }


def build_autoscaler(job: Job, resource: Resource) -> Manifest:
    """The HorizontalPodAutoscaler of an elastic job, in the shape of autoscaling/v2. It scales the job itself."""
    elastic = job.launch.elastic
    assert elastic is not None, f"{job.key} is not elastic"
    least = max(elastic.least, 1)  # 0 needs a feature gate of Kubernetes
    spec: Manifest = {
        "scaleTargetRef": {
            "apiVersion": job.resource.api_version, "kind": job.resource.kind, "name": job.key.name,
        },
        "minReplicas": least,
        "maxReplicas": max(elastic.most, least),
        "metrics": [dict(metric) for metric in elastic.metrics or ()],
    }  # fmt: skip
    asked = sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:16]
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": _metadata(job, job.key.name, {}) | {"annotations": {AUTOSCALER_ANNOTATION: asked}},
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
