"""Looks whether the GPUs of jobs with the annotation `paddock.dev/idle` work, and does what it says where they do not.

The operator tells of such jobs as it looks at them (`operator.readings.GpuWatch`). Once in `LOOK_SECONDS` one question
is asked for all of them: on a laptop of what the node has recorded, on a cluster of a Prometheus that has DCGM's
metrics. `policies.idle_gpus` decides. What is done is a client's patch of a job that was read at that moment; an event
tells of an idle job once, and once for each attempt that nobody can know.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paddock.app.prometheus import Address, PrometheusError, Series, query
from paddock.app.running_logs import RunningLogs
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Job, OnIdle, Phase, Pod, Status
from paddock.jobs.policies.idle_gpus import (
    Watched,
    build_suspension,
    explain_idle,
    explain_unknown,
    find_watched,
    follow,
    measure_idle,
)
from paddock.kube.api import Api
from paddock.kube.errors import ApiError, Conflict, NotFound, Timeout, TooManyRequests, Unavailable
from paddock.kube.meta import Key, Manifest, Resource, uid_of
from paddock.node.usage.records import read_last_samples, usage_file
from paddock.node.usage.samples import Sample
from paddock.words.problems import InvalidJob

LOOK_SECONDS = 60.0
FORGET_SECONDS = 180.0
"""Without an answer, after which the time of all pods is counted anew: they may have worked meanwhile."""
UNKNOWN_SECONDS = 600.0
"""For which nobody tells what a pod's GPUs do, before an event says so: exporters and pods begin in any order."""
_RECENT, _OLDEST = 2 * LOOK_SECONDS, 900.0
"""Seconds: of a record, samples that are looked at; and of the last one, as those of a long run are far apart."""
_SAMPLES = 64
_AT_ONCE = 4
"""Jobs that are suspended."""
_PASSES = (Timeout, TooManyRequests, Unavailable)
"""Answers that refuse nothing: the next look tries again."""

_WINDOW = "2m"

Ref = tuple[Resource, Key]
Publish = Callable[[Mapping[str, Any], str, str, str], None]
"""(the job, reason, message, type) of an event."""
ReadUses = Callable[[Mapping[str, Key]], Awaitable[Mapping[str, float]]]
"""The pods, by UID -> percent of the time in which their GPUs worked lately. Raises `PrometheusError`."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Known:
    """A job that is watched."""

    watched: Watched
    told: bool = False
    """That its GPUs are idle."""
    refused: bool = False
    """Whether it was told that it may not be suspended, which is tried at each look."""
    heard: float = 0.0
    """When all its pods were last known."""


class IdleJobs:
    """`note` may be called by any thread, all else by that of the event loop. `read`: None where nobody can tell, for
    the reason `why_not`. `may_act`: whether this process leads a namespace."""

    def __init__(
        self,
        api: Api,
        read: ReadUses | None,
        publish: Publish,
        *,
        why_not: str = "",
        may_act: Callable[[str], bool] = lambda _: True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api, self._read, self._publish = api, read, publish
        self._why_not, self._may_act, self._clock = why_not, may_act, clock
        self._jobs: dict[Ref, _Known] = {}
        self._unknown: set[tuple[str, int]] = set()
        """(UID, attempt) of which it was told that nobody knows."""
        self._since: dict[str, float] = {}
        self._answered = -math.inf

    def note(self, job: Job, status: Status, pods: Sequence[Pod]) -> None:
        watched, ref = find_watched(job, status, pods), (job.resource, job.key)
        known = self._jobs.get(ref)
        if watched is None:
            self._jobs.pop(ref, None)
        elif known is None or (known.watched.attempt, known.watched.pods) != (watched.attempt, watched.pods):
            self._jobs[ref] = _Known(watched, heard=self._clock())
        else:
            known.watched = watched

    def forget(self, resource: Resource, key: Key) -> None:
        self._jobs.pop((resource, key), None)

    async def run(self) -> None:
        """Looks until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.look()
            except Exception:
                _log.exception("whether GPUs are idle was not looked at, which is a bug")

    async def look(self) -> None:
        everything = list(self._jobs.values())
        uids = {known.watched.job.uid for known in everything}
        self._unknown = {each for each in self._unknown if each[0] in uids}
        jobs = [known for known in everything if self._may_act(known.watched.job.key.namespace)]
        pods = {pod: key for known in jobs for pod, key in known.watched.pods.items()}
        if pods and self._read is not None:
            await self._ask(self._read, pods)
        else:
            self._since.clear()
        now = self._clock()
        idle = ((known, seconds) for known in jobs if (seconds := self._judge(known, now)) is not None)

        async def suspend() -> None:
            for known, seconds in idle:
                await self._suspend(known, seconds)

        async with asyncio.TaskGroup() as group:
            for _ in range(_AT_ONCE):
                group.create_task(suspend())

    async def _ask(self, read: ReadUses, pods: Mapping[str, Key]) -> None:
        try:
            percents = await read(pods)
        except PrometheusError as error:
            _log.warning("whether GPUs work is not known: %s", error)
            if self._clock() - self._answered > FORGET_SECONDS:
                self._since.clear()
            return
        now = self._clock()
        if now - self._answered > FORGET_SECONDS:
            self._since.clear()
        self._since, self._answered = follow(self._since, percents, pods, now), now
        for known in list(self._jobs.values()):
            if known.watched.pods and known.watched.pods.keys() <= percents.keys():
                known.heard = now

    def _judge(self, known: _Known, now: float) -> float | None:
        """For how many seconds the GPUs of a job have been idle that is to be suspended for that; None for another."""
        watched = known.watched
        idle = measure_idle(watched, self._since, now)
        why = self._find_unknown(known, now)
        if why and (watched.job.uid, watched.attempt) not in self._unknown:
            self._unknown.add((watched.job.uid, watched.attempt))
            self._publish(watched.job.owner(), "IdleUnknown", explain_unknown(why), "Warning")
        if idle is None or idle < watched.limit.seconds:
            known.told = known.told and idle is not None
            return None
        if known.told:
            return None
        if watched.does is OnIdle.SUSPEND:
            return idle
        known.told = True
        self._publish(watched.job.owner(), "GpusIdle", explain_idle(watched, idle), "Warning")
        return None

    def _find_unknown(self, known: _Known, now: float) -> str:
        """Why nobody knows what the GPUs of this job do; empty where it is known, or soon may be."""
        if not known.watched.pods:
            return "the job asks for no GPU, and an idle processor says nothing"
        if self._read is None:
            return self._why_not
        if now - known.heard >= UNKNOWN_SECONDS:
            return f"nobody has told for {UNKNOWN_SECONDS / 60:.0f} minutes what the GPUs of all its pods do"
        return ""

    async def _suspend(self, known: _Known, idle: float) -> None:
        """If the job is still what was looked at: read now, with this annotation, in this attempt. One whose definition
        drops the suspension is asked once, and not at each look."""
        watched, job = known.watched, known.watched.job
        try:
            if not _is_same(await self._api.get(job.resource, *job.key), watched):
                self.forget(job.resource, job.key)
                return
            answer = await self._api.patch(job.resource, *job.key, build_suspension(watched))
        except (NotFound, Conflict):  # deleted, or the name is another's
            self.forget(job.resource, job.key)
            return
        except ApiError as error:
            _log.warning("%s, whose GPUs are idle, is not suspended: %s", job.key, error.message)
            if not known.refused and not isinstance(error, _PASSES):
                known.refused = True
                said = f"{explain_idle(watched, idle)}; the job is not suspended: {error.message}"
                self._publish(job.owner(), "GpusIdle", said, "Warning")
            return
        policy = (answer.get("spec") or {}).get("runPolicy") or {}
        if policy.get("suspend"):
            done = ""
            self.forget(job.resource, job.key)
        else:
            done, known.told = "; it goes on, as its definition knows no runPolicy.suspend", True
        self._publish(job.owner(), "GpusIdle", explain_idle(watched, idle) + done, "Warning")


def _is_same(manifest: Manifest, watched: Watched) -> bool:
    kind = KINDS[watched.job.resource]
    try:
        job = kind.read_job(manifest)
    except InvalidJob:
        return False
    status = kind.read_status(manifest)
    same = (uid_of(manifest), status.attempt, job.idle) == (watched.job.uid, watched.attempt, watched.limit)
    return same and status.phase is Phase.RUNNING and not job.deleting and not job.policies.suspend


# Who tells.


def read_recorded(logs: RunningLogs, clock: Callable[[], float] = time.time) -> ReadUses:
    """Of a laptop: what its node has recorded beside the logs of these pods."""

    async def read(pods: Mapping[str, Key]) -> Mapping[str, float]:
        found = await logs.find(pods.keys())
        samples = await asyncio.to_thread(
            lambda: {pod: read_last_samples(usage_file(log), _SAMPLES) for pod, log in found.items()}
        )
        percents = {pod: choose_percent(each, clock()) for pod, each in samples.items()}
        return {pod: percent for pod, percent in percents.items() if percent == percent}

    return read


def choose_percent(samples: Sequence[Sample], now: float) -> float:
    """The most that was used lately; NaN where one of these moments is not known. Pure."""
    if not samples or now - samples[-1].at > _OLDEST:
        return math.nan
    recent = [each.gpu for each in samples if now - each.at <= _RECENT] or [samples[-1].gpu]
    return math.nan if any(map(math.isnan, recent)) else max(recent)


def ask_prometheus(address: Address, window: str = _WINDOW) -> ReadUses:
    """Of a cluster, by NVIDIA's dcgm-exporter. `window`: as in `write_use_query`."""

    async def read(pods: Mapping[str, Key]) -> Mapping[str, float]:
        return read_percents(await query(address, write_use_query(window)), pods)

    return read


def write_use_query(window: str) -> str:
    """PromQL: the most that the GPUs of each pod worked in a time (`2m`), in percent; of all pods at once. Where
    Prometheus scrapes the exporter without `honorLabels`, `exported_pod` is the pod's. Pure."""
    return f"max by (namespace, pod, exported_namespace, exported_pod) (max_over_time(DCGM_FI_DEV_GPU_UTIL[{window}]))"


def read_percents(series: Series, pods: Mapping[str, Key]) -> dict[str, float]:
    """Of the answer to `write_use_query`, by the UID of the pods. Pure."""
    by_name: dict[Key, float] = {}
    for labels, value in series:
        namespace = labels.get("exported_namespace") or labels.get("namespace", "")
        key = Key(namespace, labels.get("exported_pod") or labels.get("pod", ""))
        by_name[key] = max(value, by_name.get(key, value))
    return {uid: by_name[key] for uid, key in pods.items() if key in by_name}
