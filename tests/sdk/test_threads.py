"""A call has a thread and an event loop of its own; Ctrl-C reaches what runs there."""

from __future__ import annotations

import asyncio
import signal
import threading
import time

import pytest

from paddock.sdk.threads import Interrupts, run_apart


async def test_a_running_loop_is_not_in_the_way() -> None:
    async def work() -> str:
        return threading.current_thread().name

    assert run_apart(lambda: asyncio.run(work()), lambda: None) == "paddock"


def test_an_error_is_raised_where_the_call_stands() -> None:
    def work() -> None:
        raise ValueError("here")

    with pytest.raises(ValueError, match="here"):
        run_apart(work, lambda: None)


def test_an_interrupt_asks_the_work_to_end_and_its_result_counts() -> None:
    interrupts, main = Interrupts(), threading.main_thread()
    assert main.ident is not None

    async def follow() -> str:
        queue: asyncio.Queue[None] = asyncio.Queue()
        async with interrupts.listen(queue):
            for _ in range(2):
                signal.pthread_kill(main.ident, signal.SIGINT)  # as Ctrl-C
                await queue.get()
            return "ended politely"

    assert run_apart(lambda: asyncio.run(follow()), interrupts.interrupt) == "ended politely"


def test_an_interrupt_that_wakes_nobody_is_seen_all_the_same() -> None:
    """As one that comes just before the caller's thread waits; here it comes in another one while that waits."""
    told = threading.Event()

    def work() -> bool:
        time.sleep(0.2)  # that the caller's thread waits is seen by nobody; if it does not yet, this shows nothing
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        return told.wait(20)

    assert run_apart(work, told.set)


async def test_an_interrupt_before_the_work_listens_is_kept() -> None:
    interrupts = Interrupts()
    interrupts.interrupt()
    queue: asyncio.Queue[None] = asyncio.Queue()
    async with interrupts.listen(queue):
        assert queue.qsize() == 1
    async with interrupts.listen(queue):
        assert queue.qsize() == 1, "once"
