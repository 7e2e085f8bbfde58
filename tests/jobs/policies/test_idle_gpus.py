"""When the GPUs of a job are idle, and what is said and done then. Only what is known counts."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.jobs.apis.registry import KINDS, PADDLEPADDLE
from paddock.jobs.labels import IDLE_ANNOTATION, IDLE_SUSPENDED_ANNOTATION, QUEUE_LABEL
from paddock.jobs.model import IdleLimit, Job, OnIdle, Phase, Pod, PodPhase, Rank, Status
from paddock.jobs.policies.idle_gpus import (
    IDLE_PERCENT,
    build_suspension,
    explain_idle,
    find_watched,
    follow,
    has_gpus,
    measure_idle,
    read_suspension,
)
from paddock.jobs.policies.suspend import explain_suspension, plan_suspension
from paddock.kube.gpu_shares import GPU
from paddock.kube.meta import Key

RUNNING = Status(phase=Phase.RUNNING, attempt=2)


def build_job(idle: str = "1h=Suspend", *, ps: int = 0, gpus: str = "4", suspend: bool = False, **labels: str) -> Job:
    worker: dict[str, Any] = {"name": "w", "image": "x", "resources": {"limits": {GPU: gpus}} if gpus else {}}
    spec: dict[str, Any] = {
        "worker": {"replicas": 2, "template": {"spec": {"containers": [worker]}}},
        "runPolicy": {"suspend": suspend},
    }
    if ps:
        spec["ps"] = {"replicas": ps, "template": {"spec": {"containers": [{"name": "p", "image": "x"}]}}}
    kind = PADDLEPADDLE.resource
    return KINDS[kind].read_job({
        "apiVersion": kind.api_version, "kind": kind.kind, "spec": spec,
        "metadata": {"name": "demo", "namespace": "team", "uid": "u", "labels": labels,
                     "annotations": {IDLE_ANNOTATION: idle} if idle else {}},
    })  # fmt: skip


def pod(rank: str, phase: PodPhase = PodPhase.RUNNING) -> Pod:
    role, _, index = rank.partition("-")
    return Pod(f"demo-{rank}", f"uid-{rank}", Rank(role, int(index)), 2, phase)


GANG = (pod("worker-0"), pod("worker-1"))


def test_the_pods_with_gpus_of_a_gang_that_runs_are_watched() -> None:
    watched = find_watched(build_job(ps=1), RUNNING, (*GANG, pod("ps-0")))
    assert watched is not None
    assert (watched.attempt, watched.limit) == (2, IdleLimit(3600, OnIdle.SUSPEND))
    assert watched.pods == {
        "uid-worker-0": Key("team", "demo-worker-0"),
        "uid-worker-1": Key("team", "demo-worker-1"),
    }


@pytest.mark.parametrize(
    ("job", "status", "gang"),
    [
        (build_job(""), RUNNING, GANG),
        (build_job(), Status(phase=Phase.STARTING), GANG),
        (build_job(), Status(phase=Phase.SUSPENDED), ()),
        (build_job(), RUNNING, (pod("worker-0"), pod("worker-1", PodPhase.PENDING))),
    ],
)
def test_no_other_job_is(job: Job, status: Status, gang: tuple[Pod, ...]) -> None:
    assert find_watched(job, status, gang) is None


def test_a_rank_that_has_ended_has_no_gpu_any_more() -> None:
    watched = find_watched(build_job(), RUNNING, (pod("worker-0"), pod("worker-1", PodPhase.SUCCEEDED)))
    assert watched is not None and list(watched.pods) == ["uid-worker-0"]


@pytest.mark.parametrize(
    ("template", "has"),
    [
        ({"spec": {"containers": [{"resources": {"limits": {GPU: "1"}}}]}}, True),
        ({"spec": {"containers": [{"resources": {"limits": {"amd.com/gpu": 1}}}]}}, True),
        ({"spec": {"containers": [{"resources": {"requests": {"cpu": "8"}}}]}}, False),
        ({"spec": {"containers": [{"resources": {"limits": {GPU: "0"}}}]}}, False),
        ({"spec": {"containers": [{"resources": {"limits": {GPU: "what"}}}]}}, False),
        ({}, False),
    ],
)
def test_who_asks_for_a_gpu(template: Any, has: bool) -> None:
    assert has_gpus(template) is has


STEPS = st.lists(
    st.dictionaries(
        st.sampled_from(["uid-worker-0", "uid-worker-1"]), st.sampled_from([0.0, 1.0, 2.0, 100.0, math.nan])
    )
)


@given(STEPS)
def test_a_gang_is_idle_for_as_long_as_all_of_it_was_known_to_be_at_each_look(looks: list[dict[str, float]]) -> None:
    watched = find_watched(build_job(), RUNNING, GANG)
    assert watched is not None
    since: dict[str, float] = {}
    for number, percents in enumerate(looks):
        since = follow(since, percents, watched.pods, float(number))
    idle = measure_idle(watched, since, float(len(looks)))
    known = [all(each.get(uid, math.nan) <= IDLE_PERCENT for uid in watched.pods) for each in looks]
    if not known or not known[-1]:
        assert idle is None
        return
    run = next((count for count, good in enumerate(reversed(known)) if not good), len(known))
    assert idle == run


def test_a_job_without_gpus_is_never_idle() -> None:
    watched = find_watched(build_job(gpus=""), RUNNING, GANG)
    assert watched is not None and not watched.pods
    assert measure_idle(watched, {}, 1e9) is None


def test_the_suspension_says_which_attempt_it_was_and_a_later_one_is_another_s() -> None:
    watched = find_watched(build_job(), RUNNING, GANG)
    assert watched is not None
    patch = build_suspension(watched)
    assert patch["metadata"]["uid"] == "u" and patch["spec"] == {"runPolicy": {"suspend": True}}
    annotations = patch["metadata"]["annotations"]
    assert json.loads(annotations[IDLE_SUSPENDED_ANNOTATION]) == {"attempt": 2, "seconds": 3600}
    assert (read_suspension(annotations, 2), read_suspension(annotations, 3)) == (3600, None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "[]",
        "3",
        "null",
        '{"attempt": 2}',
        '{"attempt": 2, "seconds": "x"}',
        '{"attempt": 2, "seconds": 1e999}',
    ],
)
def test_what_another_program_wrote_is_no_reason(text: str) -> None:
    assert read_suspension({IDLE_SUSPENDED_ANNOTATION: text}, 2) is None


def test_the_cause_of_the_suspension_is_recorded_and_that_of_a_person_afterwards_is_none_of_it() -> None:
    job = build_job(suspend=True)
    job = replace(job, annotations={IDLE_SUSPENDED_ANNOTATION: '{"attempt": 2, "seconds": 3600}'})
    verdict = plan_suspension(job, RUNNING)
    assert verdict is not None and verdict.phase is Phase.SUSPENDED
    assert verdict.cause.record(0.0).reason == "SuspendedIdle"
    assert verdict.cause.record(0.0).args == {"seconds": 3600}
    assert explain_suspension(job, replace(RUNNING, attempt=3)).record(0.0).reason == "Suspended"


def test_a_job_of_kueue_is_told_of_and_not_suspended() -> None:
    watched = find_watched(build_job(**{QUEUE_LABEL: "team"}), RUNNING, GANG)
    assert watched is not None and watched.does is OnIdle.TELL
    assert explain_idle(watched, 3600) == (
        "the GPUs of demo-worker-0, demo-worker-1 have done nothing for 60m, and nobody else can have them; the job is "
        "not suspended, as Kueue would begin it again"
    )
