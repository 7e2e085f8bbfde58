"""PersistentVolumes and their claims as values, and where a volume's data are on this machine. Pure.

A volume of type hostPath or local is the directory that it names. Every other type (nfs, csi, …) is something that a
laptop has not mounted: its data are in a directory of this node, `ROOT/<name of the volume>`, and every sentence about
it says so. Which claim gets which volume is `paddock.node.claims`; `paddock.node.binder` acts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import PurePath
from typing import Any

from paddock.kube.meta import (
    CLAIMS,
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
"""On a bound claim and its volume: where the data are on this machine. The kubelet mounts what stands there."""
PROVISIONED_ANNOTATION = "pv.kubernetes.io/provisioned-by"
"""Kubernetes' own mark of a volume that no person wrote."""
PROVISIONER = "paddock.dev/directory"
NOT_BOUND = "Bound"
"""The type of a claim's condition that is False, with the sentence why, for as long as it waits."""

_NO_SOURCE = frozenset(
    {"capacity", "accessModes", "claimRef", "persistentVolumeReclaimPolicy", "storageClassName", "mountOptions"}
    | {"volumeMode", "nodeAffinity", "volumeAttributesClassName"}
)
_SHOWN = 5
"""How many names a sentence lists."""


@dataclass(frozen=True, slots=True)
class Volume:
    """A PersistentVolume. `claim` is whom its claimRef names; `claim_uid` is empty where a person has reserved it.

    `directory` is where it is on this machine, `annotated` where its annotation says so; `source` is what it would be
    elsewhere (`nfs server:/path`), empty for a directory. `ours`: made in our root. `makes`: to be made if missing.
    """

    name: str
    directory: str
    uid: str = ""
    version: str = ""
    capacity: Fraction = Fraction(0)
    modes: tuple[str, ...] = ()
    storage_class: str = ""
    mode: str = "Filesystem"
    labels: Mapping[str, str] = field(default_factory=dict)
    claim: Key | None = None
    claim_uid: str = ""
    policy: str = "Retain"
    phase: str = ""
    annotated: str = ""
    source: str = ""
    provisioned: bool = False
    ours: bool = False
    makes: bool = False
    deleting: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim. `storage_class` is None where it says nothing, which is not the same as saying ''.

    `storage` is the amount as it is written. `told` is what its status says of why it waits, (reason, message);
    `problem` is why it can never be bound.
    """

    key: Key
    uid: str = ""
    version: str = field(default="", compare=False)
    created: Moment | None = None
    storage: str = "0"
    amount: Fraction = Fraction(0)
    modes: tuple[str, ...] = ()
    storage_class: str | None = None
    mode: str = "Filesystem"
    selector: Mapping[str, Any] | None = None
    volume_name: str = ""
    phase: str = "Pending"
    directory: str = ""
    told: tuple[str, str] = ("", "")
    problem: str = ""
    deleting: bool = False


def read_volume(manifest: Manifest, root: PurePath) -> Volume:
    """`root` is the directory of this node for volumes. `ValueError` where the capacity is no quantity."""
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
    """The directory, and whether it is to be made: kubelet makes a hostPath of no type, and never a local one."""
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
    """A claim; an amount that is no quantity becomes its `problem`."""
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
        told=_read_told(status),
        problem=problem,
        deleting=is_deleting(manifest),
    )


def _read_told(status: Mapping[str, Any]) -> tuple[str, str]:
    for condition in status.get("conditions") or ():
        if condition.get("type") == NOT_BOUND and condition.get("status") == "False":
            return str(condition.get("reason") or ""), str(condition.get("message") or "")
    return "", ""


def build_claim_reference(claim: Claim) -> Manifest:
    """A volume's claimRef to exactly this claim."""
    return {
        "apiVersion": CLAIMS.api_version,
        "kind": CLAIMS.kind,
        "namespace": claim.key.namespace,
        "name": claim.key.name,
        "uid": claim.uid,
    }


def build_volume(claim: Claim, root: PurePath) -> Manifest:
    """The volume of a claim that no volume fits: a new directory of this node, reserved for it.

    Named as Kubernetes names those of its provisioners. Policy Delete, as theirs; see `paddock.node.claims` for what
    becomes of the data.
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
    """Why a pod that names this claim has to wait: kube-scheduler's words, and a detail; None when it need not."""
    claim = claims.get(key)
    if claim is None:
        return f'persistentvolumeclaim "{key.name}" not found', _explain_missing(key, claims)
    if claim.deleting:
        return f'persistentvolumeclaim "{key.name}" is being deleted', ""
    if claim.phase != "Bound" or not claim.directory:
        message = claim.told[1]
        return "pod has unbound immediate PersistentVolumeClaims", f"{key.name}: {message}" if message else key.name
    return None


def _explain_missing(key: Key, claims: Iterable[Key]) -> str:
    there = [other.name for other in sorted(claims) if other.namespace == key.namespace]
    elsewhere = [other.namespace for other in sorted(claims) if other.name == key.name]
    also = f"; one of this name is in {format_names(elsewhere)}" if elsewhere else ""
    return f"namespace {key.namespace} has {format_names(there)}{also}"


def format_names(names: Sequence[str]) -> str:
    """`none`; `a, b`; with many, the first of them and how many more."""
    rest = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{rest}" or "none"


def read_claim_names(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """The claims that a pod's volumes name, each once, in their order."""
    volumes: Iterable[Mapping[str, Any]] = spec.get("volumes") or ()
    named = (str((it.get("persistentVolumeClaim") or {}).get("claimName") or "") for it in volumes)
    return tuple(dict.fromkeys(filter(None, named)))
