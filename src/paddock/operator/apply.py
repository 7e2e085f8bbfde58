"""Sends the actions of one plan: concurrently, each on its own; pods and Services in growing batches. Decides nothing.

The meaning of each answer is fixed (rule 5 of docs/architecture.md). Create, 409 AlreadyExists: read the owner of the
existing object. Delete or patch, 404: done. Delete or patch, 409: another object has the name, or another client wrote
the object at the same time; the next reconcile decides. Every other error becomes a `Failure`, after all actions have
been sent, so one refusal delays no other action. Pods and Services are created in batches of growing size, and none
follows a batch with a failure: otherwise a thousand pods over a quota would be refused one by one at each reconcile.

Each pod is built just before it is sent, one in a turn of the event loop, and none is once the job was edited,
suspended or deleted (`still_wanted`): creating thousands takes minutes.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from paddock.jobs.actions import Action, Create, Delete, Patch
from paddock.jobs.model import Job, Refusal, Status
from paddock.jobs.objects import pods
from paddock.jobs.waiting import plan_next_try
from paddock.kube.api import Api
from paddock.kube.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    TooLarge,
    is_namespace_terminating,
)
from paddock.kube.meta import POD_GROUPS, PODS, SERVICES, Key, Manifest, Resource, controller_of, is_controlled_by
from paddock.kube.times import Moment, format_time
from paddock.operator.queue_gates import find_ungated
from paddock.operator.quotas import GangRoom

MAX_CONCURRENT_WRITES = 64
"""Limit of concurrent writes of one operator."""

MISSED_SECONDS = 1.0
"""Until the next reconcile, where an optional patch was missed: nothing else may come that would make one."""

FIRST_BATCH = 16
"""Creates in the first batch; each further batch has twice as many. A small job fits into the first."""

MOST_NAMED = 50
"""Objects that a refusal names; it is recorded in the status of the job."""

_log = logging.getLogger(__name__)


class AssumeCache(Protocol):
    """The cache that takes in what was just written, so the next reconcile sees it before the watch delivers it."""

    def assume(self, resource: Resource, manifest: Manifest) -> bool: ...

    def assume_deleting(self, resource: Resource, key: Key, uid: str, time: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Failure:
    action: Action
    error: ApiError

    def __str__(self) -> str:
        verb = type(self.action).__name__.lower()
        return f"cannot {verb} {self.action.resource.kind} {self.action.key.name}: {self.error.message}"


_REFUSALS = (BadRequest, Forbidden, Invalid, TooLarge)


def read_refusal(failures: Sequence[Failure], previous: Refusal | None = None) -> Refusal | None:
    """The creates that the server refused for a reason that a person must fix; without one, those that failed for a
    reason that may pass, and how many times in a row. `previous`: of the reconcile before."""
    creates = [
        (f"{action.resource.kind} {action.key.name}", failure.error)
        for failure in failures
        if isinstance(action := failure.action, Create) and not is_namespace_terminating(failure.error)
    ]
    refused = [(name, error) for name, error in creates if isinstance(error, _REFUSALS)]
    if refused:
        return Refusal(tuple(name for name, _ in refused[:MOST_NAMED]), refused[0][1].message)
    names = [name for name, _ in creates[:MOST_NAMED]]
    return plan_next_try(names, creates[0][1].message, previous) if creates else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of the actions of a plan."""

    blocked: tuple[tuple[Resource, Key], ...] = ()
    """Names that objects of other owners have."""
    stale: bool = False
    """An action met another write; the caller must queue the job again, as no event may follow that would do it."""
    missed: bool = False
    """An optional action failed and may succeed later."""
    unmet: str = ""
    """Why the server refused the first optional create; empty if it refused none."""
    cut: bool = False
    """The job was changed meanwhile, so not all was created."""
    failures: tuple[Failure, ...] = ()

    def look_again(self, after: float | None) -> float | None:
        """Seconds until the next reconcile; `after`: those of the plan."""
        if self.blocked or self.cut:
            return 0.0
        return min(after or math.inf, MISSED_SECONDS) if self.missed else after


_DONE, _STALE, _MISSED, _CUT = Outcome(), Outcome(stale=True), Outcome(missed=True), Outcome(cut=True)
_BATCHED = (SERVICES, PODS)
"""Of these a job has as many as ranks. Services are asked for first: ranks look each other up as they start."""


def plan_batches(creates: Sequence[Create]) -> list[Sequence[Create]]:
    """Batches in the given order: `FIRST_BATCH` creates, then twice as many each time."""
    batches, start, size = [], 0, FIRST_BATCH
    while start < len(creates):
        batches.append(creates[start : start + size])
        start, size = start + size, 2 * size
    return batches


class Executor:
    """Executes plans. `clock` in seconds since the epoch: the time at which a delete was accepted."""

    def __init__(self, api: Api, cache: AssumeCache, clock: Callable[[], Moment], room: GangRoom | None = None) -> None:
        self._room = room
        self._api = api
        self._cache = cache
        self._clock = clock
        self._slots = asyncio.Semaphore(MAX_CONCURRENT_WRITES)
        self._building = asyncio.Lock()

    async def apply_actions(
        self, job: Job, actions: Sequence[Action], still_wanted: Callable[[], bool] = lambda: True
    ) -> Outcome:
        """`still_wanted`: whether the job is the one that was decided on; asked before each create of a batch."""
        creates = [action for action in actions if isinstance(action, Create) and action.resource in _BATCHED]
        others = [action for action in actions if not (isinstance(action, Create) and action.resource in _BATCHED)]
        batched = (
            create_all(job, [create for create in creates if create.resource == resource], still_wanted)
            for resource, create_all in ((SERVICES, self._create_all), (PODS, self._create_pods))
        )
        return _join(await asyncio.gather(self._apply_all(job, others), *batched))

    async def _apply_all(
        self, job: Job, actions: Sequence[Action], still_wanted: Callable[[], bool] = lambda: True
    ) -> Outcome:
        """By as many tasks as may write at once, whatever the number of actions."""
        outcomes: list[Outcome] = [_DONE] * len(actions)
        waiting = iter(enumerate(actions))

        async def work() -> None:
            for number, action in waiting:
                outcomes[number] = await self._apply(job, action, still_wanted)

        await asyncio.gather(*(work() for _ in range(min(MAX_CONCURRENT_WRITES, len(actions)))))
        return _join(outcomes)

    async def _create_pods(
        self, job: Job, creates: Sequence[Create], still_wanted: Callable[[], bool]
    ) -> Outcome:  # fmt: skip
        """None of a gang for which a quota has no room, where that is looked at, or which would run beside its
        queue."""
        needed = [create for create in creates if not create.optional]
        if (error := await find_ungated(self._api, job, needed)) is not None:
            return Outcome(failures=(Failure(needed[0], error),))
        if self._room is None or not needed:
            return await self._create_all(job, creates, still_wanted)
        async with self._room.hold(job, needed) as why:
            if why:
                return Outcome(failures=(Failure(needed[0], Forbidden(why)),))
            return await self._create_all(job, creates, still_wanted)

    async def _create_all(self, job: Job, creates: Sequence[Create], still_wanted: Callable[[], bool]) -> Outcome:
        outcome = _DONE
        for batch in plan_batches(creates):
            outcome = _join((outcome, await self._apply_all(job, batch, still_wanted)))
            if outcome.failures or outcome.unmet or outcome.missed or outcome.cut:
                break
        return outcome

    async def fetch_unseen(self, job: Job, status: Status, names: Iterable[str]) -> bool:
        """Whether a live GET finds any of these pods, as recorded pods of this job. The cache takes in those found."""
        found = await asyncio.gather(*(self._fetch_pod(job, name) for name in names))
        ours = [pod for pod in found if pod is not None and _belongs_to(pod, job, status)]
        for pod in ours:
            self._cache.assume(PODS, pod)
        return bool(ours)

    async def _fetch_pod(self, job: Job, name: str) -> Manifest | None:
        try:
            async with self._slots:
                return await self._api.get(PODS, job.key.namespace, name)
        except NotFound:
            return None

    async def _apply(self, job: Job, action: Action, still_wanted: Callable[[], bool] = lambda: True) -> Outcome:
        try:
            async with self._slots:
                match action:
                    case Create():
                        return await self._create(job, action) if still_wanted() else _CUT
                    case Delete():
                        return await self._delete(action)
                    case Patch():
                        return await self._patch(action)
        except ApiError as error:
            failure = Failure(action, error)
            if isinstance(action, Create | Patch) and action.optional:
                _log.info("%s: %s", job.key, failure)
                if not isinstance(error, _REFUSALS):
                    return _MISSED
                return Outcome(unmet=error.message or type(error).__name__) if isinstance(action, Create) else _DONE
            return Outcome(failures=(failure,))

    async def _create(self, job: Job, action: Create) -> Outcome:
        resource, key = action.resource, action.key
        manifest = await self._build(action)
        try:
            existing = await self._api.create(resource, manifest)
        except AlreadyExists:
            try:
                existing = await self._api.get(resource, key.namespace, key.name)
            except NotFound:
                return _STALE
        except NotFound as error:
            raise NotFound(_explain_unserved(resource) or error.message) from None
        # Also a foreign object: the next reconcile must see it, or it would create and fail again.
        self._cache.assume(resource, existing)
        return _DONE if is_controlled_by(existing, job.uid) else Outcome(blocked=((resource, key),))

    async def _build(self, action: Create) -> Manifest:
        """One in a turn of the loop: what else is due waits for one template, and not for dozens."""
        if action.resource != PODS:
            return action.manifest
        async with self._building:
            manifest = action.manifest
            await asyncio.sleep(0)
        return manifest

    async def _delete(self, action: Delete) -> Outcome:
        key = action.key
        if action.former and not await self._is_owned(action):
            return _STALE
        try:
            await self._api.delete(action.resource, key.namespace, key.name, uid=action.uid, grace=action.grace)
        except NotFound:
            return _DONE
        except Conflict:
            return _STALE
        self._cache.assume_deleting(action.resource, key, action.uid, format_time(self._clock()))
        return _DONE

    async def _is_owned(self, action: Delete) -> bool:
        """Whether the object has still a controller, or is gone."""
        try:
            existing = await self._api.get(action.resource, action.key.namespace, action.key.name)
        except NotFound:
            return True
        self._cache.assume(action.resource, existing)
        return controller_of(existing) is not None

    async def _patch(self, action: Patch) -> Outcome:
        """The UID in the patch is a precondition: a UID is immutable, so another object of this name gives 409."""
        metadata = {**(action.patch.get("metadata") or {}), "uid": action.uid}
        patch = {**action.patch, "metadata": metadata}
        # A 409 may also come from a concurrent write, which has ended by the second try.
        for _ in range(2):
            try:
                await self._api.patch(action.resource, action.key.namespace, action.key.name, patch)
                return _DONE
            except Conflict:
                continue
            except NotFound:
                return _DONE
        return _STALE


def _explain_unserved(resource: Resource) -> str:
    """The server says of a kind that it does not serve only that it has found nothing."""
    if resource.plural != POD_GROUPS.plural:
        return ""
    return f"this cluster does not serve {resource.qualified} as {resource.version}"


def _join(outcomes: Sequence[Outcome]) -> Outcome:
    return Outcome(
        blocked=tuple(name for outcome in outcomes for name in outcome.blocked),
        stale=any(outcome.stale for outcome in outcomes),
        missed=any(outcome.missed for outcome in outcomes),
        unmet=next((outcome.unmet for outcome in outcomes if outcome.unmet), ""),
        cut=any(outcome.cut for outcome in outcomes),
        failures=tuple(failure for outcome in outcomes for failure in outcome.failures),
    )


def _belongs_to(pod: Manifest, job: Job, status: Status) -> bool:
    """Not a spare pod: it has the name of a rank that its attempt does not have."""
    rank = pods.read_pod(pod)
    return is_controlled_by(pod, job.uid) and rank is not None and not rank.spare and status.holds(rank)
