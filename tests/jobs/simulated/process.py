"""One operator's process as the API server sees it: requests that may wait, fail, or outlive it, and watches that lag.

The operator is the real one, `paddock.operator.operator.Operator`. `Client` answers it from the store, at once unless
told otherwise; `Watch` is what `Api.follow` promises: what was lost while it was cut comes as the difference.

`Sabotage` takes one of the rules of docs/architecture.md away, at this seam, so that the operator itself is untouched.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from jobs.simulated.faults import DEAF_SECONDS
from jobs.simulated.loop import VirtualLoop
from jobs.simulated.manifests import KEY, KINDS
from jobs.simulated.store import Store, Write
from paddock.controllers.clock import ServerClock
from paddock.jobs.model import Settings
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, Create, Delete, Get, List, Listing, Patch, T
from paddock.kube.errors import ApiError, Conflict, InternalError, NotFound, Timeout, TooManyRequests, Unavailable
from paddock.kube.meta import (
    EVENTS,
    POD_GROUPS,
    PODS,
    Key,
    Manifest,
    Resource,
    controller_of,
    key_of,
    metadata,
    uid_of,
    version_of,
)
from paddock.kube.patches import merge_patch
from paddock.operator.election import NO_TERMS, Term
from paddock.operator.metrics import UNMEASURED, Measures
from paddock.operator.operator import Operator
from paddock.operator.readings import Readings

Perform = Callable[[], Any]
_NEVER = float("inf")
_WATCH_SECONDS = 510.0
"""After so long a watch is over, and a silence is noticed at the latest."""


@dataclass(frozen=True, slots=True)
class Sabotage:
    """What is taken out. Rule 1: a status is stored after the writes that follow from it, as far as this process knows
    at once. Rule 3: a pod that the watch has not told is believed not to be there, and the first list may be an old
    one. Rule 4: deletes go by name. And of how a job is judged: a failure does not wait for statuses on their way, the
    last valid spec is forgotten, losses have no bound, an eviction counts as a loss, the server's clock is believed. Of
    rule 3 also: the job that is read live is the one that its watch has told, however old.

    And of what others do (`faults`): which ranks have succeeded is not recorded, pods of a former job are not seen, any
    PodGroup of the name is one that nobody owns, a forced deletion is refused, and a watch that died is found out when
    it would have ended."""

    records_later: bool = False
    believes_absences: bool = False
    believes_jobs: bool = False
    deletes_by_name: bool = False
    hears_no_end_out: bool = False
    forgets_the_valid_spec: bool = False
    bounds_no_losses: bool = False
    forgives_evictions: bool = False
    believes_the_clock: bool = False
    forgets_successes: bool = False
    overlooks_former_pods: bool = False
    takes_any_group: bool = False
    forces_nothing: bool = False
    hears_no_silence: bool = False


class Watch:
    """One kind as one process is told of it. `held`: what comes waits until `pull`. `deaf_until`: it has died, and its
    client takes the silence for that then. `hides`: what is never told."""

    def __init__(
        self,
        store: Store,
        resource: Resource,
        loop: VirtualLoop,
        back: int = 0,
        alter: Callable[[Manifest], Manifest] = lambda manifest: manifest,
        hides: Callable[[Manifest], bool] = lambda manifest: False,
    ) -> None:
        self._alter, self._hides = alter, hides
        self.deaf_until = 0.0
        self.known: dict[Key, Manifest] = {}
        self.held = False
        self._store, self._resource, self._loop = store, resource, loop
        self._told: deque[Event] = deque()
        self._waiter: asyncio.Future[None] | None = None
        log = store.logs[resource]
        self._position = max(0, len(log) - back)
        for event in log[: self._position]:
            self._note(event)
        self._told.extend(Event("ADDED", manifest) for manifest in self.known.values())
        self._told.append(Event("SYNCED", {}))

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> Event:
        while True:
            while not self._told:
                self._waiter = self._loop.create_future()
                await self._waiter
            told = self._told.popleft()
            if not self._hides(told.object):
                break
        return told._replace(object=self._alter(told.object))

    def pull(self, most: int | None = None) -> None:
        """What has happened since, or the first `most` of it, is told."""
        if self._loop.now < self.deaf_until:
            return
        log = self._store.logs[self._resource]
        end = len(log) if most is None else min(len(log), self._position + most)
        for event in log[self._position : end]:
            self._note(event)
            self._told.append(event)
        self._position = end
        self._wake()

    @property
    def behind(self) -> bool:
        return self._position < len(self._store.logs[self._resource])

    def deafen(self, seconds: float) -> None:
        """The stream dies without a word, until its client gives it up and goes on where it was. 0 ends that now."""
        if self._loop.now >= self.deaf_until or not seconds:
            self.deaf_until = self._loop.now + seconds
            self._loop.call_at(self.deaf_until, self.pull)

    def cut(self) -> None:
        """The stream breaks, its events are lost, and a new list says what is different now."""
        if self._loop.now < self.deaf_until:
            return
        before, self.known = self.known, {}
        self._position = len(self._store.logs[self._resource])
        now = {key_of(manifest): manifest for manifest in self._store.all(self._resource)}
        for key, manifest in before.items():
            if key not in now or uid_of(now[key]) != uid_of(manifest):
                self._told.append(Event("DELETED", manifest))
        for key, manifest in now.items():
            if key not in before or version_of(before[key]) != version_of(manifest):
                self._told.append(Event("MODIFIED" if key in before else "ADDED", manifest))
        self.known = now
        self._wake()

    def _note(self, event: Event) -> None:
        if event.type == "DELETED":
            self.known.pop(key_of(event.object), None)
        else:
            self.known[key_of(event.object)] = event.object

    def _wake(self) -> None:
        if self._told and self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Client(Api):
    """The API of one process. `slow`: requests wait until they are served. `faults`: errors for the next requests,
    each with whether the request had its effect before the answer was lost. `loses`: asked after each write of a
    status, whether its answer is lost. `dies_in`: requests until the end."""

    def __init__(self, store: Store, loop: VirtualLoop, sabotage: Sabotage, clock: ServerClock, back: int = 0) -> None:
        self._clock = clock
        self._read_since = _NEVER
        self._blind = False
        self.dead = False
        self.slow = False
        self.sent = 0
        self.dies_in: int | None = None
        self.faults: deque[tuple[ApiError, bool]] = deque()
        self.loses: Callable[[], bool] = lambda: False
        self.pending: deque[tuple[asyncio.Future[Any], Perform]] = deque()
        self.left: list[Perform] = []
        self.watches: dict[Resource, Watch] = {}
        self.bugs: list[str] = []
        self._store, self._loop, self._sabotage, self._back = store, loop, sabotage, back
        self._unwritten: dict[Key, tuple[Resource, str, Manifest]] = {}
        self._served_at = -_NEVER

    # What the world does.

    def serve(self, number: int = 0) -> None:
        """One of the waiting requests, not always the oldest."""
        if not self.pending:
            return
        self._served_at = self._loop.now
        self.pending.rotate(-(number % len(self.pending)))
        future, perform = self.pending.popleft()
        try:
            answer = perform()
        except ApiError as error:
            if not future.done():
                future.set_exception(error)
        else:
            if not future.done():
                future.set_result(answer)

    def serve_all(self) -> None:
        self.slow = False
        self.faults.clear()
        while self.pending:
            self.serve()
            self._loop.drain()

    def die(self) -> None:
        self.dead = True
        self.left += [perform for _, perform in self.pending]
        self.pending.clear()

    def write_what_was_recorded(self) -> None:
        """Without rule 1: now, after whatever was done because of it."""
        for key, (resource, uid, status) in list(self._unwritten.items()):
            del self._unwritten[key]
            if not self.dead:
                try:
                    self._change(resource, key, {"status": status}, uid=uid)
                except (NotFound, Conflict):
                    pass

    # What the operator asks.

    async def send(self, call: Call[T]) -> T:
        return cast("T", await self._answer(call))

    async def _answer(self, call: Call[Any]) -> Any:
        key = Key(call.namespace, call.name)
        match call:
            case Get():
                return await self._get(call.resource, key)
            case List():
                return await self._ask(lambda: Listing(self._store.all(call.resource)))
            case Create():
                return await self._create(call)
            case Patch():
                return await self._patch(call, key)
            case Delete():
                return await self._delete(call, key)
        raise AssertionError("the operator replaces nothing")

    async def _get(self, resource: Resource, key: Key) -> Manifest:
        if resource == PODS and self._sabotage.believes_absences and key not in self.watches[PODS].known:
            raise NotFound(f"pods {key} not found")
        if resource in KINDS:  # a reconcile begins
            self._blind = False
        if resource in KINDS and self._sabotage.believes_jobs:
            return await self._ask(lambda: self._tell_known(resource, key))
        found = self._overlaid(resource, await self._ask(lambda: self._store.get(resource, key)))
        return self._forget(found) if resource in KINDS else found

    def _tell_known(self, resource: Resource, key: Key) -> Manifest:
        known = self.watches[resource].known
        if key not in known:
            raise NotFound(f"{resource.plural} {key} not found")
        return known[key]

    def _forget(self, job: Manifest) -> Manifest:
        lost = {"lastValidSpec"} if self._sabotage.forgets_the_valid_spec else set()
        lost |= {"succeeded"} if self._sabotage.forgets_successes else set()
        if not lost or not job.get("status"):
            return job
        return {**job, "status": {name: value for name, value in job["status"].items() if name not in lost}}

    def _strip_owner(self, group: Manifest) -> Manifest:
        """As if nobody owned what another job does."""
        if not self._sabotage.takes_any_group or controller_of(group) is None or self._is_of_the_job(group):
            return group
        return {**group, "metadata": {**group["metadata"], "ownerReferences": []}}

    def _is_former(self, pod: Manifest) -> bool:
        owned = controller_of(pod) is not None
        return self._sabotage.overlooks_former_pods and owned and not self._is_of_the_job(pod)

    def _is_of_the_job(self, child: Manifest) -> bool:
        jobs = (self._store.find(resource, KEY) for resource in KINDS)
        return (controller_of(child) or {}).get("uid") in {uid_of(job) for job in jobs if job is not None}

    async def _create(self, call: Create) -> Manifest:
        if call.resource == EVENTS:
            if call.manifest["reason"] == "OperatorFailed":
                self.bugs.append(call.manifest["message"])
            return await self._ask(lambda: dict(call.manifest))
        issued, blind = self._store.records, PODS in self.watches and self.watches[PODS].behind
        asked, sure = self._loop.now, self._is_sure()
        group = self._store.find(POD_GROUPS, KEY) if POD_GROUPS in self.watches else None

        def perform() -> Manifest:
            made = self._store.create(call.resource, call.manifest)
            written = Write("create", call.resource, None, made, issued, blind, asked=asked, sure=sure, group=group)
            self._store.audit(written)
            return made

        return await self._ask(perform)

    def _is_sure(self) -> bool:
        return self._served_at < self._loop.now and not any(watch.behind for watch in self.watches.values())

    async def _patch(self, call: Patch, key: Key) -> Manifest:
        patch = dict(call.patch)
        if call.resource == EVENTS:
            return await self._ask(lambda: patch)
        if call.subresource == "status" and self._sabotage.records_later:
            return self._pretend(call.resource, key, patch)
        meta = metadata(patch)
        guard, uid = str(meta.get("resourceVersion") or ""), str(meta.get("uid") or "")
        body = {part: value for part, value in patch.items() if part != "metadata"}
        blind = self._blind or (PODS in self.watches and self.watches[PODS].behind)
        self._blind = False

        def perform() -> Manifest:
            answer = self._change(call.resource, key, body, guard=guard, uid=uid, blind=blind)
            if call.subresource == "status" and self.loses():
                raise Timeout("the answer was lost")
            return self._forget(answer) if call.resource in KINDS else answer

        return await self._ask(perform)

    async def _delete(self, call: Delete, key: Key) -> None:
        issued = self._store.records
        guard = "" if self._sabotage.deletes_by_name else call.uid
        grace = None if self._sabotage.forces_nothing else call.grace
        asked, sure = self._loop.now, self._is_sure()

        def perform() -> None:
            before = self._store.get(call.resource, key)
            self._store.delete(call.resource, key, guard, grace)
            written = Write("delete", call.resource, before, None, issued, False, self._read_since, asked, sure)
            self._store.audit(written)

        await self._ask(perform)

    def follow(self, resource: Resource, namespace: str = "", **selectors: str) -> Watch:
        back = self._back if self._sabotage.believes_absences else 0
        alters = dict.fromkeys(KINDS, self._forget) | {POD_GROUPS: self._strip_owner}
        alter = alters.get(resource, lambda manifest: manifest)
        hides = self._is_former if resource == PODS else lambda manifest: False
        watch = self.watches[resource] = Watch(self._store, resource, self._loop, back, alter, hides)
        return watch

    def read_date(self) -> None:
        """Every answer has a Date, also those about the Lease, for which a standby asks too."""
        self._clock.read(self._store.clock())
        self._read_since = min(self._read_since, self._loop.now)

    async def _ask(self, perform: Perform) -> Any:
        self.sent += 1
        self._blind |= PODS in self.watches and self.watches[PODS].behind
        self.read_date()
        if self.dies_in is not None and not self.dead:
            self.dies_in -= 1
            if self.dies_in < 0:
                self.die()
        if self.dead:
            self.left.append(perform)
            await self._loop.create_future()
        if self.faults:
            error, done = self.faults.popleft()
            if done:
                perform()
            raise error
        if not self.slow:
            return perform()
        future = self._loop.create_future()
        self.pending.append((future, perform))
        return await future

    def _change(
        self, resource: Resource, key: Key, body: Manifest, *, guard: str = "", uid: str = "", blind: bool = False
    ) -> Manifest:
        issued, before = self._store.records, self._store.get(resource, key)
        after = self._store.change(resource, key, body, guard=guard, uid=uid)
        self._store.audit(Write("patch", resource, before, after, issued, blind, self._read_since))
        return after

    def _overlaid(self, resource: Resource, manifest: Manifest) -> Manifest:
        known = self._unwritten.get(key_of(manifest))
        uid, status = known[1:] if known is not None and known[0] == resource else ("", {})
        return (
            {**manifest, "status": merge_patch(manifest.get("status") or {}, status)}
            if uid == uid_of(manifest)
            else manifest
        )

    def _pretend(self, resource: Resource, key: Key, patch: Manifest) -> Manifest:
        there = self._overlaid(resource, self._store.get(resource, key))
        if version_of(there) != patch["metadata"]["resourceVersion"]:
            raise Conflict("modified")
        status = merge_patch(there.get("status") or {}, patch["status"])
        self._unwritten[key] = (resource, uid_of(there), status)
        return {**self._store.touch(resource, key), "status": status}


class Lead:
    """Whether this process leads, as its Lease says (`operator.election.Leadership`)."""

    shards = 1

    def __init__(self, loop: VirtualLoop) -> None:
        self.leads = False
        self.term: tuple[str, int] | None = None
        self._loop = loop
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def terms(self) -> Mapping[int, Term | None]:
        return {0: self.term} if self.leads else NO_TERMS

    def holds(self, shard: int, term: Term | None) -> bool:
        return self.leads and term == self.term

    async def wait(self, known: Mapping[int, Term | None] = NO_TERMS) -> None:
        if not self.leads:
            self._waiting.append(self._loop.create_future())
            await self._waiting[-1]

    def take(self) -> None:
        self.leads = True
        self.term = ("", self.term[1] + 1 if self.term else 0)
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)
        self._waiting.clear()


class Process:
    """An operator that runs until it crashes, and what it leaves in the network when it does."""

    def __init__(
        self,
        store: Store,
        loop: VirtualLoop,
        settings: Settings,
        sabotage: Sabotage,
        measures: Measures = UNMEASURED,
    ) -> None:
        self._measures = measures
        self._store, self._loop, self._settings, self._sabotage = store, loop, settings, sabotage
        self.lead: Lead
        self.client: Client
        self._task: asyncio.Task[None]
        self.start()

    def start(self, back: int = 0) -> None:
        loop = self._loop
        clock = ServerClock(loop.time, self._store.clock)
        self.client, self.lead = Client(self._store, loop, self._sabotage, clock, back), Lead(loop)
        operator = Operator(
            self.client,
            self._settings,
            readings=Readings(
                clock.now,
                (lambda: 0.0) if self._sabotage.believes_the_clock else clock.disagreement,
                loop.time,
            ),
            kinds=KINDS,
            leadership=self.lead,
            measures=self._measures,
        )
        self._task = loop.create_task(operator.run())
        loop.drain()

    @property
    def alive(self) -> bool:
        return not self.client.dead

    def crash(self) -> list[Perform]:
        """What it had asked for and nobody has heard yet: some of it may still happen."""
        self.client.die()
        self.lead.leads = False
        left, self.client.left = self.client.left, []
        self._task.cancel()
        self._loop.drain()
        return left

    def watch(self, number: int) -> Watch | None:
        watches = list(self.client.watches.values())
        return watches[number % len(watches)] if watches else None

    def deafen(self, number: int) -> None:
        watch = self.watch(number)
        if watch is not None:
            watch.deafen(_WATCH_SECONDS if self._sabotage.hears_no_silence else DEAF_SECONDS)

    def hear_all(self) -> None:
        """What was held back. A watch that has died stays dead."""
        for watch in self.client.watches.values():
            watch.held = False
            watch.pull()
        self._loop.drain()

    def tell(self, resource: Resource) -> None:
        watch = self.client.watches.get(resource)
        if watch is not None and not watch.held:
            watch.pull()

    def ended(self) -> str:
        """Why it is over though nobody has ended it."""
        if not self.alive or not self._task.done():
            return ""
        return repr(self._task.exception()) if not self._task.cancelled() else "cancelled"


ERRORS: tuple[tuple[ApiError, bool], ...] = (
    (Unavailable("nobody answered"), False),
    (Timeout("the answer was lost"), True),
    (InternalError("etcdserver: leader changed"), False),
    (TooManyRequests("too many requests"), False),
    (Conflict("modified"), False),
)
