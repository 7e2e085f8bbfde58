"""`paddock.dev/silent`: what becomes of a gang whose ranks print nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.gangs import NOW, build_job, build_pods, build_status, deleted, failed, observe, reason, succeeded, with_pod
from paddock.jobs.model import Elasticity, Job, OnSilence, Phase, Report, SilenceLimit, Stacks
from paddock.jobs.plan import plan
from paddock.jobs.policies.fitting import fit
from paddock.jobs.policies.silent_job import HEARD_SECONDS, LOOK_SECONDS, explain_unseen
from paddock.jobs.sentences.explain import explain

PLACES = {"who": ("worker-0", "worker-1"), "places": ("all_reduce, train.py:88", "read_batch, data.py:41")}
WRITTEN = Stacks(written=True, **PLACES)
HALF_AN_HOUR = 1800


def limit(does: OnSilence, **changes: Any) -> Job:
    return replace(build_job(**changes), silence=SilenceLimit(HALF_AN_HOUR, does))


def report(quiet: float, stacks: Stacks | None = None) -> Report:
    return Report(quiet, stacks)


TELL, RESTART, FAIL = (limit(each) for each in OnSilence)
ROWS = [
    ("nobody sees the programs", RESTART, None, (Phase.RUNNING, "", False, None)),
    ("not yet", RESTART, report(1700.5), (Phase.RUNNING, "", False, 99.5)),
    ("the stacks come first", RESTART, report(1800), (Phase.RUNNING, "", True, LOOK_SECONDS)),
    ("and are asked for once", RESTART, report(1802, Stacks()), (Phase.RUNNING, "", False, LOOK_SECONDS)),
    ("then it is told", TELL, report(1804, WRITTEN), (Phase.RUNNING, "JobSilent", False, HEARD_SECONDS)),
    ("or restarted", RESTART, report(1804, WRITTEN), (Phase.RESTARTING, "SilentRestarted", False, 0.0)),
    ("or failed", FAIL, report(1804, WRITTEN), (Phase.FAILED, "SilentFailed", False, 0.0)),
    ("also where no stack could be taken", FAIL, report(1804, Stacks(written=True)), (
        Phase.FAILED, "SilentFailed", False, 0.0)),
    ("no limit was set", build_job(), report(9e9, WRITTEN), (Phase.RUNNING, "", False, None)),
]  # fmt: skip


@pytest.mark.parametrize(("what", "job", "seen", "wanted"), ROWS, ids=[row[0] for row in ROWS])
def test_a_silence_is_judged_once_its_stacks_are_written(
    what: str, job: Job, seen: Report | None, wanted: tuple[Phase, str, bool, float | None]
) -> None:
    found = plan(job, build_status(job), observe(job, report=seen), NOW)
    assert (found.status.phase, reason(found), found.wants_stacks, found.requeue_after) == wanted, what
    assert not found.actions, "nothing is ended before it is recorded"


@pytest.mark.parametrize(
    ("seen", "left"),
    [(report(0), HALF_AN_HOUR), (Report(0, next_look=5), 5), (None, None)],
    ids=["", "reads", "unseen"],
)
def test_a_gang_that_begins_to_run_is_looked_at_again(seen: Report | None, left: float | None) -> None:
    found = plan(TELL, build_status(TELL, Phase.PENDING), observe(TELL, report=seen), NOW)
    assert (found.status.phase, found.requeue_after) == (Phase.RUNNING, left), "no event of its record wakes the job"


CLUSTER = Stacks(written=True, forbidden=True)


@pytest.mark.parametrize(
    ("what", "seen", "wanted"),
    [
        ("the reader says when more is known", Report(1700, CLUSTER, next_look=180), (Phase.RUNNING, "", 180)),
        ("nobody sees it", Report(0, next_look=120, unseen="no right"), (Phase.RUNNING, "", 120)),
        ("no stacks are waited for", Report(1800, CLUSTER, next_look=5), (Phase.RESTARTING, "SilentRestarted", 0)),
    ],
)
def test_on_a_cluster_no_stacks_are_asked_for(what: str, seen: Report, wanted: tuple[Phase, str, float]) -> None:
    found = plan(RESTART, build_status(RESTART), observe(RESTART, report=seen), NOW)
    assert (found.status.phase, reason(found), found.requeue_after) == wanted, what
    assert not found.wants_stacks


@pytest.mark.parametrize("does", OnSilence)
def test_a_cause_without_stacks_says_so_and_who_takes_them(does: OnSilence) -> None:
    job = limit(does)
    cause = plan(job, build_status(job), observe(job, report=Report(1800, CLUSTER, next_look=5)), NOW).status.cause
    assert cause is not None
    said = str(explain(cause))
    assert "no stacks were taken: while it hangs, `paddock stacks demo -n team` shows where each rank is" in said
    assert "no rank has printed for over 30" in said


@pytest.mark.parametrize("phase", [Phase.RUNNING, Phase.PENDING, Phase.COMPLETED])
@pytest.mark.parametrize("unseen", ["", "this operator may not read logs"])
def test_that_nobody_sees_a_job_is_an_event_while_it_runs(phase: Phase, unseen: str) -> None:
    note = explain_unseen(TELL, build_status(TELL, phase), observe(TELL, report=Report(0, next_look=5, unseen=unseen)))
    assert (note is not None) is (phase is Phase.RUNNING and bool(unseen))
    if note is not None:
        assert note.message == f"the annotation paddock.dev/silent has no effect: {unseen}"
    assert explain_unseen(build_job(), build_status(TELL, phase), observe(TELL, report=Report(0, unseen="x"))) is None


def test_a_restart_is_counted_and_ends_the_old_gang() -> None:
    seen = report(1804, WRITTEN)
    recorded = plan(RESTART, build_status(RESTART, restarts=1), observe(RESTART, report=seen), NOW).status
    assert (recorded.restarts, recorded.attempt) == (2, 1)
    assert recorded.cause is not None and recorded.cause.args["delay"] == 20
    acted = plan(RESTART, recorded, observe(RESTART, report=seen), NOW)
    assert deleted(acted)[:2] == ["worker-0-of-0", "worker-1-of-0"]


@pytest.mark.parametrize(("restarts", "phase"), [(1, Phase.RESTARTING), (2, Phase.FAILED)])
def test_restarts_have_the_job_s_limit(restarts: int, phase: Phase) -> None:
    job = limit(OnSilence.RESTART, backoff_limit=2)
    found = plan(job, build_status(job, restarts=restarts), observe(job, report=report(1804, WRITTEN)), NOW)
    assert found.status.phase is phase
    assert found.status.cause is not None and found.status.cause.args["limit"] == 2


def test_what_has_ended_is_judged_by_its_end() -> None:
    pods = with_pod(build_pods(FAIL), "worker-0", failed(1))
    assert reason(plan(FAIL, build_status(FAIL), observe(FAIL, pods, report=report(1804, WRITTEN)), NOW)) != (
        "SilentFailed"
    )
    ended = with_pod(with_pod(build_pods(FAIL), "worker-0", succeeded()), "worker-1", succeeded())
    found = plan(FAIL, build_status(FAIL), observe(FAIL, ended, report=report(1804, WRITTEN)), NOW)
    assert found.status.phase is Phase.COMPLETED


def test_a_silence_that_is_told_goes_when_a_line_comes_and_has_one_event() -> None:
    told = plan(TELL, build_status(TELL), observe(TELL, report=report(1804, WRITTEN)), NOW)
    assert [event.reason for event in told.events] == ["Silent"]
    again = plan(TELL, told.status, observe(TELL, report=report(1900, WRITTEN)), NOW + 96)
    assert (again.status, again.events) == (told.status, ()), "nothing is written while nothing changes"
    heard = plan(TELL, told.status, observe(TELL, report=report(3)), NOW + 100)
    assert heard.status.cause is None


@pytest.mark.parametrize("phase", [Phase.PENDING, Phase.RESTARTING, Phase.SUSPENDED, Phase.COMPLETED, Phase.FAILED])
def test_only_a_gang_that_runs_can_be_silent(phase: Phase) -> None:
    found = plan(FAIL, build_status(FAIL, phase), observe(FAIL, report=report(1804, WRITTEN)), NOW)
    assert reason(found) != "SilentFailed" and not found.wants_stacks


def test_a_smaller_gang_that_restarts_for_silence_remembers_why_it_is_smaller() -> None:
    whole = replace(limit(OnSilence.RESTART, workers=3), elasticity=Elasticity("worker", 1, 3))
    status = build_status(fit(whole, 2), gang_size=2, gang_loss="NodeLost")
    seen = observe(fit(whole, 2), report=report(1804, WRITTEN))
    found = plan(whole, status, seen, NOW)
    assert (reason(found), found.status.gang_size, found.status.gang_loss) == ("SilentRestarted", 2, "NodeLost")


@given(
    quiet=st.floats(0, 1e7),
    stacks=st.none() | st.builds(Stacks, written=st.booleans()),
    does=st.sampled_from(OnSilence),
    restarts=st.integers(0, 5),
    most=st.none() | st.integers(0, 5),
)
def test_nothing_ends_before_its_time_or_without_its_stacks(
    quiet: float, stacks: Stacks | None, does: OnSilence, restarts: int, most: int | None
) -> None:
    job = limit(does, backoff_limit=most)
    found = plan(job, build_status(job, restarts=restarts), observe(job, report=report(quiet, stacks)), NOW)
    due = quiet >= HALF_AN_HOUR and stacks is not None and stacks.written
    assert (found.status.phase is not Phase.RUNNING) == (due and does is not OnSilence.TELL)
    assert found.wants_stacks == (quiet >= HALF_AN_HOUR and stacks is None)
    assert most is None or found.status.restarts <= max(most, restarts)
    assert found.requeue_after is not None and found.requeue_after >= 0
