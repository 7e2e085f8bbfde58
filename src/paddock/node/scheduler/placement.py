"""The scheduling decision: which pod is bound to which node, and why the others wait. Pure.

Order. Higher priority first, then the older one. A gang has one entry in the queue, as old as its PodGroup.

Gangs. Pods that name a PodGroup are bound only if at least `minMember` of them fit at the same time. Pods of every
schedulerName are scheduled: this cluster has no other scheduler.

Overtaking. Entries that fit overtake entries that do not. Against starvation, an entry that has waited for
`STARVATION_SECONDS`, and would fit on empty nodes, gets a reservation: entries behind it that request a resource it
lacks wait too, and their message says for which entry. The pods of a gang beyond its minimum get none, as it runs.
Capacity becomes free only when a pod ends, and each end of a pod starts a new plan, so no timer is needed.

Spare pods. They run nothing and ask whether there is room for more of their gang, which runs. Such a pod is an entry of
its own behind all others of its priority, gets no reservation, and waits as long as one of those lacks a resource that
it requests and would fit on empty nodes. So a gang that grows takes nothing from a job that waits.

Priority. A pod's is its `spec.priority`, a gang's the highest of its pods' and of the class that its PodGroup names.

Preemption. Where an entry lacks room that gangs of a lower priority hold, these are ended, whole
(`node.scheduler.preemption`). It has a reservation until they are gone.

Claims. A pod whose PersistentVolumeClaim does not exist or is not bound fits on no node.

GPUs. Where a node says which GPUs it has, each pod is told its own, and several pods that say so share one
(`node.scheduler.gpus`).

Ports. Pods share the network of their node, so ports of different owners must not overlap. Pods of one owner may share
a port, as each has its own address.

Messages describe the nodes after this plan. The next plan then gives the same messages, and nothing is written twice.
Manifests are read in `pod_request`, `nodes` and `pod_groups`; `scheduler` acts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from itertools import chain

from paddock.kube.meta import Key, Manifest, key_of
from paddock.kube.priority_classes import SYSTEM_CLASSES
from paddock.kube.times import Moment
from paddock.node.scheduler.capacity import (
    NodeInfo,
    build_empty_infos,
    build_node_infos,
    build_shortage,
    format_amount,
    format_facts,
    sum_free,
)
from paddock.node.scheduler.nodes import Fact, Node, explain_mismatch, read_node
from paddock.node.scheduler.pod_groups import Group, find_group, read_group
from paddock.node.scheduler.pod_request import GroupKey, Request, read_request, sum_amounts
from paddock.node.scheduler.preemption import Unit, build_units, find_victims
from paddock.node.volumes.storage import Claim, explain_unbound, read_claim
from paddock.words.phrases import phrase

STARVATION_SECONDS = 300.0
"""How long a pod or gang can be overtaken until it gets a reservation."""
PRIORITIES: Mapping[str, int] = {each.name: each.value for each in SYSTEM_CLASSES}
"""The priority classes that every Kubernetes cluster has."""


@dataclass(frozen=True, slots=True)
class Bind:
    """Bind this pod to this node now."""

    namespace: str
    name: str
    uid: str
    node: str
    gpus: tuple[int, ...] = ()
    """The indices of its GPUs, where the node says which it has."""


@dataclass(frozen=True, slots=True)
class Wait:
    """This pod stays unbound: reason and message of its PodScheduled condition."""

    namespace: str
    name: str
    uid: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Evict:
    """This pod is ended now, with its whole gang, so that an entry of a higher priority has room."""

    namespace: str
    name: str
    uid: str
    by: str
    """`the gang "default/urgent"`."""


Decision = Bind | Wait | Evict


@dataclass(frozen=True, slots=True)
class Priorities:
    """The PriorityClasses of a cluster."""

    values: Mapping[str, int] = field(default_factory=lambda: PRIORITIES)
    """By name."""
    patient: frozenset[str] = frozenset()
    """Those that end nobody: `preemptionPolicy: Never`."""


def plan_placement(
    pods: Iterable[Manifest],
    nodes: Iterable[Manifest],
    groups: Iterable[Manifest] = (),
    now: Moment = 0.0,
    priorities: Priorities = Priorities(),
    claims: Iterable[Manifest] = (),
) -> tuple[Decision, ...]:
    """One decision for each pod that is not bound, not finished and not being deleted, and one for each that makes room
    for another; from manifests.

    `ValueError` if an amount of a node is not a quantity. A mistake in a pod's manifest becomes the `Wait` of this pod.
    """
    known = {key_of(claim): read_claim(claim) for claim in claims}
    return plan_requests(
        map(read_request, pods), map(read_node, nodes), map(read_group, groups), now, priorities, known
    )


def plan_requests(
    requests: Iterable[Request],
    nodes: Iterable[Node],
    groups: Iterable[Group] = (),
    now: Moment = 0.0,
    priorities: Priorities = Priorities(),
    claims: Mapping[Key, Claim] | None = None,
) -> tuple[Decision, ...]:
    """Like `plan_placement`, from values. Binds come first. The result does not depend on the order of the arguments'
    elements."""
    known = {group.key: group for group in groups}
    looked_up = (_with_unbound(it, claims or {}) for it in requests if not it.finished or it.groups)
    relevant = sorted(looked_up, key=lambda it: it.key)
    infos = build_node_infos(nodes, relevant)
    queue, waits = build_queue(relevant, known, priorities.values)
    makes_room = _build_preemption(relevant, known, priorities)
    binds: list[Bind] = []
    # Repeats until nothing more fits: messages must describe the nodes after all binds of this plan.
    while True:
        left, placed, victims = _place_queue(queue, infos, now, makes_room)
        if not placed:
            break
        binds += placed
        queue = [entry for entry, _ in left]
    held = _find_holders(relevant, binds, infos) if left else {}
    return (
        *binds,
        *victims,
        *waits,
        *(wait for entry, reservation in left for wait in _explain_entry(entry, reservation, infos, held)),
    )


_MOST_TRIES = 8
"""Entries of a plan for which it is looked who could make room, as each takes a look at all that runs."""
_MOST_HOLDERS = 3
"""Owners of pods that a message names."""
_Held = Mapping[str, Sequence[tuple[str, Fraction]]]
"""By resource: (owner, how much)."""


def _find_holders(
    requests: Iterable[Request], binds: Iterable[Bind], infos: Sequence[NodeInfo]
) -> dict[str, list[tuple[str, Fraction]]]:
    """By resource: the owners of the pods that hold some of it (`PaddleJob default/big1`) and how much, who holds most
    first."""
    bound, there = {bind.uid for bind in binds}, {info.node.name for info in infos}
    amounts: dict[str, dict[str, Fraction]] = {}
    for request in requests:
        if not (request.uid in bound or (request.holds and request.node in there)):
            continue
        for name, amount in request.weighed.items():
            of_owner = amounts.setdefault(name, {})
            of_owner[request.holder] = of_owner.get(request.holder, Fraction(0)) + amount
    return {name: sorted(found.items(), key=lambda each: (-each[1], each[0])) for name, found in amounts.items()}


def _tell_holders(entry: QueueEntry, facts: Mapping[str, Iterable[Fact]], held: _Held) -> str:
    """` Held by big1 (2) and 3 more.`: who holds the first resource that is lacking; empty where nobody else does.
    Those of another namespace are named with it."""
    first = next((fact.resource for reasons in facts.values() for fact in reasons if fact.resource), "")
    own = {request.holder for request in entry.requests}
    others = [each for each in held.get(first, ()) if each[0] not in own]
    here = f"{entry.requests[0].key.namespace}/"
    names = [
        f"{name.rpartition(' ')[2].removeprefix(here)} ({format_amount(first, amount)})"
        for name, amount in others[:_MOST_HOLDERS]
    ]
    more = f" and {len(others) - _MOST_HOLDERS} more" if len(others) > _MOST_HOLDERS else ""
    return f" Held by {', '.join(names)}{more}." if names else ""


def _with_unbound(request: Request, claims: Mapping[Key, Claim]) -> Request:
    if not (request.claims and request.pending):
        return request
    found = (explain_unbound(Key(request.key.namespace, name), claims) for name in request.claims)
    return replace(request, unbound=tuple(fact for fact in found if fact))


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """One entry of the queue: a pod, or the unbound pods of a gang."""

    requests: tuple[Request, ...]
    rank: tuple[int, bool, Moment, Key]  # the lowest is first; priority, whether it is a spare pod, age
    group: Group | None = None
    present: int = 0  # how many of the gang's pods are on nodes or have succeeded

    @property
    def priority(self) -> int:
        return -self.rank[0]

    @property
    def spare(self) -> bool:
        return self.rank[1]

    @property
    def needed(self) -> int:
        """How many of `requests` must be placed together; 0 once a gang has its minimum."""
        return max(0, self.group.minimum - self.present) if self.group else 1

    @property
    def name(self) -> str:
        return f'the gang "{self.group.key[1]}"' if self.group else f'the pod "{self.requests[0].key}"'


@dataclass(frozen=True, slots=True)
class _Reservation:
    """Keeps the resources in `lacked` for a starving entry: later entries that request one of them wait."""

    name: str
    lacked: frozenset[str]

    def explain(self, entry: QueueEntry, infos: Sequence[NodeInfo]) -> str:
        """With what is free and kept, where the entry would fit."""
        lacked = ", ".join(sorted(self.lacked))
        if entry.spare:
            return f"comes after {self.name}, which lacks {lacked}"
        kept = f" ({self._tell_kept(entry, infos)})" if _fits(entry, infos) else ""
        return f"held back for {self.name}, which has waited longer and lacks {lacked}{kept}"

    def _tell_kept(self, entry: QueueEntry, infos: Sequence[NodeInfo]) -> str:
        """`300m cpu is free and kept`: of the first that both want."""
        first = min(self.lacked & {name for request in entry.requests for name in request.amounts})
        return f"{format_amount(first, sum_free(infos)[first][0])} {first} is free and kept"


def build_queue(
    requests: Sequence[Request], groups: Mapping[GroupKey, Group], priorities: Mapping[str, int]
) -> tuple[list[QueueEntry], list[Wait]]:
    """The queue in its order, and the waits of the pods that cannot be queued yet. `requests`: sorted by key."""
    queue: list[QueueEntry] = []
    waits: list[Wait] = []
    gangs: dict[GroupKey, list[Request]] = defaultdict(list)
    there: dict[GroupKey, list[Request]] = defaultdict(list)
    for request in requests:
        group = find_group(request, groups)
        if not request.pending:
            if group and not request.deleting and (request.holds or request.phase == "Succeeded"):
                there[group.key].append(request)
        elif obstacle := _explain_obstacle(request, group):
            waits.append(obstacle)
        elif group:
            gangs[group.key].append(request)
        else:
            rank = (-_priority(request, priorities), request.spare, request.created or 0.0, request.key)
            queue.append(QueueEntry((request,), rank))
    queue += [_build_gang_entry(groups[key], members, there[key], priorities) for key, members in gangs.items()]
    return sorted(queue, key=lambda entry: entry.rank), waits


def _build_gang_entry(
    group: Group, members: Sequence[Request], present: Sequence[Request], priorities: Mapping[str, int]
) -> QueueEntry:
    """`members` wait, `present` are placed. Both count for the priority of the gang: its place in the queue must not
    change while it is placed."""
    ordered = tuple(sorted(members, key=lambda member: (member.created or 0.0, member.key)))
    own = max(_priority(member, priorities) for member in (*members, *present))
    priority = max(own, priorities.get(group.priority_class, own))
    return QueueEntry(ordered, (-priority, False, group.created or 0.0, group.key[1]), group, len(present))


def _priority(request: Request, priorities: Mapping[str, int]) -> int:
    """The number that the API wrote into the pod when it was created; by its class where none is, as of a pod that was
    never sent."""
    return priorities.get(request.priority_class, 0) if request.priority is None else request.priority


def _explain_obstacle(request: Request, group: Group | None) -> Wait | None:
    """Why a pod cannot be queued yet, regardless of capacity."""
    if request.gated:
        return _wait(request, str(phrase("waiting until its spec.schedulingGates are removed")), "SchedulingGated")
    if request.problem:
        return _wait(request, str(phrase("cannot be placed as it is written: {why}", why=request.problem)))
    if request.groups and group is None:
        return _wait(request, f'waiting for the PodGroup "{request.groups[0][1].name}", which does not exist yet')
    return None


def _wait(request: Request, message: str, reason: str = "Unschedulable") -> Wait:
    return Wait(request.key.namespace, request.key.name, request.uid, reason, message)


_MakesRoom = Callable[[QueueEntry, Sequence[NodeInfo]], tuple[Unit, ...] | None]
"""`preemption.find_victims` of an entry."""


def _build_preemption(
    requests: Iterable[Request], groups: Mapping[GroupKey, Group], priorities: Priorities
) -> _MakesRoom:
    def priority_of(request: Request) -> int:
        group = find_group(request, groups)
        own = _priority(request, priorities.values)
        return own if group is None else max(own, priorities.values.get(group.priority_class, own))

    @cache
    def units() -> list[Unit]:
        # Late, as it looks at all that runs: most plans have an entry for which there is room.
        return build_units(requests, lambda request: find_group(request, groups), priority_of)

    left = _MOST_TRIES

    def make_room(entry: QueueEntry, infos: Sequence[NodeInfo]) -> tuple[Unit, ...] | None:
        nonlocal left
        if left <= 0 or not units() or units()[0].priority >= entry.priority:
            return None
        names = {entry.group.priority_class if entry.group else "", *(each.priority_class for each in entry.requests)}
        patient = names & priorities.patient or any(each.patient for each in entry.requests)
        if entry.spare or patient or not 0 < entry.needed <= len(entry.requests):
            return None
        if not all(_fits_somewhere(request, infos) for request in entry.requests[: entry.needed]):
            return None
        left -= 1
        return find_victims(entry.priority, units(), infos, lambda: _fits(entry, infos))

    return make_room


def _place_queue(
    queue: Iterable[QueueEntry], infos: Sequence[NodeInfo], now: Moment, makes_room: _MakesRoom
) -> tuple[list[tuple[QueueEntry, _Reservation | None]], list[Bind], list[Evict]]:
    """Tries every entry once, in order: what remains, each with the reservation that holds it back, the binds, and the
    pods that make room for the first entry that lacks it."""
    left: list[tuple[QueueEntry, _Reservation | None]] = []
    binds: list[Bind] = []
    victims: tuple[Unit, ...] | None = None
    evicts: list[Evict] = []
    reservations: list[_Reservation] = []
    empty = build_empty_infos(infos)
    for entry in queue:
        asked = {name for request in entry.requests for name in request.amounts}
        known = chain(reservations, _claims_ahead(left, infos)) if entry.spare else reservations
        ahead = next((reservation for reservation in known if reservation.lacked & asked), None)
        placed = [] if ahead else _place(entry, infos)
        binds += [_bind(request, info) for request, info in placed]
        done = {request.key for request, _ in placed}
        rest = tuple(request for request in entry.requests if request.key not in done)
        if rest:
            remaining = replace(entry, requests=rest, present=entry.present + len(placed))
            # Of one that never fits, that is said, and not behind whom it waits.
            left.append((remaining, ahead if ahead and _fits(remaining, empty) else None))
            if ahead is None and victims is None and (victims := makes_room(remaining, infos)) is not None:
                evicts = [Evict(*each.key, each.uid, entry.name) for unit in victims for each in unit.requests]
                reservation = _claim(remaining, infos)
            else:
                reservation = None if ahead else _reserve(remaining, infos, now)
            if reservation:
                reservations.append(reservation)
    return left, binds, evicts


def _place(entry: QueueEntry, infos: Sequence[NodeInfo]) -> list[tuple[Request, NodeInfo]]:
    """Places each pod on the first node where it fits; a gang below its minimum is removed from all nodes again."""
    if len(entry.requests) < entry.needed:
        return []
    placed = _try(entry.requests, infos)
    if len(placed) >= entry.needed:
        return placed
    _undo(placed)
    return []


def _bind(request: Request, info: NodeInfo) -> Bind:
    gpus = info.gpus.given.get(request.uid, ()) if info.gpus is not None else ()
    return Bind(*request.key, request.uid, info.node.name, gpus)


def _fits_somewhere(request: Request, infos: Sequence[NodeInfo]) -> bool:
    """Whether some node is large enough, empty."""
    return any(
        all(amount <= info.node.amounts.get(name, 0) for name, amount in request.amounts.items()) for info in infos
    )


def _fits(entry: QueueEntry, infos: Sequence[NodeInfo]) -> bool:
    placed = _place(entry, infos)
    _undo(placed)
    return bool(placed)


def _try(requests: Iterable[Request], infos: Sequence[NodeInfo]) -> list[tuple[Request, NodeInfo]]:
    placed = []
    for request in requests:
        info = next((info for info in infos if info.fits(request)), None)
        if info is not None:
            info.take(request)
            placed.append((request, info))
    return placed


def _undo(placed: Iterable[tuple[Request, NodeInfo]]) -> None:
    for request, info in placed:
        info.give_back(request)


def _reserve(entry: QueueEntry, infos: Sequence[NodeInfo], now: Moment) -> _Reservation | None:
    """A reservation for an entry that has waited long and lacks resources."""
    since = max(now if request.created is None else request.created for request in entry.requests)
    return None if entry.spare or now - since < STARVATION_SECONDS else _claim(entry, infos)


def _claims_ahead(
    left: Iterable[tuple[QueueEntry, _Reservation | None]], infos: Sequence[NodeInfo]
) -> Iterator[_Reservation]:
    """What the entries before a spare pod wait for."""
    return (claim for entry, _ in left if not entry.spare and (claim := _claim(entry, infos)))


def _claim(entry: QueueEntry, infos: Sequence[NodeInfo]) -> _Reservation | None:
    """The resources that the entry lacks now. None for a gang that has its minimum, as it runs; and if the entry would
    not fit on empty nodes either: it would hold back the others for ever."""
    if not entry.needed or len(entry.requests) < entry.needed or not _place(entry, build_empty_infos(infos)):
        return None
    lacked = {fact.resource for facts in _explain_nodes(entry, infos)[1].values() for fact in facts if fact.resource}
    return _Reservation(entry.name, frozenset(lacked)) if lacked else None


def _explain_nodes(entry: QueueEntry, infos: Sequence[NodeInfo]) -> tuple[int, dict[str, list[Fact]]]:
    """How many pods of the entry fit together now, and each node's facts about the first pod that does not fit."""
    placed = _try(entry.requests, infos)
    done = {request.key for request, _ in placed}
    failed = next(request for request in entry.requests if request.key not in done)
    facts = {info.node.name: info.explain(failed) for info in infos}
    _undo(placed)
    return len(placed), facts


def _explain_entry(entry: QueueEntry, ahead: _Reservation | None, infos: Sequence[NodeInfo], held: _Held) -> list[Wait]:
    """One wait for each pod of an entry that was not placed."""
    group, needed, there = entry.group, entry.needed, len(entry.requests)
    if ahead:
        message = ahead.explain(entry, infos)
    elif group is None or needed == 0 or group.minimum == 1:  # one pod is no gang, and waits for no other
        found = [(it, {info.node.name: info.explain(it) for info in infos}) for it in entry.requests]
        return [_wait(it, format_facts(facts) + _tell_holders(entry, facts, held)) for it, facts in found]
    else:
        message = f'waiting for the gang "{group.key[1].name}": {group.minimum} pods are needed at once, '
        if there < needed:
            message += f"{entry.present + there} exist"
        else:
            fit, facts = _explain_nodes(entry, infos)
            message += f"{entry.present + fit} fit: {format_facts(_add_up(entry, infos, facts))}"
            message += _tell_holders(entry, facts, held)
    return [_wait(request, message) for request in entry.requests]


def _add_up(entry: QueueEntry, infos: Sequence[NodeInfo], facts: Mapping[str, list[Fact]]) -> dict[str, list[Fact]]:
    """The facts with numbers of the whole gang: the sum that it needs, the sum that is free on nodes it may use."""
    first, wanted = entry.requests[0], entry.requests[: entry.needed]
    usable = [info for info in infos if not explain_mismatch(first, info.node)] or infos
    shared = any(info.gpus is not None for info in usable)
    told = [each.weighed if shared else each.amounts for each in wanted]
    total = sum_amounts(told)
    free = sum_free(usable, next((each for each in wanted if each.shares), first))

    def add_up(fact: Fact) -> Fact:
        if fact.resource not in total:
            return fact
        asked, there = total[fact.resource], free.get(fact.resource, (Fraction(0), Fraction(0)))
        each = [amount for amounts in told if (amount := amounts.get(fact.resource))]
        if len(set(each)) > 1:
            return build_shortage(fact.resource, asked, *there)
        return build_shortage(fact.resource, each[0], *there, times=len(each))

    return {node: [add_up(fact) for fact in reasons] for node, reasons in facts.items()}
