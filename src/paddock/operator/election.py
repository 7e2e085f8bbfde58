"""Leader election by a Lease (coordination.k8s.io/v1): acquired, renewed and released.

`plan_election` decides and is PURE: its input is the record in the Lease and the time since which this process has
observed that record. As in client-go, a duration is measured only on the clock of this process, from the first
observation of a record. The times in a record come from another machine and are for people only, so clocks that jump or
differ do no harm. A leader leads for `RENEW_DEADLINE` seconds after the start of its last successful renewal. Others
wait longer, so two never lead at once, and a leader without a connection stops by itself.

The election may run in another thread than what it is for (`AcrossLoops`): what others read of it (`terms`, `holds`)
is one value that is replaced as a whole.

The Lease is the one of paddle-operator, so a Go operator and this one never lead together. The Go operator also writes
a ConfigMap of that name (controller-runtime's "configmapsleases"); if ConfigMap and Lease name different holders, it
waits while either changes, so holding the Lease is enough here.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from paddock.controllers.clock import steady_clock
from paddock.controllers.loop_thread import LoopThread
from paddock.install.rights import LEASE
from paddock.jobs.labels import SHARDS_LABEL
from paddock.kube.api import Api
from paddock.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from paddock.kube.meta import LEASES, Key, Manifest, metadata, version_of
from paddock.kube.times import Moment, format_micro_time
from paddock.operator.metrics import UNMEASURED, Measures

LEASE_DURATION = 4
"""leaseDurationSeconds: how long the others wait for a renewal."""
RENEW_DEADLINE = 3.4
"""Seconds that a leader leads after the start of its last successful renewal."""
RENEW_PERIOD = 2.0
"""Seconds between two renewals: as client-go's default, one write every two seconds."""
RETRY_PERIOD = 0.5
"""Seconds between two reads of the Lease by a standby."""
_REQUEST_TIMEOUT = 1.0
"""Seconds that a leader waits for an answer; after that it has time for one more request."""
_CONFLICT_DELAY = 0.1

_log = logging.getLogger(__name__)


Term = tuple[str, int]
"""acquireTime and leaseTransitions of a Lease. They identify one term of leadership; renewals do not change them."""


class Leadership(Protocol):
    """Whether this process may start reconciles."""

    @property
    def shards(self) -> int:
        """Into how many shards the namespaces are divided (`operator.shares.shard_of`); 1 without shards."""
        ...

    @property
    def terms(self) -> Mapping[int, Term | None]:
        """The shards that this process leads now. Each has its term: another one after anybody else may have led it."""
        ...

    def holds(self, shard: int, term: Term | None) -> bool:
        """Whether the Lease of a shard holds at this moment, in this term: what was begun in it may go on. Also while
        the shard is being given away, in which nothing is begun any more."""
        ...

    async def wait(self, known: Mapping[int, Term | None] = ...) -> None:
        """Returns once this process leads a shard in a term that is not `known`, which may change meanwhile."""
        ...


NO_TERMS: Mapping[int, Term | None] = {}
_UNKNOWN = object()


class _WithoutElection:
    shards = 1
    terms: Mapping[int, Term | None] = {0: None}

    def holds(self, shard: int, term: Term | None) -> bool:
        return True

    async def wait(self, known: Mapping[int, Term | None] = NO_TERMS) -> None:
        return


def has_news(terms: Mapping[int, Term | None], known: Mapping[int, Term | None]) -> bool:
    """Whether a shard is led in a term that is not known."""
    # One look at each: another thread may change what is known.
    return any(known.get(shard, _UNKNOWN) != term for shard, term in terms.items())


WITHOUT_ELECTION: Leadership = _WithoutElection()
"""The leadership of an operator that runs alone, or without leader election."""


class AcrossLoops:
    """A leadership that takes part in the loop of a thread, as another loop sees it."""

    def __init__(self, leadership: Leadership, thread: LoopThread) -> None:
        self._leadership = leadership
        self._thread = thread
        self.shards: Final = leadership.shards

    @property
    def terms(self) -> Mapping[int, Term | None]:
        return self._leadership.terms

    def holds(self, shard: int, term: Term | None) -> bool:
        return self._leadership.holds(shard, term)

    async def wait(self, known: Mapping[int, Term | None] = NO_TERMS) -> None:
        await self._thread.run(self._leadership.wait(known))


@dataclass(frozen=True, slots=True)
class Record:
    """The spec of a Lease."""

    holder: str = ""
    """Empty after a release."""
    duration: float = LEASE_DURATION
    acquired: str = ""
    renewed: str = ""
    """Opaque: only a change of it counts."""
    transitions: int = 0


@dataclass(frozen=True, slots=True)
class Observation:
    """The last observed record, None without a Lease, and since when it has been so, on the clock of this process."""

    record: Record | None
    since: float

    def update(self, record: Record | None, now: float) -> Observation:
        return self if record == self.record else Observation(record, now)


class _Held(NamedTuple):
    """Up to when this process leads, on its clock, and in which term."""

    until: float = float("-inf")
    term: Term | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """Another process leads."""

    holder: str
    seconds: float
    """For up to so many more without a renewal."""


def read_record(lease: Mapping[str, Any]) -> Record:
    spec = lease.get("spec") or {}
    return Record(
        holder=str(spec.get("holderIdentity") or ""),
        duration=float(spec.get("leaseDurationSeconds") or LEASE_DURATION),
        acquired=str(spec.get("acquireTime") or ""),
        renewed=str(spec.get("renewTime") or ""),
        transitions=int(spec.get("leaseTransitions") or 0),
    )


def plan_election(observation: Observation, identity: str, now: float, time: str) -> Wait | Record:
    """The decision of this process: wait, or write this record, guarded by the observed resourceVersion. `now`: on the
    clock of this process. `time`: a MicroTime, for people."""
    record = observation.record
    if record is None:
        return Record(identity, LEASE_DURATION, time, time)
    if record.holder == identity:
        return Record(identity, LEASE_DURATION, record.acquired, time, record.transitions)
    left = observation.since + record.duration - now
    if record.holder and left > 0:
        return Wait(record.holder, left)
    return Record(identity, LEASE_DURATION, time, time, record.transitions + 1)


def build_lease(
    key: Key,
    before: Manifest | None,
    record: Record,
    notes: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
) -> Manifest:
    """The Lease with this record and all other fields unchanged. An empty holder releases it. `notes`: annotations.
    Without `labels` it is that of an operator without shards, and loses the label of those that share."""
    spec = {
        **((before or {}).get("spec") or {}),
        "holderIdentity": record.holder,
        "leaseDurationSeconds": round(record.duration),
        "acquireTime": record.acquired,
        "renewTime": record.renewed,
        "leaseTransitions": record.transitions,
    }
    kept = dict(metadata(before or {})) or {"namespace": key.namespace, "name": key.name}
    others = {name: value for name, value in (kept.pop("labels", None) or {}).items() if name != SHARDS_LABEL}
    added = {
        "annotations": {**(kept.get("annotations") or {}), **notes},
        "labels": {**others, **(labels or {})},
    }
    return {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": {**kept, **{name: texts for name, texts in added.items() if texts}},
        "spec": {name: value for name, value in spec.items() if value != ""},
    }


class Election:
    """Takes part until cancelled (`run`); `release` releases the Lease at the end. The leader writes `notes` to the
    Lease as annotations: its version, and how it was started; and `labels`, if there are any. `doing`: what the holder
    does, for the log."""

    shards = 1

    def __init__(
        self,
        api: Api,
        namespace: str,
        identity: str,
        notes: Mapping[str, str] | None = None,
        *,
        name: str = LEASE,
        labels: Mapping[str, str] | None = None,
        doing: str = "leading",
        clock: Callable[[], float] = steady_clock,
        wall_clock: Callable[[], Moment] = time.time,
        measures: Measures = UNMEASURED,
    ) -> None:
        self.identity = identity
        self._measures = measures
        self._api = api
        self._key = Key(namespace, name)
        self._notes, self._labels = dict(notes or {}), dict(labels or {})
        self._doing = doing
        self._clock = clock
        self._wall_clock = wall_clock
        self._lease: Manifest | None = None
        self._observation = Observation(None, clock())
        self._written_at = float("-inf")
        self._held = _Held()
        self._won = asyncio.Event()
        self._last_message = ""

    @property
    def leads(self) -> bool:
        """Compared with the clock at each call, so a process that was stopped (SIGSTOP) notices when it continues."""
        return self._clock() < self._held.until

    @property
    def term(self) -> Term | None:
        """The current term, or the last; None until this process has led."""
        return self._held.term

    @property
    def terms(self) -> Mapping[int, Term | None]:
        held = self._held
        return {0: held.term} if self._clock() < held.until else NO_TERMS

    def holds(self, shard: int, term: Term | None) -> bool:
        held = self._held
        return held.term == term and self._clock() < held.until

    @property
    def observation(self) -> Observation:
        return self._observation

    async def wait(self, known: Mapping[int, Term | None] = NO_TERMS) -> None:
        while not has_news(self.terms, known):
            self._won.clear()
            await self._won.wait()

    async def run(self) -> None:
        """Take part until cancelled: no error of the API ends it."""
        observed = False
        while True:
            pause, observed = await self.step(observed=observed)
            await asyncio.sleep(pause)

    async def step(self, *, observed: bool) -> tuple[float, bool]:
        """Acquire or renew the Lease, or wait; read it before, unless it is `observed`. Seconds until the next step,
        and whether the observation is still valid then. Raises no error of the API."""
        timeout_seconds = _REQUEST_TIMEOUT if self.leads else RENEW_DEADLINE
        try:
            if not observed:
                async with asyncio.timeout(timeout_seconds):
                    await self.read_lease()
            async with asyncio.timeout(timeout_seconds):
                return await self.acquire_or_renew()
        except (AlreadyExists, Conflict):  # another process was faster
            self._measures.renewed("conflict")
            return _CONFLICT_DELAY, False
        except (ApiError, TimeoutError) as error:
            self._measures.renewed("error")
            self._log_failure(error)
            return _CONFLICT_DELAY if self.leads else RETRY_PERIOD, False

    async def release(self) -> None:
        """Release the Lease after `run` was cancelled, so the next leader need not wait. Raises nothing."""
        self._held = _Held(term=self._held.term)
        try:
            async with asyncio.timeout(_REQUEST_TIMEOUT):
                await self.read_lease()
                record = self._observation.record
                if record is not None and record.holder == self.identity:
                    await self._write(Record("", 1, record.acquired, self._time(), record.transitions))
                    _log.info("leadership is given back, lease %s", self._key)
        except (ApiError, TimeoutError) as error:
            _log.warning("the lease %s is left to expire: %s", self._key, str(error) or "no answer in time")

    async def read_lease(self) -> None:
        """Observe the Lease."""
        asked = self._clock()
        try:
            lease = await self._api.get(LEASES, *self._key)
        except NotFound:
            self.observe(None, asked)
        else:
            self.observe(lease, asked)

    def observe(self, lease: Manifest | None, asked: float) -> None:
        """The Lease was read; `asked`: when that was asked for. An answer from before an own write says nothing."""
        if asked >= self._written_at:
            self._lease = lease
            record = None if lease is None else read_record(lease)
            self._observation = self._observation.update(record, self._clock())

    async def acquire_or_renew(self) -> tuple[float, bool]:
        """Acquire or renew the Lease as observed, or wait. Seconds until the next call, and whether the observation is
        still valid then. Raises `Conflict` or `AlreadyExists` if another process has written the Lease since."""
        started = self._clock()
        decided = plan_election(self._observation, self.identity, started, self._time())
        if isinstance(decided, Wait):
            self._log_once(f"standing by: {decided.holder} leads")
            return min(RETRY_PERIOD, decided.seconds), False
        led = self.leads
        await self._write(decided)
        self._measures.renewed("ok")
        self._held = _Held(started + RENEW_DEADLINE, (decided.acquired, decided.transitions))
        if not led:
            self._log_once(f"{self._doing} as {self.identity}, lease {self._key}")
        self._won.set()
        return max(0.0, started + RENEW_PERIOD - self._clock()), True

    async def _write(self, record: Record) -> None:
        """Guarded by resourceVersion: of two processes that acquire it at once, one gets a 409."""
        lease = build_lease(self._key, self._lease, record, self._notes if record.holder else {}, self._labels)
        write = self._api.replace if version_of(lease) else self._api.create
        self._lease = await write(LEASES, lease)
        self._written_at = self._clock()
        self._observation = self._observation.update(read_record(self._lease), self._written_at)

    def _time(self) -> str:
        return format_micro_time(self._wall_clock())

    def _log_failure(self, error: Exception) -> None:
        what = f"{self._doing} goes on for a moment" if self.leads else f"not {self._doing}"
        why = str(error) or "no answer in time"
        self._log_once(f"the lease {self._key} cannot be held, {what}: {why}", logging.WARNING)

    def _log_once(self, sentence: str, level: int = logging.INFO) -> None:
        """Does not repeat the last sentence."""
        if sentence != self._last_message:
            _log.log(level, "%s", sentence)
        self._last_message = sentence
