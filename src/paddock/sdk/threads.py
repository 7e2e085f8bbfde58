"""Work in a thread of its own, with an event loop of its own: a notebook's loop runs already in the caller's thread.

Ctrl-C, and a notebook's "interrupt", arrive in the main thread as KeyboardInterrupt. The first asks the work to end,
as the command line does; it then goes on to its end, and a second one asks again.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import TypeVar

T = TypeVar("T")


class Interrupts:
    """Interrupts of one thread that another one's event loop waits for. Those before it listens are kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting = 0
        self._put: Callable[[], object] | None = None

    def interrupt(self) -> None:
        """From any thread."""
        with self._lock:
            if self._put is None:
                self._waiting += 1
            else:
                self._put()

    @asynccontextmanager
    async def listen(self, queue: asyncio.Queue[None]) -> AsyncIterator[None]:
        """Puts an item into the queue for each interrupt while the context is open (`cli.output.interrupts.Listen`)."""
        loop = asyncio.get_running_loop()
        with self._lock:
            for _ in range(self._waiting):
                queue.put_nowait(None)
            self._waiting = 0
            self._put = lambda: loop.call_soon_threadsafe(queue.put_nowait, None)
        try:
            yield
        finally:
            with self._lock:
                self._put = None


def run_apart(work: Callable[[], T], interrupt: Callable[[], None]) -> T:
    """The result of `work`, done in another thread; its errors are raised here. `interrupt` is called for each
    KeyboardInterrupt of the caller's thread meanwhile."""
    future: Future[T] = Future()
    # a notebook tells by the context which cell prints
    context = contextvars.copy_context()

    def do() -> None:
        try:
            future.set_result(context.run(work))
        except BaseException as error:
            future.set_exception(error)

    # not a daemon: the interpreter's end would cut the job's polite end short
    threading.Thread(target=do, name="paddock").start()
    while True:
        try:
            return future.result()
        except KeyboardInterrupt:
            if future.done():
                raise
            interrupt()
