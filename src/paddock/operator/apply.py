"""Acting: the actions of one plan, sent at once and each by itself; many pods in growing batches. Decides nothing.

What an answer means is fixed (rule 5 of docs/architecture.md): a create that finds the name taken looks who has it; a
delete or a patch that finds nothing is done; one that is refused by a 409 is not: another object has the name, or
somebody wrote this one at that moment, and only another pass can tell. Everything else comes back as a `Failure`, after
all have been tried, so that one refusal holds up no other action. Pods alone are asked for in batches that grow, and
after one that was not made no further batch is: a thousand pods over a quota would be refused one by one, each time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from paddock.jobs import pods
from paddock.jobs.model import Action, Create, Delete, Job, Patch, Refusal
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
)
from paddock.kube.meta import PODS, Key, Manifest, Resource, is_controlled_by, key_of, name_of
from paddock.kube.times import Moment, format_time

AT_ONCE = 64
"""Writes of one operator that are on their way at a time."""

FIRST_PODS = 16
"""Pods that are asked for before any was made; each further batch has twice as many. No small job waits for that."""

_log = logging.getLogger(__name__)


class Memory(Protocol):
    """Who is told what was just written, so that the next pass knows before the watch says so."""

    def assume(self, resource: Resource, manifest: Manifest) -> None: ...

    def assume_deleting(self, resource: Resource, key: Key, uid: str, time: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Failure:
    action: Action
    error: ApiError

    def __str__(self) -> str:
        verb = type(self.action).__name__.lower()
        name = name_of(self.action.manifest) if isinstance(self.action, Create) else self.action.key.name
        return f"cannot {verb} {self.action.resource.kind} {name}: {self.error.message}"


_REFUSALS = (BadRequest, Forbidden, Invalid, TooLarge)


def read_refusal(failures: Sequence[Failure]) -> Refusal | None:
    """What the server will not make, for a reason that somebody has to mend. Not what it could not do just now."""
    refused = [
        (f"{action.resource.kind} {name_of(action.manifest)}", failure.error.message)
        for failure in failures
        if isinstance(action := failure.action, Create) and isinstance(failure.error, _REFUSALS)
    ]
    return Refusal(tuple(name for name, _ in refused), refused[0][1]) if refused else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """`blocked`: names that somebody else has. `again`: the world moved under an action; another pass will see. It has
    to be asked for: nothing else may happen to this job that would call for one."""

    blocked: tuple[tuple[Resource, Key], ...] = ()
    again: bool = False
    failures: tuple[Failure, ...] = ()


_DONE, _AGAIN = Outcome(), Outcome(again=True)


def plan_batches(creates: Sequence[Create]) -> list[Sequence[Create]]:
    """In their order: `FIRST_PODS`, then twice as many each time."""
    batches, start, size = [], 0, FIRST_PODS
    while start < len(creates):
        batches.append(creates[start : start + size])
        start, size = start + size, 2 * size
    return batches


class Hands:
    """`clock` in seconds since the epoch, for the moment a delete was accepted."""

    def __init__(self, api: Api, memory: Memory, clock: Callable[[], Moment]) -> None:
        self._api = api
        self._memory = memory
        self._clock = clock
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def apply_actions(self, job: Job, actions: Sequence[Action]) -> Outcome:
        creates = [action for action in actions if isinstance(action, Create) and action.resource == PODS]
        others = [action for action in actions if not (isinstance(action, Create) and action.resource == PODS)]
        results = await asyncio.gather(self._apply_all(job, others), self._create_pods(job, creates))
        return _join(results)

    async def _apply_all(self, job: Job, actions: Iterable[Action]) -> Outcome:
        return _join(await asyncio.gather(*(self._apply(job, action) for action in actions)))

    async def _create_pods(self, job: Job, creates: Sequence[Create]) -> Outcome:
        made = _DONE
        for batch in plan_batches(creates):
            made = _join((made, await self._apply_all(job, batch)))
            if made.failures:
                break
        return made

    async def fetch_missed(self, job: Job, attempt: int, names: Iterable[str]) -> bool:
        """Whether any of these pods exists after all, of this job and attempt. What is found is remembered."""
        found = await asyncio.gather(*(self._fetch_pod(job, name) for name in names))
        ours = [pod for pod in found if pod is not None and _is_of(pod, job, attempt)]
        for pod in ours:
            self._memory.assume(PODS, pod)
        return bool(ours)

    async def _fetch_pod(self, job: Job, name: str) -> Manifest | None:
        try:
            async with self._slots:
                return await self._api.get(PODS, job.key.namespace, name)
        except NotFound:
            return None

    async def _apply(self, job: Job, action: Action) -> Outcome:
        try:
            async with self._slots:
                match action:
                    case Create():
                        return await self._create(job, action)
                    case Delete():
                        return await self._delete(action)
                    case Patch():
                        return await self._patch(action)
        except ApiError as error:
            failure = Failure(action, error)
            if isinstance(action, Patch) and action.optional:
                _log.info("%s: %s", job.key, failure)
                return _DONE
            return Outcome(failures=(failure,))

    async def _create(self, job: Job, action: Create) -> Outcome:
        resource, key = action.resource, key_of(action.manifest)
        try:
            there = await self._api.create(resource, action.manifest)
        except AlreadyExists:
            try:
                there = await self._api.get(resource, key.namespace, key.name)
            except NotFound:
                return _AGAIN
        self._memory.assume(resource, there)
        return _DONE if is_controlled_by(there, job.uid) else Outcome(blocked=((resource, key),))

    async def _delete(self, action: Delete) -> Outcome:
        key = action.key
        try:
            await self._api.delete(action.resource, key.namespace, key.name, uid=action.uid, grace=action.grace)
        except NotFound:
            return _DONE
        except Conflict:
            return _AGAIN
        self._memory.assume_deleting(action.resource, key, action.uid, format_time(self._clock()))
        return _DONE

    async def _patch(self, action: Patch) -> Outcome:
        """The UID in the patch guards it: it cannot be changed, so another object of the name refuses. Twice, as a
        server may also have been in the middle of another write, which is over by then."""
        metadata = {**(action.patch.get("metadata") or {}), "uid": action.uid}
        patch = {**action.patch, "metadata": metadata}
        for _ in range(2):
            try:
                await self._api.patch(action.resource, action.key.namespace, action.key.name, patch)
                return _DONE
            except Conflict:
                continue
            except NotFound:
                return _DONE
        return _AGAIN


def _join(outcomes: Sequence[Outcome]) -> Outcome:
    return Outcome(
        blocked=tuple(name for outcome in outcomes for name in outcome.blocked),
        again=any(outcome.again for outcome in outcomes),
        failures=tuple(failure for outcome in outcomes for failure in outcome.failures),
    )


def _is_of(pod: Manifest, job: Job, attempt: int) -> bool:
    rank = pods.read_pod(pod)
    return is_controlled_by(pod, job.uid) and rank is not None and rank.attempt == attempt
