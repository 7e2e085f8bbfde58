"""Deletion of a job, and the wait until its pods are gone.

The wait has an end: the longest grace period of the pods, and `MARGIN`. What is there after it is told with what holds
it (`views.holders`); it goes on to be deleted, as nothing takes a deletion back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paddock.cli.cluster.lookup import fetch_pods
from paddock.kube.errors import Conflict, NotFound
from paddock.kube.meta import PODS, Manifest, name_of, namespace_of, uid_of
from paddock.views.commands import printed_name
from paddock.views.flags import LOCAL, Flags
from paddock.views.holders import DEFAULT_GRACE, explain_holders, find_longest
from paddock.views.stored import StoredJob
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api

MARGIN = 15.0
"""Seconds beyond the grace period: garbage collector, node and API follow each other, and may be busy."""
_QUIET_SECONDS = 2.0
"""Seconds before the user is told what is waited for."""
_LONGEST_PAUSE = 1.0
KILLED_GRACE = 1
"""Seconds of a pod that is killed."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The clock of a wait."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


async def delete_job(
    api: Api,
    job: StoredJob,
    *,
    now: bool = False,
    wait: bool = True,
    notify: Callable[[Phrase], None] | None = None,
    flags: Flags = LOCAL,
    pace: Pace | None = None,
) -> Phrase | None:
    """Deletes the job; its pods get their grace period, or are killed with `now`. `wait`: returns when job and pods are
    gone, or their time is over, and what holds them then; None where nothing does. `notify` is called once if that
    takes more than 2 s. `flags`: of the cluster, for commands that are told."""
    pace = pace or Pace()
    grace = find_longest(await fetch_pods(api, job)) if wait else 0
    try:
        # by UID: names are reused, and a new job must not be deleted
        await api.delete(job.resource, *job.key, uid=job.uid)
    except (NotFound, Conflict):  # 409: the name belongs to a new job with another UID
        pass
    if now:
        await kill_pods(api, job)
        grace = KILLED_GRACE
    begun, pause = pace.now(), 0.1
    while wait:
        current, pods = await _fetch(api, job), await fetch_pods(api, job)
        if current is None and not pods:
            return None
        grace = grace if now else max(grace, find_longest(pods))
        waited = pace.now() - begun
        if waited > grace + MARGIN:
            return explain_late(job, waited, explain_holders(current, _word(job), pods, flags.kubectl))
        if notify and not now and waited > _QUIET_SECONDS:
            notify(build_waiting(pods))
            notify = None
        await pace.sleep(pause)  # polling costs less than two watches
        pause = min(_LONGEST_PAUSE, pause * 1.2)
    return None


def _word(job: StoredJob) -> str:
    return printed_name(job.resource, job.key.name)


def explain_late(job: StoredJob, waited: float, why: Phrase | None) -> Phrase:
    said = phrase("{object} is deleted, and not gone after {time} s", object=_word(job), time=round(waited))
    return said if why is None else phrase("{problem}: {why}", problem=said, why=why)


def build_waiting(pods: Sequence[Manifest]) -> Phrase:
    """Names the longest grace period of the pods; 30 s where none is set (Kubernetes' default)."""
    longest = find_longest(pods) if pods else DEFAULT_GRACE
    return phrase("waiting up to {time} s for its ranks to end; --now kills them", time=longest)


async def kill_pods(api: Api, job: StoredJob) -> None:
    """Deletes every pod of the job with a grace period of 1 s."""
    await kill(api, await fetch_pods(api, job))


async def kill(api: Api, pods: Sequence[Manifest]) -> None:
    """Deletes these pods with a grace period of 1 s."""
    for pod in pods:
        try:
            await api.delete(PODS, namespace_of(pod), name_of(pod), uid=uid_of(pod), grace=KILLED_GRACE)
        except (NotFound, Conflict):
            continue


async def _fetch(api: Api, job: StoredJob) -> Manifest | None:
    try:
        current = await api.get(job.resource, *job.key)
    except NotFound:
        return None
    return current if uid_of(current) == job.uid else None
