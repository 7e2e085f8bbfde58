"""The outputs and the input of a program, by descriptor: nothing is read that nobody asks for, so nothing is kept.

Both need the event loop alone, asyncio's own or uvloop.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

PIECE = 65536
"""Bytes that are read, or written, at once."""
_LATE_SECONDS = 0.1
"""How long outputs are read that are empty, after the program has ended: another process may hold them open."""
_LATE_BYTES = 2**20
"""And how much. All that the program wrote is among it: a pipe has no more (pipe(7), pipe-max-size)."""


class Outputs:
    """`channels`: the number of a channel by descriptor, which is closed by this."""

    def __init__(self, channels: Mapping[int, int]) -> None:
        self._open = dict(channels)
        self._waiter: asyncio.Future[None] | None = None
        self._ended = False
        self._late_bytes = _LATE_BYTES
        self._late: float | None = None
        for descriptor in self._open:
            os.set_blocking(descriptor, False)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Those that are open."""
        return tuple(self._open)

    async def read(self) -> tuple[int, bytes] | None:
        """The next bytes with their channel; None when all are at their end, or when the program has ended and what it
        wrote is read."""
        loop = asyncio.get_running_loop()
        while self._open:
            for descriptor in list(self._open):
                if piece := self._take(descriptor):
                    return piece
            if self._ended and self._late is None:
                self._late = loop.time() + _LATE_SECONDS
            if self._late is not None and loop.time() >= self._late:
                self.close()
            elif self._open:
                await self._wait()
        return None

    def end(self) -> None:
        """The program has ended."""
        self._ended = True
        _wake(self._waiter)

    def close(self) -> None:
        for descriptor in list(self._open):
            self._close(descriptor)
        _wake(self._waiter)

    def _take(self, descriptor: int) -> tuple[int, bytes] | None:
        channel = self._open[descriptor]
        try:
            piece = os.read(descriptor, PIECE)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:  # EIO: nobody has the other side of a terminal
            piece = b""
        if not piece:
            self._close(descriptor)
            return None
        # The other one is asked first the next time: one that never stops must not hide it.
        self._open[descriptor] = self._open.pop(descriptor)
        if self._ended:
            self._late_bytes -= len(piece)
            if self._late_bytes <= 0:
                self.close()
        return channel, piece

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        self._waiter = waiter = loop.create_future()
        timer = None if self._late is None else loop.call_at(self._late, _wake, waiter)
        for descriptor in self._open:
            loop.add_reader(descriptor, _wake, waiter)
        try:
            await waiter
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()
            for descriptor in self._open:
                loop.remove_reader(descriptor)

    def _close(self, descriptor: int) -> None:
        del self._open[descriptor]
        # Before it is closed: its number may be given anew at once.
        asyncio.get_running_loop().remove_reader(descriptor)
        os.close(descriptor)


class Input:
    """A program's standard input. `descriptor` is closed by this."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor
        self._waiter: asyncio.Future[None] | None = None
        self._turn = asyncio.Lock()
        self._no_more = False
        os.set_blocking(descriptor, False)

    async def write(self, data: bytes) -> None:
        """Returns when all is in the pipe, or when nobody reads any more."""
        async with self._turn:
            left = memoryview(data)
            while left and self._descriptor is not None:
                try:
                    left = left[os.write(self._descriptor, left[:PIECE]) :]
                except (BlockingIOError, InterruptedError):
                    await self._wait(self._descriptor)
                except OSError:  # EPIPE, and EIO of a terminal
                    self.drop()
        if self._no_more:
            self.drop()

    def close(self) -> None:
        """No more comes. What is being written still is."""
        self._no_more = True
        if not self._turn.locked():
            self.drop()

    def drop(self) -> None:
        """Nobody reads any more."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            asyncio.get_running_loop().remove_writer(descriptor)
            os.close(descriptor)
        _wake(self._waiter)

    async def _wait(self, descriptor: int) -> None:
        loop = asyncio.get_running_loop()
        self._waiter = waiter = loop.create_future()
        loop.add_writer(descriptor, _wake, waiter)
        try:
            await waiter
        finally:
            self._waiter = None
            if self._descriptor is not None:
                loop.remove_writer(descriptor)


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)
