"""A job's objects besides its pods: a Service for each rank, a ConfigMap for each attempt, an autoscaler.

The ConfigMap has the variables that all ranks share. It is created when all pods of an attempt have addresses, and is
immutable; no rank starts before it exists. Its name is never used again (decision 40). Pods are in
`jobs.objects.pods`, PodGroups in `jobs.objects.pod_groups`, names in `jobs.names`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256

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
from paddock.jobs.model import Job, Pod, Rank
from paddock.jobs.names import config_map_name, former_config_map_name, host_name, job_label
from paddock.kube.meta import Manifest, Resource, owner_reference


def needs_config_map(job: Job) -> bool:
    return FRAMEWORKS[job.framework].needs_addresses(job)


def find_config_map(job: Job, attempt: int, pods: Iterable[Pod]) -> str:
    """The name of the ConfigMap of `attempt`, which is in the spec of each of its pods: the name that those that are
    there carry, whoever made them. Those that do not say it are of paddle-operator, or of an earlier Paddock."""
    names = {pod.config_map for pod in pods if pod.attempt == attempt and not pod.spare}
    if not names:
        return config_map_name(job, attempt)
    return min(names) or former_config_map_name(job, attempt)


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


def build_config_map(
    job: Job, attempt: int, addresses: Mapping[Rank, str], port: int | None, name: str = ""
) -> Manifest:
    """The endpoints of `attempt`. `addresses` has all ranks; `port` and `name` as for `build_pod`."""
    framework = FRAMEWORKS[job.framework]
    labels = KINDS[job.resource].build_config_map_labels(job) | {ATTEMPT_LABEL: str(attempt)}
    hashed = hash_addresses(job, addresses)
    annotations = {"annotations": {ADDRESSES_ANNOTATION: hashed}} if hashed else {}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(job, name or config_map_name(job, attempt), labels) | annotations,
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
