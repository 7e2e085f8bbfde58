"""Why the pods of one job do not fit on the nodes of a cluster whose scheduler is another program: from nodes and pods,
with the filters and amounts of the local scheduler. Pure.

kube-scheduler, Volcano and others decide; nothing here does. Only what nodes and pods show for certain is said. What a
scheduler looks at beyond it (volumes, affinity to pods, quota) is not known: pods that fit by this reckoning have no
shortage, and the scheduler's own message stands. A node that is cordoned or not ready may come back, so its amounts are
in totals and not in what is free. Sentences are in `words.shortage`.

Who waits and how many nodes there are is both chosen by others, so the work of one command or page is bounded
(`MOST_LOOKS`): those that are asked about last then have no numbers, and the scheduler's own message stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from paddock.kube.meta import Manifest
from paddock.node.scheduler.capacity import NodeInfo, build_node_infos
from paddock.node.scheduler.nodes import Node, explain_mismatch, read_node
from paddock.node.scheduler.pod_request import Request, sum_amounts
from paddock.words.shortage import Holder, Lacking, Shortage

_ZERO = Fraction(0)
_NAME = "metadata.name"
_OF_STATE = "node.kubernetes.io/"
"""Of the taints that Kubernetes sets for the state of a node, which may pass (`unreachable`, `memory-pressure`)."""


MOST_LOOKS = 1_000_000
"""Of one command or page, at nodes, labels and pods that hold something: less than a second. Some fifty kinds of pods
whose nodes differ, on a thousand nodes; kinds that name the same nodes cost little."""


class _TooMuch(Exception):
    """`MOST_LOOKS` is reached."""


@dataclass(slots=True)
class Work:
    """What one command or page may still look at."""

    left: int = MOST_LOOKS

    def spend(self, looks: int) -> None:
        self.left -= looks
        if self.left < 0:
            raise _TooMuch


@dataclass(frozen=True, slots=True)
class Amount:
    """What nodes have of one resource."""

    total: Fraction
    largest: Fraction
    free: Fraction
    piece: Fraction
    """The most that is free on one of them."""


@dataclass(slots=True)
class Part:
    """The nodes that pods with the same selectors and tolerations may use. What was asked once is kept: a page has a
    hundred jobs that ask the same of a thousand nodes."""

    usable: tuple[NodeInfo, ...]
    """By labels and taints."""
    open: tuple[NodeInfo, ...]
    """Those of them that take pods now."""
    amounts: dict[str, Amount] = field(default_factory=dict)
    held: dict[str, list[tuple[str, str, Fraction]]] = field(default_factory=dict)
    """By resource: (owner, its name, what it holds on open nodes), who holds most first."""


@dataclass(frozen=True, slots=True)
class Stock:
    """The nodes with what is free on them, and the pods of each owner. Built once for all jobs of a command."""

    infos: tuple[NodeInfo, ...]
    """Of all nodes. Nothing changes them."""
    is_known: bool
    """Whether the pods of all namespaces are known: else nothing is known to be free."""
    waiting: Mapping[str, tuple[Request, ...]] = field(default_factory=dict)
    """By the UID of the owner: pods that wait for a node, in the order of their names."""
    placed: Mapping[str, tuple[Request, ...]] = field(default_factory=dict)
    """The same of pods on nodes."""
    states: tuple[str, ...] = ()
    """Of the nodes: taints, and whether they take pods. Those of one state differ in labels alone."""
    parts: dict[str, Part] = field(default_factory=dict, compare=False, repr=False)
    """By the selectors and tolerations of pods."""
    alike: dict[tuple[tuple[int, ...], tuple[int, ...]], Part] = field(default_factory=dict, compare=False, repr=False)
    """The same by the places of their nodes in `infos`: pods that are written in different ways share what is known."""
    work: Work = field(default_factory=Work, compare=False, repr=False)

    def begin(self) -> Stock:
        """For another command or page, with what is known already."""
        return replace(self, work=Work())


def read_stock(nodes: Iterable[Manifest], requests: Iterable[Request], *, is_known: bool) -> Stock | None:
    """`requests`: of the pods that are known. None where the amounts of a node cannot be read."""
    try:
        known = [read_node(each) for each in nodes]
    except ValueError:
        return None
    there = sorted(requests, key=lambda each: each.key)
    waiting: dict[str, list[Request]] = {}
    placed: dict[str, list[Request]] = {}
    for each in there:
        if each.holds:
            placed.setdefault(each.owner, []).append(each)
        elif each.pending and not (each.gated or each.spare or each.problem):
            waiting.setdefault(each.owner, []).append(each)
    infos = tuple(build_node_infos(known, there))
    states = tuple(repr((info.node.taints, info.node.unschedulable, info.node.ready)) for info in infos)
    return Stock(infos, is_known, _freeze(waiting), _freeze(placed), states)


def _freeze(found: Mapping[str, Sequence[Request]]) -> dict[str, tuple[Request, ...]]:
    return {owner: tuple(each) for owner, each in found.items()}


def find_shortage(
    stock: Stock, waiting: Sequence[Request], *, needs_all: bool = False, named: frozenset[str] = frozenset()
) -> Shortage | None:
    """Why these pods, of one owner, do not fit; None where they do, where it is not room that keeps them away, or where
    what was asked before has used up `MOST_LOOKS`.

    `needs_all`: the owner needs all of its pods at once, so that nodes with less than they ask for together never have
    room. `named`: the resources that the scheduler calls insufficient; empty where it names none.
    """
    try:
        return _find(stock, waiting, needs_all=needs_all, named=named)
    except _TooMuch:
        return None


def _find(stock: Stock, waiting: Sequence[Request], *, needs_all: bool, named: frozenset[str]) -> Shortage | None:
    taken: dict[str, dict[str, Fraction]] = {}
    for alike in _group(waiting):
        if (found := _find_of_alike(stock, alike, taken, needs_all)) is not None:
            kept = tuple(each for each in found.lacking if not named or each.resource in named)
            return replace(found, lacking=kept) if kept else None
    return None


def _group(requests: Sequence[Request]) -> list[list[Request]]:
    """Pods that may use the same nodes, together."""
    found: dict[str, list[Request]] = {}
    for each in requests:
        found.setdefault(_constraints(each), []).append(each)
    return list(found.values())


def _constraints(request: Request) -> str:
    return repr((sorted(request.selector.items()), request.terms, request.tolerations))


def _find_part(stock: Stock, request: Request) -> Part:
    constraints = _constraints(request)
    if (found := stock.parts.get(constraints)) is None:
        usable, open_ = _match(stock, request)
        if (found := stock.alike.get((usable, open_))) is None:
            found = Part(tuple(stock.infos[each] for each in usable), tuple(stock.infos[each] for each in open_))
            stock.alike[usable, open_] = found
        stock.parts[constraints] = found
    return found


def _match(stock: Stock, request: Request) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The places of the nodes that it may use, and of those that take pods now. Nodes that do not differ in what the
    pod names are compared once."""
    keys, weight = _read_keys(request)
    stock.work.spend(len(stock.infos))
    shapes: dict[tuple[str | None, ...], list[int]] = {}
    for place, (info, state) in enumerate(zip(stock.infos, stock.states, strict=True)):
        named = (info.node.name if key == _NAME else info.node.labels.get(key) for key in keys)
        shapes.setdefault((state, *named), []).append(place)
    stock.work.spend(len(shapes) * weight)
    usable, open_ = list[int](), list[int]()
    for places in shapes.values():
        node = stock.infos[places[0]].node
        lasting = _without_state(node)
        if not explain_mismatch(request, lasting):
            usable += places
            open_ += places if lasting is node or not explain_mismatch(request, node) else []
    return tuple(sorted(usable)), tuple(sorted(open_))


def _read_keys(request: Request) -> tuple[list[str], int]:
    """The labels that it names (`_NAME`: the node's own name), and what it costs to compare it with one node."""
    terms = request.terms or ()
    expressions = [each for term in terms for each in term.get("matchExpressions") or ()]
    fields = [each for term in terms for each in term.get("matchFields") or ()]
    keys = [*request.selector, *(str(each.get("key")) for each in expressions), *([_NAME] if fields else [])]
    values = sum(len(each.get("values") or ()) for each in (*expressions, *fields))
    return list(dict.fromkeys(keys)), 4 + len(keys) + len(fields) + values + len(request.tolerations)


def _find_of_alike(
    stock: Stock, alike: Sequence[Request], taken: dict[str, dict[str, Fraction]], needs_all: bool
) -> Shortage | None:
    """`taken`: by node what earlier pods of the job leave, to which these are added."""
    part = _find_part(stock, alike[0])
    if not part.usable:
        return None  # labels or taints keep it away: no room would help
    if never := _find_never(stock, part, alike, needs_all=needs_all):
        return never
    if not stock.is_known or not part.open:
        return None
    asked, each = sum_amounts(request.amounts for request in alike), _find_largest(alike)
    free = _list_free(stock, part, taken) if taken else None
    amounts = {name: _measure(stock, part, name, free) for name in asked}
    found = [_build(name, asked[name], each[name], amounts[name]) for name in asked]
    # Known without placing any pod: there is not enough in all, or not in one piece.
    lacking = [one for one in found if _is_short(one)] or [one for one in found if _is_in_pieces(one)]
    fit = None
    if not lacking:
        left = {name: dict(amounts) for name, amounts in (free or _list_free(stock, part, taken)).items()}
        fit, failed = _place(alike, left, stock.work)
        taken |= left
        if failed is None:
            return None
        names = [name for name in asked if any(_lacks(amounts, failed, name) for amounts in left.values())]
        lacking = [_build(name, asked[name], failed.amounts[name], amounts[name]) for name in names]
    lacking.sort(key=lambda one: one.resource)
    held = tuple(replace(one, holders=_find_holders(stock, part, one.resource, alike[0])) for one in lacking)
    return Shortage(_count_alike(held, alike), len(alike), fit, len(part.usable), len(stock.infos) - len(part.usable))


def _list_free(
    stock: Stock, part: Part, taken: Mapping[str, dict[str, Fraction]]
) -> Mapping[str, Mapping[str, Fraction]]:
    """By node, behind the pods that took theirs."""
    stock.work.spend(len(part.open))
    return {info.node.name: taken.get(info.node.name, info.free) for info in part.open}


def _is_short(found: Lacking) -> bool:
    return found.free is not None and found.free < found.asked


def _is_in_pieces(found: Lacking) -> bool:
    return found.piece is not None and found.each is not None and found.piece < found.each


def _lacks(free: Mapping[str, Fraction], request: Request, name: str) -> bool:
    return request.amounts.get(name, _ZERO) > free.get(name, _ZERO)


def _find_largest(requests: Iterable[Request]) -> dict[str, Fraction]:
    """By resource: the most that one of the pods asks for."""
    found: dict[str, Fraction] = {}
    for request in _distinct(requests):
        for name, amount in request.amounts.items():
            found[name] = max(found.get(name, _ZERO), amount)
    return found


def _find_never(stock: Stock, part: Part, alike: Sequence[Request], *, needs_all: bool) -> Shortage | None:
    """What no end of another pod would help with: a pod that is larger than each node, or all of them together."""
    nodes, others = len(part.usable), len(stock.infos) - len(part.usable)
    asked, largest = sum_amounts(request.amounts for request in alike), _find_largest(alike)
    found = (
        _build(name, asked[name], each, _measure(stock, part, name), is_known=False) for name, each in largest.items()
    )
    if too_large := tuple(each for each in found if each.is_too_large):
        return Shortage(_count_alike(too_large, alike), len(alike), nodes=nodes, others=others)
    if not needs_all:
        return None
    constraints = _constraints(alike[0])
    placed = [each for each in stock.placed.get(alike[0].owner, ()) if _constraints(each) == constraints]
    own = [*alike, *placed]
    totals = (
        _build(name, amount, largest.get(name, _ZERO), _measure(stock, part, name), is_known=False)
        for name, amount in sum_amounts(request.amounts for request in own).items()
    )
    less = tuple(each for each in totals if each.total is not None and each.total < each.asked)
    if not less:
        return None
    return Shortage(_count_alike(less, own), len(own), nodes=nodes, others=others, is_all=True)


def _count_alike(lacking: Iterable[Lacking], pods: Iterable[Request]) -> tuple[Lacking, ...]:
    """With the number of the pods that ask for each, where these ask for the same amount."""
    amounts = [request.amounts for request in pods]
    told = ((each, [found for one in amounts if (found := one.get(each.resource))]) for each in lacking)
    return tuple(replace(each, alike=len(found)) if len(set(found)) == 1 else each for each, found in told)


def _distinct(requests: Iterable[Request]) -> Iterable[Request]:
    return {tuple(sorted(each.amounts.items())): each for each in requests}.values()


def _measure(stock: Stock, part: Part, name: str, left: Mapping[str, Mapping[str, Fraction]] | None = None) -> Amount:
    """`left`: what is free by node, where other pods of the job take some first."""
    if left is None and (known := part.amounts.get(name)) is not None:
        return known
    stock.work.spend(len(part.usable) + len(part.open))
    each = (info.free for info in part.open) if left is None else left.values()
    has = _gather(info.node.amounts.get(name, _ZERO) for info in part.usable)
    free = _gather(amounts.get(name, _ZERO) for amounts in each)
    found = Amount(*has, *free)
    if left is None:
        part.amounts[name] = found
    return found


def _gather(amounts: Iterable[Fraction]) -> tuple[Fraction, Fraction]:
    """The sum of those above zero, and the largest. By denominators, of which quantities have few: to add and compare
    fractions takes ten times as long."""
    found: dict[int, list[int]] = {}
    for each in amounts:
        if (numerator := each.numerator) > 0:
            found.setdefault(each.denominator, []).append(numerator)
    total = sum((Fraction(sum(each), below) for below, each in found.items()), _ZERO)
    return total, max((Fraction(max(each), below) for below, each in found.items()), default=_ZERO)


def _build(name: str, asked: Fraction, each: Fraction, amount: Amount, *, is_known: bool = True) -> Lacking:
    free, piece = (amount.free, amount.piece) if is_known else (None, None)
    return Lacking(name, asked, each, amount.total, amount.largest, free, piece)


def _place(
    requests: Sequence[Request], left: Mapping[str, dict[str, Fraction]], work: Work
) -> tuple[int, Request | None]:
    """Takes each pod's amounts of the first node that has them: how many pods fit, and the first that does not. What
    did not fit once does not fit later, so a pod like it is not tried again."""
    fit, failed = 0, None
    at = 0
    nodes, before = list(left.values()), None
    for request in requests:
        if request.amounts != before:
            work.spend(len(nodes))
            at, before = 0, request.amounts
        while at < len(nodes) and not _has(nodes[at], request):
            at += 1
        if at == len(nodes):
            failed = failed or request
            continue
        for name, amount in request.amounts.items():
            nodes[at][name] -= amount
        fit += 1
    return fit, failed


def _has(free: Mapping[str, Fraction], request: Request) -> bool:
    return all(free.get(name, _ZERO) >= amount for name, amount in request.amounts.items())


def _find_holders(stock: Stock, part: Part, resource: str, own: Request) -> tuple[Holder, ...]:
    """Who holds some of it on these nodes, who holds most first; those of another namespace with its name."""
    if resource not in part.held:
        part.held[resource] = _list_held(stock, part, resource)
    stock.work.spend(len(part.held[resource]))
    return tuple(
        _read_holder(name, amount, own.key.namespace)
        for owner, name, amount in part.held[resource]
        if owner != own.owner
    )


def _read_holder(holder: str, amount: Fraction, here: str) -> Holder:
    """`holder`: `PaddleJob team/big`. `here`: the namespace of the pods that wait."""
    namespace, _, name = holder.rpartition(" ")[2].rpartition("/")
    return Holder(name, amount, "" if namespace == here else namespace)


def _list_held(stock: Stock, part: Part, resource: str) -> list[tuple[str, str, Fraction]]:
    names = {info.node.name for info in part.open}
    found = []
    for owner, placed in stock.placed.items():
        stock.work.spend(len(placed))
        here = [each for each in placed if each.node in names and each.amounts.get(resource)]
        if here:
            found.append((owner, here[0].holder, sum((each.amounts[resource] for each in here), _ZERO)))
    return sorted(found, key=lambda each: (-each[2], each[1]))


def _without_state(node: Node) -> Node:
    """The node once what may pass has passed; itself where nothing has to."""
    taints = [each for each in node.taints if not str(each.get("key")).startswith(_OF_STATE)]
    if node.ready and not node.unschedulable and len(taints) == len(node.taints):
        return node
    return replace(node, ready=True, unschedulable=False, taints=taints)
