from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.gangs import build_job, build_pods, build_status, gone, observe, with_pod
from paddock.jobs.model import Observed, Phase, Rank, Status
from paddock.jobs.policies.gang import missing_ranks, plan_adoption, plan_resize, was_whole

JOB = build_job()


def test_a_pod_of_another_attempt_does_not_fill_a_rank() -> None:
    assert missing_ranks(JOB, observe(JOB).gang(build_status(JOB, attempt=1))) == (Rank("worker", 0), Rank("worker", 1))


@pytest.mark.parametrize("phase", [phase for phase in Phase if not phase.terminal])
def test_starting_and_running_prove_that_the_gang_was_whole(phase: Phase) -> None:
    proven = phase in (Phase.STARTING, Phase.RUNNING)
    assert was_whole(JOB, build_status(JOB, phase), Observed()) == proven


def test_so_does_the_attempts_config_map_and_no_other() -> None:
    status = build_status(JOB, Phase.PENDING)
    assert was_whole(JOB, status, observe(JOB, ()))
    assert not was_whole(JOB, replace(status, attempt=1), observe(JOB, ()))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_gang_of_another_size_is_recreated(workers: int) -> None:
    verdict = plan_resize(build_job(workers=workers), build_status(JOB), observe(JOB))
    assert (verdict is not None) == (workers != 2)


def test_a_gang_that_is_being_created_is_not_resized() -> None:
    one = observe(JOB, with_pod(build_pods(JOB), "worker-1", gone))
    assert plan_resize(JOB, Status(), one) is None
    assert plan_resize(JOB, build_status(JOB, Phase.PENDING), one) is None


@pytest.mark.parametrize(("generation", "anew"), [(1, False), (2, True)])
def test_pods_of_which_nothing_is_recorded_are_those_of_the_first_manifest(generation: int, anew: bool) -> None:
    """Who made them crashed before it could record their number."""
    job = replace(JOB, generation=generation)
    assert (plan_resize(job, Status(), observe(JOB)) is not None) == anew
    assert plan_resize(job, Status(), Observed()) is None


def test_nothing_is_resized_before_there_are_pods() -> None:
    assert plan_resize(build_job(workers=9), build_status(JOB), Observed()) is None


def test_an_attempt_never_goes_back() -> None:
    assert plan_adoption(build_status(JOB, attempt=3), observe(JOB, attempt=2)) is None
    verdict = plan_adoption(build_status(JOB), observe(JOB, attempt=2))
    assert verdict is not None
    assert verdict.attempt == 2
