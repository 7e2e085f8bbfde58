"""A cancelled job is Cancelled for people: in lists, in counts, at its end; the API's phase stays Failed."""

from __future__ import annotations

import pytest

from paddock.cli.output.display import build_end
from paddock.history.records import Cause, RunRecord
from paddock.jobs import causes
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.exit_codes import read_exit_code
from paddock.jobs.model import CauseRecord, Phase, Status
from paddock.views.ended import read_end
from paddock.views.followed import FollowedJob
from paddock.views.jobs import JobRow
from paddock.views.listing import Filter, count_phases, order_jobs
from paddock.views.phases import CANCELLED, name_phase, show_phase
from views.test_ended import MANIFEST

BY_ADA, FAILURE = CauseRecord("Cancelled", {"who": "ada"}), CauseRecord("RankFailed", {"ranks": ["worker-0"]})


@pytest.mark.parametrize(
    ("phase", "cause", "word"),
    [
        (Phase.FAILED, BY_ADA, "Cancelled"),
        (Phase.FAILED, FAILURE, "Failed"),
        (Phase.FAILED, None, "Failed"),
        (Phase.RUNNING, BY_ADA, "Running"),
        (Phase.COMPLETED, None, "Completed"),
        (Phase.NONE, None, ""),
    ],
)
def test_the_word_of_a_phase(phase: Phase, cause: CauseRecord | None, word: str) -> None:
    assert name_phase(phase, cause) == show_phase(Status(phase=phase, cause=cause)) == word
    run = RunRecord("v1", "J", "n", "j", "u", 1, 1.0, phase=str(phase), finished=phase.terminal,
                    cause=Cause(cause.reason, cause.args) if cause else None)  # fmt: skip
    assert run.outcome == (word or "Pending")


def test_the_history_calls_the_cause_as_the_operator_does() -> None:
    assert causes.Cancelled.__name__ == CANCELLED == causes.Cancelled("ada").reason


def test_a_list_counts_cancelled_jobs_apart_and_has_them_behind_what_went_wrong() -> None:
    resource = PADDLEPADDLE.resource
    phases = [("off", Phase.FAILED, BY_ADA), ("bad", Phase.FAILED, FAILURE), ("done", Phase.COMPLETED, None)]
    listed = [(resource, JobRow("n", name, phase, "", {}, 1.0, cause)) for name, phase, cause in phases]
    assert [row.name for _, row in order_jobs(listed)] == ["bad", "off", "done"]
    assert count_phases(listed) == [("Failed", 1), ("Cancelled", 1), ("Completed", 1)]
    assert [row.name for each in listed if Filter(phase="Cancelled").matches(each) for row in each[1:]] == ["off"]
    assert [row.name for each in listed if Filter(phase="Failed").matches(each) for row in each[1:]] == ["bad"]


@pytest.mark.parametrize(
    ("cause", "said"),
    [(BY_ADA, "Cancelled after 31 s by ada"), (CauseRecord("Cancelled"), "Cancelled after 31 s")],
)
def test_the_end_says_who_cancelled_and_the_exit_code_stays(cause: CauseRecord, said: str) -> None:
    status = Status(phase=Phase.FAILED, cause=cause)
    view = FollowedJob(PADDLEPADDLE.read_job(MANIFEST), status, submitted=100.0, ended=131.0)
    assert build_end(view) == said
    assert read_end(view, 1, 131.0).phase == "Cancelled"
    assert read_exit_code(status.phase, cause) == 1
