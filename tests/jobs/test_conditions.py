"""Counts and phase of an unfinished job, from its pods."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.gangs import build_job, build_pods
from paddock.jobs.conditions import build_counts, build_phase
from paddock.jobs.model import Counts, Phase, PodPhase

JOB = build_job(ps=1)
PENDING, STARTING, RUNNING, SUCCEEDED = PodPhase.PENDING, PodPhase.STARTING, PodPhase.RUNNING, PodPhase.SUCCEEDED


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
