"""A loop in a thread of its own: results, errors, and the order in which things end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from paddock.controllers.loop_thread import LoopThread
from support.waiting import until


async def name_thread() -> str:
    return threading.current_thread().name


async def fail() -> None:
    raise KeyError("there")


async def test_work_runs_in_the_thread_and_its_result_or_error_comes_back() -> None:
    async with LoopThread("beside") as thread:
        assert await thread.run(name_thread()) == "beside"
        with pytest.raises(KeyError, match="there"):
            await thread.run(fail())
        assert await thread.run(name_thread()) == "beside", "an error ends nothing"


async def test_work_goes_on_while_the_loop_that_asked_computes() -> None:
    done = threading.Event()

    async def work() -> None:
        for _ in range(100):
            await asyncio.sleep(0)
        done.set()

    async with LoopThread("beside") as thread:
        working = asyncio.create_task(thread.run(work()))
        await asyncio.sleep(0)
        assert done.wait(60), "this loop stands still until then"
        await working


@pytest.mark.parametrize("runs", [False, True], ids=["when it was asked for", "when it runs"])
async def test_who_is_cancelled_is_not_over_before_the_work_is(runs: bool) -> None:
    told: list[str] = []

    async def work() -> None:
        told.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(20):
                await asyncio.sleep(0)
            told.append("ended")

    async with LoopThread("beside") as thread:
        asking = asyncio.create_task(thread.run(work()))
        await until(lambda: told) if runs else await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert told == ["begun", "ended"] or (not told and not runs)
        assert await thread.run(name_thread()) == "beside"


async def test_what_is_held_is_entered_and_left_in_the_thread() -> None:
    where: list[str] = []

    @asynccontextmanager
    async def resource() -> AsyncIterator[int]:
        where.append(threading.current_thread().name)
        yield 7
        where.append(threading.current_thread().name)

    async with LoopThread("beside") as thread, thread.hold(resource()) as held:
        assert (held, where) == (7, ["beside"])
    assert where == ["beside", "beside"]


async def test_what_still_runs_at_the_end_is_cancelled() -> None:
    cancelled = threading.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async with LoopThread("beside") as thread:
        working = asyncio.create_task(thread.run(work()))
        await thread.run(name_thread())
    with pytest.raises(asyncio.CancelledError):
        await working
    assert cancelled.is_set()
