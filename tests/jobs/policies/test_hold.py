"""A failed rank that is held: who deletes it, and when clean-up and the time to live go on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.gangs import NOW, build_job, build_pods, build_status, deleted, observe
from paddock.jobs.model import CleanPods, Exit, Job, Phase, Pod, PodPhase, Status
from paddock.jobs.plan import plan
from paddock.jobs.policies.fates import Fate, Situation, plan_fate
from paddock.jobs.policies.hold import list_held

HELD = NOW + 100


def build_world(job: Job, until: float | None = HELD, attempt: int = 0) -> tuple[Pod, ...]:
    """worker-0 was ended by the operator, worker-1 has failed."""
    first, second = build_pods(job, attempt)
    failed = replace(second, phase=PodPhase.FAILED, exit=Exit(1, finished=NOW - 10), held=until)
    return replace(first, phase=PodPhase.FAILED, exit=Exit(143, finished=NOW - 5)), failed


def build_ended(job: Job, phase: Phase = Phase.FAILED) -> Status:
    return build_status(job, phase, finished=NOW - 10)


@pytest.mark.parametrize(
    ("clean", "phase", "until", "gone"),
    [
        (CleanPods.ALWAYS, Phase.FAILED, HELD, ["worker-0-of-0"]),
        (CleanPods.ON_FAILURE, Phase.FAILED, HELD, ["worker-0-of-0"]),
        (CleanPods.ALWAYS, Phase.FAILED, NOW - 1, ["worker-0-of-0", "worker-1-of-0"]),
        (CleanPods.ALWAYS, Phase.FAILED, NOW, ["worker-0-of-0", "worker-1-of-0"]),
        (CleanPods.ALWAYS, Phase.FAILED, None, ["worker-0-of-0", "worker-1-of-0"]),
        (CleanPods.NEVER, Phase.FAILED, HELD, []),
        # of a job that has succeeded nothing is held
        (CleanPods.ALWAYS, Phase.COMPLETED, HELD, ["worker-0-of-0", "worker-1-of-0"]),
        (CleanPods.ON_COMPLETION, Phase.COMPLETED, HELD, ["worker-0-of-0", "worker-1-of-0"]),
        # a new attempt needs the names, and the pods of a suspended job are gone
        (CleanPods.ALWAYS, Phase.SUSPENDED, HELD, ["worker-0-of-0", "worker-1-of-0"]),
    ],
)
def test_clean_up_leaves_what_is_held(clean: CleanPods, phase: Phase, until: float | None, gone: list[str]) -> None:
    job = build_job(clean_pods=clean, suspend=phase is Phase.SUSPENDED)
    planned = plan(job, build_ended(job, phase), observe(job, build_world(job, until), services=()), NOW)
    assert [each for each in deleted(planned) if "-of-" in each] == gone


def test_a_restart_does_not_wait_for_it() -> None:
    """Its pods have the names that the new attempt needs."""
    for pod in build_world(build_job()):
        assert plan_fate(Situation.ACTIVE, Status(attempt=1), pod, NOW) is Fate.DELETE


def test_the_next_look_is_at_its_end() -> None:
    job = build_job(clean_pods=CleanPods.ALWAYS)
    world = observe(job, build_world(job)[1:], services=())
    assert plan(job, build_ended(job), world, NOW).requeue_after == 100
    assert plan(job, build_ended(job), world, HELD).requeue_after is None


@pytest.mark.parametrize("ttl", [0.0, 5.0, 300.0])
def test_the_time_to_live_waits_for_it(ttl: float) -> None:
    job = build_job(clean_pods=CleanPods.NEVER, ttl=ttl)
    world = observe(job, build_world(job), services=())
    planned = plan(job, build_ended(job), world, NOW)
    assert (deleted(planned), planned.requeue_after) == ([], 100)
    later = plan(job, build_ended(job), world, HELD)
    assert deleted(later) == (["job-uid"] if ttl < 110 else [])


def test_only_a_failed_job_holds_pods_of_its_attempt() -> None:
    job = build_job()
    pods = build_world(job)
    assert list_held(build_ended(job), pods, NOW) == [HELD]
    assert list_held(build_ended(job, Phase.COMPLETED), pods, NOW) == []
    assert list_held(replace(build_ended(job), attempt=1), pods, NOW) == []
    assert list_held(build_ended(job), pods, HELD) == []
