"""The delays of the event loop: which are kept, and that a late heartbeat is told."""

from __future__ import annotations

import asyncio
import time

import pytest

from paddock.controllers.heartbeat import KEPT_MINUTES, Delays, Heartbeat


@pytest.mark.parametrize(
    ("recorded", "now", "longest"),
    [
        ([], 0.0, 0.0),
        ([(0.1, 10.0), (3.0, 20.0), (0.2, 30.0)], 40.0, 3.0),
        ([(3.0, 20.0), (0.2, 90.0)], 100.0, 3.0),
        ([(3.0, 20.0), (0.2, 90.0)], KEPT_MINUTES * 60.0, 0.2),
        ([(3.0, 20.0)], 10_000.0, 0.0),
    ],
)
def test_the_longest_delay_of_the_last_minutes_is_told(
    recorded: list[tuple[float, float]], now: float, longest: float
) -> None:
    delays = Delays()
    for delay, moment in recorded:
        delays.record(delay, moment)
    assert delays.longest(now) == longest


def test_old_delays_are_forgotten() -> None:
    delays = Delays()
    for minute in range(1_000):
        delays.record(1.0, minute * 60.0)
    assert len(delays._longest) == KEPT_MINUTES


async def test_a_loop_that_is_held_up_is_told() -> None:
    heartbeat = Heartbeat()
    beating = asyncio.create_task(heartbeat.run())
    await asyncio.sleep(0)
    assert heartbeat.longest_delay() == 0.0
    time.sleep(0.6)  # noqa: ASYNC251 - this holds up the loop
    await asyncio.sleep(0.01)
    assert heartbeat.longest_delay() > 0.3
    beating.cancel()
