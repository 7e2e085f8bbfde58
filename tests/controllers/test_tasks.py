"""One task at a time for each key; failed work is repeated, without effect on other keys."""

from __future__ import annotations

import asyncio
import os
import time

from paddock.controllers.tasks import CoalescedTask, KeyedTasks
from paddock.kube.errors import NotFound
from support.waiting import until


async def test_work_on_one_key_never_overlaps_and_none_is_lost() -> None:
    at_work: list[str] = []
    most: dict[str, int] = {}
    done: list[str] = []

    async def work(key: str) -> None:
        at_work.append(key)
        most[key] = max(most.get(key, 0), at_work.count(key))
        await asyncio.sleep(0)
        at_work.remove(key)
        done.append(key)

    tasks = KeyedTasks(work)
    for key in ("a", "b", "a", "a"):
        tasks.wake(key)
    await asyncio.sleep(0)
    tasks.wake("a")  # while it is at work: once more
    await tasks.wait_until_idle()
    assert most == {"a": 1, "b": 1}
    assert sorted(done) == ["a", "a", "b"]


async def test_work_that_fails_is_repeated_and_others_go_on() -> None:
    seen: list[str] = []

    async def work(key: str) -> None:
        seen.append(key)
        if seen.count("bad") == 1 and key == "bad":
            raise OSError("no space left on device")

    tasks = KeyedTasks(work)
    tasks.wake("bad")
    tasks.wake("good")
    await tasks.wait_until_idle()
    assert seen == ["bad", "good"]
    await until(lambda: seen == ["bad", "good", "bad"])
    tasks.close()


async def test_a_later_time_replaces_the_earlier_one() -> None:
    seen: list[str] = []

    async def work(key: str) -> None:
        seen.append(key)

    tasks = KeyedTasks(work)
    tasks.wake_in("a", 60)
    tasks.wake_in("a", 0)
    await until(lambda: seen == ["a"])
    tasks.close()


async def test_work_that_has_not_started_covers_all_events_so_far() -> None:
    done: list[str] = []

    async def work(key: str) -> None:
        done.append(key)

    tasks = KeyedTasks(work)
    for _ in range(3):
        tasks.wake("a")
    await tasks.wait_until_idle()
    assert done == ["a"]


async def test_callbacks_of_the_loop_run_before_a_key_whose_time_passed_during_work() -> None:
    seen: list[str] = []
    reading, writing = os.pipe()

    async def work(key: str) -> None:
        seen.append(key)
        if key == "busy":
            os.write(writing, b"x")
            tasks.wake_in("later", 0.01)
            time.sleep(0.02)  # noqa: ASYNC251 - the loop is held up, as by the start of many processes

    def read() -> None:
        os.read(reading, 1)
        seen.append("told")

    asyncio.get_running_loop().add_reader(reading, read)
    tasks = KeyedTasks(work)
    tasks.wake("busy")
    await until(lambda: len(seen) == 3)
    asyncio.get_running_loop().remove_reader(reading)
    for end in (reading, writing):
        os.close(end)
    tasks.close()
    assert seen == ["busy", "told", "later"]


async def test_back_off_doubles_and_is_reset_after_successful_work() -> None:
    async def work(key: str) -> None:
        return None

    tasks = KeyedTasks(work)
    assert [tasks.back_off("a", 5) for _ in range(6)] == [5, 10, 20, 40, 60, 60]
    tasks.wake("a")
    await tasks.wait_until_idle()
    assert tasks.back_off("a", 5) == 5


async def test_no_work_starts_after_the_end() -> None:
    started: list[str] = []

    async def work(key: str) -> None:
        started.append(key)
        try:
            await asyncio.Event().wait()
        finally:
            tasks.wake(key)
            tasks.wake("other")
            tasks.wake_in("timed", 0)

    tasks = KeyedTasks(work)
    tasks.wake("a")
    await asyncio.sleep(0)
    (running,) = asyncio.all_tasks() - {asyncio.current_task()}
    tasks.close()
    await asyncio.wait([running])
    tasks.wake("a")
    await tasks.wait_until_idle()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert started == ["a"]


async def test_work_that_was_cancelled_before_its_first_step_is_not_waited_for() -> None:
    async def work(key: str) -> None:
        raise AssertionError("it was closed before")

    tasks = KeyedTasks(work)
    tasks.wake("a")
    tasks.close()
    assert not tasks._tasks  # else the next line never ends
    await tasks.wait_until_idle()


async def test_an_event_uses_the_time_up_and_work_on_what_is_gone_sets_none() -> None:
    seen: list[str] = []

    async def work(key: str) -> None:
        seen.append(key)
        raise NotFound("it was deleted")

    tasks = KeyedTasks(work)
    tasks.wake_in("a", 60)
    tasks.wake("a")
    await tasks.wait_until_idle()
    assert seen == ["a"]
    assert tasks._schedule.next_at() is None


async def test_work_for_many_requests_runs_once() -> None:
    done: list[int] = []

    async def work() -> None:
        done.append(1)

    coalesced = CoalescedTask(0.01, work)
    for _ in range(5):
        coalesced.ask()
    await until(lambda: done)
    coalesced.ask()
    await until(lambda: len(done) == 2)
    coalesced.close()
