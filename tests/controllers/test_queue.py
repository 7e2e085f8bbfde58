"""The work queue: its consumer gets a key when it is due."""

import asyncio

from paddock.controllers.queue import WorkQueue


async def test_the_consumer_wakes_when_a_key_is_added() -> None:
    queue: WorkQueue[str] = WorkQueue(asyncio.get_running_loop().time)
    taking = asyncio.create_task(queue.take())
    await asyncio.sleep(0)
    queue.add("a")
    assert await asyncio.wait_for(taking, 60) == "a"


async def test_a_consumer_that_waits_for_a_later_key_takes_an_earlier_one() -> None:
    queue: WorkQueue[str] = WorkQueue(asyncio.get_running_loop().time)
    queue.add("later", delay=30)
    taking = asyncio.create_task(queue.take())
    await asyncio.sleep(0)
    queue.add("soon", delay=0.01)
    assert await asyncio.wait_for(taking, 60) == "soon"
