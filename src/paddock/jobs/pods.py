"""Job + rank -> its Pod. Names, labels and annotations are paddle-operator's, so that tools that know those find them.

What a user wrote in the template passes through untouched but for what this page names: owner and labels, the rank's
environment in the container that trains, host name and network, the gang's mark, and `restartPolicy: Never`, as ranks
restart together and never alone. The manifest's environment beats what the job shares, and loses against what makes the
rank this rank.

`read_job` has checked what is read here. Services, ConfigMaps and PodGroups are in `jobs.objects`; the way back, from a
pod to what is known of its rank, is in `jobs.observed`. All are offered here, as one place to import from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.jobs.model import (
    ATTEMPT_LABEL,
    INDEX_LABEL,
    JOB_LABEL,
    PORT_ANNOTATION,
    ROLE_LABEL,
    Intranet,
    Job,
    Rank,
    Role,
    Settings,
)
from paddock.jobs.objects import (
    build_config_map,
    build_pod_group,
    build_service,
    config_map_name,
    needs_config_map,
    pod_name,
)
from paddock.jobs.observed import read_pod
from paddock.kube.meta import POD_GROUPS, VOLCANO_POD_GROUPS, Manifest, owner_reference

__all__ = [
    "build_config_map",
    "build_pod",
    "build_pod_group",
    "build_service",
    "config_map_name",
    "main_container",
    "needs_config_map",
    "output_directory",
    "pod_name",
    "read_pod",
]

VOLCANO = "volcano"
POD_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
DEFAULT_CONTAINER_ANNOTATION = "kubectl.kubernetes.io/default-container"
OUTPUT_VOLUME = "paddock-output"

_LONGEST_HOST_NAME = 63


def build_pod(job: Job, rank: Rank, attempt: int, port: int | None, settings: Settings) -> Manifest:
    """The pod of `rank` in `attempt`. `port` is the first of the job's block, None where the default will do."""
    role = job.role(rank.role)
    assert role is not None, f"{rank} is no rank of {job.key}"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(job, role, rank, attempt, port, settings),
        "spec": _spec(job, role, rank, attempt, port, settings),
    }


def main_container(job: Job, containers: Sequence[Mapping[str, Any]]) -> int:
    """The index of the container that trains: the one named after the framework, else the first."""
    wanted = FRAMEWORKS[job.framework].container
    return next((index for index, container in enumerate(containers) if container.get("name") == wanted), 0)


def output_directory(job: Job, settings: Settings) -> str | None:
    """The job's own directory on the node, which outlives its attempts; None where volumes do that."""
    if settings.output_root is None:
        return None
    return f"{settings.output_root.rstrip('/')}/{job.key.namespace}/{job.key.name}-{job.uid[:8]}"


def _metadata(job: Job, role: Role, rank: Rank, attempt: int, port: int | None, settings: Settings) -> Manifest:
    name = pod_name(job, rank)
    template: Mapping[str, Any] = role.template.get("metadata") or {}
    containers = role.template["spec"]["containers"]
    labels = {
        **(template.get("labels") or {}),
        "paddle-res-name": name,
        "paddle-res-type": role.name,
        JOB_LABEL: job.key.name,
        ROLE_LABEL: role.name,
        INDEX_LABEL: str(rank.index),
        ATTEMPT_LABEL: str(attempt),
    }
    annotations = {
        DEFAULT_CONTAINER_ANNOTATION: containers[main_container(job, containers)]["name"],
        **(template.get("annotations") or {}),
        "paddle-resource": role.name,
    }
    if port is not None:
        annotations[PORT_ANNOTATION] = str(port)
    if settings.pod_groups == POD_GROUPS:
        labels[POD_GROUP_LABEL] = job.key.name
    elif _is_of_volcano(job, settings):
        annotations |= _volcano_annotations(job, role)
    return {
        "name": name,
        "namespace": job.key.namespace,
        "labels": labels,
        "annotations": annotations,
        "ownerReferences": [owner_reference(job.owner())],
    }


def _spec(job: Job, role: Role, rank: Rank, attempt: int, port: int | None, settings: Settings) -> Manifest:
    spec: Manifest = dict(role.template["spec"])
    name = pod_name(job, rank)
    if len(name) <= _LONGEST_HOST_NAME:
        spec["hostname"] = spec.get("hostname") or name
        spec["subdomain"] = spec.get("subdomain") or name
    if job.network.intranet is Intranet.HOST:
        spec["hostNetwork"] = True
        spec["dnsPolicy"] = spec.get("dnsPolicy") or "ClusterFirstWithHostNet"
    if _is_of_volcano(job, settings):
        spec["schedulerName"] = spec.get("schedulerName") or VOLCANO
    spec["restartPolicy"] = "Never"
    directory = output_directory(job, settings)
    if directory is not None:
        volume = {"name": OUTPUT_VOLUME, "hostPath": {"path": directory, "type": "DirectoryOrCreate"}}
        spec["volumes"] = [*(spec.get("volumes") or ()), volume]
    containers = list(spec["containers"])
    main = main_container(job, containers)
    containers[main] = _trained(job, rank, attempt, port, directory, containers[main])
    spec["containers"] = containers
    return spec


def _trained(
    job: Job, rank: Rank, attempt: int, port: int | None, directory: str | None, container: Mapping[str, Any]
) -> Manifest:
    """The container that trains, with its rank's environment."""
    framework = FRAMEWORKS[job.framework]
    result: Manifest = dict(container)
    ours = [*framework.build_environment(job, rank), {"name": "PADDOCK_ATTEMPT", "value": str(attempt)}]
    if directory is not None:
        ours.append({"name": "PADDOCK_OUTPUT_DIR", "value": directory})
        ours.append({"name": "PADDOCK_CHECKPOINT_DIR", "value": f"{directory}/checkpoint"})
        mount = {"name": OUTPUT_VOLUME, "mountPath": directory}
        result["volumeMounts"] = [*(result.get("volumeMounts") or ()), mount]
    names = {entry["name"] for entry in ours}
    result["env"] = [entry for entry in result.get("env") or () if entry["name"] not in names] + ours
    if needs_config_map(job):
        source = {"configMapRef": {"name": config_map_name(job, attempt)}}
        result["envFrom"] = [*(result.get("envFrom") or ()), source]
    if job.network.intranet is Intranet.SERVICE:
        result["ports"] = _with_port(result.get("ports") or (), port or framework.default_port)
    return result


def _with_port(ports: Sequence[Manifest], port: int) -> list[Manifest]:
    if any(entry.get("containerPort") == port for entry in ports):
        return list(ports)
    return [*ports, {"containerPort": port}]


def _is_of_volcano(job: Job, settings: Settings) -> bool:
    """Told to, or named by a role: the documents name it on the workers alone and mean the servers as well."""
    if settings.pod_groups is not None:
        return settings.pod_groups == VOLCANO_POD_GROUPS
    return any(role.template["spec"].get("schedulerName") == VOLCANO for role in job.roles)


def _volcano_annotations(job: Job, role: Role) -> dict[str, str]:
    annotations = {
        "scheduling.k8s.io/group-name": job.key.name,
        "volcano.sh/job-name": job.key.name,
        "volcano.sh/task-spec": role.name,
        "volcano.sh/job-version": "0",
    }
    if job.scheduling.queue:
        annotations["volcano.sh/queue-name"] = job.scheduling.queue
    return annotations
