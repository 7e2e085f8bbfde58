"""Ranks whose pods are gone: how each one ended, as far as the end of its attempt tells."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.jobs.model import CauseRecord, Phase, Rank, Status, Successes
from paddock.views.kept_ranks import KeptRank, build_kept_rows, find_end, list_failed

OWN = {"ranks": ["worker-1"], "code": 1, "error": "ValueError: <b>"}


def kept(*indexes: int, attempt: int = 0) -> list[KeptRank]:
    return [KeptRank(Rank("worker", index), attempt, 200.0) for index in indexes]


@pytest.mark.parametrize(
    ("phase", "reason", "args", "states", "said"),
    [
        (Phase.FAILED, "RankFailed", OWN, "Ended Error", "ValueError: <b> (exit code 1)"),
        (Phase.FAILED, "RankFailed", {"ranks": ["worker-1"], "code": 137, "memory": True}, "Ended Error",
         "out of memory (exit code 137)"),
        (Phase.FAILED, "RankFailed", {"ranks": ["worker-1"], "code": 9, "last": "step 3"}, "Ended Error",
         "step 3 (exit code 9)"),
        (Phase.FAILED, "RankFailed", {**OWN, "echoes": ["worker-0"]}, "Error Error", "ValueError: <b> (exit code 1)"),
        (Phase.FAILED, "DeadlineExceeded", {"seconds": 5}, "Ended Ended", ""),
        (Phase.FAILED, "Cancelled", {}, "Ended Ended", ""),
        (Phase.COMPLETED, "Completed", {"succeeded": 2}, "Completed Completed", ""),
        (Phase.COMPLETED, "Completed", {"succeeded": 1, "failed": ["worker-1"], "code": 2}, "Completed Error",
         "exit code 2"),
        (Phase.COMPLETED, "CompletedWithoutMaster", {"ranks": ["worker-1"], "seconds": 3}, "Completed Completed", ""),
        (Phase.RUNNING, "PodsStarting", {"ranks": ["worker-1"]}, " ", ""),
        (Phase.FAILED, "RankFailed", {"ranks": "worker-1", "code": None}, "Ended Ended", ""),  # written by anybody
    ],
)  # fmt: skip
def test_how_a_rank_without_a_pod_ended(
    phase: Phase, reason: str, args: dict[str, Any], states: str, said: str
) -> None:
    status = Status(phase=phase, cause=CauseRecord(reason, args, 1.0))
    rows = build_kept_rows(kept(0, 1), status, find_end(status, 0, {}), 150.0)
    assert " ".join(row.state for row in rows) == states
    assert str(rows[1].said or "") == said
    assert {(row.pod, row.begun, row.ended, row.attempt) for row in rows} == {(None, 150.0, 200.0, 0)}


def test_a_rank_that_has_a_pod_has_no_second_row_and_one_that_has_succeeded_says_so() -> None:
    status = Status(phase=Phase.RUNNING, succeeded={"worker": Successes(frozenset({1}))})
    rows = build_kept_rows(kept(0, 1, 2), status, None, None, {"worker-0"})
    assert [(row.rank, row.state) for row in rows] == [("worker-1", "Completed"), ("worker-2", "")]


def test_an_attempt_ended_by_what_started_the_next_one() -> None:
    why = CauseRecord("RankRestarted", OWN, 1.0)
    running = Status(phase=Phase.RUNNING, attempt=2, cause=CauseRecord("PodsStarting", {}, 1.0))
    assert find_end(running, 1, {2: why}) is why
    assert find_end(running, 0, {2: why}) is None, "nobody has kept it"
    assert find_end(running, 2, {2: why}) is None, "it goes on"
    restarting = Status(phase=Phase.RESTARTING, attempt=2, cause=why)
    assert find_end(restarting, 1, {}) is why
    assert list_failed(why) == ("worker-1",) and list_failed(None) == ()
