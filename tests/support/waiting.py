"""The one way in which tests of asyncio wait for what has no event. For what processes do: `e2e.commands.until`."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any


async def until(look: Callable[[], Any], seconds: float = 180.0) -> Any:
    """The first true answer of `look`, or of what it promises. The bound is far above what a slow machine needs."""
    async with asyncio.timeout(seconds):
        while not (found := await asked if inspect.isawaitable(asked := look()) else asked):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return found
