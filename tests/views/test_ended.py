"""How a followed job ended, in a word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.model import CauseRecord, Phase, Status
from paddock.views.ended import read_end
from paddock.views.followed import FollowedJob, with_status

MANIFEST = {
    "apiVersion": "batch.paddlepaddle.org/v1",
    "kind": "PaddleJob",
    "metadata": {"name": "train", "namespace": "lab"},
    "spec": {"worker": {"replicas": 1, "template": {"spec": {"containers": [{"name": "paddle", "image": "i"}]}}}},
}


@pytest.mark.parametrize(
    ("phase", "code", "word"),
    [
        (Phase.COMPLETED, 0, "Completed"),
        (Phase.FAILED, 1, "Failed"),
        (Phase.RUNNING, 130, "Interrupted"),
        (Phase.COMPLETED, 130, "Completed"),
        (Phase.RUNNING, 1, "Suspended"),
        (Phase.NONE, 130, "Interrupted"),
        (Phase.RUNNING, None, "Unknown"),
    ],
)
def test_a_job_ends_in_one_word(phase: Phase, code: int | None, word: str) -> None:
    view = FollowedJob(PADDLEPADDLE.read_job(MANIFEST), Status(phase=phase), submitted=100.0)
    end = read_end(view, code, 160.0)
    assert (end.job, end.namespace, end.phase, end.seconds) == ("train", "lab", word, 60.0)


def test_the_cause_is_told_of_a_job_that_did_not_complete_and_the_time_is_that_of_its_end() -> None:
    cause = CauseRecord("RankFailed", {"ranks": ["worker-0"], "exit_code": 3})
    begun = FollowedJob(PADDLEPADDLE.read_job(MANIFEST), Status(), submitted=100.0)
    failed = with_status(begun, Status(phase=Phase.FAILED, cause=cause), 130.0)
    end = read_end(failed, 1, 160.0)
    assert end.seconds == 30.0
    assert "worker-0" in end.cause
    completed = replace(failed, status=Status(phase=Phase.COMPLETED, cause=cause))
    assert read_end(completed, 0, 160.0).cause == ""
