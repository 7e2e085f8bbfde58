"""PaddlePaddle's environment, name by name: facts that its role maker and its launcher rely on."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.samples import read_sample
from paddock.jobs.frameworks import paddle
from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.jobs.model import Job, Rank

POD_IP = {"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}}


def addresses(job: Job) -> dict[Rank, str]:
    return {rank: f"10.0.0.{number}" for number, rank in enumerate(job.ranks(), start=1)}


def environment(job: Job, rank: Rank) -> dict[str, Any]:
    return {entry["name"]: entry.get("value", entry) for entry in paddle.build_environment(job, rank, None)}


RANKS = [
    (Rank("ps", 1), "1", "PSERVER"),
    (Rank("worker", 0), "0", "TRAINER"),
    (Rank("worker", 1), "1", "TRAINER"),
]


@pytest.mark.parametrize(("rank", "index", "role"), RANKS)
def test_a_rank_knows_its_index_within_the_role_and_its_role_by_both_names(rank: Rank, index: str, role: str) -> None:
    assert environment(read_sample("wide_and_deep"), rank) == {
        "POD_IP": POD_IP,
        "PADDLE_TRAINER_ID": index,
        "TRAINING_ROLE": role,
        "PADDLE_TRAINING_ROLE": role,
    }


def test_a_heter_rank_has_paddle_operators_role() -> None:
    job = read_sample("wide_and_deep", heter=read_sample_role())
    assert environment(job, Rank("heter", 0))["TRAINING_ROLE"] == "HETER"
    assert paddle.build_endpoints(job, addresses(job), 36000)["PADDLE_HETER_ENDPOINTS"] == "10.0.0.5:36000"


def read_sample_role() -> dict[str, Any]:
    return {"replicas": 1, "template": {"spec": {"containers": [{"name": "paddle", "image": "i"}]}}}


def test_servers_and_workers_with_gloo_share_these_endpoints() -> None:
    job = read_sample("wide_and_deep")
    assert paddle.build_endpoints(job, addresses(job), 40020) == {
        "TRAINER_PORTS_NUM": "20",
        "PADDLE_PORT": "40020",
        "PADDLE_PSERVERS_IP_PORT_LIST": "10.0.0.1:40020,10.0.0.2:40020",
        "PADDLE_TRAINER_ENDPOINTS": "10.0.0.3:40020,10.0.0.4:40020",
        "PADDLE_TRAINERS": "10.0.0.3,10.0.0.4",
        "PADDLE_TRAINERS_NUM": "2",
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


def test_by_service_a_server_finds_itself_in_the_list_by_its_name_and_port() -> None:
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
