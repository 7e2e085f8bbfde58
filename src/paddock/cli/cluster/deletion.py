"""Deletion of a job, and the wait until its pods are gone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from paddock.cli.cluster.lookup import fetch_pods
from paddock.kube.errors import Conflict, NotFound
from paddock.kube.meta import PODS, Manifest, namespace_of, uid_of
from paddock.views.stored import StoredJob
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api

_QUIET_SECONDS = 2.0
"""Seconds before the user is told what is waited for."""
_LONGEST_PAUSE = 1.0


async def delete_job(
    api: Api,
    job: StoredJob,
    *,
    now: bool = False,
    wait: bool = True,
    notify: Callable[[Phrase], None] | None = None,
) -> None:
    """Deletes the job; its pods get their grace period, or are killed with `now`. `wait`: returns when job and pods are
    gone; `notify` is called once if that takes more than 2 s."""
    try:
        # by UID: names are reused, and a new job must not be deleted
        await api.delete(job.resource, *job.key, uid=job.uid)
    except (NotFound, Conflict):  # 409: the name belongs to a new job with another UID
        pass
    if now:
        await kill_pods(api, job)
    begun, pause = time.monotonic(), 0.1
    while wait and (await _exists(api, job) or await fetch_pods(api, job)):
        await asyncio.sleep(pause)  # polling costs less than two watches
        pause = min(_LONGEST_PAUSE, pause * 1.2)
        if notify and not now and time.monotonic() - begun > _QUIET_SECONDS:
            notify(build_waiting(await fetch_pods(api, job)))
            notify = None


def build_waiting(pods: Sequence[Manifest]) -> Phrase:
    """Names the longest grace period of the pods; 30 s where none is set (Kubernetes' default)."""
    graces = [(pod.get("spec") or {}).get("terminationGracePeriodSeconds") for pod in pods]
    longest = max((30 if grace is None else int(grace) for grace in graces), default=30)
    return phrase("waiting up to {time} s for its ranks to end; --now kills them", time=longest)


async def kill_pods(api: Api, job: StoredJob) -> None:
    """Deletes every pod of the job with a grace period of 1 s."""
    for pod in await fetch_pods(api, job):
        try:
            await api.delete(PODS, namespace_of(pod), str(pod["metadata"]["name"]), uid=uid_of(pod), grace=1)
        except (NotFound, Conflict):
            continue


async def _exists(api: Api, job: StoredJob) -> bool:
    try:
        current = await api.get(job.resource, *job.key)
    except NotFound:
        return False
    return uid_of(current) == job.uid
