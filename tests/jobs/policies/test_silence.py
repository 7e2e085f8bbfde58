"""A scheduler that says nothing of its pods may not be installed: told once, after a while, and taken back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from jobs.gangs import NOW, build_job, build_status, observe, reason, with_pod
from paddock.jobs.causes import SchedulerSilent
from paddock.jobs.model import Child, Phase, Pod, PodPhase, Refusal, Settings
from paddock.jobs.plan import plan
from paddock.jobs.policies.silence import Silence, plan_silence
from paddock.kube.meta import POD_GROUPS, VOLCANO_POD_GROUPS, Resource

JOB = build_job(ps=1, workers=2)
SETTINGS = Settings()
SILENT = SchedulerSilent("volcano", 3, 3, 60)


def pods_of(age: float, scheduler: str = "volcano", **changes: Any) -> tuple[Pod, ...]:
    """Created so many seconds ago, and touched by nobody since."""
    return tuple(
        Pod(f"demo-{rank}", f"uid-{rank}", rank, 0, scheduler=scheduler, created=NOW - age, **changes)
        for rank in JOB.ranks()
    )


def group(resource: Resource, phase: str) -> Child:
    return Child(resource, "demo", "group", members=3, phase=phase)


def one(**changes: Any) -> Callable[[Pod], Pod]:
    return lambda pod: replace(pod, **changes)


ROWS: list[tuple[str, Sequence[Pod], Child | None, Silence]] = [
    ("after a minute it is told", pods_of(60), None, Silence(SILENT)),
    ("and for ever", pods_of(86_400), None, Silence(SILENT)),
    ("before, when to look again", pods_of(59), None, Silence(left=1.0)),
    ("Kubernetes' own scheduler is not doubted", pods_of(99, "default-scheduler"), None, Silence()),
    ("nor is one without a name", pods_of(99, ""), None, Silence()),
    ("it has said why not", pods_of(99, looked_at=True), None, Silence()),
    ("it has placed them", pods_of(99, node="n1"), None, Silence()),
    ("they run", pods_of(99, phase=PodPhase.RUNNING), None, Silence()),
    ("they go", pods_of(99, deleting=True), None, Silence()),
    ("it has looked at one, so it is there", with_pod(pods_of(99), "worker-1", one(looked_at=True)), None, Silence()),
    ("it has placed one", with_pod(pods_of(99), "ps-0", one(node="n1")), None, Silence()),
    (
        "one is younger",
        with_pod(pods_of(99), "worker-1", one(created=NOW - 20)),
        None,
        Silence(SchedulerSilent("volcano", 2, 3, 60), 40.0),
    ),
    (
        "two are missing: the first rank's is told",
        with_pod(pods_of(99), "ps-0", one(scheduler="theirs")),
        None,
        Silence(SchedulerSilent("theirs", 1, 3, 60)),
    ),
    ("Volcano holds them in a queue", pods_of(99), group(VOLCANO_POD_GROUPS, "Pending"), Silence()),
    ("nobody has looked at Volcano's PodGroup either", pods_of(99), group(VOLCANO_POD_GROUPS, ""), Silence(SILENT)),
    ("a controller writes that of the plugins", pods_of(99), group(POD_GROUPS, "Pending"), Silence(SILENT)),
    (
        "who writes why the gang has no room is there",
        pods_of(99),
        replace(group(POD_GROUPS, "Pending"), message="queue is full"),
        Silence(),
    ),
    ("no moment is known", tuple(map(one(created=None), pods_of(99))), None, Silence()),
    ("there are no pods", (), None, Silence()),
]


@pytest.mark.parametrize(("pods", "pod_group", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_silence(pods: Sequence[Pod], pod_group: Child | None, expected: Silence) -> None:
    assert plan_silence(pods, JOB.size, pod_group, NOW, SETTINGS) == expected


def test_a_plan_comes_back_when_the_wait_is_over_and_then_tells_it_once() -> None:
    status = build_status(JOB, Phase.PENDING)
    early = plan(JOB, status, observe(JOB, pods_of(10), config_maps=()), NOW)
    assert (reason(early), early.requeue_after) == ("WaitingForAddresses", 50.0)
    late = plan(JOB, early.status, observe(JOB, pods_of(60), config_maps=()), NOW + 50)
    assert (reason(late), late.requeue_after) == ("SchedulerSilent", None)
    after = plan(JOB, late.status, observe(JOB, pods_of(600), config_maps=()), NOW + 590)
    assert after.status == late.status, "nothing is written while nothing changes"
    heard = plan(JOB, after.status, observe(JOB, pods_of(601, looked_at=True), config_maps=()), NOW + 591)
    assert reason(heard) == "WaitingForAddresses"


def test_what_the_api_server_refuses_is_told_first() -> None:
    refused = Refusal(("Pod demo-worker-1",), "exceeded quota")
    observed = observe(JOB, pods_of(99)[:-1], config_maps=(), refused=refused)
    assert reason(plan(JOB, build_status(JOB, Phase.PENDING), observed, NOW)) == "ObjectsRefused"
