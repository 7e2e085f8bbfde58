"""Which scheduler places a job's pods, and which jobs have a PodGroup."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jobs.gangs import build_job, created, observe
from jobs.samples import read_sample
from paddock.jobs.model import Job, Rank, Role, Settings, Status
from paddock.jobs.objects import pods
from paddock.jobs.objects.schedulers import explain_versions, find_pod_groups
from paddock.jobs.plan import plan
from paddock.kube.meta import KUBERNETES_POD_GROUPS, POD_GROUPS, VOLCANO_POD_GROUPS, Manifest

NONE = Settings()
VOLCANO = Settings(pod_groups=VOLCANO_POD_GROUPS, gang_scheduler="volcano")
PLUGINS = Settings(pod_groups=POD_GROUPS, gang_scheduler="scheduler-plugins-scheduler")
KUBERNETES = Settings(pod_groups=KUBERNETES_POD_GROUPS, gang_scheduler="default-scheduler")
OWN_NAME = Settings(pod_groups=POD_GROUPS, gang_scheduler="gangs")
LAPTOP = Settings(pod_groups=POD_GROUPS, shared_network=True)


def job_naming(*names: str) -> Job:
    """A job whose servers and workers name these schedulers; one name is that of both."""
    job = build_job(ps=1, workers=1)
    both = names * 2 if len(names) == 1 else names
    return replace(job, roles=tuple(map(_naming, job.roles, both)))


def _naming(role: Role, name: str) -> Role:
    spec: dict[str, Any] = dict(role.template["spec"])
    return replace(role, template={"spec": spec | ({"schedulerName": name} if name else {})})


def build(job: Job, settings: Settings, role: str = "worker") -> Manifest:
    return pods.build_pod(job, Rank(role, 0), 0, None, settings)


ROWS: list[tuple[str, Settings, tuple[str, ...], str | None, bool, str]] = [
    ("no gang is asked for", NONE, ("",), None, False, ""),
    ("Volcano takes pods that name none", VOLCANO, ("",), "volcano", True, "annotation"),
    ("Volcano takes pods that name it", VOLCANO, ("volcano",), "volcano", True, "annotation"),
    ("named by the workers alone it has the servers too", VOLCANO, ("", "volcano"), "volcano", True, "annotation"),
    ("the scheduler-plugins' take pods that name none", PLUGINS, ("",), "scheduler-plugins-scheduler", True, "label"),
    ("with its own name", OWN_NAME, ("",), "gangs", True, "label"),
    ("with its own name, written", OWN_NAME, ("gangs",), "gangs", True, "label"),
    ("the default scheduler is a choice of no gang", VOLCANO, ("default-scheduler",), "default-scheduler", False, ""),
    ("and with scheduler-plugins", PLUGINS, ("default-scheduler",), "default-scheduler", False, ""),
    ("another scheduler places no gang", PLUGINS, ("theirs",), "theirs", False, ""),
    ("Volcano beside scheduler-plugins", PLUGINS, ("volcano",), "volcano", False, ""),
    ("Volcano under another name than the operator's", OWN_NAME, ("volcano",), "volcano", False, ""),
    ("one role elsewhere: no gang, and the other role as it is", PLUGINS, ("theirs", ""), None, False, ""),
    ("on a laptop every name is the gang's", LAPTOP, ("theirs",), "theirs", True, "label"),
    ("on a laptop the default's too", LAPTOP, ("default-scheduler",), "default-scheduler", True, "label"),
    ("without the flag Volcano's own users get its annotations", NONE, ("", "volcano"), "volcano", False, "annotation"),
]


@pytest.mark.parametrize(
    ("settings", "names", "scheduler", "group", "mark"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_who_places_a_job(
    settings: Settings, names: tuple[str, ...], scheduler: str | None, group: bool, mark: str
) -> None:
    job = job_naming(*names)
    pod = build(job, settings)
    assert pod["spec"].get("schedulerName") == scheduler
    assert (find_pod_groups(job, settings) is not None) is group
    planned = created(plan(job, Status(), observe(job, (), services=(), config_maps=()), 0.0, settings))
    assert ("PodGroup demo" in planned) is group
    labels, annotations = pod["metadata"]["labels"], pod["metadata"]["annotations"]
    assert ("scheduling.x-k8s.io/pod-group" in labels) is (mark == "label")
    assert ("scheduling.k8s.io/group-name" in annotations) is (mark == "annotation")
    assert any(key.startswith("volcano.sh/") for key in annotations) is (mark == "annotation")


@pytest.mark.parametrize(
    ("name", "policy"),
    [("resnet", {"schedulingPolicy": {"scheduleTimeoutSeconds": 90}}),
     ("kubeflow_distributed", {"runPolicy": {"schedulingPolicy": {"scheduleTimeoutSeconds": 90}}})],
)  # fmt: skip
def test_the_timeout_is_read_in_both_api_groups(name: str, policy: dict[str, Any]) -> None:
    assert read_sample(name, **policy).scheduling.schedule_timeout == 90


@pytest.mark.parametrize(
    ("served", "said"),
    [
        (("v1beta1",), ""),
        (("v1", "v1beta1", "v1alpha3"), ""),
        ((), "in no version"),
        (("v1alpha1",), "in v1alpha1, and Paddock knows v1beta1"),
        (("v1", "v1alpha2"), "in v1, v1alpha2, and Paddock knows v1beta1"),
    ],
)
def test_only_the_shape_that_is_known_is_written(served: tuple[str, ...], said: str) -> None:
    found = explain_versions(served)
    assert (said in found) if said else not found


@pytest.mark.parametrize(
    ("settings", "names", "others"),
    [
        (VOLCANO, ("default-scheduler", ""), ("default-scheduler",)),
        (VOLCANO, ("volcano", ""), ()),
        (PLUGINS, ("b", "a"), ("a", "b")),
        (KUBERNETES, ("default-scheduler", ""), ()),
        (KUBERNETES, ("volcano", ""), ("volcano",)),
        (NONE, ("volcano", ""), ()),
        (LAPTOP, ("volcano", ""), ()),
    ],
)
def test_schedulers_that_take_pods_from_their_gang_are_told_once(
    settings: Settings, names: tuple[str, ...], others: tuple[str, ...]
) -> None:
    job = job_naming(*names)
    first = plan(job, Status(), observe(job, (), services=(), config_maps=()), 0.0, settings)
    said = [note.message for note in first.events if note.reason == "SetPodTemplateSchedulerName"]
    assert [all(name in each for name in others) for each in said] == [True] * bool(others)
    again = plan(job, first.status, observe(job, (), services=(), config_maps=()), 0.0, settings)
    assert not [note for note in again.events if note.reason == "SetPodTemplateSchedulerName"]
