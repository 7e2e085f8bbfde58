"""PaddlePaddle's environment, name by name: facts that its role maker and its launcher rely on."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.samples import read_sample
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.frameworks import paddle
from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.jobs.model import Job, Rank

POD_IP = {"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}}


def addresses(job: Job) -> dict[Rank, str]:
    return {rank: f"10.0.0.{number}" for number, rank in enumerate(job.ranks(), start=1)}


def environment(job: Job, rank: Rank) -> dict[str, Any]:
    return {entry["name"]: entry.get("value", entry) for entry in paddle.build_environment(job, rank, None)}


@pytest.mark.parametrize("workers", [1, 2])
def test_each_worker_of_collective_and_single_has_a_trainers_number(workers: int) -> None:
    job = read_sample("resnet", worker={**read_sample_role(), "replicas": workers})
    found = [environment(job, rank)["PADDLE_TRAINER_ID"] for rank in job.ranks()]
    assert (job.mode, found) == (("Single", ["0"]) if workers == 1 else ("Collective", ["0", "1"]))


RANKS = [
    (Rank("ps", 1), {"PADDLE_PSERVER_ID": "1"}, "PSERVER"),
    (Rank("worker", 0), {"PADDLE_TRAINER_ID": "0"}, "TRAINER"),
    (Rank("worker", 1), {"PADDLE_TRAINER_ID": "1"}, "TRAINER"),
]


@pytest.mark.parametrize(("rank", "number", "role"), RANKS)
def test_a_rank_knows_its_number_by_the_name_of_its_role_and_its_role_by_both_names(
    rank: Rank, number: dict[str, str], role: str
) -> None:
    """PaddlePaddle's launcher gives PADDLE_TRAINER_ID to workers alone: it looks up a worker's endpoint by it in every
    role (ps/utils/public.py, 2.6.2 and 3.0.0), so a second server of one worker ended by an IndexError."""
    assert environment(read_sample("wide_and_deep"), rank) == number | {
        "POD_IP": POD_IP,
        "TRAINING_ROLE": role,
        "PADDLE_TRAINING_ROLE": role,
    }


def test_heter_ranks_are_the_second_stage_of_a_pipeline_after_the_workers() -> None:
    """What PaddlePaddle 2.3 to 3.0 check: their role maker, names and rules."""
    gpu = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
    job = read_sample("wide_and_deep", heter=read_sample_role(gpu))
    shared = paddle.build_endpoints(job, addresses(job), 36000)
    heter, worker, server = (Rank(role, 0) for role in ("heter", "worker", "ps"))
    assert environment(job, heter) == {
        "POD_IP": POD_IP,
        "TRAINING_ROLE": "HETER_TRAINER",
        "PADDLE_TRAINING_ROLE": "HETER_TRAINER",
        "STAGE_ID": "2",
        "HETER_DEVICE_TYPE": "gpu",
        "PADDLE_WITH_GLOO": "0",
    }
    assert environment(job, worker)["STAGE_ID"] == "1"
    assert "STAGE_ID" not in environment(job, server)
    assert {key: value for key, value in shared.items() if "HETER" in key or "STAGE" in key} == {
        "PADDLE_HETER_ENDPOINTS": "10.0.0.5:36000",
        "PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST": "10.0.0.5:36000",
        "STAGE_NUM": "2",
        "PADDLE_STAGE_TRAINERS_NUM": "[2, 1]",
    }
    keys = {rank.role: paddle.build_references(job, rank) for rank in (heter, worker, server)}
    assert keys == {
        "heter": {"PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST": "PADDLE_TRAINER_ENDPOINTS"},
        "worker": {"PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST": "PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST"},
        "ps": {},
    }
    assert all(key in shared for references in keys.values() for key in references.values())


@pytest.mark.parametrize(("limits", "device"), [({}, "cpu"), ({"kunlunxin.com/xpu": 1}, "xpu"), ({"cpu": 1}, "cpu")])
def test_the_device_of_heter_ranks_is_what_they_ask_for(limits: dict[str, Any], device: str) -> None:
    job = read_sample("wide_and_deep", heter=read_sample_role({"resources": {"limits": limits}}))
    assert environment(job, Rank("heter", 0))["HETER_DEVICE_TYPE"] == device


def test_a_job_without_heter_has_no_variables_of_heter() -> None:
    job = read_sample("wide_and_deep")
    assert not [key for key in paddle.build_endpoints(job, addresses(job), 36000) if "STAGE" in key or "HETER" in key]
    assert "STAGE_ID" not in environment(job, Rank("worker", 0))


def read_sample_role(container: dict[str, Any] | None = None) -> dict[str, Any]:
    paddle_container = {"name": "paddle", "image": "i"} | (container or {})
    return {"replicas": 1, "template": {"spec": {"containers": [paddle_container]}}}


def test_servers_and_workers_with_gloo_share_these_endpoints() -> None:
    job = read_sample("wide_and_deep")
    assert paddle.build_endpoints(job, addresses(job), 40020) == {
        "TRAINER_PORTS_NUM": "20",
        "PADDLE_PORT": "40020",
        "PADDLE_PSERVERS_IP_PORT_LIST": "10.0.0.1:40020,10.0.0.2:40020",
        "PADDLE_TRAINER_ENDPOINTS": "10.0.0.3:40020,10.0.0.4:40020",
        "PADDLE_TRAINERS": "10.0.0.3,10.0.0.4",
        "PADDLE_TRAINERS_NUM": "2",
        "FLAGS_enable_pir_api": "0",
        "PADDLE_WITH_GLOO": "1",
        "PADDLE_GLOO_RENDEZVOUS": "3",
        "PADDLE_GLOO_HTTP_ENDPOINT": "10.0.0.1:40038",
    }


def test_collective_workers_share_these_endpoints() -> None:
    job = read_sample("resnet", withGloo=1)
    assert paddle.build_endpoints(job, addresses(job), 36000) == {
        "TRAINER_PORTS_NUM": "20",
        "PADDLE_PORT": "36000",
        "PADDLE_TRAINER_ENDPOINTS": "10.0.0.1:36000,10.0.0.2:36000",
        "PADDLE_TRAINERS": "10.0.0.1,10.0.0.2",
        "PADDLE_TRAINERS_NUM": "2",
    }


def test_with_service_a_server_finds_its_name_and_port_in_the_list() -> None:
    job = read_sample("wide_and_deep_service")
    data = paddle.build_endpoints(job, addresses(job), 40000)
    for rank in Rank("ps", 0), Rank("ps", 1):
        itself = f"{environment(job, rank)['POD_IP']}:{data['PADDLE_PORT']}"
        assert data["PADDLE_PSERVERS_IP_PORT_LIST"].split(",").index(itself) == rank.index
    assert data["PADDLE_TRAINERS"] == "wide-ande-deep-worker-0,wide-ande-deep-worker-1"


def test_by_service_collective_workers_still_go_by_address_as_rank_0_opens_the_rendezvous_by_its_own() -> None:
    job = read_sample("resnet", intranet="Service")
    assert paddle.build_endpoints(job, addresses(job), 36000)["PADDLE_TRAINERS"] == "10.0.0.1,10.0.0.2"
    assert environment(job, Rank("worker", 0))["POD_IP"] == POD_IP


def test_an_address_of_ipv6_stands_in_brackets() -> None:
    job = read_sample("resnet")
    data = paddle.build_endpoints(job, dict.fromkeys(job.ranks(), "fd00::1"), 36000)
    assert data["PADDLE_TRAINER_ENDPOINTS"] == "[fd00::1]:36000,[fd00::1]:36000"


def test_nothing_forces_paddles_legacy_launcher_or_names_its_logs() -> None:
    job = read_sample("resnet", elastic=1)
    names = {*environment(job, Rank("worker", 0)), *paddle.build_endpoints(job, addresses(job), 36000)}
    assert not {name for name in names if "ELASTIC" in name or name == "PADDLE_LOG_DIR"}


def test_the_framework_is_registered() -> None:
    assert FRAMEWORKS["paddle"] is paddle


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
