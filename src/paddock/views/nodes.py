"""A node as a row: whether it takes pods, what it has, what is asked of it and by which jobs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from paddock.jobs.apis.registry import KINDS
from paddock.kube.gpu_shares import read_indices
from paddock.kube.meta import Key, Manifest, Resource, controller_of, name_of, namespace_of
from paddock.kube.quantities import read_quantity
from paddock.kube.times import Moment, read_time
from paddock.views.queue_rows import read_needs

_KINDS = {(each.api_version, each.kind): each for each in KINDS}
_NOT_COUNTED = ("pods", "ephemeral-storage")
_FINISHED = ("Succeeded", "Failed")
_ORDER = ("NotReady", "Cordoned", "Ready")


@dataclass(frozen=True, slots=True)
class Trouble:
    """A condition that is not as it should be: `MemoryPressure`, `Ready`."""

    condition: str
    message: str
    since: Moment | None


@dataclass(frozen=True, slots=True)
class JobOnNode:
    resource: Resource
    key: Key
    pods: int


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A node as a row of a table."""

    name: str
    state: str  # Ready, NotReady or Cordoned
    troubles: tuple[Trouble, ...]
    taints: tuple[str, ...]  # `key=value:effect`
    amounts: Mapping[str, tuple[Fraction, Fraction]]  # (asked, allocatable) by resource
    pods: tuple[int, int]  # (there, allowed), of those that have not ended
    jobs: tuple[JobOnNode, ...]
    others: int  # pods of no job
    version: str
    created: Moment | None


def read_node_rows(nodes: Iterable[Manifest], pods: Iterable[Manifest]) -> list[NodeRow]:
    """A row for each node: those that take no pods first, then by name."""
    placed: dict[str, list[Manifest]] = {}
    for pod in pods:
        name = (pod.get("spec") or {}).get("nodeName")
        if name and (pod.get("status") or {}).get("phase") not in _FINISHED:
            placed.setdefault(name, []).append(pod)
    rows = [_read_row(node, placed.get(name_of(node), ())) for node in nodes]
    return sorted(rows, key=lambda row: (_ORDER.index(row.state), row.name))


def _read_row(node: Manifest, pods: Sequence[Manifest]) -> NodeRow:
    spec, status = node.get("spec") or {}, node.get("status") or {}
    troubles = tuple(_read_troubles(status.get("conditions") or ()))
    ready = any(each.get("type") == "Ready" and each.get("status") == "True" for each in status.get("conditions") or ())
    jobs = _count_jobs(pods)
    has = _read_allocatable(status.get("allocatable") or status.get("capacity") or {})
    asked = read_needs(pods, shared=bool(read_indices(node)))
    return NodeRow(
        name=name_of(node),
        state="NotReady" if not ready else "Cordoned" if spec.get("unschedulable") else "Ready",
        troubles=troubles,
        taints=tuple(map(_write_taint, spec.get("taints") or ())),
        amounts={name: (asked.get(name, Fraction(0)), each) for name, each in has.items() if _is_shown(name, each)},
        pods=(len(pods), int(has.get("pods", 0))),
        jobs=jobs,
        others=len(pods) - sum(each.pods for each in jobs),
        version=str((status.get("nodeInfo") or {}).get("kubeletVersion") or ""),
        created=read_time((node.get("metadata") or {}).get("creationTimestamp")),
    )  # fmt: skip


def _is_shown(name: str, amount: Fraction) -> bool:
    return name not in _NOT_COUNTED and (amount > 0 or name in ("cpu", "memory")) and not name.startswith("hugepages-")


def _read_allocatable(amounts: Mapping[str, Any]) -> dict[str, Fraction]:
    """An amount that is no quantity is left out: a page of a thousand nodes does not fail for one."""
    found: dict[str, Fraction] = {}
    for name, text in amounts.items():
        try:
            found[name] = read_quantity(text)
        except ValueError:
            continue
    return found


def _read_troubles(conditions: Sequence[Mapping[str, Any]]) -> Iterable[Trouble]:
    """Ready should be True, and every other condition False."""
    for each in conditions:
        kind, wanted = str(each.get("type")), "True" if each.get("type") == "Ready" else "False"
        if each.get("status") != wanted:
            said = str(each.get("message") or each.get("reason") or each.get("status") or "")
            yield Trouble(kind, " ".join(said.split()), read_time(each.get("lastTransitionTime")))


def _write_taint(taint: Mapping[str, Any]) -> str:
    """As kubectl writes it."""
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key')}{value}:{taint.get('effect')}"


def _count_jobs(pods: Iterable[Manifest]) -> tuple[JobOnNode, ...]:
    counts: dict[tuple[Resource, Key], int] = {}
    for pod in pods:
        owner: Mapping[str, Any] = controller_of(pod) or {}
        if (kind := _KINDS.get((str(owner.get("apiVersion")), str(owner.get("kind"))))) is not None:
            place = (kind, Key(namespace_of(pod), str(owner.get("name"))))
            counts[place] = counts.get(place, 0) + 1
    return tuple(JobOnNode(*place, count) for place, count in sorted(counts.items(), key=lambda each: each[0][1]))
