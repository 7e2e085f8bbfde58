"""The PodGroup of a job: what training-operator v1.9 writes, row by row, and what Kubernetes' own has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jobs.gangs import NOW, build_job, build_pods, build_status, build_torch_job, observe
from jobs.samples import read_any, read_manifest, read_sample
from paddock.jobs.actions import Create, Delete, Patch
from paddock.jobs.labels import POD_GROUP_ANNOTATION
from paddock.jobs.launch import Elastic, Launch
from paddock.jobs.model import Child, Elasticity, Job, Observed, Rank, Role, Scheduling, Settings, Status
from paddock.jobs.objects import pods
from paddock.jobs.objects.observation import read_observed
from paddock.jobs.objects.pod_groups import build_change, build_pod_group
from paddock.jobs.objects.schedulers import GANG_SCHEDULERS
from paddock.jobs.plan import plan
from paddock.jobs.policies.fitting import fit
from paddock.jobs.policies.spares import build_spare
from paddock.kube.meta import KUBERNETES_POD_GROUPS, POD_GROUPS, VOLCANO_POD_GROUPS, Key, Manifest, Resource
from paddock.kube.patches import merge_patch

OURS_OF_V1 = (VOLCANO_POD_GROUPS, POD_GROUPS)
ALL = (*OURS_OF_V1, KUBERNETES_POD_GROUPS)


def settings_of(resource: Resource) -> Settings:
    return Settings(pod_groups=resource, gang_scheduler=GANG_SCHEDULERS[resource])


def needing(role: Role, **requests: str) -> Role:
    container = {**role.template["spec"]["containers"][0], "resources": {"requests": requests}}
    return replace(role, template={"spec": {**role.template["spec"], "containers": [container]}})


def torch(masters: int = 1, workers: int = 3, **changes: Any) -> Job:
    """A Master that asks for one cpu, and workers that ask for two and a GPU."""
    job = build_torch_job(masters=masters, workers=workers, **changes)
    asked = {"master": {"cpu": "1"}, "worker": {"cpu": "2", "nvidia.com/gpu": "1"}}
    return replace(job, roles=tuple(needing(role, **asked[role.name]) for role in job.roles))


def spec_of(job: Job, resource: Resource = POD_GROUPS) -> Manifest:
    return dict(build_pod_group(job, resource)["spec"])


# What v1.9 writes (pkg/controller.v1/common, control/podgroup_control.go).


@pytest.mark.parametrize("resource", ALL)
def test_it_has_the_name_and_the_namespace_of_its_job_which_owns_it(resource: Resource) -> None:
    group = build_pod_group(build_job(), resource)
    assert (group["apiVersion"], group["kind"]) == (resource.api_version, "PodGroup")
    assert (group["metadata"]["name"], group["metadata"]["namespace"]) == ("demo", "team")
    (owner,) = group["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == ("job-uid", True)


@pytest.mark.parametrize("resource", ALL)
def test_it_has_the_annotations_of_its_job_and_not_its_labels(resource: Resource) -> None:
    notes = {"volcano.sh/preemptable": "true", "paddock.dev/halted": "x",
             "kubectl.kubernetes.io/last-applied-configuration": "{}"}  # fmt: skip
    metadata = build_pod_group(build_job(annotations=notes, labels={"team": "vision"}), resource)["metadata"]
    assert set(metadata["annotations"]) == {"volcano.sh/preemptable", POD_GROUP_ANNOTATION}
    assert metadata["labels"] == {"paddock.dev/job": "demo"}


@pytest.mark.parametrize(
    ("policy", "least"),
    [({}, 4), ({"min_available": 2}, 2), ({"min_available": 9}, 9)],
    ids=["all ranks", "minAvailable", "minAvailable, even of more than there are"],
)
def test_min_member_is_min_available_or_the_sum_of_replicas(policy: dict[str, int], least: int) -> None:
    job = torch(scheduling=Scheduling(**policy))
    assert [spec_of(job, each)["minMember"] for each in OURS_OF_V1] == [least, least]
    assert spec_of(job, KUBERNETES_POD_GROUPS)["schedulingPolicy"] == {"gang": {"minCount": least}}


@pytest.mark.parametrize(
    ("policy", "spec"),
    [
        ({}, {"queue": "default"}),
        ({"queue": "night"}, {"queue": "night"}),
        ({"priority_class": "high"}, {"queue": "default", "priorityClassName": "high"}),
        ({"schedule_timeout": 90}, {"queue": "default"}),
    ],
)
def test_volcanos_has_a_queue_and_a_priority_class(policy: dict[str, Any], spec: Manifest) -> None:
    assert spec_of(build_job(scheduling=Scheduling(**policy)), VOLCANO_POD_GROUPS) == {"minMember": 2} | spec


@pytest.mark.parametrize(
    ("policy", "spec"),
    [
        ({"queue": "night", "priority_class": "high"}, {}),
        ({"schedule_timeout": 90}, {"scheduleTimeoutSeconds": 90}),
        ({"schedule_timeout": 0}, {"scheduleTimeoutSeconds": 0}),
    ],
)
def test_that_of_the_scheduler_plugins_has_a_timeout_and_no_queue(policy: dict[str, Any], spec: Manifest) -> None:
    assert spec_of(build_job(scheduling=Scheduling(**policy))) == {"minMember": 2} | spec


MIN_RESOURCES: list[tuple[str, dict[str, Any], dict[str, str] | None]] = [
    ("all pods", {}, {"cpu": "7", "nvidia.com/gpu": "3"}),
    ("the first two: the Master and one worker", {"min_available": 2}, {"cpu": "3", "nvidia.com/gpu": "1"}),
    ("the first: the Master, and no amount of nothing", {"min_available": 1}, {"cpu": "1"}),
    ("no more than there are", {"min_available": 9}, {"cpu": "7", "nvidia.com/gpu": "3"}),
    ("what is said", {"min_resources": {"memory": "1Gi"}}, {"memory": "1Gi"}),
]


@pytest.mark.parametrize("resource", OURS_OF_V1)
@pytest.mark.parametrize(
    ("policy", "amounts"), [row[1:] for row in MIN_RESOURCES], ids=[row[0] for row in MIN_RESOURCES]
)
def test_min_resources_is_what_is_said_or_what_the_first_pods_ask_for(
    policy: dict[str, Any], amounts: dict[str, str] | None, resource: Resource
) -> None:
    assert spec_of(torch(scheduling=Scheduling(**policy)), resource)["minResources"] == amounts


def test_pods_that_ask_for_nothing_have_no_min_resources() -> None:
    assert "minResources" not in spec_of(build_job())


def test_unlike_v1_limits_count_beside_requests_and_so_does_the_largest_init_container() -> None:
    """As the API server and the scheduler count; v1.9 takes limits of containers without any request alone."""
    manifest = read_manifest("resnet")
    spec = manifest["spec"]["worker"]["template"]["spec"]
    spec["containers"][0]["resources"] = {"requests": {"cpu": "500m"}, "limits": {"cpu": 2, "nvidia.com/gpu": 1}}
    spec["initContainers"] = [{"name": "init", "image": "i", "resources": {"requests": {"cpu": "750m"}}}]
    assert spec_of(read_any(manifest))["minResources"] == {"cpu": "1500m", "nvidia.com/gpu": "2"}


def test_the_policy_is_read_in_both_api_groups() -> None:
    policy = {"minAvailable": 1, "queue": "q", "priorityClass": "high", "minResources": {"cpu": "1"}}
    spec = {"minMember": 1, "queue": "q", "priorityClassName": "high", "minResources": {"cpu": "1"}}
    assert spec_of(read_sample("resnet", schedulingPolicy=policy), VOLCANO_POD_GROUPS) == spec
    kubeflow = read_sample("kubeflow_distributed", runPolicy={"schedulingPolicy": policy})
    assert spec_of(kubeflow, VOLCANO_POD_GROUPS) == spec


LINKS: list[tuple[Resource, str, str, dict[str, str]]] = [
    (VOLCANO_POD_GROUPS, "volcano", "annotations",
     {"scheduling.k8s.io/group-name": "demo", "volcano.sh/task-spec": "worker"}),
    (POD_GROUPS, "scheduler-plugins-scheduler", "labels", {"scheduling.x-k8s.io/pod-group": "demo"}),
    (KUBERNETES_POD_GROUPS, "default-scheduler", "", {}),
]  # fmt: skip


@pytest.mark.parametrize(("resource", "scheduler", "where", "link"), LINKS)
def test_pods_name_their_group_and_its_scheduler(
    resource: Resource, scheduler: str, where: str, link: dict[str, str]
) -> None:
    pod = pods.build_pod(build_job(), Rank("worker", 0), 0, None, settings_of(resource))
    assert pod["spec"]["schedulerName"] == scheduler
    assert link.items() <= (pod["metadata"][where] if where else {}).items()
    grouped = {"podGroupName": "demo"} if resource == KUBERNETES_POD_GROUPS else None
    assert pod["spec"].get("schedulingGroup") == grouped


# Elastic: minMember follows the least size.


@pytest.mark.parametrize(
    ("job", "least", "amounts"),
    [
        (torch(elasticity=Elasticity("worker", 1, 3)), 2, {"cpu": "3", "nvidia.com/gpu": "1"}),
        (fit(torch(elasticity=Elasticity("worker", 1, 3)), 2), 2, {"cpu": "3", "nvidia.com/gpu": "1"}),
        (torch(launch=Launch(elastic=Elastic(1, 3))), 2, {"cpu": "3", "nvidia.com/gpu": "1"}),
        (torch(0, launch=Launch(elastic=Elastic(2, 3))), 2, {"cpu": "4", "nvidia.com/gpu": "2"}),
        (torch(launch=Launch(elastic=Elastic(8, 9))), 4, {"cpu": "7", "nvidia.com/gpu": "3"}),
    ],
    ids=[
        "a gang of one to three workers, and its Master",
        "the same, begun with two",
        "torchrun of one to three workers, and its Master",
        "torchrun without a Master",
        "torchrun never more than there are",
    ],
)
@pytest.mark.parametrize("resource", OURS_OF_V1)
def test_an_elastic_gang_asks_for_its_least_size(
    resource: Resource, job: Job, least: int, amounts: dict[str, str]
) -> None:
    assert (spec_of(job, resource)["minMember"], spec_of(job, resource)["minResources"]) == (least, amounts)
    assert spec_of(job, KUBERNETES_POD_GROUPS)["schedulingPolicy"]["gang"]["minCount"] == least


def test_elastic_jobs_of_both_kinds_of_torch_are_read_from_their_manifests() -> None:
    assert spec_of(read_sample("pytorch_elastic"))["minMember"] == 1
    paddle = read_sample("kubeflow_distributed", elasticPolicy={"minReplicas": 1, "maxReplicas": 2})
    assert spec_of(paddle)["minMember"] == 1


def test_a_smaller_gang_is_not_held_by_a_min_available_that_it_cannot_reach() -> None:
    job = torch(elasticity=Elasticity("worker", 1, 3), scheduling=Scheduling(min_available=4))
    assert (spec_of(job)["minMember"], spec_of(fit(job, 1))["minMember"]) == (4, 2)


@pytest.mark.parametrize("resource", ALL)
def test_a_spare_pod_belongs_to_the_group_that_has_its_least_already(resource: Resource) -> None:
    """So it is placed alone, whenever there is room, by the scheduler that places the gang."""
    job = fit(torch(elasticity=Elasticity("worker", 1, 3)), 2)
    spare = build_spare(job, Rank("worker", 2), 0, settings_of(resource), {})
    pod = pods.build_pod(job, Rank("worker", 0), 0, None, settings_of(resource))
    for name in ("schedulerName", "schedulingGroup"):
        assert spare["spec"].get(name) == pod["spec"].get(name)
    linked = ("scheduling.x-k8s.io/pod-group", "scheduling.k8s.io/group-name")
    for part in ("labels", "annotations"):
        found = [{name: each["metadata"][part].get(name) for name in linked} for each in (spare, pod)]
        assert found[0] == found[1]
    assert job.size >= spec_of(job).get("minMember", 0), "the gang that runs has the least size"


# Kubernetes' own.


def test_kubernetes_own_has_a_min_count_and_none_of_the_others_fields() -> None:
    job = torch(scheduling=Scheduling(queue="q", schedule_timeout=9, min_resources={"cpu": "1"}))
    assert spec_of(job, KUBERNETES_POD_GROUPS) == {"schedulingPolicy": {"gang": {"minCount": 4}}}


@pytest.mark.parametrize(
    ("policy", "templates", "group", "given"),
    [
        ("", ("", ""), None, ("", "")),
        ("high", ("", ""), "high", ("high", "high")),
        ("high", ("low", ""), "high", ("low", "high")),
        ("", ("low", "low"), "low", ("low", "low")),
        ("", ("low", "high"), None, ("low", "high")),
    ],
)
def test_its_priority_is_that_of_its_pods(
    policy: str, templates: tuple[str, str], group: str | None, given: tuple[str, str]
) -> None:
    """kube-scheduler places no gang of which one pod has another priority; what a template says stays."""
    job = torch(scheduling=Scheduling(priority_class=policy))
    roles = zip(job.roles, templates, strict=True)
    named = tuple(
        replace(role, template={"spec": role.template["spec"] | {"priorityClassName": name}} if name else role.template)
        for role, name in roles
    )
    job = replace(job, roles=named)
    assert spec_of(job, KUBERNETES_POD_GROUPS).get("priorityClassName") == group
    built = [
        pods.build_pod(job, Rank(role.name, 0), 0, None, settings_of(KUBERNETES_POD_GROUPS))["spec"]
        for role in job.roles
    ]
    assert tuple(each.get("priorityClassName", "") for each in built) == given


def test_a_template_with_a_scheduling_group_of_its_own_keeps_it_and_gets_no_other() -> None:
    job = build_job()
    template = {"spec": job.roles[0].template["spec"] | {"schedulingGroup": {"podGroupName": "mine"}}}
    job = replace(job, roles=(replace(job.roles[0], template=template),))
    planned = plan(job, Status(), Observed(), NOW, settings_of(KUBERNETES_POD_GROUPS))
    made = [action.manifest for action in planned.actions if isinstance(action, Create)]
    assert not [each for each in made if each["kind"] == "PodGroup"]
    groups = {each["spec"]["schedulingGroup"]["podGroupName"] for each in made if each["kind"] == "Pod"}
    assert groups == {"mine"}


# Changes.


class _One:
    """The view of a world that has one object besides the job."""

    def __init__(self, resource: Resource, manifest: Manifest) -> None:
        self._resource, self._manifest = resource, manifest

    def get(self, resource: Resource, key: Key) -> Manifest | None:
        return self._manifest if resource == self._resource and key == Key("team", "demo") else None

    def children(self, resource: Resource, owner: Resource, key: Key) -> list[Manifest]:
        return []


def observe_group(job: Job, resource: Resource, stored: Manifest) -> Child:
    stored = {**stored, "metadata": {**stored["metadata"], "uid": "group-uid"}}
    found = read_observed(job, 0, _One(resource, stored), pod_groups=resource).pod_group
    assert found is not None
    return found


def changed(before: Job, after: Job, resource: Resource, **foreign: Any) -> Manifest | None:
    """The spec of a PodGroup with foreign fields after the job was edited; None where nothing is sent."""
    stored = build_pod_group(before, resource)
    stored["spec"] |= foreign
    change = build_change(after, observe_group(after, resource, stored))
    if change is None:
        return None
    patched: Manifest = merge_patch(stored, change)
    again = build_change(after, observe_group(after, resource, patched))
    assert again is None, "a change that was made is not made again"
    return dict(patched["spec"])


FOREIGN = {"minTaskMember": {"worker": 2}, "networkTopology": {"mode": "hard"}}


@pytest.mark.parametrize("resource", OURS_OF_V1)
def test_a_resize_changes_its_size_and_its_amounts_and_keeps_what_others_wrote(resource: Resource) -> None:
    spec = changed(torch(), torch(workers=5), resource, **FOREIGN)
    assert spec is not None
    assert (spec["minMember"], spec["minResources"]) == (6, {"cpu": "11", "nvidia.com/gpu": "5"})
    assert FOREIGN.items() <= spec.items()


def test_a_resize_changes_the_min_count_of_kubernetes_own_and_nothing_that_may_not_change() -> None:
    before, after = (torch(workers=each, scheduling=Scheduling(priority_class="high")) for each in (3, 5))
    change = build_change(
        after, observe_group(after, KUBERNETES_POD_GROUPS, build_pod_group(before, KUBERNETES_POD_GROUPS))
    )
    assert change is not None and change["spec"] == {"schedulingPolicy": {"gang": {"minCount": 6}}}


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"min_resources": {"memory": "1Gi"}}, {"memory": "1Gi"}),
        ({"min_resources": {"cpu": "1"}, "priority_class": "high"}, {"cpu": "1"}),
    ],
)
def test_amounts_that_are_not_asked_for_any_more_go(policy: dict[str, Any], expected: dict[str, str]) -> None:
    spec = changed(torch(), torch(scheduling=Scheduling(**policy)), VOLCANO_POD_GROUPS)
    assert spec is not None and spec["minResources"] == expected
    assert spec.get("priorityClassName") == policy.get("priority_class")


def test_amounts_go_altogether_when_no_pod_asks_for_any() -> None:
    spec = changed(torch(), build_torch_job(masters=1, workers=3), POD_GROUPS)
    assert spec == {"minMember": 4}


def test_another_queue_is_that_of_the_next_group_as_in_v1() -> None:
    assert changed(build_job(), build_job(scheduling=Scheduling(queue="night")), VOLCANO_POD_GROUPS) is None


@pytest.mark.parametrize("resource", ALL)
def test_nothing_is_sent_where_nothing_has_changed_whatever_others_wrote(resource: Resource) -> None:
    assert changed(torch(), torch(), resource, **FOREIGN) is None


def test_a_size_that_somebody_else_wrote_is_set_right() -> None:
    spec = changed(torch(), torch(), POD_GROUPS, minMember=1)
    assert spec is not None and spec["minMember"] == 4


def test_one_of_an_older_paddock_is_changed_with_its_size_alone() -> None:
    group = Child(POD_GROUPS, "demo", "uid", members=4)
    assert build_change(torch(), group) is None
    assert build_change(torch(workers=4), group) is not None


@pytest.mark.parametrize(("owned", "deleted"), [(True, ["demo"]), (False, [])])
def test_that_of_a_job_without_replicas_goes_as_it_holds_quota(owned: bool, deleted: list[str]) -> None:
    job, group = build_job(workers=0), Child(VOLCANO_POD_GROUPS, "demo", "uid", owned=owned, members=4)
    planned = plan(job, Status(), replace(Observed(), pod_group=group), NOW, settings_of(VOLCANO_POD_GROUPS))
    assert [action.key.name for action in planned.actions if isinstance(action, Delete)] == deleted


def test_a_group_of_the_users_own_is_neither_changed_nor_deleted() -> None:
    job = build_job()
    theirs = Child(POD_GROUPS, "demo", "uid", owned=False, members=1)
    running = observe(job, build_pods(job), pod_group=theirs)
    planned = plan(job, build_status(job), running, NOW, settings_of(POD_GROUPS))
    assert not [action for action in planned.actions if isinstance(action, Patch)]


@pytest.mark.parametrize("seen", [{}, {"schedulingPolicy": {}}, {"schedulingPolicy": "x"}, {"minMember": "many"}])
def test_a_size_that_cannot_be_read_is_written_when_the_job_is_edited_and_not_before(seen: Manifest) -> None:
    group = observe_group(torch(), POD_GROUPS, build_pod_group(torch(), POD_GROUPS) | {"spec": seen})
    assert build_change(torch(), group) is None
    assert build_change(torch(workers=9), group) is not None
