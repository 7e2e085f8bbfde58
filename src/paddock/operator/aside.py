"""Long decisions, beside the event loop: a large job is slow, and nobody else waits for it.

A plan costs a tenth of a millisecond or so for each rank and each object that the job owns, and reading a manifest some
for each kilobyte. What is small is decided on the loop, at once; what is large on a thread of its own, from values that
were taken at one moment. Python gives the loop its turn every few milliseconds meanwhile. Two such threads: a third
large job waits for one of them; a small one waits for none, but for one of the operator's slots where large ones have
them all.

Who is decided on a thread may have changed by the end of it, as after any late watch: deletes carry the UID that they
were decided on, absences are confirmed, and the record is guarded by the version of the job.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

SMALL = 200
"""Ranks and objects of a job that is decided on the loop: some 20 ms."""

SMALL_TEXT = 64 * 1024
"""Bytes of a manifest that is read on the loop."""

MOST_OBJECTS = 50_000
"""Pods, Services and ConfigMaps of a job that are looked at: five times what the largest job has. Anybody who may
create pods can name a job as their owner."""


class TooManyObjects(Exception):
    """`count`: of the objects that name the job as their owner."""

    def __init__(self, count: int) -> None:
        super().__init__(
            f"{count} pods, Services and ConfigMaps name this job as their owner, and at most {MOST_OBJECTS} are "
            "looked at: the job is left as it is until those that are not its own are deleted"
        )


class Aside:
    """`run` gives what `decide` gives, or raises what it raises."""

    def __init__(self, threads: int = 2) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="decide")

    async def run(self, decide: Callable[[], T], *, small: bool) -> T:
        if small:
            return decide()
        return await asyncio.get_running_loop().run_in_executor(self._threads, decide)
