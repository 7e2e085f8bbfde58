"""What a pod requests of its node, read from the manifest once: amounts, ports, gang, constraints. Pure.

Amounts follow kube-scheduler: for each resource the sum over containers or the largest init container, whichever is
more; without a request the limit counts. Nodes are chosen in `paddock.node.scheduler.placement`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from paddock.kube.gpu_shares import find_shares, read_indices, weigh
from paddock.kube.meta import (
    POD_GROUPS,
    VOLCANO_POD_GROUPS,
    Key,
    Manifest,
    annotations_of,
    controller_of,
    is_deleting,
    key_of,
    labels_of,
    metadata,
    namespace_of,
    uid_of,
)
from paddock.kube.pod_amounts import Amounts, add_amounts, read_pod_amounts
from paddock.kube.times import Moment, read_time
from paddock.node.volumes.storage import read_claim_names

PORT_ANNOTATION = "paddock.dev/port"
"""The first port of the job's block; the creator of the pod writes it."""
PORTS_IN_BLOCK = 20
SPARE_LABEL = "paddock.dev/spare"
"""`"true"`: the pod runs nothing and asks whether there is room; its creator writes it."""
GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
GROUP_ANNOTATION = "scheduling.k8s.io/group-name"

GroupKey = tuple[str, Key]
"""Identifies a PodGroup: the API group (two have the kind) and the key."""


@dataclass(frozen=True, slots=True)
class Request:
    """One pod as the scheduler sees it."""

    key: Key
    uid: str
    created: Moment | None = None
    node: str = ""
    """Empty until it is bound."""
    phase: str = "Pending"
    deleting: bool = False
    grace: int = 0
    """The grace period of the deletion in seconds; with 0 the object is deleted without the node."""
    gated: bool = False
    amounts: Amounts = field(default_factory=dict)
    """Always has one of `pods`."""
    shares: int = 0
    """Into how many shares the GPU is divided of which it takes one; 0 for a pod that shares none."""
    gpus: tuple[int, ...] = ()
    """The GPUs that were chosen for it when it was bound."""
    ports: tuple[range, ...] = ()
    owner: str = ""
    """The UID of the controller, or of the pod itself."""
    holder: str = ""
    """The same for messages (`PaddleJob default/x`)."""
    groups: tuple[GroupKey, ...] = ()
    """The PodGroups that it names, best first."""
    priority: int | None = None
    priority_class: str = ""
    patient: bool = False
    """It ends nobody that its own room may be made (`preemptionPolicy: Never`)."""
    selector: Mapping[str, str] = field(default_factory=dict)
    terms: Sequence[Mapping[str, Any]] | None = None
    tolerations: Sequence[Mapping[str, Any]] = ()
    claims: tuple[str, ...] = ()
    """The claims that its volumes name."""
    unbound: tuple[tuple[str, str], ...] = ()
    """(text, detail) for each claim that is not bound."""
    problem: str = ""
    """Why it can never be placed as written."""
    spare: bool = False
    """It runs nothing, takes only room for which no other pod waits, and belongs to no gang."""
    reported: tuple[str, str] = field(default=("", ""), compare=False)
    """(reason, message) of its PodScheduled condition; no decision depends on it, and equality ignores it."""

    @property
    def finished(self) -> bool:
        return self.phase in ("Succeeded", "Failed")

    @property
    def holds(self) -> bool:
        """Whether it occupies its amounts on a node: from the bind until its last process has ended."""
        return bool(self.node) and not self.finished

    @property
    def pending(self) -> bool:
        """Whether the scheduler has to place it."""
        return not self.node and not self.finished and not self.deleting

    @property
    def weighed(self) -> Amounts:
        """Its amounts where GPUs are shared: a quarter of a GPU."""
        return weigh(self.amounts, self.shares)


def read_request(pod: Manifest) -> Request:
    """Reads the request of a pod. An invalid quantity becomes its `problem`, so that it stops no other pod."""
    spec: Mapping[str, Any] = pod.get("spec") or {}
    status: Mapping[str, Any] = pod.get("status") or {}
    phase = str(status.get("phase") or "Pending")
    amounts: Amounts = {}
    problem = ""
    spare = labels_of(pod).get(SPARE_LABEL) == "true"
    if phase not in ("Succeeded", "Failed"):
        try:
            amounts = read_pod_amounts(spec)
        except ValueError as error:
            problem = str(error)
    owner = controller_of(pod)
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return Request(
        key=key_of(pod),
        uid=uid_of(pod),
        created=read_time(metadata(pod).get("creationTimestamp")),
        node=str(spec.get("nodeName") or ""),
        phase=phase,
        deleting=is_deleting(pod),
        grace=int(metadata(pod).get("deletionGracePeriodSeconds") or 0),
        gated=bool(spec.get("schedulingGates")),
        amounts=amounts,
        shares=find_shares(annotations_of(pod), amounts),
        gpus=read_indices(pod),
        ports=_read_ports(pod, spec),
        owner=str(owner.get("uid")) if owner else uid_of(pod),
        holder=f"{owner.get('kind')} {namespace_of(pod)}/{owner.get('name')}" if owner else f"pod {key_of(pod)}",
        groups=() if spare else _read_groups(pod),
        priority=spec.get("priority"),
        priority_class=str(spec.get("priorityClassName") or ""),
        patient=spec.get("preemptionPolicy") == "Never",
        selector=spec.get("nodeSelector") or {},
        terms=None if required is None else required.get("nodeSelectorTerms") or (),
        tolerations=spec.get("tolerations") or (),
        claims=read_claim_names(spec),
        problem=problem,
        spare=spare,
        reported=_read_reported(status),
    )


def sum_amounts(amounts: Iterable[Amounts]) -> dict[str, Fraction]:
    """The sum of the amounts of several pods."""
    total: dict[str, Fraction] = {}
    for each in amounts:
        total = add_amounts(total, each)
    return total


def _read_ports(pod: Manifest, spec: Mapping[str, Any]) -> tuple[range, ...]:
    """Ports of the machine that the pod holds: its job's block and host ports. With hostNetwork each port is a host
    port."""
    ports: list[range] = []
    first = str(annotations_of(pod).get(PORT_ANNOTATION) or "")
    if first.isdecimal():
        ports.append(range(int(first), int(first) + PORTS_IN_BLOCK))
    for container in spec.get("containers") or ():
        for port in container.get("ports") or ():
            number = port.get("hostPort") or (port.get("containerPort") if spec.get("hostNetwork") else None)
            if isinstance(number, int) and number:
                ports.append(range(number, number + 1))
    return tuple(ports)


def _read_groups(pod: Manifest) -> tuple[GroupKey, ...]:
    """The PodGroups that the pod may name. Label and annotation count for both API groups, so that a PodGroup that the
    user created is found in either."""
    label, annotation = labels_of(pod).get(GROUP_LABEL), annotations_of(pod).get(GROUP_ANNOTATION)
    ours, volcano = POD_GROUPS.group, VOLCANO_POD_GROUPS.group
    named = [(ours, label), (volcano, annotation), (volcano, label), (ours, annotation)]
    return tuple(dict.fromkeys((api, Key(namespace_of(pod), name)) for api, name in named if name))


def _read_reported(status: Mapping[str, Any]) -> tuple[str, str]:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return str(condition.get("reason") or ""), str(condition.get("message") or "")
    return "", ""
