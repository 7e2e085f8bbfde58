"""What pods that wait lack on the nodes of a cluster, as a sentence. Pure.

The numbers are those of nodes and pods (`node.scheduler.shortage` computes them). What a scheduler's own message says
is read in `words.room`, which has fewer: kube-scheduler counts nodes and tells no amounts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from paddock.words.amounts import say_amount, sort_resources
from paddock.words.phrases import Names, Phrase, counted, phrase

MOST_HOLDERS = 3
"""Holders that are named; the others are counted."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds some of what is lacking."""

    name: str
    """`big1`, or `team/big1` of another namespace."""
    amount: Fraction


@dataclass(frozen=True, slots=True)
class Lacking:
    """One resource, on the nodes that the pods may use."""

    resource: str
    """As Kubernetes names it: `cpu`, `nvidia.com/gpu`."""
    asked: Fraction
    """By all pods of the shortage together."""
    each: Fraction
    """By that one of them which fits on no node."""
    total: Fraction
    """What these nodes have, free or not."""
    largest: Fraction
    """The most that one of them has, free or not."""
    free: Fraction | None = None
    """What is free on those of them that take pods now; None where it is not known."""
    piece: Fraction | None = None
    """The most that is free on one of them; None where it is not known."""
    holders: tuple[Holder, ...] = ()
    """Who holds the most of it, first."""

    @property
    def is_too_large(self) -> bool:
        """Whether no node has as much as one pod asks for."""
        return self.largest < self.each


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
    """What the pods need, what is free and who holds it. What nobody's end would free comes alone."""
    found = _order(shortage)
    said = _explain_all(shortage, found)
    if shortage.others:
        said = phrase("{said}; its selectors and the nodes' taints leave it {count} of {all} nodes",
                      said=said, count=shortage.nodes, all=shortage.nodes + shortage.others)  # fmt: skip
    if shortage.is_never:
        return phrase("{said}; it cannot start on the nodes that are here now", said=said)
    if not found[0].holders:
        return said
    return phrase("{said}; held by {holders}", said=said, holders=_name_holders(found[0]))


def _explain_all(shortage: Shortage, found: Sequence[Lacking]) -> Phrase:
    if _is_mixed(shortage):
        amounts = Names(tuple(say_amount(each.resource, each.each) for each in found), most=0)
        return phrase("needs {amounts} on one node, and none has all of that free", amounts=amounts)
    said = _explain_one(shortage, found[0])
    for each in found[1:]:
        said = phrase("{first}; {second}", first=said, second=_explain_one(shortage, each))
    return said


def _order(shortage: Shortage) -> Sequence[Lacking]:
    too_large = [each for each in shortage.lacking if each.is_too_large]
    too_many = [each for each in shortage.lacking if each.total < each.asked] if shortage.is_all else []
    by_name: Mapping[str, Lacking] = {each.resource: each for each in too_large or too_many or shortage.lacking}
    return [by_name[name] for name in sort_resources(by_name)]


def _is_mixed(shortage: Shortage) -> bool:
    """Whether each resource alone would do for one pod, and no node has all of them."""
    free = [each.piece is not None and each.piece >= each.each for each in shortage.lacking]
    return shortage.pods == 1 and not shortage.is_never and all(free)


def _explain_one(shortage: Shortage, found: Lacking) -> Phrase:
    name = found.resource
    asked, each = say_amount(name, found.asked), say_amount(name, found.each)
    if found.is_too_large and found.largest:
        largest = say_amount(name, found.largest)
        return phrase("asks for {asked} on one node; the largest has {has}", asked=each, has=largest)
    if found.is_too_large:
        return phrase("asks for {asked}; {has}", asked=each, has=_say_total(shortage, found))
    if shortage.is_all:
        has = _say_total(shortage, found)
        who = phrase("{count} pods that start together need", count=shortage.pods)
        return phrase("{who} {asked}; {has}", who=who, asked=asked, has=has)
    if name == "pods":
        return phrase("the nodes have as many pods as they take, {count}", count=int(found.total))
    if found.free is None or found.piece is None:
        return phrase("needs {asked}; {has}", asked=asked, has=_say_total(shortage, found))
    return _explain_free(shortage, found, found.free, found.piece)


def _say_total(shortage: Shortage, found: Lacking) -> Phrase:
    has = say_amount(found.resource, found.total)
    if shortage.others:
        return phrase("the nodes that it may use have {has}", has=has) if found.total else _NONE_OF_ITS
    return phrase("this cluster has {has}", has=has) if found.total else _NONE


_NONE, _NONE_OF_ITS = phrase("this cluster has none"), phrase("the nodes that it may use have none")


def _explain_free(shortage: Shortage, found: Lacking, free: Fraction, piece: Fraction) -> Phrase:
    name, pods = found.resource, shortage.pods
    asked, each = say_amount(name, found.asked), say_amount(name, found.each)
    there, most = say_amount(name, free), say_amount(name, piece)
    if pods == 1 and free < found.asked:
        return phrase("needs {asked}; free: {free}", asked=asked, free=there)
    if pods == 1:
        return phrase("needs {asked} on one node; free: {free}, at most {most} on one node",
                      asked=asked, free=there, most=most)  # fmt: skip
    if free < found.asked:
        return phrase("{count} pods that wait need {asked}; free: {free}", count=pods, asked=asked, free=there)
    if piece < found.each:
        return phrase("{count} pods that wait need {asked}, one of them {each} on one node; free: {free}, at most "
                      "{most} on one node", count=pods, asked=asked, each=each, free=there, most=most)  # fmt: skip
    return phrase("{count} pods that wait need {asked}; free: {free}, with room for {fit} of them",
                  count=pods, asked=asked, free=there, fit=shortage.fit or 0)  # fmt: skip


def _name_holders(found: Lacking) -> Names:
    named: list[str | Phrase] = [
        phrase("{name} ({amount})", name=each.name, amount=say_amount(found.resource, each.amount))
        for each in found.holders[:MOST_HOLDERS]
    ]
    if (rest := len(found.holders) - MOST_HOLDERS) > 0:
        named.append(counted("{count} other", "{count} others", count=rest))
    return Names(tuple(named), most=0)
