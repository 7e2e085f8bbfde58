"""A stored job -> the record of its run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from paddock.app.history import read_state, tell_steps
from paddock.history.recording import JobState, build_record, mark_deleted, update_record
from paddock.history.records import MOST_RENEWALS, MOST_SIZES, Attempt, Cause, Renewal, RunRecord, Size
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.given_up import GIVEN_UP
from paddock.jobs.model import Counts, Status

RESOURCE = next(iter(KINDS))
JOB: dict[str, Any] = {
    "apiVersion": RESOURCE.api_version, "kind": RESOURCE.kind,
    "metadata": {"name": "demo", "namespace": "team", "uid": "u", "creationTimestamp": "1970-01-01T00:01:40Z",
                 "annotations": {"paddock.dev/resume": "true", "kubectl.kubernetes.io/last-applied": "…"}},
    "spec": {"worker": {"replicas": 2}},
}  # fmt: skip
NEW = build_record(JOB, 3, 110.0)
CAUSE = Cause("RankFailed", {"ranks": ["worker-0"]})


def test_a_new_run_has_what_identifies_it() -> None:
    assert (NEW.namespace, NEW.name, NEW.uid, NEW.run, NEW.created) == ("team", "demo", "u", 3, 100.0)
    assert NEW.identity == ("batch.paddlepaddle.org", "PaddleJob", "team", "demo")


def test_a_record_has_the_spec_and_the_annotations_that_are_ours() -> None:
    record = update_record(NEW, JOB, JobState("Running"), 111.0)
    assert record.spec == {"worker": {"replicas": 2}}
    assert record.annotations == {"paddock.dev/resume": "true"}
    assert update_record(record, {**JOB, "spec": None}, JobState(), 112.0).spec == {}


def test_attempts_are_added_as_they_are_seen_with_the_reason_of_each() -> None:
    record = update_record(NEW, JOB, JobState("Running"), 111.0)
    record = update_record(record, JOB, JobState("Running", cause=CAUSE), 112.0)
    record = update_record(record, JOB, JobState("Restarting", attempt=2, restarts=1, cause=CAUSE), 120.0)
    record = update_record(record, JOB, JobState("Running", attempt=2, restarts=1), 130.0)
    assert record.attempts == (Attempt(0, 100.0), Attempt(2, 120.0, CAUSE))
    assert (record.restarts, record.attempt) == (1, 2)


@pytest.mark.parametrize(("seen", "begun"), [(100.4, 100.4), (101.0, 100.0), (99.0, 100.0)])
def test_the_first_attempt_begins_with_its_job_whose_time_has_whole_seconds(seen: float, begun: float) -> None:
    assert update_record(NEW, JOB, JobState("Running"), seen).attempts == (Attempt(0, begun),)


@pytest.mark.parametrize(
    ("sentence", "cause", "told"),
    [
        ("why it began", {"reason": "RankRestarted", "args": {"ranks": ["worker-1"], "code": 1}}, True),
        ("what it waits for, seen too late", {"reason": "PodsStarting", "args": {"starting": 1, "wanted": 2}}, False),
        ("how it ended, seen too late", {"reason": "RankFailed", "args": {"ranks": ["worker-1"], "code": 1}}, False),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_later_cause_is_not_told_as_why_an_attempt_began(sentence: str, cause: dict[str, Any], told: bool) -> None:
    begun = update_record(NEW, JOB, JobState("Running"), 111.0)
    status = {"phase": "Starting", "attempt": 1, "cause": {**cause, "since": "2026-11-23T01:48:20Z"}}
    state = read_state(RESOURCE, {**JOB, "status": status})
    assert state.cause is not None and state.cause.reason == cause["reason"], sentence
    _, again = update_record(begun, JOB, state, 120.0).attempts
    assert (again.number, again.cause) == (1, state.cause if told else None)


def follow(*states: JobState) -> RunRecord:
    """The record after these states, seen at 101, 102, …"""
    record = NEW
    for number, state in enumerate(states, 101):
        record = update_record(record, JOB, state, float(number))
    return record


ALONE = Cause("RankRestarted", {"ranks": ["worker-1"], "alone": ["worker-1"]})
TOGETHER = Cause("RankRestarted", {"ranks": ["worker-1"]})


@pytest.mark.parametrize(
    ("sentence", "states", "renewals"),
    [
        ("once, however often it is seen", [JobState(), JobState(cause=ALONE, renewals={"worker-1": 1}),
         JobState("Running", renewals={"worker-1": 1})], (Renewal(0, 102.0, ("worker-1",), ALONE),)),
        ("again at the next number", [JobState(cause=ALONE, renewals={"worker-1": 1}),
         JobState(cause=ALONE, renewals={"worker-1": 2})],
         (Renewal(0, 101.0, ("worker-1",), ALONE), Renewal(0, 102.0, ("worker-1",), ALONE))),
        ("ranks that are started together have one", [JobState(cause=ALONE, renewals={"worker-2": 1, "worker-1": 4})],
         (Renewal(0, 101.0, ("worker-1", "worker-2"), ALONE),)),
        ("and not the others", [JobState(cause=ALONE, renewals={"worker-1": 1}),
         JobState(cause=ALONE, renewals={"worker-1": 1, "worker-0": 1})],
         (Renewal(0, 101.0, ("worker-1",), ALONE), Renewal(0, 102.0, ("worker-0",), ALONE))),
        ("a cause of something else is none", [JobState(), JobState(cause=CAUSE, renewals={"worker-1": 1})],
         (Renewal(0, 102.0, ("worker-1",)),)),
        ("numbers begin anew with an attempt", [JobState(cause=ALONE, renewals={"worker-1": 1}),
         JobState(attempt=1, cause=TOGETHER), JobState(attempt=1, cause=ALONE, renewals={"worker-1": 1})],
         (Renewal(0, 101.0, ("worker-1",), ALONE), Renewal(1, 103.0, ("worker-1",), ALONE))),
        ("also where the attempt's begin was not seen", [JobState(cause=ALONE, renewals={"worker-1": 1}),
         JobState(attempt=1, cause=ALONE, renewals={"worker-1": 1})],
         (Renewal(0, 101.0, ("worker-1",), ALONE), Renewal(1, 102.0, ("worker-1",), ALONE))),
        ("a gang that starts again has none", [JobState(), JobState(attempt=1, cause=TOGETHER)], ()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_rank_that_is_started_again_alone_is_recorded(
    sentence: str, states: list[JobState], renewals: tuple[Renewal, ...]
) -> None:
    record = follow(*states)
    assert record.renewals == renewals, sentence
    assert record.renewed == states[-1].renewals


def test_the_newest_of_them_are_kept_and_the_others_counted() -> None:
    record = follow(*(JobState(renewals={"worker-1": number}) for number in range(1, MOST_RENEWALS + 4)))
    assert (len(record.renewals), record.renewals_dropped) == (MOST_RENEWALS, 3)
    assert (record.renewals[0].begun, record.renewals[-1].begun) == (104.0, 103.0 + MOST_RENEWALS)


def test_the_numbers_of_ranks_are_those_of_the_status() -> None:
    assert read_state(RESOURCE, {**JOB, "status": {"phase": "Running", "renewals": {"worker-1": 2}}}).renewals == {
        "worker-1": 2
    }


@pytest.mark.parametrize(
    ("states", "ended", "outcome"),
    [
        ([JobState("Running")], None, "Running"),
        ([JobState("Completed", final=True, ended=150.0)], 150.0, "Completed"),
        ([JobState("Failed", final=True)], 201.0, "Failed"),
        ([JobState("Failed", final=True), JobState("Failed", final=True, restarts=1)], 201.0, "Failed"),
        ([JobState("Suspended", given_up="timeout")], 201.0, "TimedOut"),
        ([JobState("Suspended", given_up="timeout"), JobState("Running")], None, "Running"),
        ([JobState("Suspended", given_up="environment")], 201.0, "NotStarted"),
    ],
)
def test_the_end_is_the_recorded_one_or_when_it_was_seen(
    states: list[JobState], ended: float | None, outcome: str
) -> None:
    record = NEW
    for number, state in enumerate(states):
        record = update_record(record, JOB, state, 201.0 + number)
    assert (record.ended, record.outcome) == (ended, outcome)


def test_a_deleted_job_ended_at_its_deletion_unless_it_had_ended_before() -> None:
    gone = mark_deleted(NEW, 300.0)
    assert (gone.ended, gone.deleted, gone.outcome) == (300.0, 300.0, "Stopped")
    assert mark_deleted(gone, 400.0) == gone
    ended = mark_deleted(replace(NEW, ended=200.0, phase="Failed", finished=True), 300.0)
    assert (ended.ended, ended.deleted, ended.outcome) == (200.0, 300.0, "Failed")


@pytest.mark.parametrize(
    ("annotation", "given_up", "reason"),
    [(None, "", "Suspended"), ("", "timeout", "Suspended"),
     ('{"reason":"EnvironmentFailed","args":{},"since":1}', "environment", "EnvironmentFailed")],
)  # fmt: skip
def test_why_run_suspended_a_job_stands_in_its_annotation(annotation: str | None, given_up: str, reason: str) -> None:
    metadata = {**JOB["metadata"], "annotations": {} if annotation is None else {GIVEN_UP: annotation}}
    status = {"phase": "Suspended", "cause": {"reason": "Suspended", "args": {}}, "attempt": 1}
    state = read_state(RESOURCE, {**JOB, "metadata": metadata, "status": status})
    assert (state.given_up, state.cause and state.cause.reason, state.attempt) == (given_up, reason, 1)


def test_how_many_ranks_trained_together_is_kept_with_the_moment_of_each_change() -> None:
    record = NEW
    for moment, state in (
        (111.0, JobState("Starting")),
        (112.0, JobState("Running", ranks=3)),
        (113.0, JobState("Running", ranks=3)),
        (114.0, JobState("Running", ranks=2)),
        (115.0, JobState("Restarting", attempt=1)),
        (116.0, JobState("Running", attempt=1, ranks=2)),
    ):
        record = update_record(record, JOB, state, moment)
    assert record.sizes == (Size(0, 112.0, 3), Size(0, 114.0, 2), Size(1, 116.0, 2))
    for each in range(3 * MOST_SIZES):
        record = update_record(record, JOB, JobState("Running", attempt=1, ranks=each % 2), 200.0 + each)
    assert len(record.sizes) == MOST_SIZES, "the newest are kept"


def test_the_ranks_of_a_job_are_counted_while_it_runs_and_those_that_have_succeeded_too() -> None:
    counts = {"worker": {"running": 2, "succeeded": 1, "pending": 1}}
    assert read_state(RESOURCE, {**JOB, "status": {"phase": "Running", **counts}}).ranks == 3
    assert read_state(RESOURCE, {**JOB, "status": {"phase": "Starting", **counts}}).ranks is None


def keep_looking(record: RunRecord, *seen: tuple[float, JobState]) -> RunRecord:
    """The record as one keeper writes it, which looked at these moments."""
    before: JobState | None = None
    for now, state in seen:
        record, before = update_record(record, JOB, state, now, before), state
    return record


def test_when_an_attempt_was_placed_and_started_is_recorded_as_it_is_seen() -> None:
    placed, running = JobState("Starting", placed=True), JobState("Running", placed=True, started=True)
    seen = [(111.0, JobState("Pending")), (112.5, placed), (120.0, running), (130.0, running)]
    record = keep_looking(NEW, *seen)
    assert record.attempts == (Attempt(0, 100.0, None, 112.5, 120.0),)
    again = replace(running, attempt=1)
    record = keep_looking(
        NEW, *seen, (140.0, JobState("Restarting", attempt=1)), (150.0, again), (160.0, replace(again, attempt=2))
    )
    assert [(each.placed, each.started) for each in record.attempts] == [(112.5, 120.0), (150.0, 150.0), (160.0, 160.0)]


def test_since_when_an_attempt_runs_that_nobody_saw_come_is_not_known() -> None:
    running = JobState("Running", placed=True, started=True)
    record = keep_looking(NEW, (111.0, JobState("Pending")))
    record = keep_looking(record, (500.0, running), (501.0, running))  # another keeper, after a night without one
    assert [(each.placed, each.started) for each in record.attempts] == [(None, None)]


@pytest.mark.parametrize(
    ("counts", "placed", "started"),
    [
        ({}, False, False),
        ({"worker": {"wanted": 2, "pending": 2}}, False, False),
        ({"worker": {"wanted": 2, "pending": 1, "starting": 1}}, False, False),
        ({"worker": {"wanted": 2, "starting": 1, "running": 1}}, True, False),
        ({"worker": {"wanted": 2, "running": 1, "succeeded": 1}}, True, True),
        ({"worker": {"wanted": 2, "running": 2}, "ps": {"wanted": 1, "pending": 1}}, False, False),
        ({"worker": {"wanted": 2, "running": 1}}, False, False),  # one has no pod
    ],
)
def test_all_pods_of_an_attempt_are_placed_and_started_or_it_is_not(
    counts: dict[str, dict[str, int]], placed: bool, started: bool
) -> None:
    roles = {name: Counts(**numbers) for name, numbers in counts.items()}
    assert tell_steps(Status(roles=roles)) == (placed, started)
