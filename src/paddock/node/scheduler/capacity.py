"""The free capacity of nodes, and the sentences about capacity that is lacking. No I/O.

While a plan is made, a `NodeInfo` is changed in place: pods are added and removed. Sentences are kube-scheduler's, so
that tools recognise them, with numbers added: needed, free, allocatable. The order of pods is decided in
`paddock.node.scheduler.placement`.
"""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from paddock.kube.gpu_shares import GPU
from paddock.kube.pod_amounts import Amounts
from paddock.kube.quantities import format_bytes, format_quantity
from paddock.node.scheduler.gpus import Gpus
from paddock.node.scheduler.nodes import Fact, Node, explain_mismatch
from paddock.node.scheduler.pod_request import Request

_ZERO = Fraction(0)
_BYTES = ("memory", "ephemeral-storage")


@dataclass(slots=True)
class NodeInfo:
    """A node and its free amounts by resource."""

    node: Node
    free: dict[str, Fraction]
    ports: list[tuple[range, Request]] = field(default_factory=list)
    """Those that its pods hold, lowest first."""
    gpus: Gpus | None = None
    """None where the node does not say which it has, so that they are counted alone."""

    def __post_init__(self) -> None:
        if self.node.gpus:
            self.gpus = Gpus(tuple(sorted(set(self.node.gpus))))
            self.free[GPU] = self.gpus.count_free()

    def take(self, request: Request) -> None:
        for name, amount in request.amounts.items():
            self.free[name] = self.free.get(name, _ZERO) - amount
        if self.gpus is not None:
            self.gpus.take(request)
            self.free[GPU] = self.gpus.count_free()
        for ports in request.ports:
            insort(self.ports, (ports, request), key=lambda entry: (entry[0].start, entry[1].key))

    def take_alike(self, amounts: Amounts, count: int) -> None:
        """Of so many pods without ports, on a node that does not say which GPUs it has."""
        for name, amount in amounts.items():
            self.free[name] = self.free.get(name, _ZERO) - count * amount

    def give_back(self, request: Request) -> None:
        for name, amount in request.amounts.items():
            self.free[name] += amount
        if self.gpus is not None:
            self.gpus.give_back(request)
            self.free[GPU] = self.gpus.count_free()
        self.ports = [entry for entry in self.ports if entry[1] is not request]

    def lacks(self, request: Request) -> list[str]:
        """The names of the insufficient resources."""
        return [name for name, amount in request.amounts.items() if amount > self._free_for(name, request)]

    def _free_for(self, name: str, request: Request) -> Fraction:
        """What is free of a resource for this pod. Of GPUs, a share of one that is shared is a whole one to it."""
        if name != GPU or self.gpus is None or not request.shares:
            return self.free.get(name, _ZERO)
        return Fraction(1) if self.gpus.choose(request) is not None else _ZERO

    def fits(self, request: Request) -> bool:
        return not self.lacks(request) and not self._port_held(request) and not explain_mismatch(request, self.node)

    def explain(self, request: Request) -> list[Fact]:
        """Every reason why the pod does not fit on this node now; empty if it fits."""
        asked, free = self.weigh(request), self.free_of(request)
        facts = [
            build_shortage(name, asked[name], free.get(name, _ZERO), self.node.amounts.get(name, _ZERO))
            for name in self.lacks(request)
        ]
        if held := self._port_held(request):
            port, holder = held
            text = "node(s) didn't have free ports for the requested pod ports"
            facts.append(Fact(text, f"port {port} is held by {holder.holder}"))
        return [*facts, *explain_mismatch(request, self.node)]

    def weigh(self, request: Request) -> Amounts:
        """What the pod asks of this node: a share of a GPU, where it has such."""
        return request.amounts if self.gpus is None else request.weighed

    def free_of(self, request: Request) -> Mapping[str, Fraction]:
        """What is free in the same terms."""
        return self.free if self.gpus is None else {**self.free, GPU: self.gpus.count_free(request.shares)}

    def _port_held(self, request: Request) -> tuple[int, Request] | None:
        """The first conflict: the lowest port of the pod that a pod of another owner holds, and that other pod."""
        for wanted in request.ports:
            for held, holder in self.ports:
                start = max(wanted.start, held.start)
                if start < min(wanted.stop, held.stop) and holder.owner != request.owner:
                    return start, holder
        return None


def build_node_infos(nodes: Iterable[Node], requests: Iterable[Request]) -> list[NodeInfo]:
    """The nodes, sorted by name, without what bound and unfinished pods hold."""
    infos = {node.name: NodeInfo(node, dict(node.amounts)) for node in sorted(nodes, key=lambda node: node.name)}
    alike: dict[tuple[str, int], list[Amounts]] = defaultdict(list)
    for request in requests:
        if request.holds and (info := infos.get(request.node)) is not None:
            if request.ports or info.gpus is not None:
                info.take(request)
            else:
                alike[request.node, id(request.amounts)].append(request.amounts)
    # Pods that ask for the same share a mapping (`kube.pod_amounts`): thousands are one subtraction.
    for (node, _), held in alike.items():
        infos[node].take_alike(held[0], len(held))
    return list(infos.values())


def build_empty_infos(infos: Iterable[NodeInfo]) -> list[NodeInfo]:
    """The same nodes without any pods."""
    return [NodeInfo(info.node, dict(info.node.amounts)) for info in infos]


def build_shortage(name: str, needed: Fraction, free: Fraction, there: Fraction, times: int = 0) -> Fact:
    """`Insufficient cpu`, `needs 2, 500m of 2 free`; `needs 4 x 2, …` of so many pods (0: not said)."""
    text = "Too many pods" if name == "pods" else f"Insufficient {name}"
    amounts = [format_amount(name, amount) for amount in (needed, max(free, _ZERO), there)]
    many = f"{times} x " if times else ""
    return Fact(text, "needs {}{}, {} of {} free".format(many, *amounts), name)


def format_amount(name: str, amount: Fraction) -> str:
    if name == GPU:
        return str(amount)  # `1/4`
    return format_bytes(amount) if name in _BYTES else format_quantity(amount)


def sum_free(infos: Sequence[NodeInfo], request: Request | None = None) -> Mapping[str, tuple[Fraction, Fraction]]:
    """Sums over several nodes: (free, allocatable) by resource. `request`: for whom it is free."""
    names = {name for info in infos for name in info.node.amounts}
    found = [info.free if request is None else info.free_of(request) for info in infos]
    return {
        name: (
            sum((max(free.get(name, _ZERO), _ZERO) for free in found), _ZERO),
            sum((info.node.amounts.get(name, _ZERO) for info in infos), _ZERO),
        )
        for name in names
    }


def format_facts(facts: Mapping[str, Iterable[Fact]]) -> str:
    """One sentence about all nodes; `facts` by name of node.

    `0/1 nodes are available: 1 Insufficient nvidia.com/gpu (needs 1, 0 of 0 free).` If the nodes' details differ, the
    sentence has the detail and the name of the first node.
    """
    if not facts:
        return "no nodes available to schedule pods"
    by_text: dict[str, list[tuple[str, str]]] = {}
    for node, reasons in facts.items():
        for fact in reasons:
            by_text.setdefault(fact.text, []).append((node, fact.detail))
    parts = [f"{len(nodes)} {text}{_format_details(nodes)}" for text, nodes in sorted(by_text.items())]
    return f"0/{len(facts)} nodes are available: {', '.join(parts)}."


def _format_details(nodes: Sequence[tuple[str, str]]) -> str:
    first, detail = nodes[0]
    if not detail:
        return ""
    same = all(other == detail for _, other in nodes)
    return f" ({detail})" if same else f" (on {first}: {detail})"
