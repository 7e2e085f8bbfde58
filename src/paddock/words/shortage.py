"""What pods that wait lack on the nodes of a cluster, as a sentence. Pure.

The numbers are those of nodes and pods: `node.scheduler.shortage` computes them, or `words.room` reads them in what the
local scheduler says. kube-scheduler counts nodes and tells no amounts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from paddock.words.amounts import say_amount, say_bare_amount, sort_resources
from paddock.words.phrases import Names, Phrase, phrase

MOST_HOLDERS = 3
"""Holders that are named; the others are counted."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds some of what is lacking: a job, or a pod of none."""

    name: str
    amount: Fraction | None = None
    """None where a scheduler's message names the holder alone."""
    namespace: str = ""
    """Empty where it is that of the pods that wait."""

    @property
    def path(self) -> str:
        """`hog`, or `team-vision/hog` of another namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True)
class Lacking:
    """One resource, on the nodes that the pods may use."""

    resource: str
    """As Kubernetes names it: `cpu`, `nvidia.com/gpu`."""
    asked: Fraction
    """By all pods of the shortage together."""
    each: Fraction | None
    """By that one of them which fits on no node; None where it is not known."""
    total: Fraction | None
    """What these nodes have, free or not; None where it is not known."""
    largest: Fraction | None
    """The most that one of them has, free or not; None where it is not known."""
    free: Fraction | None = None
    """What is free on those of them that take pods now; None where it is not known."""
    piece: Fraction | None = None
    """The most that is free on one of them; None where it is not known."""
    holders: tuple[Holder, ...] = ()
    """Who holds the most of it, first."""
    others: int = 0
    """Holders beside these, whose names are not known."""
    alike: int = 0
    """How many of the pods ask for it, where these ask for the same amount; 0 where they do not or it is not known."""

    @property
    def is_too_large(self) -> bool:
        """Whether no node has as much as one pod asks for."""
        return self.largest is not None and self.each is not None and self.largest < self.each


@dataclass(frozen=True, slots=True)
class Shortage:
    """Why pods of one job do not fit. At least one resource is lacking."""

    lacking: tuple[Lacking, ...]
    pods: int = 1
    """How many pods ask for `asked`."""
    fit: int | None = None
    """How many of them have room together; None where it is not known."""
    nodes: int = 1
    """That they may use, by labels and taints."""
    others: int = 0
    """Nodes that they may not use."""
    is_all: bool = False
    """The pods are all that the job needs at once, and the nodes have less than they ask for together."""

    @property
    def is_never(self) -> bool:
        """Whether no end of another pod would make room on the nodes that are here."""
        return self.is_all or any(each.is_too_large for each in self.lacking)


def explain_shortage(shortage: Shortage) -> Phrase:
    """What the pods ask for, what is free and who holds it. What nobody's end would free comes alone, and says that the
    job cannot start: `asks for 32 GPUs (4 × 8); this cluster has none, so it cannot start here`."""
    found = _order(shortage)
    said = _explain_all(shortage, found)
    if shortage.others:
        said = phrase("{said}; its selectors and the nodes' taints leave it {count} of {all} nodes",
                      said=said, count=shortage.nodes, all=shortage.nodes + shortage.others)  # fmt: skip
    if shortage.is_never:
        return phrase("{said}, so it cannot start here", said=said)
    holders = list_said_holders(shortage)
    return phrase("{said}; {holders}", said=said, holders=Names(holders, most=0)) if holders else said


def explain_need(found: Lacking) -> Phrase:
    """`needs 4; none is free`, where the resource is named before."""
    asked = say_bare_amount(found.resource, found.asked)
    return phrase("needs {asked}; {free}", asked=asked, free=_say_free(found.resource, found.free or Fraction(0)))


def list_said_holders(shortage: Shortage) -> tuple[Phrase, ...]:
    """`hog (team-vision) holds 1`: the first of those who hold the first resource that is lacking, and the number of
    the others. Empty where no end of a holder would help, or none is known."""
    found = _order(shortage)
    if shortage.is_never or not found or not found[0].holders:
        return ()
    first, is_bare = found[0], len(found) == 1
    said = [_say_holder(each, first.resource, is_bare=is_bare) for each in first.holders[:MOST_HOLDERS]]
    if (rest := max(0, len(first.holders) - MOST_HOLDERS) + first.others) > 0:
        said.append(phrase("{count} more", count=rest))
    return tuple(said)


def list_holders(shortage: Shortage) -> tuple[Holder, ...]:
    """Those whom `list_said_holders` names."""
    return _order(shortage)[0].holders[:MOST_HOLDERS] if list_said_holders(shortage) else ()


def name_holder(holder: Holder) -> Phrase:
    """`hog`, or `hog (team-vision)` of another namespace."""
    if not holder.namespace:
        return phrase("{name}", name=holder.name)
    return phrase("{name} ({namespace})", name=holder.name, namespace=holder.namespace)


def _say_holder(holder: Holder, resource: str, *, is_bare: bool) -> Phrase:
    if holder.amount is None:
        return phrase("{holder} holds room", holder=name_holder(holder))
    amount = say_bare_amount(resource, holder.amount) if is_bare else say_amount(resource, holder.amount)
    return phrase("{holder} holds {amount}", holder=name_holder(holder), amount=amount)


def _explain_all(shortage: Shortage, found: Sequence[Lacking]) -> Phrase:
    if _is_mixed(shortage):
        amounts = Names(tuple(say_amount(each.resource, each.asked) for each in found), most=0)
        return phrase("needs {amounts} on one node, and none has all of that free", amounts=amounts)
    said = _explain_one(shortage, found[0])
    for each in found[1:]:
        said = phrase("{first}; {second}", first=said, second=_explain_one(shortage, each))
    return said


def _order(shortage: Shortage) -> Sequence[Lacking]:
    too_large = [each for each in shortage.lacking if each.is_too_large]
    too_many = [each for each in shortage.lacking if _is_short(each)] if shortage.is_all else []
    by_name: Mapping[str, Lacking] = {each.resource: each for each in too_large or too_many or shortage.lacking}
    return [by_name[name] for name in sort_resources(by_name)]


def _is_short(found: Lacking) -> bool:
    """Whether all nodes together have less than is asked for."""
    return found.total is not None and found.total < found.asked


def _is_mixed(shortage: Shortage) -> bool:
    """Whether each resource alone would do for one pod, and no node has all of them."""
    free = [_has_piece(each) for each in shortage.lacking]
    return shortage.pods == 1 and not shortage.is_never and all(free)


def _has_piece(found: Lacking) -> bool:
    return found.piece is not None and found.each is not None and found.piece >= found.each


def _explain_one(shortage: Shortage, found: Lacking) -> Phrase:
    asked = _say_asked(shortage, found)
    if found.is_too_large and found.largest and found.each is not None and shortage.nodes + shortage.others > 1:
        each, has = say_amount(found.resource, found.each), say_bare_amount(found.resource, found.largest)
        return phrase("asks for {asked} on one node; the largest has {has}", asked=each, has=has)
    if found.is_too_large or shortage.is_all:
        return phrase("asks for {asked}; {has}", asked=asked, has=_say_total(shortage, found))
    if found.resource == "pods":
        return phrase("the nodes have as many pods as they take, {count}", count=int(found.total or 0))
    if found.free is None:
        return phrase("needs {asked}; {has}", asked=asked, has=_say_total(shortage, found))
    return _explain_free(shortage, found, found.free)


def _say_asked(shortage: Shortage, found: Lacking) -> Phrase | str:
    """`32 GPUs (4 × 8)`, or `28 GPUs in 4 pods` where they ask for different amounts."""
    asked = say_amount(found.resource, found.asked)
    if shortage.pods == 1 or found.alike == 1:
        return asked
    if found.alike:
        each = say_bare_amount(found.resource, found.asked / found.alike)
        return phrase("{asked} ({count} × {each})", asked=asked, count=found.alike, each=each)
    return phrase("{asked} in {count} pods", asked=asked, count=shortage.pods)


def _say_total(shortage: Shortage, found: Lacking) -> Phrase:
    total = found.total or Fraction(0)
    has = say_bare_amount(found.resource, total)
    if shortage.others:
        return phrase("the nodes that it may use have {has}", has=has) if total else _NONE_OF_ITS
    return phrase("this cluster has {has}", has=has) if total else _NONE


_NONE, _NONE_OF_ITS = phrase("this cluster has none"), phrase("the nodes that it may use have none")


def _explain_free(shortage: Shortage, found: Lacking, free: Fraction) -> Phrase:
    name, pods = found.resource, shortage.pods
    asked, there = _say_asked(shortage, found), _say_free(name, free)
    if found.piece is None or found.each is None or free < found.asked:
        return phrase("needs {asked}; {free}", asked=asked, free=there)
    most, each = say_bare_amount(name, found.piece), say_bare_amount(name, found.each)
    if pods == 1:
        return phrase("needs {asked} on one node; {free}, at most {most} on one node",
                      asked=asked, free=there, most=most)  # fmt: skip
    if found.piece < found.each:
        return phrase("needs {asked}, {each} of it on one node; {free}, at most {most} on one node",
                      asked=asked, each=each, free=there, most=most)  # fmt: skip
    return phrase("needs {asked}; {free}, with room for {fit} of {count} pods",
                  count=pods, asked=asked, free=there, fit=shortage.fit or 0)  # fmt: skip


def _say_free(resource: str, free: Fraction) -> Phrase:
    if not free:
        return phrase("none is free")
    amount = say_bare_amount(resource, free)
    if free <= 1 or not amount.isdecimal():
        return phrase("{amount} is free", amount=amount)
    return phrase("{amount} are free", amount=amount)
