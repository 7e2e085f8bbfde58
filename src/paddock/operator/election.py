"""Who leads where several operators run: a Lease (coordination.k8s.io/v1), taken, renewed and given back.

`plan_election` decides and is PURE: from the record in the Lease and the moment at which this process first saw it as
it is. The rule that must not be broken is client-go's: a duration is measured on this process's own clock alone, from
the moment that a record was first seen; the times inside a record are another machine's, and for readers only. So
clocks that jump or differ change nothing. A leader leads for `LEADS_FOR` seconds after it began its last renewal that
went well, which is less than the others wait, so that never two lead at once; it stops by itself, also when cut off.

The Lease is paddle-operator's own, so that a Go operator and this one never both lead. Theirs writes a ConfigMap of
that name besides (controller-runtime's "configmapsleases"); where ConfigMap and Lease name different holders it waits
as long as either changes, so the Lease is all that has to be held here.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from paddock.jobs.rights import LEASE
from paddock.kube.api import Api
from paddock.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from paddock.kube.meta import LEASES, Key, Manifest, metadata, version_of
from paddock.kube.times import Moment, format_micro_time

DURATION = 4
"""Seconds that others wait for a renewal, as the Lease tells them."""
LEADS_FOR = 3.0
RENEW_EVERY = 1.0
LOOK_EVERY = 0.5
"""Seconds between two looks of a standby."""
_TRY_FOR = 1.5
"""Seconds that a leader waits for an answer: then it can try once more while it leads."""
_SOON = 0.1

_log = logging.getLogger(__name__)


Term = tuple[str, int]
"""A Lease's acquireTime and leaseTransitions: one time of leading, however often it is renewed or cut off."""


class Leadership(Protocol):
    """Whether this process may begin passes."""

    @property
    def leads(self) -> bool: ...

    @property
    def term(self) -> Term | None:
        """Another one, once somebody else may have led; None before this process has."""
        ...

    async def wait(self) -> None:
        """Returns once this process leads."""
        ...


class _Alone:
    leads = True
    term = None

    async def wait(self) -> None:
        return


ALONE: Leadership = _Alone()
"""The leadership of an operator that nobody else competes with, or that does not ask."""


@dataclass(frozen=True, slots=True)
class Record:
    """What a Lease says. `holder` is empty after a release; `renewed` is opaque here: only that it changed counts."""

    holder: str = ""
    duration: float = DURATION
    acquired: str = ""
    renewed: str = ""
    transitions: int = 0


@dataclass(frozen=True, slots=True)
class Sight:
    """The record as last seen, None where there is no Lease, and since when it looks so, on this process's clock."""

    record: Record | None
    since: float

    def look(self, record: Record | None, now: float) -> Sight:
        return self if record == self.record else Sight(record, now)


@dataclass(frozen=True, slots=True)
class Wait:
    """Somebody else leads, and may do so for `seconds` more if nothing changes."""

    holder: str
    seconds: float


def read_record(lease: Mapping[str, Any]) -> Record:
    spec = lease.get("spec") or {}
    return Record(
        holder=str(spec.get("holderIdentity") or ""),
        duration=float(spec.get("leaseDurationSeconds") or DURATION),
        acquired=str(spec.get("acquireTime") or ""),
        renewed=str(spec.get("renewTime") or ""),
        transitions=int(spec.get("leaseTransitions") or 0),
    )


def plan_election(sight: Sight, identity: str, now: float, time: str) -> Wait | Record:
    """What this process does about the Lease: wait, or write this record, guarded by the version that was seen. `now`
    is on its own clock; `time`, a MicroTime, is for readers."""
    record = sight.record
    if record is None:
        return Record(identity, DURATION, time, time)
    if record.holder == identity:
        return Record(identity, DURATION, record.acquired, time, record.transitions)
    left = sight.since + record.duration - now
    if record.holder and left > 0:
        return Wait(record.holder, left)
    return Record(identity, DURATION, time, time, record.transitions + 1)


def build_lease(key: Key, before: Manifest | None, record: Record, notes: Mapping[str, str]) -> Manifest:
    """The Lease with this record; whatever else stands in it stays. Without a holder it is a release."""
    spec = {
        **((before or {}).get("spec") or {}),
        "holderIdentity": record.holder,
        "leaseDurationSeconds": round(record.duration),
        "acquireTime": record.acquired,
        "renewTime": record.renewed,
        "leaseTransitions": record.transitions,
    }
    kept = dict(metadata(before or {})) or {"namespace": key.namespace, "name": key.name}
    annotations = {**(kept.get("annotations") or {}), **notes}
    return {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": {**kept, **({"annotations": annotations} if annotations else {})},
        "spec": {name: value for name, value in spec.items() if value != ""},
    }


def steady_clock() -> float:
    """Seconds on a clock that nobody sets, and that goes on while a machine sleeps, where there is one."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


class Election:
    """Takes part until cancelled (`run`); `release` gives the Lease back at the end. `notes` are put on the Lease as
    annotations by the leader: which version it is, and how it was started."""

    def __init__(
        self,
        api: Api,
        namespace: str,
        identity: str,
        notes: Mapping[str, str] | None = None,
        *,
        name: str = LEASE,
        clock: Callable[[], float] = steady_clock,
        wall_clock: Callable[[], Moment] = time.time,
    ) -> None:
        self.identity = identity
        self._api = api
        self._key = Key(namespace, name)
        self._notes = dict(notes or {})
        self._clock = clock
        self._wall_clock = wall_clock
        self._lease: Manifest | None = None
        self._sight = Sight(None, clock())
        self._until = float("-inf")
        self._term: Term | None = None
        self._won = asyncio.Event()
        self._said = ""

    @property
    def leads(self) -> bool:
        """Asked of the clock each time: a process that was stopped for a while knows it when it goes on."""
        return self._clock() < self._until

    @property
    def term(self) -> Term | None:
        return self._term

    async def wait(self) -> None:
        while not self.leads:
            self._won.clear()
            await self._won.wait()

    async def run(self) -> None:
        """Take part for ever: nothing that the API answers ends it."""
        seen = False
        while True:
            patience = _TRY_FOR if self.leads else LEADS_FOR
            try:
                if not seen:
                    async with asyncio.timeout(patience):
                        await self.look()
                async with asyncio.timeout(patience):
                    pause, seen = await self.act()
            except (AlreadyExists, Conflict):  # somebody was faster
                pause, seen = _SOON, False
            except (ApiError, TimeoutError) as error:
                self._complain(error)
                pause, seen = _SOON if self.leads else LOOK_EVERY, False
            await asyncio.sleep(pause)

    async def release(self) -> None:
        """So that the next one need not wait. For the end, once `run` was cancelled; raises nothing."""
        self._until = float("-inf")
        try:
            async with asyncio.timeout(_TRY_FOR):
                await self.look()
                record = self._sight.record
                if record is not None and record.holder == self.identity:
                    await self._write(Record("", 1, record.acquired, self._time(), record.transitions))
                    _log.info("leadership is given back")
        except (ApiError, TimeoutError) as error:
            _log.warning("the lease %s is left to expire: %s", self._key, str(error) or "no answer in time")

    async def look(self) -> None:
        """See the Lease as it is now."""
        try:
            lease = await self._api.get(LEASES, *self._key)
        except NotFound:
            self._lease, record = None, None
        else:
            self._lease, record = lease, read_record(lease)
        self._sight = self._sight.look(record, self._clock())

    async def act(self) -> tuple[float, bool]:
        """Do what is to be done about the Lease as it was seen. Seconds until the next time, and whether what is seen
        then is known already. Raises `Conflict` or `AlreadyExists` when somebody has written it since."""
        begun = self._clock()
        decided = plan_election(self._sight, self.identity, begun, self._time())
        if isinstance(decided, Wait):
            self._say(f"standing by: {decided.holder} leads")
            return min(LOOK_EVERY, decided.seconds), False
        led = self.leads
        await self._write(decided)
        self._until, self._term = begun + LEADS_FOR, (decided.acquired, decided.transitions)
        if not led:
            self._say(f"leading as {self.identity}, lease {self._key}")
        self._won.set()
        return max(0.0, begun + RENEW_EVERY - self._clock()), True

    async def _write(self, record: Record) -> None:
        """Guarded by the version that was seen: of two that take it at once, one is refused."""
        lease = build_lease(self._key, self._lease, record, self._notes if record.holder else {})
        write = self._api.replace if version_of(lease) else self._api.create
        self._lease = await write(LEASES, lease)
        self._sight = self._sight.look(read_record(self._lease), self._clock())

    def _time(self) -> str:
        return format_micro_time(self._wall_clock())

    def _complain(self, error: Exception) -> None:
        what = "leading goes on for a moment" if self.leads else "not leading"
        self._say(f"the lease {self._key} cannot be held, {what}: {str(error) or 'no answer in time'}", logging.WARNING)

    def _say(self, sentence: str, level: int = logging.INFO) -> None:
        """Once, until something else is to be said."""
        if sentence != self._said:
            _log.log(level, "%s", sentence)
        self._said = sentence
