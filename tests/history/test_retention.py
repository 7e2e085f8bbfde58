"""What is kept of what ran, and for how long."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.history.records import RunRecord
from paddock.history.retention import Kept, Limits, WrongLimit, plan_pruning, read_limits, write_limits

NOW, DAY = 1_000_000_000.0, 86400.0
RUN = RunRecord("batch.paddlepaddle.org/v1", "PaddleJob", "default", "demo", "u", 1, 0.0)
KEPT = Limits(seconds=7 * DAY, bytes=100)


def over(run: int, days: float, size: int = 0, name: str = "demo", **changes: object) -> Kept:
    """A run that was completed so many days ago."""
    end = NOW - days * DAY
    made = replace(RUN, name=name, uid=f"{name}-{run}", run=run, created=end, ended=end, phase="Completed",
                   finished=True)  # fmt: skip
    return Kept(replace(made, **changes), size)  # type: ignore[arg-type]


GOES_ON = {"ended": None, "finished": False, "phase": "Running"}


@pytest.mark.parametrize(
    ("kept", "pruned"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([over(1, 90)], [], id="the newest run of a name stays, however old"),
        pytest.param([over(1, 8), over(2, 6), over(3, 1)], [1], id="what is older than the limit goes"),
        pytest.param([over(1, 7), over(2, 1)], [], id="exactly as old as the limit stays"),
        pytest.param([over(1, 90), over(1, 90, name="other")], [], id="each name has a newest run"),
        pytest.param([over(1, 90, **GOES_ON), over(2, 1)], [], id="a run that goes on stays, however old"),
        pytest.param([over(1, 3, 60), over(2, 2, 30), over(3, 1, 30)], [1], id="above the size the oldest go"),
        pytest.param([over(1, 3, 10), over(2, 2, 95), over(3, 1, 5)], [1], id="until the rest fits, and no further"),
        pytest.param([over(1, 3, 60), over(2, 2, 30), over(3, 1, 900)], [1, 2], id="the newest run counts, and stays"),
        pytest.param([over(1, 3, 50), over(2, 1, 50)], [], id="exactly as large as the limit fits"),
        pytest.param([over(3, 9), over(1, 3, 90), over(2, 2, 20)], [1], id="by time of end, not by number"),
    ],
)
def test_the_oldest_runs_go_first(kept: list[Kept], pruned: list[int]) -> None:
    assert [record.run for record in plan_pruning(kept, KEPT, NOW)] == pruned


def test_a_suspended_run_that_may_be_resumed_is_not_pruned() -> None:
    suspended = over(1, 90, finished=False, phase="Suspended", given_up="timeout")
    assert plan_pruning([suspended, over(2, 1)], KEPT, NOW) == []
    gone = replace(suspended.record, deleted=NOW - 80 * DAY)
    assert plan_pruning([Kept(gone, 0), over(2, 1)], KEPT, NOW) == [gone]


RUNS = st.builds(
    over,
    st.integers(1, 6),
    st.floats(0, 30),
    st.integers(0, 200),
    st.sampled_from(["a", "b"]),
    ended=st.just(None),
    finished=st.just(False),
    deleted=st.none() | st.just(NOW),
) | st.builds(over, st.integers(1, 6), st.floats(0, 30), st.integers(0, 200), st.sampled_from(["a", "b"]))


@given(st.lists(RUNS, max_size=12, unique_by=lambda each: each.record.uid), st.floats(0, 1e7), st.integers(0, 500))
def test_no_unfinished_and_no_newest_run_is_ever_pruned(kept: list[Kept], seconds: float, size: int) -> None:
    pruned = plan_pruning(kept, Limits(seconds, size), NOW)
    left = [each for each in kept if each.record not in pruned]
    assert all(record.over for record in pruned)
    assert len(pruned) == len({record.uid for record in pruned})
    for each in kept:
        assert each.record.run <= max(one.record.run for one in left if one.record.identity == each.record.identity)
    # What is left either fits, or nothing more of it may go.
    last = {each.record.identity: max(one.record.run for one in kept if one.record.identity == each.record.identity)
            for each in kept}  # fmt: skip
    free = [each.record for each in left if each.record.over and each.record.run != last[each.record.identity]]
    assert not free or sum(each.bytes for each in left) <= size
    assert all(NOW - (record.ended or record.created) <= seconds for record in free)


@pytest.mark.parametrize(
    ("text", "seconds", "size"),
    [
        ("7d,1GiB", 7 * DAY, 2**30),
        ("1GiB, 7d", 7 * DAY, 2**30),
        ("2w", 14 * DAY, 2**30),
        ("36h", 1.5 * DAY, 2**30),
        ("500MiB", 7 * DAY, 500 * 2**20),
        ("0m,0KiB", 0.0, 0),
        ("1.5d,0.5TiB", 1.5 * DAY, 2**39),
    ],
)
def test_limits_are_read_and_written(text: str, seconds: float, size: int) -> None:
    limits = read_limits(text)
    assert limits == Limits(seconds, size)
    assert read_limits(write_limits(limits)) == limits


@pytest.mark.parametrize(
    ("text", "part"), [("", ""), ("7", "7"), ("7d,8d", "8d"), ("7d,", ""), ("1GB", "1GB"), ("-1d", "-1d"),
                       ("7d;1GiB", "7d;1GiB"), ("1e9d", "1e9d"), ("d", "d"), ("9999999999d", "9999999999d")]
)  # fmt: skip
def test_the_part_that_is_no_limit_is_named(text: str, part: str) -> None:
    with pytest.raises(WrongLimit) as wrong:
        read_limits(text)
    assert wrong.value.part == part


def test_the_defaults_are_seven_days_and_a_gibibyte() -> None:
    assert write_limits(Limits()) == "7d,1GiB"
