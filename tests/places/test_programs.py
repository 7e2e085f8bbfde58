"""What each rank runs where there is no operator: the same as its pod, at the addresses of machines."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from jobs.samples import SAMPLES, read_manifest, read_sample, with_value
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Job, Rank, Settings
from paddock.jobs.names import host_name
from paddock.jobs.objects.pods import build_config_map, build_pod
from paddock.kube.downward import expand
from paddock.kube.host_words import replace_names
from paddock.places.hosts import read_hosts, replace_marks
from paddock.places.programs import RankProgram, Unplaceable, build_programs

TWO = read_hosts("10.0.0.1,10.0.0.2")


def read_job(manifest: dict[str, Any]) -> Job:
    named = (manifest["apiVersion"], manifest["kind"])
    api = next(api for resource, api in KINDS.items() if (resource.api_version, resource.kind) == named)
    return api.read_job(manifest)


def programs(sample: str, *hosts: str, **spec: Any) -> dict[str, RankProgram]:
    machines = read_hosts(",".join(hosts)) if hosts else TWO
    return {str(each.rank): each for each in build_programs(read_sample(sample, **spec), machines)}


def values(program: RankProgram, *hosts: str) -> dict[str, str | None]:
    """The environment with addresses in place of marks."""
    names = hosts or ("10.0.0.1", "10.0.0.2")
    found = {each.name: each.value for each in program.variables}
    return {name: value and replace_marks(value, lambda index: names[index]) for name, value in found.items()}


@pytest.mark.parametrize("sample", ["wide_and_deep", "wide_and_deep_service", "wide_and_deep_podip", "jax_spmd"])
def test_a_rank_on_a_machine_of_its_own_has_the_environment_of_its_pod(sample: str) -> None:
    """The values that a kubelet would read from the pod and the ConfigMap of its attempt."""
    job = read_sample(sample)
    addresses = {rank: f"10.0.1.{number + 1}" for number, rank in enumerate(job.ranks())}
    machines = read_hosts(",".join(addresses.values()))
    for program in build_programs(job, machines):
        assert values(program, *addresses.values()) == read_pod(job, program.rank, addresses)


def read_pod(job: Job, rank: Rank, addresses: dict[Rank, str]) -> dict[str, str]:
    pod = build_pod(job, rank, 0, None, Settings())
    container = pod["spec"]["containers"][0]
    found: dict[str, str] = {}
    for _ in container.get("envFrom") or ():
        found |= build_config_map(job, 0, addresses, None)["data"]
    for entry in container["env"]:
        value = entry.get("value", addresses[rank])
        found[entry["name"]] = expand(value, found)
    names = {host_name(job, each): address for each, address in addresses.items()}
    found.pop("PADDOCK_ATTEMPT")
    return {name: replace_names(value, names) for name, value in found.items()}


def test_servers_and_workers_of_one_machine_have_blocks_of_ports_and_the_same_endpoints() -> None:
    built = programs("wide_and_deep", command=None)
    endpoints = {
        (values(each)["PADDLE_PSERVERS_IP_PORT_LIST"], values(each)["PADDLE_TRAINER_ENDPOINTS"])
        for each in built.values()
    }
    assert endpoints == {("10.0.0.1:36000,10.0.0.2:36000", "10.0.0.1:36020,10.0.0.2:36020")}
    assert {name: values(each)["PADDLE_PORT"] for name, each in built.items()} == {
        "ps-0": "36000", "ps-1": "36000", "worker-0": "36020", "worker-1": "36020",
    }  # fmt: skip
    for each in built.values():
        env = values(each)
        listed = env["PADDLE_PSERVERS_IP_PORT_LIST" if each.serves else "PADDLE_TRAINER_ENDPOINTS"]
        assert f"{env['POD_IP']}:{env['PADDLE_PORT']}" in str(listed).split(",")


def test_one_machine_runs_all_ranks_at_ports_of_their_own() -> None:
    built = programs("wide_and_deep", "10.0.0.1")
    assert [each.port for each in built.values()] == [36000, 36020, 36040, 36060]
    assert values(built["ps-0"], "10.0.0.1")["PADDLE_PSERVERS_IP_PORT_LIST"] == "10.0.0.1:36000,10.0.0.1:36020"
    assert values(built["ps-0"], "10.0.0.1")["PADDLE_GLOO_HTTP_ENDPOINT"] == "10.0.0.1:36018"


def test_a_port_that_is_asked_for_is_the_first_of_each_machine() -> None:
    built = build_programs(read_sample("wide_and_deep"), TWO, port=7000)
    assert [each.port for each in built] == [7000, 7000, 7020, 7020]


def test_a_launcher_is_told_its_place_and_not_by_variables_too() -> None:
    built = programs("resnet")
    assert built["worker-1"].words == (
        "python", "-m", "paddle.distributed.launch", "--master", "machine-0.paddock.invalid:36000", "--nnodes", "2",
        "--rank", "1", "train_fleet.py",
    )  # fmt: skip
    assert list(values(built["worker-1"])) == ["POD_IP"]


def test_the_rendezvous_of_kubeflow_is_at_the_port_that_its_manifest_declares() -> None:
    manifest = read_manifest("kubeflow_distributed")
    path = ("spec", "paddleReplicaSpecs", "Worker", "template", "spec", "containers", 0, "ports")
    job = read_job(with_value(manifest, path, [{"name": "master", "containerPort": 4000}]))
    assert "machine-0.paddock.invalid:4000" in build_programs(job, TWO)[1].words


def test_kubeflow_s_masters_are_told_rank_by_rank_as_the_launcher_would_not_end() -> None:
    manifest = read_manifest("kubeflow_distributed")
    specs = manifest["spec"]["paddleReplicaSpecs"]
    specs["Master"] = {**specs["Worker"], "replicas": 2}
    built = {str(each.rank): each for each in build_programs(read_job(manifest), TWO)}
    assert list(built) == ["ps-0", "ps-1", "worker-0", "worker-1"]
    assert built["ps-0"].serves and not built["worker-0"].serves
    assert built["worker-1"].words[:2] == ("python", "train.py")
    assert values(built["worker-1"])["TRAINING_ROLE"] == "TRAINER"
    assert "PADDLE_MASTER" not in values(built["worker-1"])


def test_a_job_of_a_changing_size_has_the_size_that_it_asks_for() -> None:
    built = programs("pytorch_elastic")
    assert all("PET_RDZV_BACKEND" not in values(each) for each in built.values())


@pytest.mark.parametrize("sample", SAMPLES)
def test_no_name_of_a_cluster_is_left_in_any_sample(sample: str) -> None:
    job = read_sample(sample)
    names = {host_name(job, rank) for rank in job.ranks()}
    for program in build_programs(job, TWO):
        texts = [*program.words, *(each.value or "" for each in program.variables)]
        assert not [text for text in texts if any(name in text for name in names)]
        assert "-slot-" not in " ".join(texts)


def with_env(env: list[dict[str, Any]], **container: Any) -> Job:
    manifest = read_manifest("resnet")
    trained = manifest["spec"]["worker"]["template"]["spec"]["containers"][0]
    trained |= {"env": env, **container}
    return read_job(manifest)


def test_a_value_that_the_file_has_is_used_and_another_is_asked_for() -> None:
    env = [
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}},
        {"name": "OTHER", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "other"}}},
        {"name": "MAYBE", "valueFrom": {"configMapKeyRef": {"name": "none", "key": "k", "optional": True}}},
        {"name": "RATE", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "rate"}}},
    ]
    others = (
        {"kind": "Secret", "metadata": {"name": "hub"}, "data": {"token": base64.b64encode(b"a b").decode()}},
        {"kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"rate": "0.1"}},
    )
    program = build_programs(with_env(env), TWO, others)[0]
    found = {each.name: (each.value, each.source) for each in program.variables}
    assert found["TOKEN"] == ("a b", "") and found["RATE"] == ("0.1", "")
    assert "MAYBE" not in found
    assert [(each.name, each.source) for each in program.asked] == [("OTHER", "Secret hub, key other")]


def test_a_source_whose_names_are_not_known_is_told() -> None:
    program = build_programs(with_env([], envFrom=[{"secretRef": {"name": "hub"}}]), TWO)[0]
    assert program.unknown == ("Secret hub",)


def test_a_command_and_its_environment_use_earlier_variables() -> None:
    env = [
        {"name": "DIR", "value": "/data"},
        {"name": "OUT", "value": "$(DIR)/out $$(DIR)"},
        {"name": "WHERE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "CARDS", "valueFrom": {"resourceFieldRef": {"resource": "limits.nvidia.com/gpu"}}},
    ]
    program = build_programs(with_env(env, command=["python", "train.py", "$(OUT)"], args=[]), TWO)[1]
    assert program.words == ("python", "train.py", "/data/out $(DIR)")
    assert values(program)["WHERE"] == "10.0.0.2" and values(program)["CARDS"] == "1"


def test_a_job_that_names_peers_by_service_gets_the_addresses_of_machines() -> None:
    env = [{"name": "STORE", "value": "redis://resnet-worker-0:6379/0"}]
    program = build_programs(with_env(env), TWO)[1]
    assert values(program)["STORE"] == "redis://10.0.0.1:6379/0"


def test_a_secret_that_is_no_base64_is_a_sentence() -> None:
    env = [{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}}]
    secret = {"kind": "Secret", "metadata": {"name": "hub"}, "data": {"token": "abcde"}}
    with pytest.raises(Unplaceable, match="Secret hub: the value of token is no base64"):
        build_programs(with_env(env), TWO, (secret,))
