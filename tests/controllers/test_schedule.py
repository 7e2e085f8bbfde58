"""The schedule of keys: deduplicated, delayed, with back-off, and never twice in work."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.controllers.schedule import Schedule


def test_a_key_that_is_added_twice_is_taken_once() -> None:
    schedule: Schedule[str] = Schedule(first_delay=0.1, longest_delay=60)
    schedule.add("a", 0)
    schedule.add("a", 0)
    assert schedule.take(0) == "a"
    assert schedule.take(0) is None


def test_the_key_that_was_due_first_comes_first() -> None:
    schedule: Schedule[str] = Schedule(first_delay=0.1, longest_delay=60)
    for key, at in (("late", 3.0), ("first", 1.0), ("second", 1.0)):
        schedule.add(key, at)
    assert [schedule.take(5), schedule.take(5), schedule.take(5)] == ["first", "second", "late"]


def test_a_delayed_key_waits_until_the_next_time() -> None:
    schedule: Schedule[str] = Schedule(first_delay=0.1, longest_delay=60)
    schedule.add("a", 10)
    assert schedule.take(9.9) is None
    assert schedule.next_at() == 10
    assert schedule.take(10) == "a"
    assert schedule.next_at() is None


@pytest.mark.parametrize(("moments", "due"), [((10, 3), 3), ((3, 10), 3)])
def test_of_two_times_the_earlier_one_counts(moments: tuple[float, float], due: float) -> None:
    schedule: Schedule[str] = Schedule(first_delay=0.1, longest_delay=60)
    for at in moments:
        schedule.add("a", at)
    assert schedule.next_at() == due
    assert schedule.take(due) == "a"
    schedule.done("a")
    assert schedule.take(100) is None


def test_a_key_in_work_is_not_taken_again_until_it_is_done() -> None:
    schedule: Schedule[str] = Schedule(first_delay=0.1, longest_delay=60)
    schedule.add("a", 0)
    assert schedule.take(0) == "a"
    schedule.add("a", 1)
    assert schedule.take(5) is None
    assert schedule.next_at() is None
    schedule.done("a")
    assert schedule.take(5) == "a"


def test_failures_in_a_row_double_the_delay_up_to_a_minute_and_success_resets_it() -> None:
    schedule: Schedule[str] = Schedule(first_delay=0.1, longest_delay=60)
    delays = [schedule.fail("a", 0.0) for _ in range(12)]
    assert delays[:4] == [0.1, 0.2, 0.4, 0.8]
    assert delays[-1] == 60
    schedule.reset_failures("a")
    assert schedule.fail("a", 0.0) == 0.1


_STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "take", "done", "fail", "tick"]), st.integers(0, 3), st.integers(0, 4)),
    max_size=60,
)


@given(_STEPS)
def test_no_key_is_ever_twice_in_work_and_none_is_lost(steps: list[tuple[str, int, int]]) -> None:
    schedule: Schedule[int] = Schedule(first_delay=0.1, longest_delay=60)
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


@pytest.mark.parametrize(
    ("before", "moved", "due"),
    [(None, 5.0, 5.0), (3.0, 5.0, 5.0), (8.0, 5.0, 5.0), (1.0, 5.0, 1.0)],
    ids=["nothing", "an earlier one", "a later one", "not one that has come"],
)
def test_a_time_that_is_moved_replaces_the_time_before(before: float | None, moved: float, due: float) -> None:
    schedule: Schedule[str] = Schedule(first_delay=0.1, longest_delay=60)
    if before is not None:
        schedule.add("a", before)
    schedule.move("a", moved, now=2.0)
    assert schedule.next_at() == due
    assert schedule.take(100) == "a"
    assert schedule.take(100) is None


def test_a_key_added_during_work_is_due_again_whatever_time_the_work_sets() -> None:
    schedule: Schedule[str] = Schedule(first_delay=0.1, longest_delay=60)
    schedule.add("a", 0)
    assert schedule.take(0) == "a"
    schedule.add("a", 1)
    schedule.move("a", 50, now=2)
    schedule.done("a")
    assert schedule.take(2) == "a"


def test_a_removed_key_is_not_due_and_has_no_failures() -> None:
    schedule: Schedule[str] = Schedule(first_delay=0.1, longest_delay=60)
    schedule.fail("a", 0)
    schedule.forget("a")
    assert (schedule.next_at(), schedule.depth(1000), schedule.back_off("a")) == (None, 0, 0.1)


def test_a_failure_may_have_its_own_first_delay() -> None:
    schedule: Schedule[str] = Schedule(first_delay=0.5, longest_delay=60)
    assert [schedule.back_off("a"), schedule.back_off("a", 5), schedule.back_off("a", 5)] == [0.5, 10, 20]


def test_replaced_times_far_in_the_future_do_not_accumulate() -> None:
    schedule: Schedule[str] = Schedule(first_delay=0.1, longest_delay=60)
    for now in range(5_000):
        schedule.move("a", now + 100_000, now)
    assert len(schedule._urgent._heap) < 2_000
    assert schedule.next_at() == 104_999


def test_the_age_is_that_of_the_key_that_is_due_longest() -> None:
    schedule: Schedule[str] = Schedule(first_delay=0.1, longest_delay=60)
    assert schedule.age(1000) == 0, "nothing waits"
    schedule.add("a", 10)
    schedule.add("b", 7)
    schedule.add("later", 2000)
    assert (schedule.age(5), schedule.age(12), schedule.age(1000)) == (0, 5, 993)
    assert schedule.take(12) == "b"
    assert schedule.age(12) == 2
    schedule.add("b", 11)
    schedule.take(12)
    assert schedule.age(14) == 3, "a key in work that was added again waits too"


def test_what_was_put_off_comes_after_every_other_key_that_is_due() -> None:
    schedule: Schedule[str] = Schedule(first_delay=0.1, longest_delay=60, patience=5)
    schedule.put_off("counts", 1.0)
    schedule.add("first pods", 2.0)
    schedule.add("more", 2.5)
    assert (schedule.presses(1.5), schedule.presses(3.0)) == (False, True)
    assert [schedule.take(3.0) for _ in range(4)] == ["first pods", "more", "counts", None]
    assert schedule.next_at() is None


def test_what_was_put_off_waits_for_others_for_some_seconds_only() -> None:
    schedule: Schedule[str] = Schedule(first_delay=0.1, longest_delay=60, patience=5)
    schedule.put_off("counts", 1.0)
    for number in range(10):
        schedule.add(f"job-{number}", 0.5)
    assert schedule.take(5.9) == "job-0"
    assert schedule.take(6.0) == "counts"


def test_what_is_put_off_anew_by_the_work_of_an_event_waits_no_longer_for_that() -> None:
    schedule: Schedule[str] = Schedule(first_delay=0.1, longest_delay=60, patience=5)
    schedule.put_off("counts", 1.0)
    for number in range(10):
        schedule.add(f"job-{number}", 0.5)
    schedule.add("counts", 0.1)
    assert schedule.take(5.8) == "counts"
    schedule.put_off("counts", 5.9)
    schedule.done("counts")
    assert schedule.take(5.95) == "job-0"
    assert (schedule.take(6.0), schedule.taken_at) == ("counts", 5.9)
    schedule.put_off("counts", 6.1)
    schedule.done("counts")
    assert schedule.take(11.0) == "job-1", "it was taken in time: the patience begins anew"
    assert schedule.take(11.1) == "counts"


def test_the_work_of_an_event_that_puts_nothing_off_ends_the_patience() -> None:
    schedule: Schedule[str] = Schedule(first_delay=0.1, longest_delay=60, patience=5)
    schedule.put_off("counts", 1.0)
    schedule.add("counts", 1.5)
    assert schedule.take(1.5) == "counts"
    schedule.done("counts")
    for number in range(10):
        schedule.add(f"job-{number}", 1.6)
    schedule.put_off("counts", 3.0)
    assert schedule.take(7.9) == "job-0"
    assert schedule.take(8.0) == "counts"


def test_an_event_takes_what_was_put_off_with_it() -> None:
    schedule: Schedule[str] = Schedule(first_delay=0.1, longest_delay=60)
    schedule.put_off("a", 3.0)
    schedule.add("a", 1.0)
    assert schedule.take(1.0) == "a"
    schedule.done("a")
    assert schedule.take(100.0) is None


def test_what_is_put_off_during_its_work_is_due_afterwards_and_a_timer_stays() -> None:
    schedule: Schedule[str] = Schedule(first_delay=0.1, longest_delay=60)
    schedule.put_off("a", 1.0)
    schedule.add("a", 50.0)
    assert schedule.take(1.0) == "a"
    schedule.put_off("a", 2.0)
    assert schedule.take(3.0) is None
    schedule.done("a")
    assert (schedule.next_at(), schedule.take(3.0)) == (2.0, "a")
    schedule.done("a")
    assert (schedule.next_at(), schedule.take(50.0)) == (50.0, "a")
