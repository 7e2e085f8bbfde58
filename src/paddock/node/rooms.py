"""What room is left on each node, and in which words a pod is told that there is none. Pure but for its own tally.

A `Room` counts while a plan is made: pods are taken in and given back. Sentences are kube-scheduler's, so that tools
and habits know them, with numbers added: what is needed, what is free, what there is. Who may have the room first is
`paddock.node.placement`.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from paddock.kube.quantities import format_bytes, format_quantity
from paddock.node.nodes import Fact, Node, explain_mismatch
from paddock.node.requests import Request

_ZERO = Fraction(0)
_BYTES = ("memory", "ephemeral-storage")


@dataclass(slots=True)
class Room:
    """A node with what is free of it. `ports` are held by the pods that run on it, lowest first."""

    node: Node
    free: dict[str, Fraction]
    ports: list[tuple[range, Request]] = field(default_factory=list)

    def take(self, request: Request) -> None:
        for name, amount in request.amounts.items():
            self.free[name] = self.free.get(name, _ZERO) - amount
        for ports in request.ports:
            insort(self.ports, (ports, request), key=lambda entry: (entry[0].start, entry[1].key))

    def give_back(self, request: Request) -> None:
        for name, amount in request.amounts.items():
            self.free[name] += amount
        self.ports = [entry for entry in self.ports if entry[1] is not request]

    def lacks(self, request: Request) -> list[str]:
        """The resources of which too little is free."""
        return [name for name, amount in request.amounts.items() if amount > self.free.get(name, _ZERO)]

    def fits(self, request: Request) -> bool:
        return not self.lacks(request) and not self._port_held(request) and not explain_mismatch(request, self.node)

    def explain(self, request: Request) -> list[Fact]:
        """Every reason why the pod cannot be here now; none when it fits."""
        facts = [
            build_shortage(name, request.amounts[name], self.free.get(name, _ZERO), self.node.amounts.get(name, _ZERO))
            for name in self.lacks(request)
        ]
        if held := self._port_held(request):
            port, holder = held
            text = "node(s) didn't have free ports for the requested pod ports"
            facts.append(Fact(text, f"port {port} is held by {holder.holder}"))
        return [*facts, *explain_mismatch(request, self.node)]

    def _port_held(self, request: Request) -> tuple[int, Request] | None:
        """The lowest port that the pod wants and a pod of another owner has, and that pod: whoever came first."""
        for wanted in request.ports:
            for held, holder in self.ports:
                start = max(wanted.start, held.start)
                if start < min(wanted.stop, held.stop) and holder.owner != request.owner:
                    return start, holder
        return None


def build_rooms(nodes: Iterable[Node], requests: Iterable[Request]) -> list[Room]:
    """The nodes in the order of their names, less what bound and unfinished pods hold."""
    rooms = {node.name: Room(node, dict(node.amounts)) for node in sorted(nodes, key=lambda node: node.name)}
    for request in requests:
        if request.holds and request.node in rooms:
            rooms[request.node].take(request)
    return list(rooms.values())


def build_empty_rooms(rooms: Iterable[Room]) -> list[Room]:
    """The same nodes as if nothing ran on them."""
    return [Room(room.node, dict(room.node.amounts)) for room in rooms]


def build_shortage(name: str, needed: Fraction, free: Fraction, there: Fraction) -> Fact:
    """`Insufficient cpu`, `needs 2, 500m of 2 free`."""
    text = "Too many pods" if name == "pods" else f"Insufficient {name}"
    amounts = [_format_amount(name, amount) for amount in (needed, max(free, _ZERO), there)]
    return Fact(text, "needs {}, {} of {} free".format(*amounts), name)


def _format_amount(name: str, amount: Fraction) -> str:
    return format_bytes(amount) if name in _BYTES else format_quantity(amount)


def sum_free(rooms: Sequence[Room]) -> Mapping[str, tuple[Fraction, Fraction]]:
    """Over several nodes: (free, there) by resource."""
    names = {name for room in rooms for name in room.node.amounts}
    return {
        name: (
            sum((max(room.free.get(name, _ZERO), _ZERO) for room in rooms), _ZERO),
            sum((room.node.amounts.get(name, _ZERO) for room in rooms), _ZERO),
        )
        for name in names
    }


def format_facts(facts: Mapping[str, Iterable[Fact]]) -> str:
    """The sentence over all nodes, from each node's facts by its name.

    `0/1 nodes are available: 1 Insufficient nvidia.com/gpu (needs 1, 0 of 0 free).` Where nodes differ in the detail,
    the first one's is given, with its name.
    """
    if not facts:
        return "no nodes available to schedule pods"
    told: dict[str, list[tuple[str, str]]] = {}
    for node, reasons in facts.items():
        for fact in reasons:
            told.setdefault(fact.text, []).append((node, fact.detail))
    parts = [f"{len(nodes)} {text}{_format_details(nodes)}" for text, nodes in sorted(told.items())]
    return f"0/{len(facts)} nodes are available: {', '.join(parts)}."


def _format_details(nodes: Sequence[tuple[str, str]]) -> str:
    first, detail = nodes[0]
    if not detail:
        return ""
    same = all(other == detail for _, other in nodes)
    return f" ({detail})" if same else f" (on {first}: {detail})"
