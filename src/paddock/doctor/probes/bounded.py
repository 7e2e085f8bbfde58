"""Calls that block, with a bound: a name server, a driver or a disk that does not answer holds nobody."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def run_bounded(call: Callable[[], T], seconds: float) -> T:
    """The result of `call`, run in a thread of its own. Raises what it raises, and TimeoutError after `seconds`.

    A thread that does not end in time is left behind. It is a daemon, so the program ends without it; threads of an
    executor would be waited for."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def work() -> None:
        result, error = None, None
        try:
            result = call()
        except BaseException as raised:
            error = raised
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:
            pass  # the loop has ended: nobody waits

    threading.Thread(target=work, name="bounded", daemon=True).start()
    async with asyncio.timeout(seconds):
        return await future
