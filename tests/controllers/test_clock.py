"""The API server's time, and when nobody knows what time it is. On virtual clocks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.controllers.clock import HOLD, TOLERANCE, LocalClock, ServerClock

DATE = "Sat, 21 Nov 2026 11:00:37 GMT"
MOMENT = 1795258837.0
HOURS = 3600.0


class Machine:
    """`steady` goes on; `wall` is what somebody set it to."""

    def __init__(self, wall: float = MOMENT) -> None:
        self.steady, self.wall = 500.0, wall

    def sleep(self, seconds: float) -> None:
        self.steady += seconds
        self.wall += seconds

    def clock(self) -> ServerClock:
        return ServerClock(lambda: self.steady, lambda: self.wall)

    def local(self) -> LocalClock:
        return LocalClock(lambda: self.steady, lambda: self.wall)


@pytest.mark.parametrize("ahead", [0.0, 2 * HOURS, -2 * HOURS, 400 * 24 * HOURS])
def test_the_servers_time_counts_whatever_the_machine_says(ahead: float) -> None:
    machine = Machine(MOMENT + ahead)
    clock = machine.clock()
    clock.read_header(DATE)
    assert clock.now() == MOMENT
    machine.sleep(90)
    machine.wall += 7 * HOURS  # somebody sets it
    assert (clock.now(), clock.disagreement()) == (MOMENT + 90, 0.0)


def test_without_an_answer_the_machines_time_is_all_there_is() -> None:
    assert Machine().clock().now() == MOMENT


@pytest.mark.parametrize("text", [None, "", "yesterday", "Sat, 99 Nov 2026 11:00:37 GMT", "\x00", "0" * 400])
def test_what_is_no_date_is_not_read(text: str | None) -> None:
    clock = Machine().clock()
    clock.read_header(text)
    assert (clock.now(), clock.disagreement()) == (MOMENT, 0.0)


@given(st.lists(st.floats(0, 600), min_size=1, max_size=30), st.lists(st.floats(0, 29), min_size=30, max_size=30))
def test_answers_that_are_late_are_no_disagreement(pauses: list[float], delays: list[float]) -> None:
    machine = Machine()
    clock = machine.clock()
    for pause, delay in zip(pauses, delays, strict=False):
        machine.sleep(pause)
        clock.read(float(int(machine.wall - delay)))
    assert clock.disagreement() == 0.0
    assert abs(clock.now() - machine.wall) <= TOLERANCE


@pytest.mark.parametrize("jump", [61.0, -61.0, 2 * HOURS, -400 * 24 * HOURS])
def test_a_clock_that_is_set_disagrees_for_half_an_hour_at_least_and_not_for_ever(jump: float) -> None:
    machine = Machine()
    clock = machine.local()
    clock.now()
    machine.sleep(100)
    machine.wall += jump
    assert clock.now() == machine.wall
    assert clock.disagreement() == pytest.approx(abs(jump))
    while machine.steady < 500.0 + HOLD:
        machine.sleep(60)
        clock.now()
        assert clock.disagreement() == pytest.approx(abs(jump))
    machine.sleep(2 * HOLD)
    clock.now()
    machine.sleep(HOLD)
    clock.now()
    assert clock.disagreement() == 0.0


def test_two_servers_of_different_clocks_that_answer_in_turn_disagree_as_long_as_they_do() -> None:
    machine = Machine()
    clock = machine.clock()
    for turn in range(200):
        machine.sleep(60)
        clock.read(machine.wall + 2 * HOURS * (turn % 2))
        assert (clock.disagreement() > 0) is (turn > 0)


def test_a_jump_during_a_long_silence_is_seen() -> None:
    machine = Machine()
    clock = machine.clock()
    clock.read(MOMENT)
    machine.sleep(10 * HOLD)
    clock.read(machine.wall + 2 * HOURS)
    assert clock.disagreement() == pytest.approx(2 * HOURS)
