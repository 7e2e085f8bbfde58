"""`paddock run --watch`: runs the job again when a file changes.

A look is a value: each file with its time of change and its size. A change counts when two looks in a row agree, as an
editor writes a file in several steps, and a save of many files is one change. Files that were not there when the run
began do not count, as jobs write files themselves; which files are looked at is in `cli.submit.watched_files`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias

from paddock.cli.cluster.errors import explain_error
from paddock.cli.follow.outcome import cancel
from paddock.cli.output.interrupts import Listen, queue_interrupts
from paddock.words.phrases import Names, Phrase, counted, phrase

Snapshot: TypeAlias = Mapping[str, tuple[int, int]]
"""By the path as it is shown: the time of the last change in nanoseconds, and the size in bytes."""

LOOK_SECONDS = 1.0
_SETTLE_SECONDS = 0.2
_SHARE = 20
"""A look takes at most one part in so many of the time: a large directory is looked at less often."""
INTERRUPTED = 130


def find_changes(before: Snapshot, now: Snapshot) -> tuple[str, ...]:
    """The files that make the job run again, sorted."""
    return tuple(sorted(path for path in before if before[path] != now.get(path)))


def plan_pause(seconds: float) -> float:
    """The pause before the next look, in seconds. `seconds`: what the last one took."""
    return max(LOOK_SECONDS, seconds * _SHARE)


def explain_changes(changed: Sequence[str]) -> Phrase:
    return phrase("{files} changed: running it again", files=Names(tuple(changed)))


def explain_watching(files: int) -> Phrase:
    return counted(
        "watching {count} file: a change runs it again, Ctrl-C ends",
        "watching {count} files: a change runs it again, Ctrl-C ends",
        count=files,
    )


class Watch:
    """`look` reads the files; `notify` gets what is said between two runs; `sleep` is asyncio's but in tests."""

    def __init__(
        self,
        look: Callable[[], Snapshot],
        notify: Callable[[Phrase | str], None],
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        signals: Listen = queue_interrupts,
    ) -> None:
        self._look, self._notify, self._sleep, self._signals = look, notify, sleep, signals
        self._seen: Snapshot = {}
        self._changed: tuple[str, ...] = ()
        self._interrupted = False

    def repeat(self, once: Callable[[Listen], int]) -> int:
        """Runs `once` again and again; returns 130 when the user interrupts. `once` gets what tells it to end early,
        and returns 130 where it did."""
        first = True
        while True:
            self._seen, self._changed = self._look(), ()
            self._attempt(once, first=first)
            first = False
            if not self._must_go_on:
                self._notify(explain_watching(len(self._seen)))
                asyncio.run(self._wait())
            if self._interrupted:
                return INTERRUPTED

    @property
    def is_changed(self) -> bool:
        """Whether the run that goes on is ended for a change, and not by the user."""
        return bool(self._changed) and not self._interrupted

    @property
    def _must_go_on(self) -> bool:
        """Whether there is nothing to wait for any more."""
        return self._interrupted or bool(self._changed)

    def _attempt(self, once: Callable[[Listen], int], *, first: bool) -> None:
        """What is wrong in a file that was changed is told, and the next change is awaited."""
        try:
            once(self.listen)
        except Exception as error:
            known = None if first else explain_error(error)
            if known is None:
                raise
            self._notify(known.message)

    async def _wait(self) -> None:
        """Until a change or an interrupt."""
        queue: asyncio.Queue[None] = asyncio.Queue()
        async with self.listen(queue):
            await queue.get()

    @asynccontextmanager
    async def listen(self, queue: asyncio.Queue[None]) -> AsyncIterator[None]:
        """Puts an item into the queue for each interrupt, and for the first change."""
        signals: asyncio.Queue[None] = asyncio.Queue()
        async with self._signals(signals):
            tasks = [asyncio.create_task(self._pass_on(signals, queue)), asyncio.create_task(self._watch(queue))]
            try:
                yield
            finally:
                await cancel(*tasks)

    async def _pass_on(self, signals: asyncio.Queue[None], queue: asyncio.Queue[None]) -> None:
        while True:
            await signals.get()
            self._interrupted = True
            queue.put_nowait(None)

    async def _watch(self, queue: asyncio.Queue[None]) -> None:
        last, pause = self._seen, LOOK_SECONDS
        while True:
            await self._sleep(pause)
            begun = time.monotonic()
            now = await asyncio.to_thread(self._look)
            changed = find_changes(self._seen, now)
            if changed and now == last:
                self._changed = changed
                self._notify(explain_changes(changed))
                queue.put_nowait(None)
                return
            pause = _SETTLE_SECONDS if changed else plan_pause(time.monotonic() - begun)
            last = now
