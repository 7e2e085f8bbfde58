"""Which gangs are ended so that one of a higher priority has room. Pure, but for the infos, which are as before at the
end.

As kube-scheduler preempts, with one difference: a gang trains whole or not at all, so what is ended is always all that
one owner has on the nodes: a job, else a PodGroup, else a pod. Rules:

- Only units of a lower priority are ended: the lowest priority first, of one priority the youngest first, as the least
  work is lost; and no more of them than are needed.
- Nothing is ended for an entry that would not fit then either, that fits once the pods have gone that are being deleted
  already, whose PriorityClass says `preemptionPolicy: Never`, or that has its minimum and only grows.

Source: k8s.io/kubernetes, pkg/scheduler/framework/plugins/defaultpreemption; scheduling.k8s.io/v1 PriorityClass.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from paddock.kube.times import Moment
from paddock.node.scheduler.capacity import NodeInfo
from paddock.node.scheduler.pod_groups import Group
from paddock.node.scheduler.pod_request import GroupKey, Request

_MOST_SPARED = 16
"""Units that are tried without, once it is known how many are enough."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Pods on nodes that train together."""

    name: str
    """Whose they are: `PaddleJob default/big1`."""
    priority: int
    created: Moment
    """When the oldest was."""
    requests: tuple[Request, ...]

    @property
    def leaving(self) -> bool:
        return any(request.deleting for request in self.requests)


def build_units(
    requests: Iterable[Request],
    group_of: Callable[[Request], Group | None],
    priority_of: Callable[[Request], int],
) -> list[Unit]:
    """What is on the nodes, in the order in which it would be ended."""
    owned: dict[str | GroupKey, list[Request]] = defaultdict(list)
    for request in requests:
        if request.holds:
            alone = request.owner == request.uid
            group = group_of(request) if alone else None
            owned[request.owner if group is None else group.key].append(request)
    units = [
        Unit(
            members[0].holder,
            max(map(priority_of, members)),
            min(member.created or 0.0 for member in members),
            tuple(members),
        )
        for members in owned.values()
    ]
    return sorted(units, key=lambda unit: (unit.priority, -unit.created, unit.name))


def find_victims(
    priority: int, units: Sequence[Unit], infos: Sequence[NodeInfo], fits: Callable[[], bool]
) -> tuple[Unit, ...] | None:
    """The units to end. None where no end of such units makes room; empty where those make room that are being ended
    already. `fits`: whether the entry of this priority fits on `infos` as they are."""
    lower = units[: bisect_left(units, priority, key=lambda unit: unit.priority)]
    if not lower:
        return None
    nodes = {info.node.name: info for info in infos}
    leaving = [request for unit in units for request in unit.requests if request.deleting]
    _give_back(leaving, nodes)
    try:
        if fits():
            return () if any(unit.leaving for unit in lower) else None
        return _choose([unit for unit in lower if not unit.leaving], nodes, fits)
    finally:
        _take(leaving, nodes)


def _choose(
    candidates: Sequence[Unit], nodes: Mapping[str, NodeInfo], fits: Callable[[], bool]
) -> tuple[Unit, ...] | None:
    """The fewest of the first ones, by halves: what fits without some fits without more."""

    def fits_without(chosen: Sequence[Unit]) -> bool:
        requests = [request for unit in chosen for request in unit.requests]
        _give_back(requests, nodes)
        found = fits()
        _take(requests, nodes)
        return found

    if not fits_without(candidates):
        return None
    few, enough = 0, len(candidates)
    while enough - few > 1:
        half = (few + enough) // 2
        few, enough = (few, half) if fits_without(candidates[:half]) else (half, enough)
    chosen = list(candidates[:enough])
    # From the highest priority down: one that was ended for nothing goes on.
    for unit in reversed(chosen[:-1][-_MOST_SPARED:]):
        without = [each for each in chosen if each is not unit]
        if fits_without(without):
            chosen = without
    return tuple(chosen)


def _give_back(requests: Iterable[Request], nodes: Mapping[str, NodeInfo]) -> None:
    for request in requests:
        if request.node in nodes:
            nodes[request.node].give_back(request)


def _take(requests: Iterable[Request], nodes: Mapping[str, NodeInfo]) -> None:
    for request in requests:
        if request.node in nodes:
            nodes[request.node].take(request)
