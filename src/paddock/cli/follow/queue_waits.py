"""What Kueue says of a followed job while it waits for a queue: a line for each new sentence.

Nobody is woken by what Kueue writes into its Workloads: they are looked at again every few seconds, with the reader's
rights, as long as the job waits.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from paddock.jobs.model import CauseRecord
from paddock.jobs.sentences.explain import explain
from paddock.kube.meta import Manifest, Resource

if TYPE_CHECKING:
    from paddock.cli.output.screen import Screen
    from paddock.kube.api import Api

LOOK_SECONDS = 5.0
"""Between two looks."""


class QueueWaits:
    """`look_seconds`: see `LOOK_SECONDS`."""

    def __init__(self, api: Api, resource: Resource, screen: Screen, look_seconds: float = LOOK_SECONDS) -> None:
        self._api, self._resource, self._screen, self._look_seconds = api, resource, screen, look_seconds
        self._waits: tuple[CauseRecord, Manifest] | None = None
        self._changed = asyncio.Event()
        self._said = ""

    def note(self, manifest: Manifest, cause: CauseRecord | None) -> None:
        """The job as it is now. A sentence that was told of an earlier wait is told again of a later one."""
        waits = cause is not None and cause.reason == "WaitingForQueue"
        self._waits = (cause, manifest) if cause is not None and waits else None
        self._said = self._said if waits else ""
        self._changed.set()

    async def follow(self) -> None:
        """Without end."""
        while True:
            await self._changed.wait()
            if self._waits is None:
                self._changed.clear()
                continue
            await self._look(*self._waits)
            await asyncio.sleep(self._look_seconds)

    async def _look(self, cause: CauseRecord, manifest: Manifest) -> None:
        from paddock.submission.admissions import fetch_admissions  # late: most jobs wait for no queue

        admissions = await fetch_admissions(self._api, [(cause, manifest)])
        told = admissions.add(cause, self._resource, manifest)
        if told is cause or self._waits is None:
            return
        sentence = explain(told, self._screen.language)
        if sentence != self._said:
            self._screen.notify(sentence)
        self._said = sentence
