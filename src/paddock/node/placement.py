"""Which pod goes to which node, and why the others wait: the scheduler's decisions, all of them. Pure.

Order. Higher priority first, then who came first; a gang stands in line as one, since its PodGroup was made.

Gangs. Pods that name a PodGroup are placed when `minMember` of them are on nodes at once, and not one before. Every
scheduler name is served: on one machine there is nobody else.

Overtaking. What does not fit is overtaken by what does. To starve nobody, a gang or pod that has waited for `PATIENCE`
and would fit on the nodes if they were empty holds its turn: those behind it that ask for any resource it lacks wait
too, and say for whom. Room comes free only when a pod ends, which is planned for anyway, so no timer is needed.

Claims. A pod whose PersistentVolumeClaim is missing or not bound fits on no node; the claim is one more fact about it.

Ports. Pods share their node's network, so ports of different owners must not overlap; pods of one owner have each an
address of their own and may share a port.

Sentences describe the nodes as this plan leaves them, so planning again from there gives the same sentences, and
nothing is written twice. Manifests are read in `requests`, `nodes` and `pod_groups`; `scheduler` acts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from paddock.kube.meta import Key, Manifest, key_of
from paddock.kube.times import Moment
from paddock.node.nodes import Fact, Node, explain_mismatch, read_node
from paddock.node.pod_groups import Group, find_group, read_group
from paddock.node.requests import GroupKey, Request, read_request, sum_amounts
from paddock.node.rooms import Room, build_empty_rooms, build_rooms, build_shortage, format_facts, sum_free
from paddock.node.storage import Claim, explain_unbound, read_claim

PATIENCE = 300.0
"""Seconds for which a pod or gang lets others overtake it."""
PRIORITIES: Mapping[str, int] = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""The priority classes that every cluster has."""


@dataclass(frozen=True, slots=True)
class Bind:
    """This pod goes to this node now."""

    namespace: str
    name: str
    uid: str
    node: str


@dataclass(frozen=True, slots=True)
class Wait:
    """This pod stays unbound: `reason` is for its PodScheduled condition, `message` for people."""

    namespace: str
    name: str
    uid: str
    reason: str
    message: str


Decision = Bind | Wait


def plan_placement(
    pods: Iterable[Manifest],
    nodes: Iterable[Manifest],
    groups: Iterable[Manifest] = (),
    now: Moment = 0.0,
    priorities: Mapping[str, int] = PRIORITIES,
    claims: Iterable[Manifest] = (),
) -> tuple[Decision, ...]:
    """One decision for each pod that is neither bound nor finished nor being deleted, from manifests.

    `ValueError` where a node's amount is no quantity; a pod's mistake becomes its own `Wait`.
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
    priorities: Mapping[str, int] = PRIORITIES,
    claims: Mapping[Key, Claim] | None = None,
) -> tuple[Decision, ...]:
    """The same, from what was read before. Binds come first. The order of the arguments' elements does not matter."""
    known = {group.key: group for group in groups}
    looked_up = (_with_unbound(it, claims or {}) for it in requests if not it.finished or it.groups)
    relevant = sorted(looked_up, key=lambda it: it.key)
    rooms = build_rooms(nodes, relevant)
    line, waits = _build_line(relevant, known, priorities)
    binds: list[Bind] = []
    while True:  # once more after any was placed, so that the rest is told of the nodes as they are left
        left, placed = _place_line(line, rooms, now)
        if not placed:
            break
        binds += placed
        line = [entry for entry, _ in left]
    return (*binds, *waits, *(wait for entry, turn in left for wait in _explain_entry(entry, turn, rooms)))


def _with_unbound(request: Request, claims: Mapping[Key, Claim]) -> Request:
    if not (request.claims and request.pending):
        return request
    found = (explain_unbound(Key(request.key.namespace, name), claims) for name in request.claims)
    return replace(request, unbound=tuple(fact for fact in found if fact))


@dataclass(frozen=True, slots=True)
class _Entry:
    """One place in the line: a pod, or a gang's unbound pods. `present` of the gang are on nodes already, or done."""

    requests: tuple[Request, ...]
    rank: tuple[int, Moment, Key]
    group: Group | None = None
    present: int = 0

    @property
    def needed(self) -> int:
        """How many of `requests` must be placed together; none once a gang has its minimum."""
        return max(0, self.group.minimum - self.present) if self.group else 1

    @property
    def name(self) -> str:
        return f'the gang "{self.group.key[1]}"' if self.group else f'the pod "{self.requests[0].key}"'


@dataclass(frozen=True, slots=True)
class _Turn:
    """An entry that has waited long enough to be overtaken no more, in `lacked` at least."""

    name: str
    lacked: frozenset[str]


def _build_line(
    requests: Sequence[Request], groups: Mapping[GroupKey, Group], priorities: Mapping[str, int]
) -> tuple[list[_Entry], list[Wait]]:
    """The line, and the waits of those pods that cannot stand in it."""
    line: list[_Entry] = []
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
            rank = (-_priority(request, priorities), request.created or 0.0, request.key)
            line.append(_Entry((request,), rank))
    line += [_build_gang(groups[key], members, there[key], priorities) for key, members in gangs.items()]
    return sorted(line, key=lambda entry: entry.rank), waits


def _build_gang(
    group: Group, members: Sequence[Request], present: Sequence[Request], priorities: Mapping[str, int]
) -> _Entry:
    """`members` wait, `present` are placed: both give the gang its priority, so that it keeps its place in the line."""
    ordered = tuple(sorted(members, key=lambda member: (member.created or 0.0, member.key)))
    own = max(_priority(member, priorities) for member in (*members, *present))
    priority = max(own, priorities.get(group.priority_class, own))
    return _Entry(ordered, (-priority, group.created or 0.0, group.key[1]), group, len(present))


def _priority(request: Request, priorities: Mapping[str, int]) -> int:
    return priorities.get(request.priority_class, 0) if request.priority is None else request.priority


def _explain_obstacle(request: Request, group: Group | None) -> Wait | None:
    """Why a pod cannot stand in line yet, whatever room the nodes have."""
    if request.gated:
        return _wait(request, "waiting until its spec.schedulingGates are removed", "SchedulingGated")
    if request.problem:
        return _wait(request, f"cannot be placed as it is written: {request.problem}")
    if request.groups and group is None:
        return _wait(request, f'waiting for the PodGroup "{request.groups[0][1].name}", which does not exist yet')
    return None


def _wait(request: Request, message: str, reason: str = "Unschedulable") -> Wait:
    return Wait(request.key.namespace, request.key.name, request.uid, reason, message)


def _place_line(
    line: Iterable[_Entry], rooms: Sequence[Room], now: Moment
) -> tuple[list[tuple[_Entry, _Turn | None]], list[Bind]]:
    """One walk along the line: who is left, each with the one that holds it back, and who was placed."""
    left: list[tuple[_Entry, _Turn | None]] = []
    binds: list[Bind] = []
    turns: list[_Turn] = []
    for entry in line:
        asked = {name for request in entry.requests for name in request.amounts}
        ahead = next((turn for turn in turns if turn.lacked & asked), None)
        placed = [] if ahead else _place(entry, rooms)
        binds += [Bind(*request.key, request.uid, room.node.name) for request, room in placed]
        done = {request.key for request, _ in placed}
        rest = tuple(request for request in entry.requests if request.key not in done)
        if rest:
            remaining = replace(entry, requests=rest, present=entry.present + len(placed))
            left.append((remaining, ahead))
            if ahead is None and (turn := _claim_turn(remaining, rooms, now)):
                turns.append(turn)
    return left, binds


def _place(entry: _Entry, rooms: Sequence[Room]) -> list[tuple[Request, Room]]:
    """Take the first room that fits for each pod; a gang that stays under its minimum gives all of them back."""
    if len(entry.requests) < entry.needed:
        return []
    placed = _try(entry.requests, rooms)
    if len(placed) >= entry.needed:
        return placed
    _undo(placed)
    return []


def _try(requests: Iterable[Request], rooms: Sequence[Room]) -> list[tuple[Request, Room]]:
    placed = []
    for request in requests:
        room = next((room for room in rooms if room.fits(request)), None)
        if room is not None:
            room.take(request)
            placed.append((request, room))
    return placed


def _undo(placed: Iterable[tuple[Request, Room]]) -> None:
    for request, room in placed:
        room.give_back(request)


def _claim_turn(entry: _Entry, rooms: Sequence[Room], now: Moment) -> _Turn | None:
    """A turn for an entry that has waited long and lacks room, if it could ever have it."""
    since = max(now if request.created is None else request.created for request in entry.requests)
    if now - since < PATIENCE or len(entry.requests) < entry.needed or not _place(entry, build_empty_rooms(rooms)):
        return None
    lacked = {fact.resource for facts in _explain_rooms(entry, rooms)[1].values() for fact in facts if fact.resource}
    return _Turn(entry.name, frozenset(lacked)) if lacked else None


def _explain_rooms(entry: _Entry, rooms: Sequence[Room]) -> tuple[int, dict[str, list[Fact]]]:
    """How many pods of the entry fit together now, and each node's facts about the first that does not."""
    placed = _try(entry.requests, rooms)
    done = {request.key for request, _ in placed}
    failed = next(request for request in entry.requests if request.key not in done)
    facts = {room.node.name: room.explain(failed) for room in rooms}
    _undo(placed)
    return len(placed), facts


def _explain_entry(entry: _Entry, ahead: _Turn | None, rooms: Sequence[Room]) -> list[Wait]:
    """The waits of all pods of an entry that was not placed."""
    group, needed, there = entry.group, entry.needed, len(entry.requests)
    if ahead:
        lacked = ", ".join(sorted(ahead.lacked))
        message = f"held back for {ahead.name}, which has waited longer and lacks {lacked}"
    elif group is None or needed == 0:
        return [_wait(it, format_facts({room.node.name: room.explain(it) for room in rooms})) for it in entry.requests]
    else:
        message = f'waiting for the gang "{group.key[1].name}": {group.minimum} pods are needed at once, '
        if there < needed:
            message += f"{entry.present + there} exist"
        else:
            fit, facts = _explain_rooms(entry, rooms)
            message += f"{entry.present + fit} fit: {format_facts(_add_up(entry, rooms, facts))}"
    return [_wait(request, message) for request in entry.requests]


def _add_up(entry: _Entry, rooms: Sequence[Room], facts: Mapping[str, list[Fact]]) -> dict[str, list[Fact]]:
    """The same facts with numbers for the whole gang: what it needs together, what is free on nodes it may use."""
    total = sum_amounts(entry.requests[: entry.needed])
    usable = [room for room in rooms if not explain_mismatch(entry.requests[0], room.node)] or rooms
    free = sum_free(usable)

    def add_up(fact: Fact) -> Fact:
        if fact.resource not in total:
            return fact
        return build_shortage(fact.resource, total[fact.resource], *free.get(fact.resource, (Fraction(0), Fraction(0))))

    return {node: [add_up(fact) for fact in reasons] for node, reasons in facts.items()}
