"""Which ranks of the program run in which pod, as launchers count them."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.samples import read_any, read_manifest, read_sample
from paddock.jobs.frameworks import jax, paddle, pytorch
from paddock.jobs.model import Job, Rank
from paddock.jobs.program_ranks import Doubt, Numbering, Numbers, number_ranks

GPUS = {"resources": {"limits": {"nvidia.com/gpu": "8"}}}
KUBEFLOW, PADDLE = "pytorch_mnist", "resnet"


def read_with(name: str, command: list[str], container: dict[str, Any] | None = None, **spec: Any) -> Job:
    """The sample with this command in all its roles."""
    manifest = read_manifest(name)
    manifest["spec"] |= spec
    specs = manifest["spec"]
    kubeflow = specs.get("pytorchReplicaSpecs") or specs.get("paddleReplicaSpecs") or specs.get("jaxReplicaSpecs")
    roles = list(kubeflow.values()) if kubeflow else [specs[name] for name in ("ps", "worker") if name in specs]
    for role in roles:
        for each in role["template"]["spec"]["containers"]:
            each.pop("args", None)
            each |= {"command": command, **(container or {})}
    return read_any(manifest)


def show(job: Job) -> str:
    numbering = number_ranks(job)
    found = {pod: numbering.of(pod) for pod in job.ranks()}
    told = " ".join(f"{pod}:{ranks[0]}-{ranks[-1]}" if ranks else f"{pod}:none" for pod, ranks in found.items())
    return f"{told} {numbering.doubt.value}"


@pytest.mark.parametrize(
    ("sample", "command", "more", "shown"),
    [
        (KUBEFLOW, ["python", "train.py"], {}, "master-0:0-0 worker-0:1-1 worker-1:2-2 none"),
        (KUBEFLOW, ["torchrun", "train.py"], {"nprocPerNode": "4"}, "master-0:0-3 worker-0:4-7 worker-1:8-11 none"),
        (KUBEFLOW, ["torchrun", "--nproc-per-node=2", "train.py"], {"nprocPerNode": "4"},
         "master-0:0-1 worker-0:2-3 worker-1:4-5 none"),
        (KUBEFLOW, ["torchrun", "train.py"], {}, "master-0:0-0 worker-0:1-1 worker-1:2-2 processes"),
        (KUBEFLOW, ["torchrun", "train.py"], {"container": GPUS}, "master-0:0-7 worker-0:8-15 worker-1:16-23 none"),
        (KUBEFLOW, ["torchrun", "--nproc_per_node=$(GPUS)", "train.py"], {},
         "master-0:0-0 worker-0:1-1 worker-1:2-2 processes"),
        (KUBEFLOW, ["torchrun", "train.py"],
         {"container": {"env": [{"name": "PET_NPROC_PER_NODE", "value": "3"}]}},
         "master-0:0-2 worker-0:3-5 worker-1:6-8 none"),
        (KUBEFLOW, ["bash", "run.sh"], {}, "master-0:0-0 worker-0:1-1 worker-1:2-2 processes"),
        (KUBEFLOW, ["torchrun", "--nproc_per_node=2", "--max-restarts=3", "train.py"], {},
         "master-0:0-0 worker-0:1-1 worker-1:2-2 dealt"),
        (PADDLE, ["python", "-m", "paddle.distributed.launch", "train.py"], {}, "worker-0:0-0 worker-1:1-1 none"),
        (PADDLE, ["python", "-m", "paddle.distributed.launch", "--devices", "0,1", "train.py"], {},
         "worker-0:0-1 worker-1:2-3 none"),
        (PADDLE, ["python", "-m", "paddle.distributed.launch", "--nproc_per_node", "4", "train.py"], {},
         "worker-0:0-3 worker-1:4-7 none"),
        (PADDLE, ["python", "-m", "paddle.distributed.launch", "train.py"], {"container": GPUS},
         "worker-0:0-7 worker-1:8-15 none"),
    ],
)  # fmt: skip
def test_pods_have_these_ranks(sample: str, command: list[str], more: dict[str, Any], shown: str) -> None:
    assert show(read_with(sample, command, **more)) == shown


def test_parameter_servers_are_counted_apart() -> None:
    assert (
        show(read_with("wide_and_deep", ["python", "train.py"])) == "ps-0:none ps-1:none worker-0:0-0 worker-1:1-1 none"
    )


@pytest.mark.parametrize(
    ("job", "doubt"),
    [
        (read_sample("pytorch_elastic"), Doubt.DEALT),
        (read_sample("kubeflow_distributed"), Doubt.NONE),
        (read_with("jax_spmd", ["python", "train.py"]), Doubt.NONE),
    ],
)
def test_a_rendezvous_that_deals_ranks_is_a_doubt(job: Job, doubt: Doubt) -> None:
    assert number_ranks(job).doubt is doubt
    if doubt is not Doubt.NONE:
        assert [number_ranks(job).of(pod)[0] for pod in job.ranks()] == list(range(job.size))


@pytest.mark.parametrize(
    ("framework", "variable", "job"),
    [
        (pytorch, "RANK", read_with(KUBEFLOW, ["python", "train.py"])),
        (pytorch, "RANK", read_with("pytorch_workers", ["python", "train.py"])),
        (jax, "PROCESS_ID", read_with("jax_spmd", ["python", "train.py"])),
        (paddle, "PADDLE_TRAINER_ID", read_with("wide_and_deep", ["python", "train.py"])),
        (paddle, "PADDLE_RANK", read_with("kubeflow_distributed", ["python", "train.py"])),
    ],
)
def test_the_number_of_a_pod_with_one_process_is_the_one_that_it_is_told(
    framework: Any, variable: str, job: Job
) -> None:
    numbering = number_ranks(job)
    for pod in job.ranks():
        told = {each["name"]: each.get("value") for each in framework.build_environment(job, pod, None)}
        assert [str(each) for each in numbering.of(pod)] == ([told[variable]] if variable in told else [])


@pytest.mark.parametrize(
    ("numbering", "told"),
    [
        (Numbering({"worker": Numbers(0, 1)}), "worker-1"),
        (Numbering({"worker": Numbers(1, 1)}), "worker-1 (rank 2)"),
        (Numbering({"worker": Numbers(4, 4)}), "worker-1 (ranks 8-11)"),
        (Numbering({"worker": Numbers(1, 1)}, Doubt.DEALT), "worker-1"),
        (Numbering({"master": Numbers(0, 4)}), "worker-1"),
    ],
)
def test_a_pod_is_told_with_its_ranks_where_its_name_does_not_say_them(numbering: Numbering, told: str) -> None:
    assert str(numbering.tell(Rank("worker", 1))) == told
