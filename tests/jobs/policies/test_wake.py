"""Pods whose kubelet looked for the ConfigMap too early are patched, once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.gangs import build_job
from paddock.jobs.actions import Patch
from paddock.jobs.model import Child, Observed, Pod, PodPhase, Rank, Settings, Status
from paddock.jobs.policies.wake import plan_wakes
from paddock.kube.meta import CONFIG_MAPS, PODS, Key

JOB = build_job(ps=0, workers=1)
CONFIG_MAP = Child(CONFIG_MAPS, JOB.key.name, "cm")
POD = Pod("demo-worker-0", "uid", Rank("worker", 0), 0, waiting=("CreateContainerConfigError", "not found"))


def wakes(pod: Pod, *, config_map: Child | None = CONFIG_MAP, settings: Settings | None = None) -> int:
    observed = Observed(pods=(pod,), config_maps=(config_map,) if config_map else ())
    return len(plan_wakes(JOB, Status(), observed, settings or Settings()))


def test_a_pod_that_was_seen_waiting_is_changed_by_its_uid_and_nothing_else_of_it() -> None:
    observed = Observed(pods=(POD,), config_maps=(CONFIG_MAP,))
    note = {"metadata": {"annotations": {"paddock.dev/woken": JOB.key.name}}}
    key = Key(JOB.key.namespace, POD.name)
    assert plan_wakes(JOB, Status(), observed, Settings()) == (Patch(PODS, key, "uid", note, optional=True),)


@pytest.mark.parametrize(
    ("pod", "why"),
    [
        (replace(POD, woken=True), "told before"),
        (replace(POD, waiting=None), "the kubelet has not looked yet"),
        (replace(POD, waiting=("ErrImagePull", "")), "it waits for something else"),
        (replace(POD, deleting=True), "on its way out"),
        (replace(POD, phase=PodPhase.RUNNING), "started"),
        (replace(POD, attempt=1), "of another attempt"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_pods_are_left_alone(pod: Pod, why: str) -> None:
    assert wakes(POD) == 1
    assert wakes(pod) == 0, why


def test_no_pod_is_patched_before_the_config_map_exists() -> None:
    assert wakes(POD, config_map=None) == 0
    assert wakes(POD, config_map=replace(CONFIG_MAP, deleting=True)) == 0
    assert wakes(POD, config_map=replace(CONFIG_MAP, name="another")) == 0


def test_on_a_laptop_no_pod_is_patched_as_the_kubelet_watches_config_maps() -> None:
    assert wakes(POD, settings=Settings(shared_network=True)) == 0
