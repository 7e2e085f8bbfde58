"""The loss of each job of a list, read behind the page: what is known is shown at once, and the rest soon."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from paddock.console.backend import KeptLog, Logs, Printing, Spark
from paddock.console.charts.collect import list_ranks
from paddock.console.charts.sparks import read_spark
from paddock.kube.errors import ApiError

FRESH_SECONDS = 10.0
_MOST_JOBS = 2_000


@dataclass(frozen=True, slots=True)
class _Known:
    """A curve that was read."""

    spark: Spark | None
    at: float
    final: bool
    """It was read when the job had ended."""


class KeptSparks:
    """One reader's. `clock`: seconds that only grow."""

    def __init__(self, logs: Logs, clock: Callable[[], float] = time.monotonic) -> None:
        self._logs, self._clock = logs, clock
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._wanted: list[Printing] = []
        self._reading: asyncio.Task[None] | None = None

    def look(self, jobs: Iterable[Printing]) -> Mapping[str, Spark]:
        listed = list(jobs)
        self._wanted = [job for job in listed if self._is_stale(job)]
        if self._wanted and not self.reading:
            self._reading = asyncio.create_task(self._read())
        found = {job.uid: self._known[job.uid].spark for job in listed if job.uid in self._known}
        return {uid: spark for uid, spark in found.items() if spark is not None}

    @property
    def reading(self) -> bool:
        return self._reading is not None and not self._reading.done()

    def _is_stale(self, job: Printing) -> bool:
        known = self._known.get(job.uid)
        return known is None or (not known.final and self._clock() - known.at >= FRESH_SECONDS)

    async def _read(self) -> None:
        """One after another: the page of somebody who opens a log goes before."""
        while self._wanted:
            job = self._wanted.pop(0)
            spark = None
            try:
                run = await self._logs.find(job.resource, job.namespace, job.name, job.uid)
                logs = run.logs if run else ()
                if logs:
                    spark = await asyncio.to_thread(self._sample, choose_log(logs))
            except (OSError, ApiError):  # pruned since; what cannot be read is not shown
                pass
            self._known[job.uid] = _Known(spark, self._clock(), job.over)
            self._known.move_to_end(job.uid)
            while len(self._known) > _MOST_JOBS:
                self._known.popitem(last=False)

    def _sample(self, log: KeptLog) -> Spark | None:
        with self._logs.open(log) as opened:
            return read_spark(opened.read_bytes, log.size)


def choose_log(logs: tuple[KeptLog, ...]) -> KeptLog:
    """The log of rank 0 in the last attempt. Pure."""
    newest = max(log.attempt for log in logs)
    last = [log for log in logs if log.attempt == newest]
    first = list_ranks(last)[0]
    return next(log for log in last if log.rank == first)
