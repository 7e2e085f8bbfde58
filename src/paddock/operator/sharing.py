"""Takes part in sharing the namespaces out among several operators: the requests of `operator.shares`.

Each Lease is an `Election` of its own. A look at all Leases every second decides which of them to take, to keep and to
give away; each that is held is renewed by a task of its own, so no slow answer delays another's renewal. The first
shard's Lease is that of an operator without shards, so that neither it, nor a Go operator, nor one with another number
of shards begins to lead while the other does, and whoever looks for the leader finds one.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Final, NamedTuple

from paddock.controllers.clock import steady_clock
from paddock.install.rights import LEASE
from paddock.jobs.labels import SHARDS_LABEL
from paddock.kube.api import Api
from paddock.kube.errors import ApiError
from paddock.kube.meta import LEASES, Manifest, name_of, uid_of
from paddock.kube.times import Moment
from paddock.operator.election import NO_TERMS, Election, Observation, Term, has_news, read_record
from paddock.operator.metrics import UNMEASURED, Measures
from paddock.operator.shares import LOOK_PERIOD, Shares, View, plan_shares

_LOOK_TIMEOUT = 1.0
_SHORTEST = 0.05
"""Seconds between two looks at least."""

_log = logging.getLogger(__name__)


def name_shard(shard: int, shards: int) -> str:
    return LEASE if shard == 0 else f"paddock-operator-shard-{shard}-of-{shards}"


def name_member(identity: str) -> str:
    """An identity may be no name of an object."""
    return f"paddock-operator-member-{sha256(identity.encode()).hexdigest()[:16]}"


class _Other(NamedTuple):
    """The Lease of another member."""

    name: str
    uid: str
    seen: Observation


class Sharing:
    """Takes part until cancelled (`run`); `leave` begins the end, in which nothing more is taken, and `release` gives
    all shards back. `notes`: as of `Election`."""

    def __init__(
        self,
        api: Api,
        namespace: str,
        identity: str,
        shards: int,
        notes: Mapping[str, str] | None = None,
        *,
        clock: Callable[[], float] = steady_clock,
        wall_clock: Callable[[], Moment] = time.time,
        measures: Measures = UNMEASURED,
    ) -> None:
        self.identity: Final = identity
        self.shards: Final = shards
        self._api = api
        self._namespace = namespace
        self._clock = clock
        self._selector = f"{SHARDS_LABEL}={shards}"

        def build(name: str, doing: str = "leading") -> Election:
            return Election(
                api, namespace, identity, notes, name=name, labels={SHARDS_LABEL: str(shards)}, doing=doing,
                clock=clock, wall_clock=wall_clock, measures=measures,
            )  # fmt: skip

        self._elections = [build(name_shard(shard, shards)) for shard in range(shards)]
        self._member_name = name_member(identity)
        self._member = build(self._member_name, "sharing")
        self._others: dict[str, _Other] = {}
        self._left: frozenset[str] = frozenset()
        self._renewing: asyncio.Task[None] | None = None
        self._leaving = False
        self._holding: dict[int, asyncio.Task[None]] = {}
        self._giving: set[int] = set()
        self._made_elsewhere: set[int] = set()
        """Shards whose Leases this process could not make: they may be there without a label, and are read."""
        self._won = asyncio.Event()
        self._last_failure = self._foreign = self._told_of = ""

    @property
    def terms(self) -> Mapping[int, Term | None]:
        """Compared with the clock at each call, as `Election.leads` is."""
        return {
            shard: term
            for shard, election in enumerate(self._elections)
            if shard not in self._giving
            for term in election.terms.values()
        }

    def holds(self, shard: int, term: Term | None) -> bool:
        return self._elections[shard].holds(0, term)

    async def wait(self, known: Mapping[int, Term | None] = NO_TERMS) -> None:
        while not has_news(self.terms, known):
            self._won.clear()
            await self._won.wait()

    async def run(self) -> None:
        """Take part until cancelled: no error of the API ends it."""
        # First of all the others are told that there is one more: what it begins with is its share then.
        pause, observed = await self._member.step(observed=False)
        self._renewing = renewing = asyncio.create_task(self._renew_member(pause, observed=observed))
        try:
            while True:
                await asyncio.sleep(await self._look_or_tell())
                if renewing.done() and not self._leaving:
                    await renewing  # a bug, as those of `_hold`
        finally:
            tasks = [renewing, *self._holding.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def leave(self) -> None:
        """Be counted no more and take nothing more; what is held is held until `release`. Raises nothing."""
        if self._leaving:
            return
        self._leaving = True
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.wait([self._renewing])
        await self._remove(self._member_name)

    async def release(self) -> None:
        """Give all shards back after `run` was cancelled, so that the others need not wait. Raises nothing."""
        self._giving.update(range(self.shards))
        # A member that is gone has no share, so the others take at once what is free.
        await self.leave()
        await asyncio.gather(*(each.release() for each in self._elections if self._holds(each)))

    async def _renew_member(self, pause: float, *, observed: bool) -> None:
        while True:
            await asyncio.sleep(pause)
            pause, observed = await self._member.step(observed=observed)

    async def _look_or_tell(self) -> float:
        """Seconds until the next look."""
        try:
            await self._look()
        except (ApiError, TimeoutError) as error:
            if (said := str(error) or "no answer in time") != self._last_failure:
                _log.warning("the leases in %s cannot be listed, trying again: %s", self._namespace, said)
            self._last_failure = said
            return LOOK_PERIOD
        self._last_failure = ""
        return self._measure_pause()

    async def _look(self) -> None:
        """Observe all Leases, and do what follows from it."""
        await self._observe()
        shards = tuple(each.observation for each in self._elections)
        members = {identity: other.seen for identity, other in self._others.items()}
        plan = plan_shares(View(shards, members, self._left), self.identity, self._clock())
        if self._leaving:
            plan = Shares(plan.renew)
        self._tell_foreign(plan.foreign)
        # What it has begun in a shard can end between the look at which it stops leading there and the next one.
        given = tuple(self._giving)
        for shard in (*plan.renew, *plan.take):
            if shard not in self._giving:
                self._hold(shard)
        if plan.give is not None and not given:
            self._give(plan.give)
        gone = [self._others[identity] for identity in plan.forget]
        await asyncio.gather(
            *(self._free(shard) for shard in given), *(self._remove(other.name, other.uid) for other in gone)
        )

    def _tell_foreign(self, holder: str) -> None:
        """Once, and at the second look: at the first the list may be older than the Lease of a new member."""
        if holder and holder == self._foreign != self._told_of:
            _log.info("standing by: %s leads without shards, or with another number of them", holder)
            self._told_of = holder
        elif not holder:
            self._told_of = ""
        self._foreign = holder

    async def _observe(self) -> None:
        asked = self._clock()
        async with asyncio.timeout(_LOOK_TIMEOUT):
            listing = await self._api.list(LEASES, self._namespace, labels=self._selector)
            found = {name_of(lease): lease for lease in listing.items}
            # The first one's may be that of an operator without shards, which has no label. What else is not among
            # them is not there, as far as is known.
            unlisted = {0} | self._made_elsewhere
            for shard, election in enumerate(self._elections):
                lease = found.pop(name_shard(shard, self.shards), None)
                if lease is not None or shard not in unlisted:
                    election.observe(lease, asked)
                    unlisted.discard(shard)
            await asyncio.gather(*(self._elections[shard].read_lease() for shard in unlisted))
        self._made_elsewhere = {shard for shard in unlisted if self._elections[shard].observation.record}
        found.pop(self._member_name, None)
        self._observe_others(found)

    def _observe_others(self, found: Mapping[str, Manifest]) -> None:
        now, before = self._clock(), self._others
        self._others = {}
        for name, lease in found.items():
            record = read_record(lease)
            known = before.get(record.holder)
            seen = known.seen.update(record, now) if known else Observation(record, now)
            self._others[record.holder] = _Other(name, uid_of(lease), seen)
        records = (each.observation.record for each in self._elections)
        holders = {record.holder for record in records if record}
        self._left = frozenset(((self._left | before.keys()) - self._others.keys()) & holders)

    def _hold(self, shard: int) -> None:
        """Take it, or renew it, until somebody else holds it."""
        holding = self._holding.get(shard)
        if holding is not None and holding.done():
            holding.result()  # raises a bug
        if holding is None or holding.done():
            self._holding[shard] = asyncio.create_task(self._keep(shard))

    async def _keep(self, shard: int) -> None:
        election, observed = self._elections[shard], True
        while True:
            pause, observed = await election.step(observed=observed)
            if election.observation.record is None:  # not made, as it is there without a label, or by a lost request
                self._made_elsewhere.add(shard)
            if election.leads:  # also where it led before: meanwhile it may have led no more for a moment
                self._won.set()
            if self._holds(election):
                await asyncio.sleep(pause)
            if not self._holds(election):
                return

    def _holds(self, election: Election) -> bool:
        record = election.observation.record
        return record is not None and record.holder == self.identity

    def _give(self, shard: int) -> None:
        """Lead it no more, from now on."""
        self._giving.add(shard)
        if (holding := self._holding.pop(shard, None)) is not None:
            holding.cancel()

    async def _free(self, shard: int) -> None:
        """Another may take it at once."""
        await self._elections[shard].release()
        self._giving.discard(shard)

    async def _remove(self, name: str, uid: str = "") -> None:
        """The Lease of a member that is gone. One that was only slow makes it again."""
        with suppress(ApiError, TimeoutError):
            async with asyncio.timeout(_LOOK_TIMEOUT):
                await self._api.delete(LEASES, self._namespace, name, uid=uid)

    def _measure_pause(self) -> float:
        """Seconds until the next look: fewer where a Lease that is not renewed runs out."""
        now = self._clock()
        seen = [*(each.observation for each in self._elections), *(other.seen for other in self._others.values())]
        left = (each.since + each.record.duration - now for each in seen if each.record and each.record.holder)
        return max(_SHORTEST, min([LOOK_PERIOD, *(each for each in left if each > 0)]))
