"""Which storage a claim is asked of, and which pods can mount it: what is surely wrong is refused before anything waits
for ever, what is not known is said. Pure.

Kubernetes does not tell how volumes of a class may be mounted: its provisioner decides, and a claim of a mode that it
cannot give waits for ever (kubernetes.io, "Persistent Volumes", Access Modes).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paddock.jobs.model import Job
from paddock.kube.meta import Resource, annotations_of, name_of
from paddock.kube.nearness import nearest
from paddock.words.phrases import Names, Phrase, phrase

STORAGE_CLASSES = Resource("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)
DEFAULT_ANNOTATION = "storageclass.kubernetes.io/is-default-class"
MANY, ONE = "ReadWriteMany", "ReadWriteOnce"
_BLOCK = (
    "rancher.io/local-path", "k8s.io/minikube-hostpath", "kubernetes.io/no-provisioner", "microk8s.io/hostpath",
    "docker.io/hostpath", "ebs.csi.aws.com", "kubernetes.io/aws-ebs", "pd.csi.storage.gke.io", "kubernetes.io/gce-pd",
    "disk.csi.azure.com", "kubernetes.io/azure-disk", "diskplugin.csi.alibabacloud.com", "com.tencent.cloud.csi.cbs",
    "disk.csi.everest.io", "csi-bdplugin", "cinder.csi.openstack.org", "csi.vsphere.vmware.com",
    "dobs.csi.digitalocean.com", "csi.hetzner.cloud", "rook-ceph.rbd.csi.ceph.com", "rbd.csi.ceph.com",
    "openebs.io/local", "local.csi.openebs.io", "topolvm.io",
)  # fmt: skip
"""Provisioners whose volumes one node at a time may have, by their own documents."""


@dataclass(frozen=True, slots=True)
class StorageClass:
    """What is read of one."""

    name: str
    provisioner: str
    is_default: bool


def read_class(manifest: Mapping[str, Any]) -> StorageClass:
    default = annotations_of(manifest).get(DEFAULT_ANNOTATION) == "true"
    return StorageClass(name_of(manifest), str(manifest.get("provisioner") or ""), default)


def explain_class(classes: Sequence[StorageClass] | None, wanted: str | None) -> Phrase | None:
    """Why no claim can be had. `classes`: None where they may not be read; `wanted`: None for the default one. A
    cluster without any may have volumes that were made by hand."""
    if wanted is None:
        return _explain_no_default(classes or ())
    names = tuple(each.name for each in classes or ())
    if not names or wanted in ("", *names):
        return None
    if near := nearest(wanted, names):
        return phrase('--storage-class: there is no StorageClass "{name}"; did you mean "{near}"?', name=wanted,
                      near=near)  # fmt: skip
    return phrase('--storage-class: there is no StorageClass "{name}"; there are {names}', name=wanted,
                  names=Names(names))  # fmt: skip


def _explain_no_default(classes: Sequence[StorageClass]) -> Phrase | None:
    if not classes or any(each.is_default for each in classes):
        return None
    return phrase(
        "the cluster has no default StorageClass: name one of its classes, {names}, with --storage-class",
        names=Names(tuple(each.name for each in classes), "or"),
    )


def choose_modes(classes: Sequence[StorageClass] | None, wanted: str | None, ranks: int) -> tuple[str, ...]:
    """The access modes to ask for: of a class that is known, what it gives; else what the job needs."""
    chosen = (each for each in classes or () if (each.is_default if wanted is None else each.name == wanted))
    found = next(chosen, None)
    if found is not None and found.provisioner in _BLOCK:
        return (ONE,)
    return (MANY,) if ranks > 1 else (ONE,)


def count_ranks(job: Job) -> int:
    return sum(role.replicas for role in job.roles)


def is_on_one_node(job: Job) -> bool:
    """Whether the manifest itself puts all ranks on the same node."""
    hosts = {
        str((role.template["spec"].get("nodeSelector") or {}).get("kubernetes.io/hostname") or "")
        for role in job.roles
        if role.replicas
    }
    return len(hosts) == 1 and "" not in hosts


def count_nodes(nodes: Iterable[Mapping[str, Any]]) -> int:
    """Those that pods may be placed on."""
    return sum(not (each.get("spec") or {}).get("unschedulable") for each in nodes)


def find_node(volume: Mapping[str, Any]) -> str:
    """The one node that a volume is on, by its node affinity; empty if it is on several, or says nothing."""
    required = ((volume.get("spec") or {}).get("nodeAffinity") or {}).get("required") or {}
    nodes = {
        str(value)
        for term in required.get("nodeSelectorTerms") or ()
        for each in term.get("matchExpressions") or ()
        if each.get("key") == "kubernetes.io/hostname" and each.get("operator") == "In"
        for value in each.get("values") or ()
    }
    return nodes.pop() if len(nodes) == 1 else ""


@dataclass(frozen=True, slots=True)
class Judged:
    """Whether all ranks of a job can mount a claim."""

    refused: Phrase | None = None
    told: Phrase | None = None
    """Where it is not known."""


def judge_modes(
    claim: str, modes: Sequence[str], ranks: int, nodes: int | None, *, together: bool, undo: str
) -> Judged:
    """`nodes`: None where they may not be read. `together`: of `is_on_one_node`. `undo`: what removes the claim."""
    if "ReadWriteOncePod" in modes and ranks > 1:
        return Judged(phrase(
            "only one pod at a time may have the claim {claim} (ReadWriteOncePod), and the job has {count} ranks: name "
            "another storage with --storage-class, after `{command}`",
            claim=claim, count=ranks, command=undo,
        ))  # fmt: skip
    if not modes or ranks < 2 or together or nodes == 1 or {MANY, "ReadOnlyMany"} & set(modes):
        return Judged()
    if nodes is None:
        return Judged(told=phrase(
            "the claim {claim} is for one node at a time (ReadWriteOnce), and you may not list nodes: if the {count} "
            "ranks of the job are placed on several, those on the others wait for ever",
            claim=claim, count=ranks,
        ))  # fmt: skip
    return Judged(phrase(
        "the claim {claim} is for one node at a time (ReadWriteOnce), and the {count} ranks of the job may be placed "
        "on several nodes: name a storage that gives ReadWriteMany with --storage-class (after "
        "`{command}`, if the claim is there), or put all ranks on one node by nodeSelector kubernetes.io/hostname",
        claim=claim, count=ranks, command=undo,
    ))  # fmt: skip
