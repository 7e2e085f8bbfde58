"""Which shards of the namespaces an operator takes, keeps and gives away. PURE.

The namespaces are divided into shards by a hash of their names. Each shard has a Lease, whose holder reconciles the
jobs of its namespaces; each operator has a member Lease besides, by which the others know that it is there. Every
operator decides for itself, by the Leases as it has observed them and by its own clock (`operator.election`), so
several may decide on different views at once: who leads a shard is decided by the shard's Lease alone, and a wrong
share is mended at a later look.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

from paddock.operator.election import LEASE_DURATION, Observation

LOOK_PERIOD = 1.0
"""Seconds between two looks at all Leases."""
PATIENCE = 2 * LOOK_PERIOD
"""Seconds that a shard stays free for whose share it is; then anybody takes it."""
FORGET_SECONDS = 4.0 * LEASE_DURATION
"""Seconds without a renewal after which the Lease of a member is removed."""


@lru_cache(maxsize=65536)
def shard_of(namespace: str, shards: int) -> int:
    """The shard of a namespace, in 0 … shards - 1: the same in every process and version."""
    return int.from_bytes(sha256(namespace.encode()).digest()[:8]) % shards


@dataclass(frozen=True, slots=True)
class View:
    """What an operator has observed."""

    shards: tuple[Observation, ...]
    """The Lease of each."""
    members: Mapping[str, Observation]
    """The Lease of each other operator, by its identity."""
    leaving: frozenset[str] = frozenset()
    """Who had one and is ending: they take nothing, and free what they hold when its work has ended."""


@dataclass(frozen=True, slots=True)
class Shares:
    """The decision."""

    renew: tuple[int, ...] = ()
    """Shards that this operator holds."""
    take: tuple[int, ...] = ()
    """Those that it acquires."""
    give: int | None = None
    """One of `renew` that another should have."""
    forget: tuple[str, ...] = ()
    """Members whose Leases are removed."""
    foreign: str = ""
    """Who leads without shards, or with another number of them: then nothing is taken."""


def plan_shares(view: View, identity: str, now: float) -> Shares:
    """`now`: on the clock of this process.

    As few shards move as possible: one that is held stays with its holder, unless that has more than its share while
    another has less than its own. A shard that is free is taken by whose share it is, and by anybody after `PATIENCE`,
    so that none is left unled where operators count each other differently."""
    held = _read_held(view, identity, now)
    renew = tuple(shard for shard, holder in enumerate(held) if holder == identity)
    if _is_foreign(held, view, identity):
        return Shares(renew, foreign=held[0])
    alive = _find_alive(view, identity, now)
    counts = {name: held.count(name) for name in alive}
    shares = divide(len(held), counts)
    free = [shard for shard, holder in enumerate(held) if not holder]
    take = _choose(free, counts, shares)[identity]
    # One at a time: everybody else is as impatient.
    left = [shard for shard in free if not take and _is_left(view.shards[shard], now)][:1]
    give = renew[-1] if _gives(identity, counts, shares, len(free)) else None
    forget = (name for name, seen in view.members.items() if now - seen.since > FORGET_SECONDS)
    return Shares(renew, (*take, *left), give, tuple(forget) if identity == alive[0] else ())


def divide(shards: int, counts: Mapping[str, int]) -> dict[str, int]:
    """The fair share of each member. `counts`: what they hold. Where it does not come out even, one more is for those
    who hold most, by name among equals: so that nothing moves for the sake of an order."""
    least, more = divmod(shards, len(counts))
    ordered = sorted(counts, key=lambda name: (-counts[name], name))
    return {name: least + (place < more) for place, name in enumerate(ordered)}


def _read_held(view: View, identity: str, now: float) -> list[str]:
    """The holder of each shard; empty where it is free. An own record counts although it is old: nobody else has taken
    it, and it is renewed."""
    records = (seen.record.holder if seen.record else "" for seen in view.shards)
    return [
        holder if holder == identity or not _is_over(seen, now) else ""
        for holder, seen in zip(records, view.shards, strict=True)
    ]


def _find_alive(view: View, identity: str, now: float) -> list[str]:
    """The members that count, sorted. Whoever has let a shard run out is not there, although its own Lease, which it
    renewed a moment later, has still to run out: the shard is divided at once."""
    alive = {identity, *(name for name, seen in view.members.items() if not _is_over(seen, now))}
    gone = {seen.record.holder for seen in view.shards if seen.record and _is_over(seen, now)}
    return sorted((alive - gone) | {identity})


def _is_over(seen: Observation, now: float) -> bool:
    """Whether a record is released, or has not been renewed for as long as it says."""
    return seen.record is None or not seen.record.holder or now - seen.since >= seen.record.duration


def _is_foreign(held: list[str], view: View, identity: str) -> bool:
    """Whether an operator holds the first shard that shares nothing: one that leads without shards, or with another
    number of them. The Lease is the same, and it leads everything as long as it holds that. Who is no member, and holds
    another of these shards as well, is ending: only who shares them by this number writes to their Leases."""
    holder = held[0]
    return bool(holder) and holder not in {identity, *view.members, *view.leaving, *held[1:]}


def _is_left(seen: Observation, now: float) -> bool:
    """Whether a free shard has been free for a while."""
    expired = seen.record.duration if seen.record and seen.record.holder else 0.0
    return now - seen.since - expired >= PATIENCE


def _choose(free: list[int], counts: Mapping[str, int], shares: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """The free shards that each member takes. All decide alike on one view, so they do not meet at one Lease."""
    chosen: dict[str, tuple[int, ...]] = {}
    begin = 0
    for name in sorted(counts):
        end = begin + max(0, shares[name] - counts[name])
        chosen[name] = tuple(free[begin:end])
        begin = end
    return chosen


def _gives(identity: str, counts: Mapping[str, int], shares: Mapping[str, int], free: int) -> bool:
    """Whether this member gives a shard away: no more are given, by all together, than others lack beside what is
    free."""
    lacking = sum(max(0, shares[name] - counts[name]) for name in counts) - free
    for name in sorted(counts):
        given = min(max(0, counts[name] - shares[name]), max(0, lacking))
        if name == identity:
            return given > 0
        lacking -= given
    return False
