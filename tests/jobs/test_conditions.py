"""Counts and phase of an unfinished job, from its pods."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.gangs import NOW, build_job, build_pods, build_status, cause
from paddock.jobs.conditions import build_counts, build_phase, build_refs, follow_pods
from paddock.jobs.model import Counts, Phase, PodPhase, Status

JOB = build_job(ps=1)
PENDING, STARTING, RUNNING, SUCCEEDED = PodPhase.PENDING, PodPhase.STARTING, PodPhase.RUNNING, PodPhase.SUCCEEDED
FAILED = PodPhase.FAILED


@pytest.mark.parametrize(
    ("previous", "phases", "phase"),
    [
        (Phase.PENDING, (PENDING, PENDING, PENDING), Phase.PENDING),
        (Phase.RESTARTING, (PENDING, PENDING, PENDING), Phase.PENDING),
        (Phase.PENDING, (PENDING, STARTING, PENDING), Phase.STARTING),
        (Phase.PENDING, (RUNNING, RUNNING, PENDING), Phase.STARTING),
        (Phase.STARTING, (PENDING, PENDING, PENDING), Phase.STARTING),  # never back: it is the proof of a whole gang
        (Phase.RUNNING, (PENDING, PENDING, PENDING), Phase.STARTING),
        (Phase.STARTING, (RUNNING, RUNNING, RUNNING), Phase.RUNNING),
        (Phase.STARTING, (RUNNING, SUCCEEDED, RUNNING), Phase.RUNNING),
        (Phase.RUNNING, (RUNNING, STARTING, RUNNING), Phase.STARTING),
    ],
)
def test_the_phase_of_a_whole_gang(previous: Phase, phases: tuple[PodPhase, ...], phase: Phase) -> None:
    pods = [replace(pod, phase=each) for pod, each in zip(build_pods(JOB), phases, strict=True)]
    assert build_phase(previous, pods, whole=True) is phase
    assert build_phase(Phase.PENDING, pods, whole=False) is Phase.PENDING


def test_no_pods_do_not_run() -> None:
    assert build_phase(Phase.NONE, (), whole=True) is Phase.PENDING


def test_counts_by_role_with_zeros_for_one_without_pods() -> None:
    phases = (RUNNING, SUCCEEDED, STARTING)
    pods = [replace(pod, phase=each) for pod, each in zip(build_pods(JOB), phases, strict=True)]
    assert build_counts(JOB, pods) == {
        "ps": Counts(wanted=1, running=1),
        "worker": Counts(wanted=2, succeeded=1, starting=1),
    }
    assert build_counts(JOB, ())["ps"] == Counts(wanted=1)


DONE = {"ps": Counts(wanted=1, running=1), "worker": Counts(wanted=2, succeeded=2)}


@pytest.mark.parametrize(
    ("phases", "ps", "worker"),
    [
        ((RUNNING, SUCCEEDED, SUCCEEDED), Counts(1, running=1), Counts(2, succeeded=2)),
        ((SUCCEEDED, SUCCEEDED, SUCCEEDED), Counts(1, succeeded=1), Counts(2, succeeded=2)),
        ((FAILED, SUCCEEDED, SUCCEEDED), Counts(1, failed=1), Counts(2, succeeded=2)),
        ((RUNNING, None, None), Counts(1, running=1), Counts(2, succeeded=2)),
        ((None, SUCCEEDED, None), Counts(1), Counts(2, succeeded=2)),
        ((None, None, None), Counts(1), Counts(2, succeeded=2)),
    ],
)
def test_the_counts_of_a_finished_job_follow_its_pods_and_what_has_ended_counts_for_ever(
    phases: tuple[PodPhase | None, ...], ps: Counts, worker: Counts
) -> None:
    pods = [replace(pod, phase=phase) for pod, phase in zip(build_pods(JOB), phases, strict=True) if phase]
    status = build_status(JOB, Phase.COMPLETED, roles=DONE, finished=NOW, cause=cause("Completed", succeeded=2))
    followed = follow_pods(JOB, status, pods, pods[:1])
    assert followed == replace(status, roles={"ps": ps, "worker": worker}, refs=build_refs(JOB, pods[:1]))
    assert follow_pods(JOB, followed, pods, pods[:1]) == followed, "nothing new writes nothing"
    assert follow_pods(JOB, followed, (), ()).roles == {
        "ps": replace(ps, running=0),
        "worker": worker,
    }, "an end is not forgotten with its pod"


def test_servers_that_clean_up_ends_have_not_failed() -> None:
    pods = [replace(pod, phase=FAILED, deleting=True) if pod.rank.role == "ps" else pod for pod in build_pods(JOB)]
    status = build_status(JOB, Phase.COMPLETED, roles=DONE, finished=NOW, cause=cause("Completed", succeeded=2))
    assert follow_pods(JOB, status, pods, ()).roles["ps"] == Counts(1)
    failed_before = replace(status, roles={**DONE, "ps": Counts(1, failed=1)})
    assert follow_pods(JOB, failed_before, pods, ()).roles["ps"] == Counts(1, failed=1)


def test_the_counts_of_a_finished_job_keep_its_gang_whatever_is_edited() -> None:
    """Roles and replicas are those of the end; a role of which nothing was recorded gets no counts."""
    status = build_status(JOB, Phase.COMPLETED, roles=DONE, refs={})
    edited = build_job(ps=3, workers=7)
    assert follow_pods(edited, status, (), ()).roles == {"ps": Counts(1), "worker": Counts(2, succeeded=2)}
    assert follow_pods(build_job(), status, (), ()).roles == {"ps": Counts(1), "worker": Counts(2, succeeded=2)}
    bare = Status(phase=Phase.COMPLETED)
    assert follow_pods(JOB, bare, build_pods(JOB), build_pods(JOB)) == bare
