"""Nothing of a former job of the same name is believed, and its pods are waited for: they hold devices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jobs.gangs import (
    NOW,
    build_job,
    build_pods,
    build_services,
    build_status,
    created,
    deleted,
    gone,
    observe,
    with_pod,
)
from jobs.test_observation import child
from jobs.test_observation import observe as read
from paddock.jobs.actions import Create, Delete
from paddock.jobs.labels import CONFIG_MAP_ANNOTATION, POD_GROUP_ANNOTATION, PORT_ANNOTATION, WOKEN_ANNOTATION
from paddock.jobs.model import (
    Child,
    NodeCondition,
    NodeState,
    Observed,
    Phase,
    Pod,
    Rank,
    Settings,
    Status,
)  # fmt: skip
from paddock.jobs.names import former_config_map_name
from paddock.jobs.objects.pods import build_pod
from paddock.jobs.plan import plan
from paddock.jobs.policies.lost import FORCE_AFTER
from paddock.jobs.sentences.explain import explain
from paddock.kube.meta import POD_GROUPS, PODS, Key, Manifest, annotations_of

JOB = build_job(ps=0, workers=2)
GANGS = Settings(pod_groups=POD_GROUPS)


def left(rank: str = "ps-0", **changes: Any) -> Pod:
    role, _, index = rank.partition("-")
    return Pod(f"demo-{rank}", f"former-{rank}", Rank(role, int(index)), 3, node="n1", **changes)


def test_pods_of_a_former_job_that_the_new_one_has_no_names_for_are_ended_and_waited_for() -> None:
    waits = plan(JOB, Status(), Observed(former=(left(), left("worker-7", deleting=True))), NOW)
    ended = Delete(PODS, Key("team", "demo-ps-0"), "former-ps-0", former=True)
    assert waits.actions == (ended,), "and no other is created"
    assert waits.status.cause is not None
    assert explain(waits.status.cause) == (
        "waiting for what is left of the former job of this name to go: Pod demo-ps-0 and Pod demo-worker-7"
    )
    assert waits.requeue_after is not None
    assert "Pod demo-worker-0" in created(plan(JOB, waits.status, Observed(), NOW))


def test_a_job_that_lacks_nothing_does_not_look_at_former_pods() -> None:
    planned = plan(JOB, build_status(JOB), observe(JOB, former=(left(),)), NOW)
    assert planned.actions == ()
    assert planned.status == build_status(JOB)


@pytest.mark.parametrize("state", [NodeState.SILENT, NodeState.GONE, NodeState.NOT_READY])
def test_pods_of_a_former_job_on_a_lost_node_are_forced_by_the_rule_of_ones_own(state: NodeState) -> None:
    late = left(deleting=True, gone_by=NOW - FORCE_AFTER - 1)
    seen = Observed(former=(late,), nodes={"n1": NodeCondition(state, NOW - 3600)})
    planned = plan(JOB, Status(), seen, NOW)
    forced = (Delete(PODS, Key("team", late.name), late.uid, grace=0, former=True),)
    assert planned.actions == (() if state is NodeState.NOT_READY else forced)
    assert planned.status.cause is not None
    assert "n1" in explain(planned.status.cause), "the node is named"


def test_the_pods_of_a_job_that_is_being_deleted_are_forced_too() -> None:
    """In the foreground the job stays until they are gone."""
    late = (replace(pod, deleting=True, gone_by=NOW - FORCE_AFTER - 1) for pod in build_pods(JOB))
    seen = observe(JOB, late, nodes={"laptop": NodeCondition(NodeState.GONE)})
    planned = plan(replace(JOB, deleting=True), build_status(JOB, Phase.TERMINATING), seen, NOW)
    assert [action.grace for action in planned.actions if isinstance(action, Delete)] == [0, 0]


OTHER_KIND = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "demo", "uid": "x", "controller": True}
MADE_BY_US = {"annotations": {POD_GROUP_ANNOTATION: "hash"}}


@pytest.mark.parametrize(
    ("group", "used", "former"),
    [
        (child("demo"), True, False),
        (child("demo", owner=""), True, False),  # a user's own, as in Volcano's documents
        (child("demo", **MADE_BY_US), True, False),
        (child("demo", owner="", **MADE_BY_US), False, False),  # orphaned, or stripped of its owner
        (child("demo", owner="the demo before", **MADE_BY_US), False, True),
        (child("demo", owner="the demo before"), False, True),
        (child("demo", ownerReferences=[OTHER_KIND]), False, False),  # of a living job of another kind
    ],
)
def test_a_pod_group_of_somebody_else_places_no_gang(group: Manifest, used: bool, former: bool) -> None:
    observed = read((POD_GROUPS, {**group, "spec": {"minMember": 8}}))
    assert (observed.pod_group is not None) is used
    assert [found.former for found in observed.foreign] == ([] if used else [former])


def in_the_way(former: bool) -> Observed:
    return Observed(foreign=(Child(POD_GROUPS, "demo", "u", owned=False, former=former),))


def test_a_leftover_pod_group_is_named_with_the_command_that_removes_it() -> None:
    planned = plan(JOB, Status(), in_the_way(former=False), NOW, GANGS)
    assert planned.actions == ()
    assert planned.status.cause is not None
    said = explain(planned.status.cause)
    assert said.endswith(": kubectl delete -n team podgroups.scheduling.x-k8s.io/demo"), said


def test_a_pod_group_of_a_former_job_is_deleted() -> None:
    planned = plan(JOB, Status(), in_the_way(former=True), NOW, GANGS)
    assert deleted(planned) == ["u"]
    assert not created(planned)


def test_a_gang_that_runs_is_not_held_up_by_a_pod_group_that_has_lost_its_owner() -> None:
    seen = observe(JOB, foreign=in_the_way(former=False).foreign)
    planned = plan(JOB, build_status(JOB), seen, NOW, GANGS)
    assert (planned.actions, planned.status) == ((), build_status(JOB))


@pytest.mark.parametrize("carried", ["", "demo-of-then"])
def test_half_a_gang_is_completed_with_the_config_map_that_its_pods_name(carried: str) -> None:
    """Those of paddle-operator, and of an earlier Paddock, do not say it: they have its names of then."""
    name = carried or former_config_map_name(JOB, 0)
    pods = tuple(replace(pod, config_map=carried) for pod in build_pods(JOB))
    half = with_pod(pods, "worker-1", gone)
    planned = plan(JOB, build_status(JOB, Phase.PENDING), observe(JOB, half, config_maps=()), NOW)
    (made,) = (action.manifest for action in planned.actions if isinstance(action, Create))
    assert made["spec"]["containers"][0]["envFrom"] == [{"configMapRef": {"name": name}}]
    assert annotations_of(made)[CONFIG_MAP_ANNOTATION] == name
    whole = plan(JOB, build_status(JOB, Phase.PENDING), observe(JOB, pods, config_maps=()), NOW)
    assert created(whole) == [f"ConfigMap {name}"]


def test_a_template_says_nothing_of_what_an_operator_decides() -> None:
    """Two values of the port made new attempts without end, and pods with the other were never woken."""
    written = dict.fromkeys((PORT_ANNOTATION, WOKEN_ANNOTATION, CONFIG_MAP_ANNOTATION), "1")
    (role,) = JOB.roles
    template = {**role.template, "metadata": {"annotations": {**written, "mine": "kept"}}}
    job = replace(JOB, roles=(replace(role, template=template),))
    made = annotations_of(build_pod(job, Rank("worker", 0), 0, None, Settings()))
    assert (made.get(PORT_ANNOTATION), made.get(WOKEN_ANNOTATION)) == (None, None)
    assert made["mine"] == "kept"


def test_services_of_former_ranks_are_no_reason_to_wait() -> None:
    assert created(plan(JOB, Status(), Observed(services=build_services(JOB)), NOW))


def test_a_job_whose_pods_another_scheduler_places_is_in_no_pod_groups_way() -> None:
    """It makes none: somebody else's of its name is his own business."""
    role = JOB.roles[0]
    template = {**role.template, "spec": {**role.template["spec"], "schedulerName": "default-scheduler"}}
    job = replace(JOB, roles=(replace(role, template=template),))
    settings = Settings(pod_groups=POD_GROUPS, gang_scheduler="scheduler-plugins-scheduler")
    planned = plan(job, Status(), in_the_way(former=False), NOW, settings)
    assert "Pod demo-worker-0" in created(planned)
