"""What the ranks of jobs of a cluster use, for its console: read from metrics.k8s.io while somebody looks at a job, and
an hour longer."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from paddock.app.consoles.used.recorded import build_rank_usage
from paddock.app.history import read_place
from paddock.console.backend import Identity, Used
from paddock.history.logs import LogLocation
from paddock.jobs.labels import JOB_LABEL
from paddock.jobs.names import job_label
from paddock.kube.api import Api
from paddock.kube.errors import ApiError, NotFound
from paddock.kube.meta import PODS, Resource, controller_of, labels_of, name_of
from paddock.kube.times import Moment, read_time
from paddock.kube.usage import POD_METRICS, read_usage
from paddock.node.usage.samples import MOST, Sample, halve

SAMPLE_SECONDS = 15.0
"""Between two readings: metrics-server's own resolution."""
LINGER_SECONDS = 3600.0
"""How long a job is read that nobody looks at any more."""
_MOST_JOBS = 64
_MOST_OF_JOB, _FEWEST = 16_384, 64
"""Samples of all ranks of a job, some 3 MB, and of one at least: a pod has 512 MiB for the jobs of all its readers."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Watched:
    """A job that somebody looks at, or has looked at."""

    since: Moment
    looked: Moment
    sampled: Moment = float("-inf")
    measured: bool = True
    samples: dict[LogLocation, list[Sample]] = field(default_factory=dict)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    going_on: asyncio.Task[None] | None = None


class SampledMetrics:
    """Of a cluster. `connect`: the API with the rights of a reader; what one has read is shown to no other."""

    def __init__(
        self,
        connect: Callable[[Identity], Api],
        *,
        clock: Callable[[], Moment] = time.time,
        pause: Callable[[float], Any] = asyncio.sleep,
        most: int = _MOST_OF_JOB,
    ) -> None:
        self._connect, self._clock, self._pause, self._most = connect, clock, pause, most
        self._watched: dict[tuple[str, Resource, str, str, str], _Watched] = {}

    def __call__(self, identity: Identity) -> _Sampled:
        return _Sampled(self, identity)

    async def find(self, identity: Identity, job: tuple[Resource, str, str], uid: str, ranks: Collection[str]) -> Used:
        known = self._find_last(identity, job) if not uid else None
        watched = known or await self._look(identity, job, uid)
        shown = (
            (place, samples) for place, samples in watched.samples.items() if f"{place.role}-{place.index}" in ranks
        )
        wanted = sorted((build_rank_usage(*each) for each in shown), key=lambda each: each.attempt)
        return Used(tuple(wanted), watched.measured, watched.since)

    def _find_last(self, identity: Identity, job: tuple[Resource, str, str]) -> _Watched | None:
        """What was read of a job that is gone, while it was there."""
        found = [each for key, each in self._watched.items() if key[:4] == (identity.id, *job)]
        return max(found, key=lambda each: each.looked, default=None)

    async def _look(self, identity: Identity, job: tuple[Resource, str, str], uid: str) -> _Watched:
        now = self._clock()
        watched = self._watch((identity.id, *job, uid), now)
        watched.looked = now
        await self._sample(watched, identity, job, uid)
        if watched.going_on is None or watched.going_on.done():
            watched.going_on = asyncio.create_task(self._go_on(watched, identity, job, uid))
        return watched

    async def close(self) -> None:
        for watched in self._watched.values():
            if watched.going_on is not None:
                watched.going_on.cancel()
        self._watched.clear()

    def _watch(self, key: tuple[str, Resource, str, str, str], now: Moment) -> _Watched:
        if key not in self._watched and len(self._watched) >= _MOST_JOBS:
            oldest = min(self._watched, key=lambda each: self._watched[each].looked)
            if (task := self._watched.pop(oldest).going_on) is not None:
                task.cancel()
        return self._watched.setdefault(key, _Watched(now, now))

    async def _go_on(self, watched: _Watched, identity: Identity, job: tuple[Resource, str, str], uid: str) -> None:
        while True:
            await self._pause(SAMPLE_SECONDS)
            if self._clock() - watched.looked >= LINGER_SECONDS:
                return
            try:
                await self._sample(watched, identity, job, uid)
            except ApiError as error:  # told to the next who looks
                _log.info("what %s uses was not read: %s", job[2], error)
                return

    async def _sample(self, watched: _Watched, identity: Identity, job: tuple[Resource, str, str], uid: str) -> None:
        """Unless that was done a moment ago. Raises `ApiError`."""
        async with watched.lock:
            now = self._clock()
            if now - watched.sampled < SAMPLE_SECONDS - 1:
                return
            _, namespace, name = job
            api, labels = self._connect(identity), f"{JOB_LABEL}={job_label(name)}"
            pods = (await api.list(PODS, namespace, labels=labels)).items
            try:
                metrics = (await api.list(POD_METRICS, namespace, labels=labels)).items
            except NotFound:
                watched.measured, watched.sampled = False, now
                return
            watched.measured, watched.sampled = True, now
            for place, sample in read_samples(pods, metrics, uid):
                samples = watched.samples.setdefault(place, [])
                _add(samples, sample, max(_FEWEST, min(MOST, self._most // len(watched.samples))))


@dataclass(frozen=True, slots=True)
class _Sampled:
    """Those of one reader."""

    metrics: SampledMetrics
    identity: Identity

    async def find(self, resource: Resource, namespace: str, name: str, uid: str, ranks: Collection[str]) -> Used:
        return await self.metrics.find(self.identity, (resource, namespace, name), uid, ranks)


def read_samples(
    pods: Collection[Mapping[str, Any]], metrics: Collection[Mapping[str, Any]], uid: str
) -> list[tuple[LogLocation, Sample]]:
    """What the pods of the job with this UID use: all containers of each together. What cannot be read is left out.
    Pure."""
    places: dict[str, LogLocation] = {}
    for pod in pods:
        owner = controller_of(pod)
        place = read_place(labels_of(pod), name_of(pod))
        if place is not None and owner is not None and owner.get("uid") == uid:
            places[name_of(pod)] = place
    found = []
    for each in metrics:
        with suppress(ValueError, TypeError, AttributeError, LookupError):
            at, usages = read_time(each.get("timestamp")), [read_usage(one["usage"]) for one in each["containers"]]
            if at is not None and usages and name_of(each) in places:
                cpu, memory = (sum(column) for column in zip(*usages, strict=True))
                found.append((places[name_of(each)], Sample(at, cpu, memory)))
    return found


def _add(samples: list[Sample], sample: Sample, most: int) -> None:
    """One that was read before, as metrics-server answers the same for some seconds, is none."""
    if samples and sample.at <= samples[-1].at:
        return
    samples.append(sample)
    if len(samples) >= most:
        samples[:] = halve(samples)
