"""What is kept of what ran, and for how long."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.history.records import RunRecord
from paddock.history.retention import (
    MOST_NAMES,
    Kept,
    Limits,
    Pruning,
    WrongLimit,
    plan_pruning,
    read_limits,
    write_limits,
)

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
        pytest.param([over(1, 89)], [], id="the newest run of a name stays longer"),
        pytest.param([over(1, 91)], ["demo-1"], id="but not for ever"),
        pytest.param([over(1, 8, 1)], ["demo-1 logs"], id="its logs go in their time"),
        pytest.param([over(1, 91, 1)], ["demo-1"], id="what goes as a whole has no logs of its own"),
        pytest.param([over(1, 8), over(2, 6), over(3, 1)], ["demo-1"], id="what is older than the limit goes"),
        pytest.param([over(1, 7), over(2, 1)], [], id="exactly as old as the limit stays"),
        pytest.param([over(1, 60), over(1, 60, name="other")], [], id="each name has a newest run"),
        pytest.param([over(1, 90, 900, **GOES_ON), over(2, 1)], [], id="a run that goes on stays, however old"),
        pytest.param([over(1, 3, 60), over(2, 2, 30), over(3, 1, 30)], ["demo-1"], id="above the size the oldest go"),
        pytest.param([over(1, 3, 10), over(2, 2, 95), over(3, 1, 5)], ["demo-1"], id="until the rest fits"),
        pytest.param([over(1, 3, 50), over(2, 1, 50)], [], id="exactly as large as the limit fits"),
        pytest.param([over(3, 9), over(1, 3, 90), over(2, 2, 20)], ["demo-1"], id="by time of end, not by number"),
        pytest.param([over(1, 3, 0), over(2, 2, 60), over(3, 1, 60)], ["demo-2"], id="what has no logs stays"),
        pytest.param([over(1, 3, 60), over(2, 2, 30), over(3, 1, 900, **GOES_ON)], [],
                     id="what goes on does not count, as it cannot go"),
        pytest.param([over(1, 3, 900)], [], id="the logs of the run that ended last stay for their time"),
        pytest.param([over(1, 3, 50), over(2, 2, 50), over(3, 1, 900)], [],
                     id="a run that is too large by itself costs no other its logs"),
        pytest.param([over(1, 3, 50), over(2, 2, 900), over(3, 1, 50)], ["demo-2"],
                     id="it goes first, once it is not the last"),
        pytest.param([over(1, 3, 40), over(1, 2, 900, name="large"), over(2, 1, 50)], ["large-1 logs"],
                     id="its logs alone, if it is the newest of its name"),
        pytest.param([over(1, days, 60, name=f"n{days}") for days in (4, 3, 2, 1)],
                     ["n4-1 logs", "n3-1 logs", "n2-1 logs"], id="many names are bounded too"),
        pytest.param([over(1, 4, 60, name="other"), over(1, 3, 60), over(2, 2, 40)], ["demo-1"],
                     id="earlier runs go before the logs of a newest one"),
    ],
)  # fmt: skip
def test_the_oldest_runs_go_first(kept: list[Kept], pruned: list[str]) -> None:
    assert show(plan_pruning(kept, KEPT, NOW)) == pruned


def show(plan: Pruning) -> list[str]:
    return [record.uid for record in plan.runs] + [f"{record.uid} logs" for record in plan.logs]


def test_a_suspended_run_that_may_be_resumed_is_not_pruned() -> None:
    suspended = over(1, 90, finished=False, phase="Suspended", given_up="timeout")
    assert plan_pruning([suspended, over(2, 1)], KEPT, NOW) == Pruning()
    gone = replace(suspended.record, deleted=NOW - 80 * DAY)
    assert plan_pruning([Kept(gone, 0), over(2, 1)], KEPT, NOW).runs == (gone,)


def test_the_newest_runs_of_a_thousand_names_are_kept() -> None:
    kept = [over(1, 30 - number / 100, name=f"n{number}") for number in range(MOST_NAMES + 2)]
    assert show(plan_pruning(kept, KEPT, NOW)) == ["n0-1", "n1-1"]


def test_a_longer_limit_holds_for_the_records_too() -> None:
    assert plan_pruning([over(1, 200, 1)], Limits(365 * DAY, 100), NOW) == Pruning()


def _end(kept: Kept) -> tuple[float, float, str]:
    record = kept.record
    return record.created if record.ended is None else record.ended, record.created, record.uid


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
def test_no_unfinished_and_no_newest_run_is_pruned_and_the_rest_fits(
    kept: list[Kept], seconds: float, size: int
) -> None:
    plan = plan_pruning(kept, Limits(seconds, size), NOW)
    gone = [*plan.runs, *plan.logs]
    assert all(record.over for record in gone)
    assert len(gone) == len({record.uid for record in gone})
    left = [each for each in kept if each.record not in plan.runs]
    for each in kept:
        assert each.record.run <= max(one.record.run for one in left if one.record.identity == each.record.identity)
    logs = [each for each in left if each.record.over and each.record not in plan.logs and each.bytes]
    assert all(NOW - (each.record.ended or each.record.created) <= seconds for each in logs)
    last = max((each for each in kept if each.record.over), key=_end, default=None)
    others = sum(each.bytes for each in logs if each is not last)
    assert others + (last.bytes if last in logs and last.bytes <= size else 0) <= size


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
