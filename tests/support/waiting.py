"""How tests of asyncio wait for what has no event, and for nothing more. Of processes: `e2e.commands.until`."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import Any

_TURNS = 10


async def until(look: Callable[[], Any], seconds: float = 180.0) -> Any:
    """The first true answer of `look`, or of what it promises. The bound is far above what a slow machine needs.

    It is asked every 10 ms at first; what has not come in a second, less often: each look has the same cores.
    """
    begun = time.monotonic()
    async with asyncio.timeout(seconds):
        while not (found := await _ask(look)):  # noqa: ASYNC110
            await asyncio.sleep(min(max(0.01, (time.monotonic() - begun) / 10), 0.25))
    return found


async def rest(look: Callable[[], Any], seconds: float = 0.5) -> None:
    """Returns once the answer of `look`, or of what it promises, has stayed the same for this long.

    The span is of many turns: on a machine that stands still no time passes for it, and where an answer takes long it
    is longer, as what is waited for has the same cores and the same server.
    """
    async with asyncio.timeout(180):
        before, quiet = await _ask(look), 0
        while quiet < _TURNS:
            await asyncio.sleep(seconds / _TURNS)
            now = await _ask(look)
            before, quiet = now, quiet + 1 if now == before else 0


async def _ask(look: Callable[[], Any]) -> Any:
    answer = look()
    return await answer if inspect.isawaitable(answer) else answer


class LoopClock:
    """The time of the running event loop, which passes when the test says so. Nothing may wait for a real second."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._now = loop.time()
        loop.time = lambda: self._now

    async def advance(self, seconds: float) -> None:
        """Returns once what was due by then has run."""
        self._now += seconds
        for _ in range(_TURNS):
            await asyncio.sleep(0)
