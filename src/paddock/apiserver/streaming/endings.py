"""How what runs for one client comes to its end, also when that is cancelled in the middle of another end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar


class _Closable(Protocol):
    def close(self) -> Coroutine[Any, Any, None]: ...


Closable = TypeVar("Closable", bound=_Closable)


@asynccontextmanager
async def closing(what: Closable) -> AsyncIterator[Closable]:
    """Closes it at the end of a `with`, whatever happens meanwhile: of a client that leaves while the server stops, all
    is cancelled twice."""
    try:
        yield what
    finally:
        ending = asyncio.create_task(what.close())
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError:
            await asyncio.wait({ending})
            raise


async def end_tasks(*tasks: asyncio.Task[Any]) -> None:
    """Cancels them, and waits for them."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
