from __future__ import annotations

import pytest

from jobs.gangs import build_job, build_status
from paddock.jobs.model import CleanPods, Phase
from paddock.jobs.policies.fates import Situation, read_situation

CLEANED = {
    (Phase.COMPLETED, CleanPods.ALWAYS),
    (Phase.COMPLETED, CleanPods.ON_COMPLETION),
    (Phase.FAILED, CleanPods.ALWAYS),
    (Phase.FAILED, CleanPods.ON_FAILURE),
}


@pytest.mark.parametrize("policy", list(CleanPods))
@pytest.mark.parametrize("phase", [Phase.COMPLETED, Phase.FAILED])
def test_which_end_cleans_up(phase: Phase, policy: CleanPods) -> None:
    job = build_job(clean_pods=policy)
    situation = read_situation(job, build_status(job, phase))
    assert ("cleaned up" in situation.value) == ((phase, policy) in CLEANED)
    assert situation.value.startswith(phase.value.lower())


def test_an_unfinished_job_is_active_unless_it_is_suspended_or_deleted() -> None:
    job = build_job()
    for phase in (Phase.NONE, Phase.PENDING, Phase.STARTING, Phase.RUNNING, Phase.RESTARTING):
        assert read_situation(job, build_status(job, phase)) is Situation.ACTIVE
    assert read_situation(job, build_status(job, Phase.SUSPENDED)) is Situation.SUSPENDED
    assert read_situation(build_job(deleting=True), build_status(job)) is Situation.TERMINATING
