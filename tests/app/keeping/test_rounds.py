"""Whose log is read next, and how much is kept on a disk."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.app.consoles.keeping.room import LEAST_EACH, bound_log, fit
from paddock.app.consoles.keeping.rounds import FIRST_SECONDS, LONGEST_SECONDS, SHORTEST_SECONDS, Rounds
from paddock.history.retention import Limits

GIB = 2**30


def test_a_rank_that_prints_is_read_each_half_minute_and_a_quiet_one_less_and_less_often() -> None:
    rounds, now, reads = Rounds(), 0.0, {"loud": list[float](), "quiet": list[float]()}
    for uid in reads:
        rounds.add(uid, now)
    while now < 2_000:
        for uid in rounds.take(now, 10):
            reads[uid].append(now)
            rounds.done(uid, now, grew=uid == "loud")
        now += 1.0
    pauses = {uid: [after - before for before, after in pairwise(at)] for uid, at in reads.items()}
    assert reads["loud"][0] == reads["quiet"][0] == FIRST_SECONDS
    assert set(pauses["loud"]) == {SHORTEST_SECONDS}
    assert pauses["quiet"][:4] == [60.0, 120.0, 240.0, LONGEST_SECONDS] and pauses["quiet"][-1] == LONGEST_SECONDS


def test_who_has_waited_longest_is_next_so_nobody_is_left_out() -> None:
    rounds, reads = Rounds(), dict.fromkeys(map(str, range(400)), 0)
    for uid in reads:
        rounds.add(uid, 0.0)
    for now in range(400):
        for uid in rounds.take(float(now), 5):
            reads[uid] += 1
            rounds.done(uid, float(now), grew=True)
    assert set(reads.values()) <= {4, 5}  # 5 a second of 400: each 80 seconds


def test_one_that_is_read_now_is_not_taken_again_and_one_that_is_dropped_not_at_all() -> None:
    rounds = Rounds()
    rounds.add("a", 0.0)
    rounds.add("a", 3.0)
    assert rounds.take(FIRST_SECONDS - 1, 9) == [] and rounds.take(FIRST_SECONDS, 9) == ["a"]
    assert rounds.take(1_000.0, 9) == []
    rounds.drop("a")
    rounds.done("a", 1_000.0, grew=True)
    assert rounds.take(9_000.0, 9) == [] and len(rounds) == 0
    rounds.add("a", 9_000.0)
    assert rounds.take(9_000.0 + FIRST_SECONDS, 9) == ["a"]


@given(st.lists(st.tuples(st.sampled_from(["add", "drop", "take", "grew", "quiet"]), st.sampled_from("abc"))))
def test_whatever_happens_each_pod_is_read_by_one_at_a_time_and_in_time(steps: list[tuple[str, str]]) -> None:
    rounds, now, known, reading = Rounds(), 0.0, set[str](), set[str]()
    for step, uid in steps:
        now += 7.0
        if step == "add":
            rounds.add(uid, now)
            known.add(uid)
        elif step == "drop":
            rounds.drop(uid)
            known.discard(uid)
        elif step == "take":
            taken = rounds.take(now, 2)
            assert set(taken) <= known and len(taken) == len(set(taken)) <= 2
            reading |= set(taken)
        elif uid in reading:
            reading.discard(uid)
            rounds.done(uid, now, grew=step == "grew")
    for uid in reading:
        rounds.done(uid, now, grew=False)
    assert set(rounds.take(now + LONGEST_SECONDS, 9)) == known


@pytest.mark.parametrize(
    ("limit", "taken", "free", "most"),
    [
        (20 * GIB, 0, 100 * GIB, 20 * GIB),
        (20 * GIB, 5 * GIB, 5 * GIB, 9 * GIB),  # of a claim of 10 GiB a tenth stays free
        (20 * GIB, 10 * GIB, 0, 9 * GIB),  # a full one is pruned
        (GIB, 2 * GIB, 0, GIB),
        (20 * GIB, 0, 0, 0),
    ],
)
def test_no_more_is_kept_than_a_claim_has_room_for(limit: int, taken: int, free: int, most: int) -> None:
    assert fit(Limits(1.0, limit), taken, free) == Limits(1.0, most)


@pytest.mark.parametrize(("limit", "each"), [(GIB, LEAST_EACH), (20 * GIB, GIB)])
def test_one_log_has_a_part_of_the_room(limit: int, each: int) -> None:
    assert bound_log(Limits(1.0, limit)) == each
