"""PaddlePaddle's environment, name by name: facts that its role maker and its launcher rely on."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.samples import read_sample
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.frameworks import paddle
from paddock.jobs.model import Job, Rank

POD_IP = {"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}}


def addresses(job: Job) -> dict[Rank, str]:
    return {rank: f"10.0.0.{number}" for number, rank in enumerate(job.ranks(), start=1)}


def environment(job: Job, rank: Rank) -> dict[str, Any]:
    return {entry["name"]: entry.get("value", entry) for entry in paddle.build_environment(job, rank, None)}


@pytest.mark.parametrize(("limits", "device"), [({}, "cpu"), ({"kunlunxin.com/xpu": 1}, "xpu"), ({"cpu": 1}, "cpu")])
def test_the_device_of_heter_ranks_is_what_they_ask_for(limits: dict[str, Any], device: str) -> None:
    job = read_sample("wide_and_deep", heter=read_sample_role({"resources": {"limits": limits}}))
    assert environment(job, Rank("heter", 0))["HETER_DEVICE_TYPE"] == device


def read_sample_role(container: dict[str, Any] | None = None) -> dict[str, Any]:
    paddle_container = {"name": "paddle", "image": "i"} | (container or {})
    return {"replicas": 1, "template": {"spec": {"containers": [paddle_container]}}}


def test_collective_workers_share_these_endpoints() -> None:
    job = read_sample("resnet", withGloo=1)
    assert paddle.build_endpoints(job, addresses(job), 36000) == {
        "TRAINER_PORTS_NUM": "20",
        "PADDLE_PORT": "36000",
        "PADDLE_TRAINER_ENDPOINTS": "10.0.0.1:36000,10.0.0.2:36000",
        "PADDLE_TRAINERS": "10.0.0.1,10.0.0.2",
        "PADDLE_TRAINERS_NUM": "2",
    }


def test_by_service_collective_workers_still_go_by_address_as_rank_0_opens_the_rendezvous_by_its_own() -> None:
    job = read_sample("resnet", intranet="Service")
    assert paddle.build_endpoints(job, addresses(job), 36000)["PADDLE_TRAINERS"] == "10.0.0.1,10.0.0.2"
    assert environment(job, Rank("worker", 0))["POD_IP"] == POD_IP


LAUNCHER = ["python", "-m", "paddle.distributed.launch", "--nnodes", "2:3"]
AT_ETCD = ["--master", "etcd://etcd.team:2379"]


def read_launched(*words: str, kind: str = "batch.paddlepaddle.org", env: list[dict[str, str]] | None = None) -> Job:
    container = {"name": "paddle", "image": "paddle:3", "command": [*LAUNCHER, *words, "train.py"], "env": env or []}
    role = {"replicas": 3, "template": {"spec": {"containers": [container]}}}
    spec = {"worker": role} if kind.startswith("batch") else {"paddleReplicaSpecs": {"Worker": role}}
    api = next(each for each in KINDS.values() if (each.resource.group, each.resource.kind) == (kind, "PaddleJob"))
    metadata = {"name": "demo", "namespace": "team", "uid": "0123456789"}
    return api.read_job({"apiVersion": f"{kind}/v1", "kind": "PaddleJob", "metadata": metadata, "spec": spec})


@pytest.mark.parametrize("kind", ["batch.paddlepaddle.org", "kubeflow.org"])
def test_ranks_that_meet_at_etcd_are_told_neither_ranks_nor_endpoints(kind: str) -> None:
    """PaddlePaddle's launcher takes these before etcd (launch/plugins, 3.3.1)."""
    job = read_launched(*AT_ETCD, kind=kind)
    assert environment(job, Rank("worker", 1)) == {"POD_IP": POD_IP, "PADDLE_JOB_ID": "team-demo-01234567"}
    assert not paddle.needs_addresses(job)
    assert paddle.build_corrected(job, Rank("worker", 1)) == []
    by_variable = read_launched(env=[{"name": "PADDLE_MASTER", "value": "etcd://e:2379"}], kind=kind)
    assert "PADDLE_JOB_ID" in environment(by_variable, Rank("worker", 0))


@pytest.mark.parametrize(
    ("words", "env", "rejoins"),
    [
        (AT_ETCD, [], False),
        ([*AT_ETCD, "--elastic_level", "1"], [], True),
        ([*AT_ETCD, "--elastic_level=1"], [], True),
        (AT_ETCD, [{"name": "PADDLE_ELASTIC_LEVEL", "value": "1"}], True),
        ([*AT_ETCD, "--elastic_level", "-1"], [], False),
        (["--elastic_level", "1"], [], False),
    ],
)
def test_launchers_go_on_without_one_of_them_by_etcd_and_elastic_level_1_alone(
    words: list[str], env: list[dict[str, str]], rejoins: bool
) -> None:
    assert paddle.rejoins(read_launched(*words, env=env), Rank("worker", 0)) is rejoins
