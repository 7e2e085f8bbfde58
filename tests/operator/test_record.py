"""Which part of a status is written, and what a server lost of it."""

from typing import Any

import pytest

from paddock.jobs.model import Phase, Status
from paddock.jobs.text.problems import InvalidJob, Problem
from paddock.operator.record import INVALID, build_difference, build_status_patch, find_dropped, with_invalid_job


@pytest.mark.parametrize(
    ("before", "patch", "difference"),
    [
        ({}, {}, {}),
        ({}, {"phase": "Pending"}, {"phase": "Pending"}),
        ({"phase": "Pending"}, {"phase": "Pending"}, {}),
        ({"phase": "Pending", "theirs": 1}, {"phase": "Running"}, {"phase": "Running"}),
        ({}, {"cause": None}, {}),
        ({"cause": {}}, {"cause": None}, {"cause": None}),
        ({"ps": {"running": 2, "ready": "2/2"}}, {"ps": {"running": None, "ready": "2/2"}}, {"ps": {"running": None}}),
        ({"ps": {"running": 2}}, {"ps": {"running": 2}, "worker": {}}, {"worker": {}}),
        ({"ps": "text"}, {"ps": {"running": 2}}, {"ps": {"running": 2}}),
        ({"attempt": 0}, {"attempt": 1}, {"attempt": 1}),
    ],
)
def test_only_what_would_change_is_written(
    before: dict[str, Any], patch: dict[str, Any], difference: dict[str, Any]
) -> None:
    assert build_difference(before, patch) == difference


def test_the_write_is_guarded_by_the_version_that_was_read() -> None:
    patch = build_status_patch({"metadata": {"resourceVersion": "7"}}, {"phase": "Pending"})
    assert patch == {"metadata": {"resourceVersion": "7"}, "status": {"phase": "Pending"}}


@pytest.mark.parametrize(
    ("answer", "lost"),
    [
        ({"status": {"phase": "Pending", "attempt": 0, "theirs": 1}}, ()),
        ({"status": {"phase": "Pending"}}, ("attempt",)),
        ({"status": {"phase": "Pending", "attempt": 3}}, ("attempt",)),
        ({}, ("attempt", "phase")),
    ],
)
def test_a_field_that_was_written_and_is_not_in_the_answer_is_lost(answer: dict[str, Any], lost: tuple[str]) -> None:
    assert find_dropped(answer, {"phase": "Pending", "attempt": 0, "cause": None}) == lost


def test_a_refusal_keeps_the_phase_and_its_moment_while_it_stays_the_same() -> None:
    refusal = InvalidJob((Problem("spec.worker", "is required"),))
    assert with_invalid_job(Status(), refusal, 10.5).phase is Phase.INVALID, "it has never been one that can run"
    first = with_invalid_job(Status(phase=Phase.RUNNING), refusal, 10.5)
    assert first.phase is Phase.RUNNING
    assert first.cause is not None
    assert (first.cause.reason, first.cause.since) == (INVALID, 10.0)
    assert first.cause.args == {"problems": ["spec.worker: is required"]}
    assert with_invalid_job(first, refusal, 99.0) == first
    other = with_invalid_job(first, InvalidJob((Problem("spec.ps", "is required"),)), 99.0)
    assert other.cause is not None
    assert other.cause.since == 99.0
