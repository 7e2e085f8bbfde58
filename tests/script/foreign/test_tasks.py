"""Tasks of SkyPilot and dstack and commands of arena, as the job that they mean."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paddock.script.foreign.dstack import count_gpus
from paddock.script.foreign.job import Foreign, NoProgram
from paddock.script.foreign.tools import find_tool, read_foreign

SKY = """\
name: fine-tune
num_nodes: 2
workdir: .
resources:
  accelerators: {H100: 8}
  image_id: docker:nvcr.io/nvidia/pytorch:24.10
  use_spot: true
  job_recovery: {max_restarts_on_errors: 3}
envs:
  LR: 0.1
  BUCKET:
  API_KEY: abc
secrets:
  HF_TOKEN: null
file_mounts:
  /data: s3://bucket
setup: |
  pip install -r requirements.txt
run: |
  conda activate x
  torchrun --nnodes=$SKYPILOT_NUM_NODES --nproc_per_node=$SKYPILOT_NUM_GPUS_PER_NODE \\
    --node_rank=$SKYPILOT_NODE_RANK t.py --lr $LR --key $API_KEY
"""
DSTACK = """\
type: task
name: ddp
nodes: 2
image: reg/x
env:
  - LR=0.1
  - HF_TOKEN
commands:
  - pip install tqdm
  - |
    cd work
    torchrun --nnodes=$DSTACK_NODES_NUM --nproc-per-node=$DSTACK_GPUS_PER_NODE t.py
resources:
  gpu: 24GB:2
  shm_size: 16GB
max_duration: 2h
"""
ARENA = """\
arena submit pytorchjob --name=sft --gpus=2 --workers 2 --retry 1 \\
  --image=reg/x --data=claim:/model -e A=1 --gang \\
  "cd work && torchrun --nproc_per_node 2 t.py --model /model/x"
"""


def mean(text: str) -> Foreign:
    return replace(read_foreign(text), left=())


def list_left(text: str) -> list[tuple[int, str]]:
    return [(each.line, str(each.said)) for each in read_foreign(text).left]


def test_a_task_of_skypilot_is_a_job() -> None:
    assert mean(SKY) == Foreign(
        21, ("torchrun", "--nproc_per_node=8", "t.py", "--lr", "0.1"), 2, gpus=8, name="fine-tune", framework="pytorch",
        image="nvcr.io/nvidia/pytorch:24.10", restarts=3, workdir=".", requirements="requirements.txt",
        variables=(("LR", "0.1"),), secrets=("HF_TOKEN",),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (5, "H100:8 becomes --gpus 8"),
        (7, "resources.use_spot is left out"),
        (11, "--env BUCKET=VALUE"),
        (12, "--secret API_KEY"),
        (15, "--data NAME:/PATH mounts it"),
        (20, "`conda activate x` is left out: packages come by"),
        (22, "--key $API_KEY is left out"),
    ],
)
def test_what_of_skypilot_is_not_carried_is_named_with_its_line(line: int, said: str) -> None:
    assert [each for each, sentence in list_left(SKY) if said in sentence] == [line]


@pytest.mark.parametrize(
    ("accelerators", "gpus"), [("A100:8", 8), ("A100", 1), ("[A100:4, V100:4]", 4), ("{A100: 2, V100: 2}", 2), ("", 0)]
)
def test_accelerators_are_a_number_of_gpus(accelerators: str, gpus: int) -> None:
    assert mean(f"resources: {{accelerators: {accelerators or '~'}}}\nrun: python t.py\n").gpus == gpus


def test_a_directory_within_the_one_of_the_task_is_joined() -> None:
    assert mean("workdir: code\nnum_nodes: 2\nrun: |\n  cd a\n  python t.py\n").workdir == "code/a"


def test_a_task_of_dstack_is_a_job() -> None:
    assert mean(DSTACK) == Foreign(
        12, ("torchrun", "--nproc_per_node=2", "t.py"), 2, gpus=2, name="ddp", framework="pytorch", image="reg/x",
        workdir="work", packages=("tqdm",), variables=(("LR", "0.1"),), secrets=("HF_TOKEN",),
    )  # fmt: skip
    said = list_left(DSTACK)
    assert [line for line, each in said if "shm_size" in each or "max_duration" in each] == [16, 15]


@pytest.mark.parametrize(
    ("gpu", "count"),
    [(2, 2), ("24GB:2", 2), ("A100:80GB:2..4", 2), ("H100", 1), ({"name": "A100", "count": "4.."}, 4), (None, 0)],
)
def test_gpus_of_dstack_are_a_number(gpu: object, count: int) -> None:
    assert count_gpus(gpu) == count


def test_a_service_of_dstack_trains_nothing() -> None:
    with pytest.raises(NoProgram) as error:
        read_foreign("type: service\nport: 80\ncommands: [python a.py]\n")
    assert str(error.value.left[0].said) == "a service of dstack trains nothing: a task does"


def test_a_command_of_arena_is_a_job() -> None:
    assert mean(ARENA) == Foreign(
        3, ("torchrun", "--nproc_per_node=2", "t.py", "--model", "/model/x"), 2, gpus=2, name="sft", image="reg/x",
        framework="pytorch", restarts=1, workdir="work", variables=(("A", "1"),),
    )  # fmt: skip
    said = [each for _, each in list_left(ARENA)]
    assert any("--from claim://CLAIM" in each for each in said)
    assert "--gang is left out: the workers of a job start together" in said


@pytest.mark.parametrize(
    ("name", "text", "key"),
    [
        ("a.yaml", SKY, "skypilot"),
        ("a.yaml", "run: python t.py\nnum_nodes: 2\n", "skypilot"),
        ("a.yml", DSTACK, "dstack"),
        ("a.yml", "type: dev-environment\nide: vscode\n", "dstack"),
        ("a", ARENA, "arena"),
        ("a.sh", f"#!/bin/bash\nset -e\n{ARENA}", "arena"),
        ("a", "#!/bin/bash\n#SBATCH -N 2\nsrun x\n", "slurm"),
        ("a.sh", "ls", "shell"),
        ("a.yaml", "apiVersion: v1\nkind: ConfigMap\ndata: {run: x, setup: y}\n", ""),
        ("a.yaml", "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n", ""),
        ("a.yaml", "type: task\n", ""),
        ("a.yaml", "run: [\n", ""),
        ("ci.yaml", "on: push\njobs: {a: {steps: [{run: x}]}}\n", ""),
        ("a.yaml", "", ""),
    ],
)
def test_a_file_is_of_one_tool_or_of_none(name: str, text: str, key: str) -> None:
    tool = find_tool(name, text)
    assert (tool.key if tool else "") == key


@pytest.mark.parametrize(
    ("asked", "resource"),
    [
        ("MI300X:8", "amd.com/gpu"),
        ("{MI300X: 8}", "amd.com/gpu"),
        ("tpu-v5e-8", "google.com/tpu"),
        ("Trainium:16", "aws.amazon.com/neuron"),
        ("Gaudi3:8", "habana.ai/gaudi"),
        ("V100-32GB:8", ""),
        ("Rebellion9:8", ""),
    ],
)
@pytest.mark.parametrize(
    "file",
    [
        "num_nodes: 1\nresources: {{accelerators: {asked}}}\nrun: torchrun t.py\n",
        "type: task\ncommands: [torchrun t.py]\nresources: {{gpu: {asked}}}\n",
        "#SBATCH --gpus-per-node={asked}\ntorchrun t.py\n",
    ],
)
def test_devices_of_other_vendors_are_no_gpus_of_nvidia(file: str, asked: str, resource: str) -> None:
    if "SBATCH" in file and asked.startswith("{"):
        asked = "mi300x:8"
    made = read_foreign(file.format(asked=asked))
    assert (made.gpus == 0, made.has_others) == (bool(resource), bool(resource))
    assert any(f"container names {resource}," in str(each.said) for each in made.left) == bool(resource)


def test_a_vendor_alone_tells_the_devices_of_dstack() -> None:
    file = "type: task\ncommands: [python t.py $DSTACK_GPUS_NUM]\nresources: {gpu: {vendor: amd, count: 4}}\n"
    made = read_foreign(file)
    assert (made.gpus, made.words) == (0, ("python", "t.py", "4"))
    tpu = read_foreign(file.replace("{vendor: amd, count: 4}", "v5litepod-8"))
    assert tpu.words == ("python", "t.py")


def test_a_variable_of_dstack_without_a_value_is_a_secret_only_by_its_name() -> None:
    made = read_foreign("type: task\ncommands: [python t.py]\nenv:\n- WANDB_PROJECT\n- HF_TOKEN\n")
    assert made.secrets == ("HF_TOKEN",)
    assert [str(each.said) for each in made.left] == [
        "WANDB_PROJECT has no value here: add --env WANDB_PROJECT=VALUE to `paddock init`"
    ]
