"""What a pod needs and a cluster lacks, for people, from a scheduler's message. Pure.

kube-scheduler counts nodes (`0/3 nodes are available: 3 Insufficient cpu`), the local scheduler adds numbers, and who
holds them. A person asks three things: how much it needs, how much is free, and whether it can ever start here or waits
for a neighbour. What the message does not say is not said; a message with another reason than room is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from paddock.kube.quantities import read_quantity
from paddock.words.amounts import say_amount, sort_resources
from paddock.words.phrases import NOTHING, Names, Phrase, phrase

_FACT = re.compile(
    r"\d+ Insufficient (?P<resource>[^\s,(]*[^\s,(.])"
    r"(?: \((?P<where>on [^:()]+: )?needs (?P<asked>[^,()]+), (?P<free>[^,()]+?) of (?P<total>[^,()]+?) free\))?"
)
_GANG = re.compile(r'waiting for the gang "[^"]+": (?P<together>\d+) pods are needed at once, \d+ fit: ')
_HEAD = re.compile(r"0/\d+ nodes are available: ")
_HELD = re.compile(r"Held by (?P<holders>.+?)\.?$")
_SMALL = re.compile(r"\d{1,18}(?:\.\d{1,9})?[A-Za-z]{0,2}")
_SHARE = re.compile(r"([1-9]\d{0,5})/([1-9]\d{0,5})")
"""Of GPUs that pods share."""
_UNITS = {"B": 0, "KiB": 1, "MiB": 2, "GiB": 3, "TiB": 4, "PiB": 5, "EiB": 6}


@dataclass(frozen=True, slots=True)
class Room:
    """One resource that is lacking."""

    resource: str
    """As Kubernetes names it: `cpu`, `nvidia.com/gpu`."""
    asked: Fraction | None = None
    """By the pod, or by the whole gang; None where the message has no numbers."""
    free: Fraction | None = None
    """On the nodes that it may use."""
    total: Fraction | None = None
    """What these nodes have, free or not; None also where nodes differ, as one of them may have more."""

    @property
    def is_never(self) -> bool:
        """Whether no end of another pod would make room."""
        return self.asked is not None and self.total is not None and self.total < self.asked


@dataclass(frozen=True, slots=True)
class Lack:
    """All that a message says of room."""

    rooms: tuple[Room, ...]
    together: int = 1
    """Pods that start at once."""
    holders: tuple[str, ...] = ()
    """Who holds what is lacking: `big1`."""


def read_lack(message: str) -> Lack | None:
    """None for a message that has another reason, or one beside."""
    rest, together = message, 1
    if found := _GANG.match(rest):
        rest, together = rest[found.end() :], int(found["together"])
    if not (head := _HEAD.match(rest)):
        return None
    place, rooms = head.end(), list[Room]()
    while fact := _FACT.match(rest, place):
        rooms.append(_build_room(fact))
        place = fact.end()
        if not rest.startswith(", ", place):
            break
        place += 2
    after = rest[place:]
    if not rooms or not re.match(r"\.?(?: (?:preemption|Held by|no new claims)|$)", after):
        return None
    held = _HELD.search(after)
    return Lack(tuple(rooms), together, tuple(held["holders"].split(", ")) if held else ())


def _build_room(fact: re.Match[str]) -> Room:
    asked, free, total = (read_amount(fact[name] or "") for name in ("asked", "free", "total"))
    return Room(fact["resource"], asked, free, None if fact["where"] else total)


def read_amount(text: str) -> Fraction | None:
    """`500m`, `2`, `1.5 GiB`, `1/4`; None for what is no amount."""
    number, _, unit = text.partition(" ")
    if share := _SHARE.fullmatch(text):
        return Fraction(int(share[1]), int(share[2]))
    if not _SMALL.fullmatch(number):  # the text is another program's, and a number in it may be of any size
        return None
    try:
        return Fraction(number) * 1024 ** _UNITS[unit] if unit else read_quantity(number)
    except (ValueError, KeyError, ZeroDivisionError):
        return None


def explain_lack(lack: Lack) -> Phrase:
    """What it needs, what is free, who holds it; the resources that nobody's end would free come first."""
    never = [room for room in lack.rooms if room.is_never]
    chosen = _order(never or lack.rooms)
    if all(room.asked is None or room.free is None for room in chosen):
        names = Names(tuple(_name(room.resource) for room in chosen), most=0)
        return phrase("no node has enough {resource} free", resource=names)
    said = _explain_room(chosen[0], lack.together)
    for room in chosen[1:]:
        said = phrase("{first}; {second}", first=said, second=_explain_room(room, lack.together))
    if never:
        return phrase("{said}; it can never start here as it is", said=said)
    if lack.holders:
        return phrase("{said}; held by {holders}", said=said, holders=Names(lack.holders))
    return said


_MIN_COUNT = re.compile(r"minCount \((?P<count>\d+)\) cannot be satisfied: (?P<fit>\d+) scheduled")
_NOT_READY = re.compile(r"pod group is not ready, \d+ Pending, (?P<count>\d+) minAvailable")
_GAP = re.compile(r"resource gap: map\[(?P<gaps>[^\]]*)\]")
_ONE_GAP = re.compile(r"(?P<resource>[\w./-]+):\{\{(?P<value>\d{1,18}) (?P<scale>-?\d{1,2})\}")


def explain_gang(message: str) -> Phrase | None:
    """What Volcano and Kubernetes' own gang scheduler say of a gang that has no room (measured with Volcano 1.12 and
    Kubernetes 1.37); None for another text. A gap is Go's form of a quantity: a number and the power of ten."""
    if found := _GAP.search(message):
        gaps = {each["resource"]: _read_gap(each) for each in _ONE_GAP.finditer(found["gaps"])}
        if gaps:
            said = tuple(say_amount(name, gaps[name]) for name in sort_resources(gaps))
            return phrase("{amounts} more would have to be free", amounts=Names(said))
    if found := _MIN_COUNT.search(message):
        return phrase("{count} pods start together, and there is room for {fit}",
                      count=int(found["count"][:9]), fit=int(found["fit"][:9]))  # fmt: skip
    if found := _NOT_READY.search(message):
        return phrase("{count} pods start together, and not all of them have room yet", count=int(found["count"][:9]))
    return None


_NAMED = re.compile(r"\d+ Insufficient ([^\s,(]*[^\s,(.])|\d+ (Too many pods)")
_LONGEST = 10_000
"""Characters of a message in which resources are looked for: it is another program's."""


def find_named(message: str) -> frozenset[str] | None:
    """The resources that a scheduler's message calls insufficient; empty where it speaks of room and names none, or
    says nothing. None for a message that has another reason alone."""
    found = {name or "pods" for name, _ in _NAMED.findall(message[:_LONGEST])}
    if found:
        return frozenset(found)
    return frozenset() if not message or explain_gang(message) is not None else None


def _read_gap(found: re.Match[str]) -> Fraction:
    return int(found["value"]) * Fraction(10) ** int(found["scale"])


def _order(rooms: Sequence[Room]) -> list[Room]:
    by_name = {room.resource: room for room in rooms}
    return [by_name[name] for name in sort_resources(by_name)]


def _explain_room(room: Room, together: int) -> Phrase:
    if room.asked is None or room.free is None:
        return phrase("no node has enough {resource} free", resource=_name(room.resource))
    asked = say_amount(room.resource, room.asked)
    who = phrase("{count} pods that start together need", count=together) if together > 1 else NOTHING
    if room.is_never and not room.total:
        said = phrase("asks for {asked}; this cluster has none", asked=asked)
        return said if together == 1 else phrase("{who} {asked}; this cluster has none", who=who, asked=asked)
    if room.is_never:
        has = say_amount(room.resource, room.total or Fraction(0))
        said = phrase("asks for {asked}; this cluster has {has}", asked=asked, has=has)
        return said if together == 1 else phrase("{who} {asked}; this cluster has {has}", who=who, asked=asked, has=has)
    free = say_amount(room.resource, room.free)
    if together > 1:
        return phrase("{who} {asked}; free: {free}", who=who, asked=asked, free=free)
    return phrase("needs {asked}; free: {free}", asked=asked, free=free)


def _name(resource: str) -> Phrase | str:
    return _NAMES.get(resource, resource)


_NAMES = {"cpu": phrase("CPUs"), "nvidia.com/gpu": phrase("GPUs"), "memory": phrase("memory")}
