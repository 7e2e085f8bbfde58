"""A reader's forms are answered one after the other, those of two readers at once."""

from __future__ import annotations

import asyncio
import threading

from paddock.console.turns import Turns, work_to_the_end


async def test_one_form_of_a_reader_is_answered_at_a_time() -> None:
    turns, done, go = Turns(), list[str](), asyncio.Event()

    async def answer(reader: str, name: str) -> None:
        async with turns.of(reader):
            done.append(name)
            await go.wait()

    tasks = [asyncio.create_task(answer(*each)) for each in (("a", "1"), ("a", "2"), ("b", "3"))]
    for _ in range(5):
        await asyncio.sleep(0)
    assert done == ["1", "3"]
    go.set()
    await asyncio.gather(*tasks)
    assert done == ["1", "3", "2"]


async def test_a_form_whose_reader_has_gone_keeps_its_turn_until_its_thread_is_over() -> None:
    """A page that asks anew drops the request before, and would have a thread at work for each."""
    turns, go = Turns(), threading.Event()

    async def answer() -> None:
        async with turns.of("a"):
            await work_to_the_end(go.wait)

    task = asyncio.create_task(answer())
    for _ in range(5):
        await asyncio.sleep(0)
    task.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    held = turns.of("a").locked()
    go.set()
    await asyncio.gather(task, return_exceptions=True)
    assert held
    assert task.cancelled()
    assert not turns.of("a").locked()
