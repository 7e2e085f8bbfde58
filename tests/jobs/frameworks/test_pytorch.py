"""PyTorch's environment by Kubeflow's contract (training-operator v1.9.4), name by name and in its order, and ours."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.samples import read_any, read_manifest
from paddock.jobs.frameworks import pytorch
from paddock.jobs.labels import RANK_VARIABLES_ANNOTATION
from paddock.jobs.model import Job, Rank, Settings
from paddock.jobs.objects import pods

ADDRESS = {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}
MASTER, FIRST, SECOND = Rank("master", 0), Rank("worker", 0), Rank("worker", 1)
OURS = {"PET_LOCAL_ADDR": ADDRESS, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}


def environment(job: Job, rank: Rank, port: int | None = None) -> list[tuple[str, Any]]:
    entries = pytorch.build_environment(job, rank, port)
    return [(entry["name"], entry.get("value", entry.get("valueFrom"))) for entry in entries]


def read(name: str = "pytorch_mnist", **spec: Any) -> Job:
    manifest = read_manifest(name)
    manifest["spec"] |= spec
    return read_any(manifest)


def test_the_number_of_a_pod_that_the_template_says_itself_is_not_replaced() -> None:
    """Kubeflow sets neither name, so some manifests count their pods themselves."""
    manifest = read_manifest("pytorch_mnist")
    for role in manifest["spec"]["pytorchReplicaSpecs"].values():
        for container in role["template"]["spec"]["containers"]:
            container["env"] = [{"name": "NODE_RANK", "value": "7"}]
    job = read_any(manifest)
    found = dict(environment(job, SECOND))
    assert "NODE_RANK" not in found and found["GROUP_RANK"] == "2"
    assert [each for each in job.warnings if "env" in each.path] == []


@pytest.mark.parametrize(("value", "bare"), [("false", True), ("true", False), ("no", False)])
def test_one_pod_has_no_variable_of_ranks_where_its_annotation_says_so(value: str, bare: bool) -> None:
    manifest = read_manifest("pytorch_mnist")
    del manifest["spec"]["pytorchReplicaSpecs"]["Worker"]
    manifest["metadata"]["annotations"] = {RANK_VARIABLES_ANNOTATION: value}
    job = read_any(manifest)
    names = [name for name, _ in environment(job, MASTER)]
    assert ("RANK" not in names) == bare and "NODE_RANK" not in names
    assert (names == ["PYTHONUNBUFFERED"]) == bare
    assert any("has no effect" in each.message for each in job.warnings) != bare


def test_several_pods_keep_them_whatever_the_annotation_says() -> None:
    manifest = read_manifest("pytorch_mnist")
    manifest["metadata"]["annotations"] = {RANK_VARIABLES_ANNOTATION: "false"}
    job = read_any(manifest)
    assert dict(environment(job, MASTER))["RANK"] == "0"
    assert any(each.path.endswith(f"[{RANK_VARIABLES_ANNOTATION}]") for each in job.warnings)


@pytest.mark.parametrize(
    ("processes", "world"), [("auto", "3"), ("cpu", "3"), ("gpu", "3"), ("1", "3"), ("2", "6"), ("many", "3")]
)
def test_the_world_has_the_processes_of_all_pods_and_ranks_are_those_of_pods(processes: str, world: str) -> None:
    found = dict(environment(read(nprocPerNode=processes), SECOND))
    assert (found["WORLD_SIZE"], found["RANK"], found["PET_NODE_RANK"]) == (world, "2", "2")
    assert (found["PET_NPROC_PER_NODE"], found["PET_NNODES"]) == (processes, "3")


def test_every_field_of_an_elastic_policy_reaches_the_pods_in_kubeflows_order() -> None:
    policy = {
        "minReplicas": 1,
        "maxReplicas": 3,
        "rdzvBackend": "etcd",
        "rdzvHost": "etcd.team",
        "rdzvPort": 2379,
        "rdzvId": "one",
        "rdzvConf": [{"key": "timeout", "value": "9"}, {"key": "a", "value": "b"}],
        "standalone": True,
        "nProcPerNode": 2,
        "maxRestarts": 3,
    }
    found = environment(read(elasticPolicy=policy), FIRST)
    assert [name for name, _ in found[:8]] == [name for name, _ in environment(read(), FIRST)[:8]]  # the Master's
    assert found[8:] == [
        ("PET_RDZV_ENDPOINT", "etcd.team:2379"),
        ("PET_RDZV_BACKEND", "etcd"),
        ("PET_NNODES", "1:3"),
        ("PET_MAX_RESTARTS", "3"),
        ("PET_NPROC_PER_NODE", "2"),
        ("PET_RDZV_ID", "one"),
        ("PET_RDZV_CONF", "timeout=9,a=b"),
        ("PET_STANDALONE", "1"),
        *OURS.items(),
    ]


CONFS: list[tuple[dict[str, Any], str | None]] = [
    ({}, "is_host=1"),
    ({"rdzvConf": []}, "is_host=1"),
    ({"rdzvConf": [{"key": "is_host", "value": "0"}]}, "is_host=0"),
    ({"rdzvHost": "elsewhere", "rdzvConf": []}, None),
    ({"rdzvBackend": "etcd-v2"}, None),
    ({"standalone": True}, None),
]


@pytest.mark.parametrize(("policy", "conf"), CONFS)
def test_who_opens_the_rendezvous_is_said_where_a_pod_of_the_job_does(policy: dict[str, Any], conf: str | None) -> None:
    """torch guesses it from host names, which machines of one network may not resolve."""
    assert dict(environment(read("pytorch_elastic", elasticPolicy=policy), FIRST)).get("PET_RDZV_CONF") == conf


@pytest.mark.parametrize(
    ("declared", "own", "at"), [(None, None, "23456"), (7000, None, "7000"), (7000, 20040, "20040")]
)
def test_the_port_is_the_jobs_own_where_jobs_share_a_machine_else_the_masters(
    declared: int | None, own: int | None, at: str
) -> None:
    manifest = read_manifest("pytorch_mnist")
    master = manifest["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]
    master["ports"] = [{"name": "pytorchjob-port", "containerPort": declared}] if declared else []
    job = read_any(manifest)
    found = [dict(environment(job, rank, own)) for rank in job.ranks()]
    assert {each[name] for each in found for name in ("MASTER_PORT", "PET_MASTER_PORT")} == {at}


def test_side_cars_and_init_containers_get_no_variable_and_no_init_container_is_added() -> None:
    """Kubeflow's workers look up the Master's name in one, as its Services have no address of a pod that starts."""
    manifest = read_manifest("pytorch_mnist")
    worker = manifest["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    worker["initContainers"] = [{"name": "fetch", "image": "busybox"}]
    job = read_any(manifest)
    made = pods.build_pod(job, FIRST, 0, None, Settings())["spec"]
    assert made["initContainers"] == worker["initContainers"]
    assert made["containers"][0] == worker["containers"][0]
    assert pods.build_service(job, MASTER)["spec"]["publishNotReadyAddresses"] is True


def with_command(*command: str, env: list[dict[str, Any]] | None = None) -> Job:
    manifest = read_manifest("pytorch_mnist")
    for role in manifest["spec"]["pytorchReplicaSpecs"].values():
        containers = role["template"]["spec"]["containers"]
        trains = next(each for each in containers if each["name"] == "pytorch")
        trains |= {"command": list(command), "args": [], "env": env or []}
    return read_any(manifest)


@pytest.mark.parametrize(
    ("command", "in_place"),
    [
        ("torchrun --max-restarts=3 t.py", True),
        ("torchrun --max_restarts 3 t.py", True),
        ("torchrun --max-restarts=0 t.py", False),
        ("torchrun t.py --max-restarts=3", False),
        ("torchrun --max-restarts=3 --rdzv-backend=c10d --rdzv-endpoint=a:1 t.py", False),
        ("torchrun --max-restarts=$(N) t.py", False),
        ("python t.py", False),
    ],
)
def test_a_torchrun_that_restarts_in_place_meets_by_c10d(command: str, in_place: bool) -> None:
    job = with_command(*command.split())
    assert job.launch.in_place is in_place
    found = dict(environment(job, SECOND))
    assert ("PET_RDZV_BACKEND" in found) is in_place
    if in_place:
        assert found["PET_RDZV_ENDPOINT"] == "mnist-master-0:23456"
        assert [dict(environment(job, each))["PET_RDZV_CONF"] for each in (MASTER, FIRST)] == ["is_host=1", "is_host=0"]


def test_a_shell_that_starts_it_and_its_variable_do_the_same() -> None:
    assert with_command("bash", "-c", "exec torchrun --max-restarts 2 t.py").launch.in_place
    assert with_command("torchrun", "t.py", env=[{"name": "PET_MAX_RESTARTS", "value": "2"}]).launch.in_place


@pytest.mark.parametrize(("grace", "told"), [(None, None), (10, None), (35, None), (36, "31"), (120, "115")])
def test_torchrun_is_told_of_a_grace_that_is_longer_than_its_own(grace: int | None, told: str | None) -> None:
    """Else it kills its workers after 30 s, whatever the pod has."""
    job = with_grace(grace)
    assert dict(environment(job, FIRST)).get("TORCH_ELASTIC_SHUTDOWN_TIMEOUT") == told
    assert "TORCH_ELASTIC_SHUTDOWN_TIMEOUT" not in dict(environment(job, MASTER)), "its pod has no grace of its own"


def test_the_time_that_the_template_gives_torchrun_is_kept() -> None:
    name = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"
    job = with_grace(120, env=[{"name": name, "value": "60"}])
    built = pods.build_pod(job, FIRST, 0, None, Settings())
    entries = built["spec"]["containers"][0]["env"]
    assert [each["value"] for each in entries if each["name"] == name] == ["60"]


def with_grace(grace: int | None, **more: Any) -> Job:
    """The job with a grace of its workers."""
    manifest = read_manifest("pytorch_mnist")
    spec = manifest["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    spec["containers"][0].update(more)
    if grace is not None:
        spec["terminationGracePeriodSeconds"] = grace
    return read_any(manifest)
