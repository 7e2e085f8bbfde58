"""A span without news is not one in which the machine stood still; a test's clock moves timers by itself."""

from __future__ import annotations

import asyncio
import time

from support.waiting import LoopClock, rest


async def test_a_pause_of_the_whole_process_is_no_rest_of_what_goes_on() -> None:
    done: list[int] = []

    async def work() -> None:
        for number in range(8):
            await asyncio.sleep(0.01)
            done.append(number)
            if number == 3:
                time.sleep(0.5)  # noqa: ASYNC251 - the machine stands still

    working = asyncio.create_task(work())
    await rest(lambda: len(done), seconds=0.3)
    assert len(done) == 8
    await working


async def test_the_loops_time_passes_when_the_test_says_so() -> None:
    clock, rung = LoopClock(), list[str]()
    asyncio.get_running_loop().call_later(10, rung.append, "an alarm")
    time.sleep(0.01)  # noqa: ASYNC251 - time passes outside
    await clock.advance(9.9)
    assert rung == []
    await clock.advance(0.2)
    assert rung == ["an alarm"]
