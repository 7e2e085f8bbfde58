"""What a pod asks of its node, as kube-scheduler counts it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from node.cluster_objects import pod
from paddock.kube.meta import Key
from paddock.kube.pod_amounts import read_pod_amounts
from paddock.node.scheduler.pod_request import read_request


def container(cpu: str, **more: object) -> dict[str, object]:
    return {"resources": {"requests": {"cpu": cpu}}, **more}


AMOUNTS = [
    ("containers run side by side", {"containers": [container("1"), container("500m")]}, {"cpu": "3/2"}),
    ("a large init container counts alone", {"containers": [container("1")], "initContainers": [container("3")]},
     {"cpu": "3"}),
    ("a small init container costs nothing", {"containers": [container("1")], "initContainers": [container("1")]},
     {"cpu": "1"}),
    ("a sidecar runs beside the others",
     {"containers": [container("1")], "initContainers": [container("1", restartPolicy="Always")]}, {"cpu": "2"}),
    ("an init container after a sidecar runs beside it",
     {"containers": [container("1")],
      "initContainers": [container("1", restartPolicy="Always"), container("2")]}, {"cpu": "3"}),
    ("a limit stands in for a missing request",
     {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 1, "cpu": "2"}, "requests": {"cpu": "1"}}}]},
     {"cpu": "1", "nvidia.com/gpu": "1"}),
    ("overhead is added", {"containers": [container("1")], "overhead": {"cpu": "250m"}}, {"cpu": "5/4"}),
    ("nothing asked is one pod", {"containers": [{}]}, {}),
    ("zero is nothing", {"containers": [container("0")]}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "wanted"), [row[1:] for row in AMOUNTS], ids=[row[0] for row in AMOUNTS])
def test_amounts(spec: dict[str, object], wanted: dict[str, str]) -> None:
    assert read_pod_amounts(spec) == {"pods": 1, **{name: Fraction(text) for name, text in wanted.items()}}


def test_a_wrong_quantity_is_that_pods_problem_and_names_the_field() -> None:
    request = read_request(pod(requests={"cpu": "1 core"}))
    assert request.problem.startswith("spec.containers[0].resources: '1 core' is not a quantity")


def test_a_job_holds_its_block_of_ports_and_host_ports() -> None:
    assert read_request(pod(port=36000, host_port=80)).ports == (range(36000, 36020), range(80, 81))


def test_with_the_hosts_network_every_port_is_a_host_port() -> None:
    manifest = pod(hostNetwork=True, containers=[{"ports": [{"containerPort": 2379}]}])
    assert read_request(manifest).ports == (range(2379, 2380),)
    manifest["spec"]["hostNetwork"] = False
    assert read_request(manifest).ports == ()


def test_a_name_of_a_gang_is_looked_for_in_its_own_api_first() -> None:
    ours, volcano = "scheduling.x-k8s.io", "scheduling.volcano.sh"
    assert read_request(pod(gang="g")).groups == ((ours, Key("default", "g")), (volcano, Key("default", "g")))
    assert read_request(pod(volcano="g")).groups == ((volcano, Key("default", "g")), (ours, Key("default", "g")))


def test_a_reported_condition_does_not_change_the_request() -> None:
    conditions = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no"}]
    request = read_request(pod(status={"conditions": conditions}))
    assert request.reported == ("Unschedulable", "no")
    assert request == read_request(pod())
