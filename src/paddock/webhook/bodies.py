"""Bodies of requests while they arrive and wait. All together have a bound in bytes, and each one has its time.

Where there is no room for more, the body gives way that has been arriving for the longest time. A review's is there
within milliseconds: who wants to keep it out must send as many bytes as there is room for while it arrives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import StreamReader, web


class Bodies:
    """`most`: bytes of all together; `largest`: of one, no more than `most`. Each is known by its time, which ends when
    it gives way."""

    def __init__(self, most: int, largest: int) -> None:
        self._most, self._largest = most, largest
        self._total = 0
        self._held: dict[asyncio.Timeout, int] = {}
        self._arriving: dict[asyncio.Timeout, None] = {}  # in the order in which they began

    @contextmanager
    def hold(self, time: asyncio.Timeout) -> Iterator[None]:
        """What is read within counts until this ends."""
        self._held[time], self._arriving[time] = 0, None
        try:
            yield
        finally:
            self._free(time)

    async def read(self, content: StreamReader, time: asyncio.Timeout) -> bytes:
        """The whole body. Raises `HTTPRequestEntityTooLarge`, and TimeoutError if it has to give way."""
        body = bytearray()
        async for chunk in content.iter_any():
            body += chunk
            if len(body) > self._largest:
                raise web.HTTPRequestEntityTooLarge(self._largest, len(body))
            self._count(time, len(chunk))
            if time not in self._held:
                raise TimeoutError
        self._arriving.pop(time, None)
        return bytes(body)

    def _count(self, time: asyncio.Timeout, size: int) -> None:
        if time not in self._held:
            return
        self._held[time] += size
        self._total += size
        while self._total > self._most:  # the one that has just grown arrives too, so there is always one
            oldest = next(iter(self._arriving))
            self._free(oldest)
            if not oldest.expired():
                oldest.reschedule(asyncio.get_running_loop().time())

    def _free(self, time: asyncio.Timeout) -> None:
        self._total -= self._held.pop(time, 0)
        self._arriving.pop(time, None)
