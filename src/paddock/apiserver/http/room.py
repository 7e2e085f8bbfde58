"""Memory for requests: so many bytes of bodies at once, and the others wait for their turn."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from paddock.kube.errors import TooManyRequests

WAIT_SECONDS = 60.0


class Room:
    """`size` bytes. Who asks first is let in first, so that nobody waits for ever."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._left = size
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def take(self, size: int, seconds: float = WAIT_SECONDS) -> AsyncIterator[None]:
        """Holds `size` bytes, at most all. `TooManyRequests` if there is no room within so many seconds."""
        wanted = min(size, self._size)
        if self._waiting or wanted > self._left:
            await self._wait(wanted, seconds)
        else:
            self._left -= wanted
        try:
            yield
        finally:
            self._left += wanted
            self._let_in()

    async def _wait(self, wanted: int, seconds: float) -> None:
        let_in: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((wanted, let_in))
        try:
            await asyncio.wait_for(let_in, seconds)
        except BaseException as error:
            # Cancelled by `wait_for`, unless the room was given in the same turn of the loop.
            if not let_in.cancelled() and let_in.done():
                self._left += wanted
            self._let_in()
            if isinstance(error, TimeoutError):
                sentence = f"too many large requests at once: no room within {seconds:.0f} s, try again later"
                raise TooManyRequests(sentence, retry_after=1) from None
            raise

    def _let_in(self) -> None:
        while self._waiting:
            wanted, let_in = self._waiting[0]
            if not let_in.done() and wanted > self._left:
                return
            self._waiting.popleft()
            if not let_in.done():
                self._left -= wanted
                let_in.set_result(None)
