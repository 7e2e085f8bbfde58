"""The HorizontalPodAutoscaler of an elastic job with metrics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jobs.gangs import NOW, build_pods, build_services, build_status, build_torch_job, created, deleted
from paddock.jobs.actions import Patch, Plan
from paddock.jobs.launch import Elastic, Launch
from paddock.jobs.model import Child, Job, Observed, Phase, Policies, Settings, Status
from paddock.jobs.objects.children import build_autoscaler
from paddock.jobs.plan import plan
from paddock.jobs.policies.autoscaler import explain_none
from paddock.kube.meta import AUTOSCALERS, annotations_of

CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
SCALED = build_torch_job(masters=0, one_decides=True, launch=Launch("auto", Elastic(1, 4, metrics=(CPU,))))
UNSCALED = replace(SCALED, launch=Launch("auto", Elastic(1, 4)))
SETTINGS = Settings(autoscalers=AUTOSCALERS)


def scaler_of(job: Job, **changes: Any) -> Child:
    asked = next(iter(annotations_of(build_autoscaler(job, AUTOSCALERS)).values()))
    return replace(Child(AUTOSCALERS, "demo", "scaler", asked=asked), **changes)


def look(job: Job, scaler: Child | None, status: Status | None = None, settings: Settings = SETTINGS) -> Plan:
    observed = Observed(pods=build_pods(job), services=build_services(job), autoscaler=scaler)
    return plan(job, status or build_status(job), observed, NOW, settings)


def test_it_is_training_operators() -> None:
    made = build_autoscaler(SCALED, AUTOSCALERS)
    assert (made["apiVersion"], made["kind"], made["metadata"]["name"]) == (
        "autoscaling/v2", "HorizontalPodAutoscaler", "demo",
    )  # fmt: skip
    assert [each["uid"] for each in made["metadata"]["ownerReferences"]] == ["job-uid"]
    assert made["spec"] == {
        "scaleTargetRef": {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "demo"},
        "minReplicas": 1,
        "maxReplicas": 4,
        "metrics": [CPU],
    }


def test_an_elastic_job_with_metrics_gets_one_and_no_other_job() -> None:
    assert created(look(SCALED, None)) == ["HorizontalPodAutoscaler demo"]
    for job in (UNSCALED, build_torch_job()):
        assert look(job, None).actions == ()


def test_none_is_made_where_none_is_served() -> None:
    assert look(SCALED, None, settings=Settings()).actions == ()


@pytest.mark.parametrize(
    ("job", "phase", "refused", "told"),
    [
        (SCALED, Phase.PENDING, "it is forbidden", True),
        (SCALED, Phase.RUNNING, "it is forbidden", True),
        (SCALED, Phase.RUNNING, "", False),
        (UNSCALED, Phase.RUNNING, "it is forbidden", False),
        (build_torch_job(), Phase.RUNNING, "it is forbidden", False),
        (SCALED, Phase.SUSPENDED, "it is forbidden", False),
        (SCALED, Phase.COMPLETED, "it is forbidden", False),
        (SCALED, Phase.FAILED, "it is forbidden", False),
    ],
)
def test_a_job_that_asks_for_one_where_they_are_refused_is_told_why(
    job: Job, phase: Phase, refused: str, *, told: bool
) -> None:
    note = explain_none(job, build_status(job, phase), refused)
    assert (note is not None) == told
    if note is not None:
        assert (note.reason, note.type) == ("NoAutoscaler", "Warning")
        assert note.message == (
            "no HorizontalPodAutoscaler is made for elasticPolicy.metrics, and the number of workers stays as it is: "
            "it is forbidden"
        )


def test_one_that_is_as_asked_for_is_left_alone() -> None:
    assert look(SCALED, scaler_of(SCALED)).actions == ()


def test_an_edit_reaches_it() -> None:
    edited = replace(SCALED, launch=Launch("auto", Elastic(2, 8, metrics=(CPU,))))
    (patch,) = look(edited, scaler_of(SCALED)).actions
    assert isinstance(patch, Patch)
    assert (patch.uid, patch.patch["spec"]["minReplicas"], patch.patch["spec"]["maxReplicas"]) == ("scaler", 2, 8)
    taken_over = look(SCALED, scaler_of(SCALED, asked=""))
    assert [type(action) for action in taken_over.actions] == [Patch], "training-operator's has no hash yet"


@pytest.mark.parametrize(
    ("job", "status"),
    [
        (UNSCALED, build_status(UNSCALED)),
        (replace(SCALED, launch=Launch()), build_status(SCALED)),
        (replace(SCALED, policies=Policies(suspend=True)), build_status(SCALED, Phase.SUSPENDED)),
        (SCALED, build_status(SCALED, Phase.COMPLETED, finished=NOW)),
        (SCALED, build_status(SCALED, Phase.FAILED, finished=NOW)),
    ],
    ids=["its metrics are taken away", "its elasticPolicy is", "it is suspended", "it has succeeded", "it has failed"],
)
def test_it_goes_when(job: Job, status: Status) -> None:
    assert "scaler" in deleted(look(job, scaler_of(SCALED), status))
    assert "scaler" not in deleted(look(job, scaler_of(SCALED, deleting=True), status))
    assert "scaler" not in deleted(look(job, scaler_of(SCALED, owned=False), status)), "somebody else's stays"


def test_what_it_scales_takes_more_ranks_into_the_attempt() -> None:
    """`kubectl scale` and an autoscaler write `Worker.replicas`; torchrun forms the group anew."""
    bigger = replace(SCALED, roles=tuple(replace(role, replicas=4) for role in SCALED.roles))
    observed = Observed(pods=build_pods(SCALED), services=build_services(SCALED), autoscaler=scaler_of(SCALED))
    found = plan(bigger, build_status(SCALED), observed, NOW, SETTINGS)
    assert (created(found)[-1], found.status.attempt, found.status.restarts) == ("Pod demo-worker-3", 0, 0)
