"""What a pod asks of the node it will run on, read from its manifest once: amounts, ports, gang, constraints. Pure.

Amounts follow kube-scheduler: the sum over containers or the largest init container, whichever is more, for each
resource; a limit stands in where no request is written. Which node it gets is `paddock.node.placement`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

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
from paddock.kube.quantities import read_quantity
from paddock.kube.times import Moment, read_time
from paddock.node.storage import read_claim_names

PORT_ANNOTATION = "paddock.dev/port"
"""The first of a block of ports that a pod's job uses; whoever makes the pod writes it."""
PORTS_IN_BLOCK = 20
GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
GROUP_ANNOTATION = "scheduling.k8s.io/group-name"

Amounts = Mapping[str, Fraction]
GroupKey = tuple[str, Key]
"""A PodGroup: its API group, as two have the kind, and its key."""


@dataclass(frozen=True, slots=True)
class Request:
    """One pod as the scheduler sees it. `node` is empty until it is bound; `amounts` always has one of `pods`.

    `owner` is the UID of its controller, or its own; `holder` says the same to people (`PaddleJob default/x`).
    `grace` are the seconds that its node has to end it once it is deleted; with 0 nobody waits for the node.
    `groups` are the PodGroups it names, best first. `claims` are those that its volumes name, and `unbound` is said of
    those that are not there yet, (text, detail) each. `problem` is why it can never be placed as it is written.
    `told` is what its status says already of why it waits, (reason, message): it decides nothing, and equality
    ignores it.
    """

    key: Key
    uid: str
    created: Moment | None = None
    node: str = ""
    phase: str = "Pending"
    deleting: bool = False
    grace: int = 0
    gated: bool = False
    amounts: Amounts = field(default_factory=dict)
    ports: tuple[range, ...] = ()
    owner: str = ""
    holder: str = ""
    groups: tuple[GroupKey, ...] = ()
    priority: int | None = None
    priority_class: str = ""
    selector: Mapping[str, str] = field(default_factory=dict)
    terms: Sequence[Mapping[str, Any]] | None = None
    tolerations: Sequence[Mapping[str, Any]] = ()
    claims: tuple[str, ...] = ()
    unbound: tuple[tuple[str, str], ...] = ()
    problem: str = ""
    told: tuple[str, str] = field(default=("", ""), compare=False)

    @property
    def finished(self) -> bool:
        return self.phase in ("Succeeded", "Failed")

    @property
    def holds(self) -> bool:
        """Whether it takes room on its node: from being bound until its last process has ended."""
        return bool(self.node) and not self.finished

    @property
    def pending(self) -> bool:
        """Whether it is the scheduler's to place."""
        return not self.node and not self.finished and not self.deleting


def read_request(pod: Manifest) -> Request:
    """The request of a pod. A quantity that is none becomes `problem`: one pod's mistake stops no other."""
    spec: Mapping[str, Any] = pod.get("spec") or {}
    status: Mapping[str, Any] = pod.get("status") or {}
    phase = str(status.get("phase") or "Pending")
    amounts: Amounts = {}
    problem = ""
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
        ports=_read_ports(pod, spec),
        owner=str(owner.get("uid")) if owner else uid_of(pod),
        holder=f"{owner.get('kind')} {namespace_of(pod)}/{owner.get('name')}" if owner else f"pod {key_of(pod)}",
        groups=_read_groups(pod),
        priority=spec.get("priority"),
        priority_class=str(spec.get("priorityClassName") or ""),
        selector=spec.get("nodeSelector") or {},
        terms=None if required is None else required.get("nodeSelectorTerms") or (),
        tolerations=spec.get("tolerations") or (),
        claims=read_claim_names(spec),
        problem=problem,
        told=_read_told(status),
    )


def read_pod_amounts(spec: Mapping[str, Any]) -> Amounts:
    """What a pod of this spec takes of its node, by resource. `ValueError` names the field and what was found.

    An init container with restartPolicy Always runs on beside the others, so it counts as one of them; so does
    `overhead`. Source: k8s.io/component-helpers, resource.PodRequests.
    """
    running: dict[str, Fraction] = {"pods": Fraction(1)}
    peak: dict[str, Fraction] = {}
    for index, container in enumerate(spec.get("initContainers") or ()):
        wanted = _container_amounts(container, f"spec.initContainers[{index}].resources")
        if container.get("restartPolicy") == "Always":
            running = _sum(running, wanted)
            wanted = running
        else:
            wanted = _sum(running, wanted)
        peak = _largest(peak, wanted)
    for index, container in enumerate(spec.get("containers") or ()):
        running = _sum(running, _container_amounts(container, f"spec.containers[{index}].resources"))
    overhead = {name: _amount(text, "spec.overhead") for name, text in (spec.get("overhead") or {}).items()}
    total = _sum(_largest(peak, running), overhead)
    return {name: amount for name, amount in total.items() if amount > 0}


def _container_amounts(container: Mapping[str, Any], path: str) -> dict[str, Fraction]:
    resources = container.get("resources") or {}
    wanted = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {name: _amount(text, path) for name, text in wanted.items()}


def _amount(text: str | int | float, path: str) -> Fraction:
    try:
        return _quantity(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


@lru_cache(maxsize=1024)
def _quantity(text: str | int | float) -> Fraction:
    """Pods of a job ask for the same few amounts over and over."""
    return read_quantity(text)


def _sum(left: Amounts, right: Amounts) -> dict[str, Fraction]:
    return {**left, **{name: left.get(name, Fraction(0)) + amount for name, amount in right.items()}}


def _largest(left: Amounts, right: Amounts) -> dict[str, Fraction]:
    return {**left, **{name: max(left.get(name, Fraction(0)), amount) for name, amount in right.items()}}


def sum_amounts(requests: Iterable[Request]) -> dict[str, Fraction]:
    """What several pods ask for together."""
    total: dict[str, Fraction] = {}
    for request in requests:
        total = _sum(total, request.amounts)
    return total


def _read_ports(pod: Manifest, spec: Mapping[str, Any]) -> tuple[range, ...]:
    """Ports that the pod takes of the machine: its job's block and host ports. With hostNetwork every port is one."""
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
    """The PodGroups that may be meant. One name with the other API's mark is taken too, so that a user's own PodGroup
    of either kind is found."""
    label, annotation = labels_of(pod).get(GROUP_LABEL), annotations_of(pod).get(GROUP_ANNOTATION)
    ours, volcano = POD_GROUPS.group, VOLCANO_POD_GROUPS.group
    named = [(ours, label), (volcano, annotation), (volcano, label), (ours, annotation)]
    return tuple(dict.fromkeys((api, Key(namespace_of(pod), name)) for api, name in named if name))


def _read_told(status: Mapping[str, Any]) -> tuple[str, str]:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return str(condition.get("reason") or ""), str(condition.get("message") or "")
    return "", ""
