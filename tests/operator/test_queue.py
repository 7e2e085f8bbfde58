"""The queue: one key once, later when told, slower after failures, never in two hands."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.operator.queue import Queue, Schedule


def test_a_key_that_is_added_twice_is_taken_once() -> None:
    schedule: Schedule[str] = Schedule()
    schedule.add("a", 0)
    schedule.add("a", 0)
    assert schedule.take(0) == "a"
    assert schedule.take(0) is None


def test_the_key_that_was_due_first_comes_first() -> None:
    schedule: Schedule[str] = Schedule()
    for key, at in (("late", 3.0), ("first", 1.0), ("second", 1.0)):
        schedule.add(key, at)
    assert [schedule.take(5), schedule.take(5), schedule.take(5)] == ["first", "second", "late"]


def test_a_delayed_key_waits_and_says_until_when() -> None:
    schedule: Schedule[str] = Schedule()
    schedule.add("a", 10)
    assert schedule.take(9.9) is None
    assert schedule.next_at() == 10
    assert schedule.take(10) == "a"
    assert schedule.next_at() is None


@pytest.mark.parametrize(("moments", "due"), [((10, 3), 3), ((3, 10), 3)])
def test_of_two_moments_the_earlier_one_holds(moments: tuple[float, float], due: float) -> None:
    schedule: Schedule[str] = Schedule()
    for at in moments:
        schedule.add("a", at)
    assert schedule.next_at() == due
    assert schedule.take(due) == "a"
    schedule.done("a")
    assert schedule.take(100) is None


def test_a_key_in_work_is_not_given_out_again_until_it_is_done() -> None:
    schedule: Schedule[str] = Schedule()
    schedule.add("a", 0)
    assert schedule.take(0) == "a"
    schedule.add("a", 1)
    assert schedule.take(5) is None
    assert schedule.next_at() is None
    schedule.done("a")
    assert schedule.take(5) == "a"


def test_failures_in_a_row_double_the_delay_up_to_a_minute_and_success_forgives() -> None:
    schedule: Schedule[str] = Schedule()
    delays = [schedule.fail("a", 0.0) for _ in range(12)]
    assert delays[:4] == [0.1, 0.2, 0.4, 0.8]
    assert delays[-1] == 60
    schedule.forgive("a")
    assert schedule.fail("a", 0.0) == 0.1


_STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "take", "done", "fail", "tick"]), st.integers(0, 3), st.integers(0, 4)),
    max_size=60,
)


@given(_STEPS)
def test_no_key_is_ever_in_two_hands_and_none_is_lost(steps: list[tuple[str, int, int]]) -> None:
    schedule: Schedule[int] = Schedule()
    now, hands, wanted = 0.0, set[int](), set[int]()
    for verb, key, amount in steps:
        if verb == "tick":
            now += amount
        elif verb == "add":
            schedule.add(key, now + amount)
            wanted.add(key)
        elif verb == "fail" and key in hands:
            schedule.fail(key, now)
            wanted.add(key)
        elif verb == "done" and key in hands:
            hands.discard(key)
            schedule.done(key)
        elif verb == "take" and (taken := schedule.take(now)) is not None:
            assert taken not in hands
            hands.add(taken)
            wanted.discard(taken)
    for key in hands:
        schedule.done(key)
    left = set()
    while (taken := schedule.take(now + 1000)) is not None:
        left.add(taken)
    assert left == wanted


async def test_a_taker_wakes_when_a_key_is_added() -> None:
    queue: Queue[str] = Queue(asyncio.get_running_loop().time)
    taking = asyncio.create_task(queue.take())
    await asyncio.sleep(0)
    queue.add("a")
    assert await asyncio.wait_for(taking, 1) == "a"


async def test_a_taker_of_a_later_key_takes_an_earlier_one_that_comes_meanwhile() -> None:
    queue: Queue[str] = Queue(asyncio.get_running_loop().time)
    queue.add("later", delay=30)
    taking = asyncio.create_task(queue.take())
    await asyncio.sleep(0)
    queue.add("soon", delay=0.01)
    assert await asyncio.wait_for(taking, 1) == "soon"
