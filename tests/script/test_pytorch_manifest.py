"""What a typed command of PyTorch becomes."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.jobs.apis.registry import KINDS
from paddock.jobs.labels import SUCCESS_ANNOTATION
from paddock.jobs.model import Job
from paddock.launches.reading import read_typed
from paddock.preflight import Document, check, find_api
from paddock.script.manifest import build_manifest
from paddock.script.pytorch_job import IMAGE, explain_workers
from paddock.script.request import ScriptRequest

TRAIN = ("python", "train.py")
TORCHRUN = ("torchrun", "--nproc_per_node=2", "train.py", "--nnodes", "7")


def build(words: tuple[str, ...] = TRAIN, **more: Any) -> ScriptRequest:
    return ScriptRequest(words, framework="pytorch", **more)


def read(request: ScriptRequest) -> Job:
    document = Document(build_manifest(request))
    assert [str(each.path) for each in check(document) if not each.path.endswith("volumeMounts")] == []
    api = find_api(document)
    assert api is not None
    return KINDS[api.resource].read_job(build_manifest(request))


def container_of(request: ScriptRequest, role: str = "Master") -> dict[str, Any]:
    replicas = build_manifest(request)["spec"]["pytorchReplicaSpecs"]
    (found,) = replicas[role]["template"]["spec"]["containers"]
    return dict(found)


def test_the_least_is_a_master_that_is_not_restarted() -> None:
    assert build_manifest(build()) == {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "train", "annotations": {SUCCESS_ANNOTATION: "AllRanks"}},
        "spec": {
            "runPolicy": {"backoffLimit": 0},
            "pytorchReplicaSpecs": {
                "Master": {
                    "replicas": 1,
                    "restartPolicy": "Never",
                    "template": {"spec": {"containers": [{"name": "pytorch", "image": IMAGE, "command": list(TRAIN)}]}},
                },
            },
        },
    }


@pytest.mark.parametrize(
    ("workers", "roles"), [(1, {"master": 1}), (2, {"master": 1, "worker": 1}), (4, {"master": 1, "worker": 3})]
)
def test_the_first_worker_is_the_master(workers: int, roles: dict[str, int]) -> None:
    job = read(build(workers=workers))
    assert {role.name: role.replicas for role in job.roles} == roles


def test_several_workers_run_what_was_typed_and_each_pod_is_one_process() -> None:
    request = build(workers=2, gpus=1, restarts=3, image="me/train:1", variables=[("A", "1")])
    for role in ("Master", "Worker"):
        container = container_of(request, role)
        assert container["command"] == list(TRAIN) and container["image"] == "me/train:1"
        assert container["resources"] == {"limits": {"nvidia.com/gpu": 1}}
        assert {each["name"]: each["value"] for each in container["env"]} == {
            "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "A": "1",
        }  # fmt: skip
    job = read(request)
    assert job.policies.backoff_limit == 3 and {role.restart for role in job.roles} == {"OnFailure"}
    assert job.launch.processes == "auto", "which is one process in WORLD_SIZE"


def test_a_variable_of_the_user_is_not_replaced() -> None:
    entries = container_of(build(workers=2, variables=[("LOCAL_RANK", "5")], secrets=[("LOCAL_WORLD_SIZE", "x")]))
    assert [each["name"] for each in entries["env"]] == ["LOCAL_RANK", "LOCAL_WORLD_SIZE"]
    assert entries["env"][0]["value"] == "5" and "valueFrom" in entries["env"][1]


@pytest.mark.parametrize(
    ("words", "gpus", "processes"),
    [
        (TORCHRUN, 0, "2"),
        (("torchrun", "--nproc-per-node", "gpu", "train.py"), 2, "gpu"),
        (("python", "-m", "torch.distributed.run", "--nproc_per_node", "3", "train.py"), 0, "3"),
        # torchrun's own default is 1, and the field's is one for each CPU
        (("torchrun", "train.py", "--nproc_per_node", "4"), 0, "1"),
        (("torchrun", "-m", "pkg.train"), 4, "4"),
    ],
)
def test_a_torchrun_stays_as_typed_and_the_job_says_how_many_processes_it_starts(
    words: tuple[str, ...], gpus: int, processes: str
) -> None:
    request = build(words, workers=2, gpus=gpus)
    assert build_manifest(request)["spec"]["nprocPerNode"] == processes
    assert container_of(request)["command"] == list(words) and "env" not in container_of(request)
    assert read(request).launch.processes == processes


def test_a_torchrun_in_a_shell_script_starts_what_it_starts_in_a_shell() -> None:
    request = build(("bash", "run.sh"), workers=2, gpus=2)
    assert build_manifest(request)["spec"]["nprocPerNode"] == "1"
    assert [each["name"] for each in container_of(request)["env"]] == ["LOCAL_RANK", "LOCAL_WORLD_SIZE"]


@pytest.mark.parametrize("words", [("llamafactory-cli", "train", "a.yaml"), ("swift", "sft"), ("megatron", "pt"),
                                   ("env", "A=1", "/opt/bin/swift", "sft")])  # fmt: skip
def test_a_program_that_starts_torchrun_by_itself_is_told_how_many_machines_there_are(words: tuple[str, ...]) -> None:
    told = {each["name"]: each["value"] for each in container_of(build(words, workers=3, gpus=8), "Worker")["env"]}
    assert (told["NNODES"], told["NPROC_PER_NODE"]) == ("3", "8")
    typed = build(words, workers=3, variables=(("NPROC_PER_NODE", "2"),))
    told = {each["name"]: each["value"] for each in container_of(typed)["env"]}
    assert (told["NNODES"], told["NPROC_PER_NODE"]) == ("3", "2")
    assert "env" not in container_of(build(words))


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("axolotl train a.yaml --lr 1", "`torchrun -m axolotl.cli.train a.yaml --lr 1`"),
        ("axolotl train a.yaml --launcher torchrun", ""),
        ("axolotl preprocess a.yaml", ""),
        ("torchrun -m axolotl.cli.train a.yaml", ""),
    ],
)
def test_axolotl_starts_one_machine_unless_torchrun_starts_it(typed: str, written: str) -> None:
    launches = read_typed(typed.split()).launches
    found = [str(each) for each in explain_workers(build(tuple(typed.split()), workers=2), launches)]
    assert [written in each for each in found] == ([True] if written else [])
    assert not list(explain_workers(build(tuple(typed.split())), launches))
