"""How jobs stand with a scheduler, and what the nodes have: values, which
`app.queue` reads from the objects of a cluster. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from paddock.kube.times import Moment


@dataclass(frozen=True, slots=True)
class Standing:
    """A job of which pods wait for a node. `position`: from 1, among such jobs. `since`: when its oldest such pod was
    created."""

    position: int
    priority: int
    since: Moment | None


@dataclass(frozen=True, slots=True)
class Capacity:
    """What the `nodes` that take pods have, by resource: (free, allocatable). `away`: nodes that take none, as they are
    not ready or cordoned. `tainted`: how many of `nodes` take only pods that tolerate their taints."""

    nodes: int
    away: int
    amounts: Mapping[str, tuple[Fraction, Fraction]]
    tainted: int = 0


@dataclass(frozen=True, slots=True)
class Queue:
    """`waiting`: by UID of the job; `placed`: UIDs of the jobs that have pods on nodes. `capacity`: None if nodes were
    not read."""

    waiting: Mapping[str, Standing] = field(default_factory=dict)
    placed: frozenset[str] = frozenset()
    capacity: Capacity | None = None
