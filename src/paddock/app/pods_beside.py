"""What a pod of Paddock's beside a job's pods has of them: where it may run, whose files it may read, where a claim is
mounted. It has none of their rights: no token, no Secrets, no capability, no GPU. Pure.

`app.boards.pod` is the pod of a board, `app.claimed.pod` the one that reads what runs have written,
`app.filled_claims.manifests` the one that fills a claim before there is a job.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from paddock.jobs.frameworks.registry import main_container
from paddock.jobs.model import Job, Role
from paddock.kube.meta import Manifest, name_of, uid_of
from paddock.kube.pod_streams import Ended, is_not_started, read_not_started

SCRATCH = "/tmp"  # noqa: S108 - a volume of the pod's
IDENTITY = ("runAsUser", "runAsGroup", "runAsNonRoot", "seLinuxOptions")
_NOT_STARTED = (126, 127, 128)
"""Exit codes of a container whose program its runtime does not find, or cannot start."""
OF_NODES = ("nodeSelector", "tolerations", "imagePullSecrets", "runtimeClassName")
"""What of a job's pods decides where they may run, and how their image is had."""
NO_SIDECAR: Mapping[str, str] = MappingProxyType({"sidecar.istio.io/inject": "false"})
"""A label: a proxy beside its container would live on when that has ended."""


@dataclass(frozen=True, slots=True)
class Pin:
    """Where a claim is mounted that one node at a time may have."""

    node: str
    surely: bool
    """Whether it is known to be of that sort."""


def find_container(job: Job, role: Role) -> Mapping[str, Any]:
    """The one that trains."""
    containers = role.template["spec"]["containers"]
    found: Mapping[str, Any] = containers[main_container(job, containers)]
    return found


def copy_fields(source: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    return {key: source[key] for key in keys if source.get(key) is not None}


def refer_to(job: Job) -> Manifest:
    """The owner of a pod that goes with its job; not the controller, as no operator is to take it for a rank."""
    owner = job.owner()
    return {**copy_fields(owner, ("apiVersion", "kind")), "name": name_of(owner), "uid": uid_of(owner)}


def build_bounds(seconds: int) -> Manifest:
    """Fields of the spec: its container runs once, for so long at most, and has no token."""
    return {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": seconds,
        "terminationGracePeriodSeconds": 5,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
    }


def build_container_security(container: Mapping[str, Any]) -> Manifest:
    """The identity of a container of the job, and none of its rights."""
    return {
        **copy_fields(container.get("securityContext") or {}, IDENTITY),
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def build_pod_security(context: Mapping[str, Any]) -> dict[str, Any]:
    """The identity of the job's pods. Their fsGroup is a group like others here: as fsGroup, a kubelet would give it
    all files of the volume again."""
    groups = [*(context.get("supplementalGroups") or ()), *([context["fsGroup"]] if context.get("fsGroup") else ())]
    return {
        **copy_fields(context, IDENTITY),
        **({"supplementalGroups": list(dict.fromkeys(groups))} if groups else {}),
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def build_variables() -> list[dict[str, str]]:
    """Where NVIDIA's runtime is the default, an image of CUDA has all GPUs of its node unless it says otherwise."""
    values = {"HOME": SCRATCH, "NVIDIA_VISIBLE_DEVICES": "void", "CUDA_VISIBLE_DEVICES": "", "PYTHONUNBUFFERED": "1"}
    return [{"name": name, "value": value} for name, value in values.items()]


def build_affinity(pin: Pin) -> Manifest:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [pin.node]}]}
    if pin.surely:
        return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    preferred = [{"weight": 100, "preference": term}]
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}


def find_pin(claim: Manifest | None, name: str, pods: Iterable[Manifest]) -> Pin | None:
    """Where the board has to run to have the claim `name` too. `claim`: None where it may not be read. `pods`: those of
    its namespace. None: anywhere, or nobody has it mounted."""
    modes = read_modes(claim)
    if {"ReadWriteMany", "ReadOnlyMany"} & set(modes):
        return None
    nodes = [str(each["spec"]["nodeName"]) for each in list_users(name, pods)]
    return Pin(nodes[0], surely=bool(modes)) if nodes else None


def read_modes(claim: Manifest | None) -> list[str]:
    """How a claim may be mounted; empty where it is not known."""
    claim = claim or {}
    return list((claim.get("status") or {}).get("accessModes") or (claim.get("spec") or {}).get("accessModes") or ())


def list_users(claim: str, pods: Iterable[Manifest]) -> list[Manifest]:
    """The pods on nodes that have the claim mounted, or are about to."""
    return [
        pod
        for pod in pods
        if pod["spec"].get("nodeName")
        and (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")
        and any((each.get("persistentVolumeClaim") or {}).get("claimName") == claim
                for each in pod["spec"].get("volumes") or ())
    ]  # fmt: skip


def has_not_started(pod: Mapping[str, Any]) -> bool:
    """Whether the program of its container could not be started: a code, and the words of container runtimes."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    ends = [(each.get("state") or {}).get("terminated") or {} for each in statuses]
    said = [str(each.get("message") or "") for each in ends if each.get("exitCode") in _NOT_STARTED]
    return any(is_not_started(read_not_started(Ended(1, each))) for each in said)
