"""Pods, nodes and PodGroups as the API hands them out: one good base each, and one change per argument."""

from __future__ import annotations

from typing import Any

from paddock.kube.meta import POD_GROUPS, VOLCANO_POD_GROUPS, Manifest
from paddock.kube.times import format_time
from paddock.node.scheduler.pod_request import GROUP_ANNOTATION, GROUP_LABEL


def pod(
    name: str = "x",
    *,
    at: float = 0,
    requests: dict[str, Any] | None = None,
    limits: dict[str, Any] | None = None,
    node: str = "",
    phase: str = "Pending",
    gang: str = "",
    volcano: str = "",
    owner: str = "",
    port: int | None = None,
    host_port: int | None = None,
    deleting: bool = False,
    grace: int | None = None,
    spare: bool = False,
    status: Manifest | None = None,
    **spec: Any,
) -> Manifest:
    metadata: Manifest = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    metadata["creationTimestamp"] = format_time(at)
    if gang:
        metadata["labels"] = {GROUP_LABEL: gang}
    if spare:
        metadata["labels"] = {**metadata.get("labels", {}), "paddock.dev/spare": "true"}
    annotations = {GROUP_ANNOTATION: volcano} if volcano else {}
    if port:
        annotations["paddock.dev/port"] = str(port)
    if annotations:
        metadata["annotations"] = annotations
    if owner:
        metadata["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "PaddleJob", "name": owner, "uid": f"uid-{owner}", "controller": True}
        ]
    if deleting:
        metadata["deletionTimestamp"] = format_time(at)
    if grace is not None:
        metadata["deletionGracePeriodSeconds"] = grace
    container: Manifest = {"name": "main", "image": "x", "resources": {}}
    if requests is not None:
        container["resources"]["requests"] = requests
    if limits is not None:
        container["resources"]["limits"] = limits
    if host_port:
        container["ports"] = [{"containerPort": host_port, "hostPort": host_port}]
    whole: Manifest = {"containers": [container], **spec}
    if node:
        whole["nodeName"] = node
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": whole,
        "status": {"phase": phase, **(status or {})},
    }


def node(
    name: str = "laptop",
    *,
    cpu: str = "4",
    memory: str = "8Gi",
    gpus: int = 0,
    labels: dict[str, str] | None = None,
    ready: str = "True",
    pods: int = 110,
    **spec: Any,
) -> Manifest:
    amounts: Manifest = {"cpu": cpu, "memory": memory, "pods": str(pods)}
    if gpus:
        amounts["nvidia.com/gpu"] = str(gpus)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": spec,
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": ready}]},
    }


def group(name: str = "train", minimum: int = 2, *, volcano: bool = False, at: float = 0, **spec: Any) -> Manifest:
    resource = VOLCANO_POD_GROUPS if volcano else POD_GROUPS
    return {
        "apiVersion": resource.api_version,
        "kind": "PodGroup",
        "metadata": {
            "name": name, "namespace": "default", "uid": f"uid-group-{name}", "creationTimestamp": format_time(at),
        },
        "spec": {"minMember": minimum, **spec},
    }  # fmt: skip


def volume(
    name: str = "pv",
    *,
    storage: str = "10Gi",
    modes: tuple[str, ...] = ("ReadWriteOnce",),
    storage_class: str = "slow",
    claim: str = "",
    claim_uid: str = "",
    phase: str = "Available",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    deleting: bool = False,
    source: Manifest | None = None,
    **spec: Any,
) -> Manifest:
    whole: Manifest = {
        "capacity": {"storage": storage},
        "accessModes": list(modes),
        "storageClassName": storage_class,
        **(source or {"nfs": {"server": "10.12.201.xx", "path": "/nas"}}),
        **spec,
    }
    if claim:
        whole["claimRef"] = {"namespace": "default", "name": claim, **({"uid": claim_uid} if claim_uid else {})}
    metadata: Manifest = {"name": name, "uid": f"uid-{name}", "labels": labels or {}, "annotations": annotations or {}}
    if deleting:
        metadata["deletionTimestamp"] = format_time(0)
    return {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": whole, "status": {"phase": phase},
    }  # fmt: skip


def claim(
    name: str = "data",
    *,
    uid: str = "",
    at: float = 0,
    storage: str = "10Gi",
    modes: tuple[str, ...] = ("ReadWriteOnce",),
    storage_class: str | None = "slow",
    phase: str = "Pending",
    directory: str = "",
    deleting: bool = False,
    **spec: Any,
) -> Manifest:
    whole: Manifest = {"accessModes": list(modes), "resources": {"requests": {"storage": storage}}, **spec}
    if storage_class is not None:
        whole["storageClassName"] = storage_class
    metadata: Manifest = {
        "name": name, "namespace": "default", "uid": uid or f"uid-{name}", "creationTimestamp": format_time(at),
    }  # fmt: skip
    if directory:
        metadata["annotations"] = {"paddock.dev/directory": directory}
    if deleting:
        metadata["deletionTimestamp"] = format_time(at)
    return {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": whole,
        "status": {"phase": phase},
    }  # fmt: skip
