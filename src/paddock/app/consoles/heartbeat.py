"""Asks a cluster's API now and then whether it answers: a page with old data says so within a quarter of a minute.

A watch is silent while nothing changes, so one whose server hangs looks like one of a quiet cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol

ASK_SECONDS = 10.0
ANSWER_SECONDS = 5.0


class Probed(Protocol):
    """`client.client.Client`."""

    async def probe(self, seconds: float) -> None: ...


async def keep_asking(client: Probed, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
    """Asks without end."""
    while True:
        await sleep(ASK_SECONDS)
        await client.probe(ANSWER_SECONDS)


@asynccontextmanager
async def asking(client: Probed) -> AsyncIterator[None]:
    task = asyncio.create_task(keep_asking(client))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
