"""PersistentVolumes and their claims as values, and where a volume's data are on this machine. Pure.

A volume of type hostPath or local is the directory that it names. Every other type (nfs, csi, …) is not mounted on a
laptop: its data are in a directory of this node, `ROOT/<name of the volume>`, and every message about it says so.
`paddock.node.volumes.claims` decides which claim gets which volume; `paddock.node.volumes.binder` acts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import PurePath
from typing import Any

from paddock.kube.meta import (
    CLAIMS,
    VOLUMES,
    Key,
    Manifest,
    annotations_of,
    is_deleting,
    key_of,
    labels_of,
    metadata,
    name_of,
    uid_of,
    version_of,
)
from paddock.kube.quantities import read_quantity
from paddock.kube.times import Moment, read_time

DIRECTORY_ANNOTATION = "paddock.dev/directory"
"""On a bound claim and its volume: the directory of the data on this machine, which the kubelet mounts."""
PROVISIONED_ANNOTATION = "pv.kubernetes.io/provisioned-by"
"""Kubernetes' annotation of a dynamically provisioned volume."""
PROVISIONER = "paddock.dev/directory"
NOT_BOUND = "Bound"
"""The type of the condition of a claim that waits: status False, with reason and message."""

_NO_SOURCE = frozenset(
    {"capacity", "accessModes", "claimRef", "persistentVolumeReclaimPolicy", "storageClassName", "mountOptions"}
    | {"volumeMode", "nodeAffinity", "volumeAttributesClassName"}
)
_SHOWN = 5
"""How many names a message lists."""


@dataclass(frozen=True, slots=True)
class Volume:
    """A PersistentVolume."""

    name: str
    directory: str  # its data on this machine
    uid: str = ""
    version: str = ""
    capacity: Fraction = Fraction(0)
    modes: tuple[str, ...] = ()
    storage_class: str = ""
    mode: str = "Filesystem"
    labels: Mapping[str, str] = field(default_factory=dict)
    claim: Key | None = None  # that of its claimRef
    claim_uid: str = ""  # empty if a person has reserved it
    policy: str = "Retain"
    phase: str = ""
    annotated: str = ""  # its directory as recorded in its annotation
    source: str = ""  # what it is on a cluster (`nfs server:/path`); empty for a directory
    provisioned: bool = False
    ours: bool = False  # the directory is below our root
    makes: bool = False  # the directory is created if missing
    deleting: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim."""

    key: Key
    uid: str = ""
    version: str = field(default="", compare=False)
    created: Moment | None = None
    storage: str = "0"  # the amount as written
    amount: Fraction = Fraction(0)
    modes: tuple[str, ...] = ()
    storage_class: str | None = None  # None if it is not set; '' has another meaning (no provisioning)
    mode: str = "Filesystem"
    selector: Mapping[str, Any] | None = None
    volume_name: str = ""
    phase: str = "Pending"
    directory: str = ""
    reported: tuple[str, str] = ("", "")  # (reason, message) of the condition that says why it waits
    problem: str = ""  # why it can never be bound
    deleting: bool = False


def read_volume(manifest: Manifest, root: PurePath) -> Volume:
    """Reads a volume. `root`: the node's directory for volumes. `ValueError` if the capacity is not a quantity."""
    spec: Mapping[str, Any] = manifest.get("spec") or {}
    name, claim = name_of(manifest), spec.get("claimRef") or None
    directory, makes = _read_directory(spec, name, root)
    return Volume(
        name=name,
        directory=directory,
        uid=uid_of(manifest),
        version=version_of(manifest),
        capacity=read_quantity((spec.get("capacity") or {}).get("storage") or 0),
        modes=tuple(spec.get("accessModes") or ()),
        storage_class=str(spec.get("storageClassName") or ""),
        mode=str(spec.get("volumeMode") or "Filesystem"),
        labels=labels_of(manifest),
        claim=Key(str(claim.get("namespace") or ""), str(claim.get("name") or "")) if claim else None,
        claim_uid=str((claim or {}).get("uid") or ""),
        policy=str(spec.get("persistentVolumeReclaimPolicy") or "Retain"),
        phase=str((manifest.get("status") or {}).get("phase") or ""),
        annotated=str(annotations_of(manifest).get(DIRECTORY_ANNOTATION) or ""),
        source=_describe_source(spec),
        provisioned=PROVISIONED_ANNOTATION in annotations_of(manifest),
        ours=root in PurePath(directory).parents,
        makes=makes,
        deleting=is_deleting(manifest),
    )


def _read_directory(spec: Mapping[str, Any], name: str, root: PurePath) -> tuple[str, bool]:
    """The directory, and whether to create it: kubelet creates a hostPath without type, and never a local volume."""
    if (host := spec.get("hostPath")) is not None:
        return str(host.get("path") or ""), str(host.get("type") or "") in ("", "DirectoryOrCreate")
    if (local := spec.get("local")) is not None:
        return str(local.get("path") or ""), False
    return str(root / name), True


def _describe_source(spec: Mapping[str, Any]) -> str:
    kind = next((key for key in spec if key not in _NO_SOURCE), "")
    source = spec.get(kind) or {}
    if kind in ("", "hostPath", "local"):
        return ""
    if kind == "nfs":
        return f"nfs {source.get('server')}:{source.get('path')}"
    return f"csi {source.get('driver')}" if kind == "csi" else kind


def read_claim(manifest: Manifest) -> Claim:
    """Reads a claim; an invalid quantity becomes its `problem`."""
    spec: Mapping[str, Any] = manifest.get("spec") or {}
    status: Mapping[str, Any] = manifest.get("status") or {}
    storage = str(((spec.get("resources") or {}).get("requests") or {}).get("storage") or 0)
    amount, problem = Fraction(0), ""
    try:
        amount = read_quantity(storage)
    except ValueError as error:
        problem = f"spec.resources.requests.storage: {error}"
    return Claim(
        key=key_of(manifest),
        uid=uid_of(manifest),
        version=version_of(manifest),
        created=read_time(metadata(manifest).get("creationTimestamp")),
        storage=storage,
        amount=amount,
        modes=tuple(spec.get("accessModes") or ()),
        storage_class=spec.get("storageClassName"),
        mode=str(spec.get("volumeMode") or "Filesystem"),
        selector=spec.get("selector"),
        volume_name=str(spec.get("volumeName") or ""),
        phase=str(status.get("phase") or "Pending"),
        directory=str(annotations_of(manifest).get(DIRECTORY_ANNOTATION) or ""),
        reported=_read_reported(status),
        problem=problem,
        deleting=is_deleting(manifest),
    )


def _read_reported(status: Mapping[str, Any]) -> tuple[str, str]:
    for condition in status.get("conditions") or ():
        if condition.get("type") == NOT_BOUND and condition.get("status") == "False":
            return str(condition.get("reason") or ""), str(condition.get("message") or "")
    return "", ""


def build_claim_reference(claim: Claim) -> Manifest:
    """A claimRef with the UID of this claim."""
    return {
        "apiVersion": CLAIMS.api_version,
        "kind": CLAIMS.kind,
        "namespace": claim.key.namespace,
        "name": claim.key.name,
        "uid": claim.uid,
    }


def build_identity(volume: Volume) -> Manifest:
    """The volume's identity and resourceVersion: enough to patch it and to publish an event about it."""
    meta = {"name": volume.name, "uid": volume.uid, "resourceVersion": volume.version}
    return {"apiVersion": VOLUMES.api_version, "kind": VOLUMES.kind, "metadata": meta}


def build_volume(claim: Claim, root: PurePath) -> Manifest:
    """A provisioned volume: a new directory of this node, reserved for the claim.

    The name is like that of Kubernetes' provisioners, and so is the reclaim policy Delete; `node.volumes.claims` says
    what happens to the data.
    """
    name = f"pvc-{claim.uid}"
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {PROVISIONED_ANNOTATION: PROVISIONER}},
        "spec": {
            "capacity": {"storage": claim.storage},
            "accessModes": list(claim.modes),
            "volumeMode": claim.mode,
            "storageClassName": claim.storage_class or "",
            "persistentVolumeReclaimPolicy": "Delete",
            "hostPath": {"path": str(root / name), "type": "DirectoryOrCreate"},
            "claimRef": build_claim_reference(claim),
        },
    }


def explain_unbound(key: Key, claims: Mapping[Key, Claim]) -> tuple[str, str] | None:
    """Why a pod that names this claim has to wait: kube-scheduler's words and a detail; None if it need not wait."""
    claim = claims.get(key)
    if claim is None:
        return f'persistentvolumeclaim "{key.name}" not found', _explain_missing(key, claims)
    if claim.deleting:
        return f'persistentvolumeclaim "{key.name}" is being deleted', ""
    if claim.phase != "Bound" or not claim.directory:
        message = claim.reported[1]
        return "pod has unbound immediate PersistentVolumeClaims", f"{key.name}: {message}" if message else key.name
    return None


def _explain_missing(key: Key, claims: Iterable[Key]) -> str:
    there = [other.name for other in sorted(claims) if other.namespace == key.namespace]
    elsewhere = [other.namespace for other in sorted(claims) if other.name == key.name]
    also = f"; one of this name is in {format_names(elsewhere)}" if elsewhere else ""
    return f"namespace {key.namespace} has {format_names(there)}{also}"


def format_names(names: Sequence[str]) -> str:
    """`none`; `a, b`; of many names the first ones and how many more."""
    rest = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{rest}" or "none"


def read_claim_names(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the claims in a pod's volumes, without duplicates, in their order."""
    volumes: Iterable[Mapping[str, Any]] = spec.get("volumes") or ()
    named = (str((it.get("persistentVolumeClaim") or {}).get("claimName") or "") for it in volumes)
    return tuple(dict.fromkeys(filter(None, named)))
