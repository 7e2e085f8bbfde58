"""PaddlePaddle's environment by Kubeflow's contract, name by name, and the additions for one machine."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.samples import read_any, read_manifest, read_sample
from paddock.jobs.frameworks import paddle
from paddock.jobs.model import Job, Rank, Settings
from paddock.jobs.objects import pods
from paddock.kube.meta import Manifest

JOB = "paddle-distributed-job"
FIRST = Rank("worker", 0)


def environment(job: Job, rank: Rank, port: int | None = None) -> dict[str, Any]:
    entries = paddle.build_environment(job, rank, port)
    return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in entries}


def with_master(masters: int = 1, ports: list[dict[str, Any]] | None = None) -> Job:
    manifest = read_manifest("kubeflow_distributed")
    specs = manifest["spec"]["paddleReplicaSpecs"]
    container = {**specs["Worker"]["template"]["spec"]["containers"][0], "ports": ports or []}
    specs["Master"] = {"replicas": masters, "template": {"spec": {"containers": [container]}}}
    return read_any(manifest)


def test_with_servers_the_first_of_them_opens_it_and_ranks_are_the_launchers_to_give() -> None:
    job = with_master()
    master, worker = environment(job, Rank("master", 0)), environment(job, Rank("worker", 0))
    assert (master["PADDLE_MASTER"], worker["PADDLE_MASTER"]) == ("$(POD_IP_DUMMY):36543", f"{JOB}-master-0:36543")
    assert (master["PADDLE_SERVER_NUM"], worker["PADDLE_TRAINER_NUM"]) == ("1", "1")
    assert (master["PADDLE_NNODES"], worker["PADDLE_NNODES"]) == ("3", "3")
    assert "PADDLE_RANK" not in {*master, *worker}
    assert "PADDLE_SERVER_NUM" not in worker and "PADDLE_TRAINER_NUM" not in master
    assert "POD_IP_DUMMY" not in environment(with_master(2), Rank("master", 1))


PORTS: list[tuple[int | None, list[dict[str, Any]], str]] = [
    (None, [], "36543"),
    (None, [{"containerPort": 80}, {"name": "master", "containerPort": 7000}], "7000"),
    (20040, [{"name": "master", "containerPort": 7000}], "20040"),
]


@pytest.mark.parametrize(("port", "declared", "expected"), PORTS)
def test_the_port_is_the_jobs_own_where_jobs_share_a_machine_else_the_one_named_master(
    port: int | None, declared: list[dict[str, Any]], expected: str
) -> None:
    job = with_master(ports=declared)
    assert {environment(job, rank, port)["PADDLE_MASTER"].rpartition(":")[2] for rank in job.ranks()} == {expected}


def build(job: Job, rank: Rank = FIRST) -> Manifest:
    return pods.build_pod(job, rank, 0, None, Settings())


def test_a_service_selects_its_rank_and_no_other() -> None:
    job = with_master(2)
    for rank in job.ranks():
        selector = pods.build_service(job, rank)["spec"]["selector"]
        chosen = [each for each in job.ranks() if selector.items() <= build(job, each)["metadata"]["labels"].items()]
        assert chosen == [rank]


def test_a_port_that_is_named_master_is_declared_once() -> None:
    declared = [{"name": "master", "containerPort": 7000}]
    assert build(with_master(ports=declared), Rank("master", 0))["spec"]["containers"][0]["ports"] == declared
    expected = [{"name": "master", "containerPort": 36543}]
    assert build(read_sample("kubeflow_distributed"))["spec"]["containers"][0]["ports"] == expected
