"""One turn at a time for each key, and trouble that stays where it is."""

from __future__ import annotations

import asyncio

from node.cluster import until
from paddock.node.turns import Gathered, Turns


async def test_turns_of_one_key_never_overlap_and_none_is_lost() -> None:
    at_work: list[str] = []
    most: dict[str, int] = {}
    done: list[str] = []

    async def work(key: str) -> None:
        at_work.append(key)
        most[key] = max(most.get(key, 0), at_work.count(key))
        await asyncio.sleep(0)
        at_work.remove(key)
        done.append(key)

    turns = Turns(work)
    for key in ("a", "b", "a", "a"):
        turns.wake(key)
    await asyncio.sleep(0)
    turns.wake("a")  # while it is at work: once more
    await turns.wait_until_idle()
    assert most == {"a": 1, "b": 1}
    assert sorted(done) == ["a", "a", "b"]


async def test_a_turn_that_fails_is_taken_again_and_others_go_on() -> None:
    seen: list[str] = []

    async def work(key: str) -> None:
        seen.append(key)
        if seen.count("bad") == 1 and key == "bad":
            raise OSError("no space left on device")

    turns = Turns(work)
    turns.wake("bad")
    turns.wake("good")
    await turns.wait_until_idle()
    assert seen == ["bad", "good"]
    await until(lambda: seen == ["bad", "good", "bad"])
    turns.close()


async def test_a_later_time_replaces_the_earlier_one() -> None:
    seen: list[str] = []

    async def work(key: str) -> None:
        seen.append(key)

    turns = Turns(work)
    turns.wake_in("a", 60)
    turns.wake_in("a", 0)
    await until(lambda: seen == ["a"])
    turns.close()


async def test_back_off_doubles_and_is_forgotten_after_a_good_turn() -> None:
    async def work(key: str) -> None:
        return None

    turns = Turns(work)
    assert [turns.back_off("a", 5) for _ in range(6)] == [5, 10, 20, 40, 60, 60]
    turns.wake("a")
    await turns.wait_until_idle()
    assert turns.back_off("a", 5) == 5


async def test_what_many_ask_for_is_done_once() -> None:
    done: list[int] = []

    async def work() -> None:
        done.append(1)

    gathered = Gathered(0.01, work)
    for _ in range(5):
        gathered.ask()
    await until(lambda: done)
    gathered.ask()
    await until(lambda: len(done) == 2)
    gathered.close()
