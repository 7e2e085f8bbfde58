"""How jobs stand with the scheduler, and what the nodes have: for `paddock queue` and the console. Pure.

The order is that of `node.scheduler.placement`, by its own functions: higher priority first, then the older pod or
PodGroup, as the queues of kube-scheduler and of the scheduler-plugins have it. It is the order in which they are tried,
and no promise: one that fits starts before one that does not. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from paddock.kube.meta import Manifest, Resource, controller_of
from paddock.kube.times import Moment
from paddock.node.scheduler.capacity import build_node_infos, sum_free
from paddock.node.scheduler.gpus import SharedGpu
from paddock.node.scheduler.nodes import Node, keeps_away, read_node
from paddock.node.scheduler.placement import PRIORITIES, QueueEntry, build_queue
from paddock.node.scheduler.pod_groups import read_group
from paddock.node.scheduler.pod_request import Request, read_request


@dataclass(frozen=True, slots=True)
class Standing:
    """A job of which pods wait for a node."""

    position: int  # from 1, among such jobs
    priority: int
    since: Moment | None  # when its oldest such pod was created


@dataclass(frozen=True, slots=True)
class Capacity:
    """What the nodes have."""

    nodes: int
    """How many take pods."""
    away: int
    """Nodes that take none, as they are not ready or cordoned."""
    amounts: Mapping[str, tuple[Fraction, Fraction]]
    """(free, allocatable) by resource, of those that take pods."""
    tainted: int = 0
    """How many of `nodes` take only pods that tolerate their taints."""
    shared: tuple[SharedGpu, ...] = ()
    """The GPUs that pods share."""
    says_gpus: bool = False
    """Whether a node says which GPUs it has, so that pods can share them."""


@dataclass(frozen=True, slots=True)
class Queue:
    """The jobs that wait, and the room that there is."""

    waiting: Mapping[str, Standing] = field(default_factory=dict)  # by UID of the job
    placed: frozenset[str] = frozenset()  # UIDs of the jobs that have pods on nodes
    capacity: Capacity | None = None  # None if nodes were not read


def read_queue(
    pods: Sequence[Manifest],
    nodes: Iterable[Manifest] | None,
    groups: Iterable[Manifest] | None = (),
    classes: Iterable[Manifest] = (),
    *,
    kinds: Collection[Resource],
    requests: Sequence[Request] | None = None,
) -> Queue:
    """From all pods, nodes, PodGroups and PriorityClasses of a cluster. None for what may not be listed: without
    PodGroups each pod is an entry of its own. `kinds`: those of jobs, which own the pods. `requests`: of the same pods,
    where somebody has read them."""
    jobs = {(each.api_version, each.kind) for each in kinds}
    if requests is None:
        requests = [read_request(pod) for pod in pods]
    owners = {owner["uid"] for pod in pods if (owner := controller_of(pod)) and _kind_of(owner) in jobs}
    placed = frozenset(each.owner for each in requests if each.holds and each.owner in owners)
    return Queue(
        _read_waiting(requests, owners, groups, classes),
        placed,
        None if nodes is None else _read_capacity(map(read_node, nodes), requests),
    )


def _kind_of(owner: Mapping[str, str]) -> tuple[str | None, str | None]:
    return owner.get("apiVersion"), owner.get("kind")


def _read_waiting(
    requests: Iterable[Request],
    owners: Iterable[str],
    groups: Iterable[Manifest] | None,
    classes: Iterable[Manifest],
) -> dict[str, Standing]:
    known = {group.key: group for group in map(read_group, groups or ())}
    priorities = {**PRIORITIES, **{each["metadata"]["name"]: int(each["value"]) for each in classes}}
    named = requests if groups is not None else (replace(each, groups=()) for each in requests)
    # A gang that asks for more room runs: it does not wait.
    waiting = (each for each in named if not each.spare)
    entries, _ = build_queue(sorted(waiting, key=lambda it: it.key), known, priorities)
    found: dict[str, Standing] = {}
    for entry in entries:
        for owner in dict.fromkeys(each.owner for each in entry.requests):
            if owner in owners and owner not in found:
                found[owner] = Standing(len(found) + 1, entry.priority, _since(entry, owner))
    return found


def _since(entry: QueueEntry, owner: str) -> Moment | None:
    return min((each.created for each in entry.requests if each.owner == owner and each.created), default=None)


def _read_capacity(nodes: Iterable[Node], requests: Iterable[Request]) -> Capacity:
    infos = build_node_infos(nodes, requests)
    open_ = [info for info in infos if info.node.ready and not info.node.unschedulable]
    tainted = sum(any(map(keeps_away, info.node.taints)) for info in open_)
    told = [info.gpus for info in open_ if info.gpus is not None]
    shared = tuple(each for gpus in told for each in gpus.shared())
    return Capacity(len(open_), len(infos) - len(open_), sum_free(open_), tainted, shared, bool(told))
