"""Work in a thread of its own, with an event loop of its own: a notebook's loop runs already in the caller's thread.

Ctrl-C, and a notebook's "interrupt", arrive in the main thread as SIGINT. The first asks the work to end, as the
command line does; it then goes on to its end, and a second one asks again.
"""

from __future__ import annotations

import asyncio
import contextvars
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar

T = TypeVar("T")
GLANCE = 0.2
"""Seconds after which the caller's thread looks for a signal. One that comes just before it blocks, or in another
thread, does not wake it: Python runs handlers in the main thread alone, between two of its steps."""


class Interrupts:
    """Interrupts of one thread that another one's event loop waits for. Those before it listens are kept."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal may come while the one before it is handled
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
    """The result of `work`, done in another thread; its errors are raised here. `interrupt` is called for each SIGINT
    meanwhile, if the caller's thread is the main one, as no other gets signals."""
    future: Future[T] = Future()
    # a notebook tells by the context which cell prints
    context = contextvars.copy_context()

    def do() -> None:
        try:
            future.set_result(context.run(work))
        except BaseException as error:
            future.set_exception(error)

    with _handled(interrupt):
        # not a daemon: the interpreter's end would cut the job's polite end short
        thread = threading.Thread(target=do, name="paddock")
        thread.start()
        while thread.is_alive():
            thread.join(GLANCE)
        return future.result()


@contextmanager
def _handled(interrupt: Callable[[], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # A KeyboardInterrupt could be raised anywhere, also where the one before it is handled.
    before = signal.signal(signal.SIGINT, lambda *_: interrupt())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before or signal.default_int_handler)
