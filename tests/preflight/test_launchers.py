"""Launchers that sign in to other pods, in a PyTorchJob: row by row."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.launches.reading import read_script
from paddock.preflight import Document, check
from paddock.preflight.launchers import explain_launcher
from paddock.words.phrases import render

SSH = "{} {} starts processes in other pods by SSH, which no pod serves: start the program in each pod with torchrun"
APART = "deepspeed without a hostfile starts processes in its own pod alone, and each of the 3 pods trains apart: start"

ALONE = "{} reaches no other pod and starts processes in its own, and each of the 3 pods trains apart: start"


@pytest.mark.parametrize(
    ("command", "pods", "said"),
    [
        ("deepspeed --hostfile=/job/hostfile train.py", 3, SSH.format("deepspeed", "--hostfile")),
        ("deepspeed --hostfile /job/hostfile train.py", 1, SSH.format("deepspeed", "--hostfile")),
        ("/usr/local/bin/deepspeed -H hosts train.py", 3, SSH.format("deepspeed", "-H")),
        ("deepspeed train.py --deepspeed_config ds.json", 3, APART),
        ("deepspeed --num_gpus 2 train.py", 3, APART),
        ("mpirun -np 4 -hostfile hosts python train.py", 1, SSH.format("mpirun", "-hostfile")),
        ("mpirun --allow-run-as-root -H a:1,b:1 python train.py", 3, SSH.format("mpirun", "-H")),
        ("mpiexec -f hosts -n 4 ./train", 3, SSH.format("mpiexec", "-f")),
        ("horovodrun -np 4 -H server1:2,server2:2 python train.py", 3, SSH.format("horovodrun", "-H")),
        ("mpirun -np 4 python train.py", 3, ALONE.format("mpirun")),
        ("mpirun -np 4 -H localhost:4 python train.py", 3, ALONE.format("mpirun")),
        ("srun --ntasks 2 python train.py", 3, ALONE.format("srun")),
        ("horovodrun -np 2 python train.py", 3, ALONE.format("horovodrun")),
        # what works in one pod, and what is none of theirs
        ("deepspeed train.py", 1, ""),
        ("deepspeed --num_gpus 2 train.py --hostfile data.txt", 1, ""),
        ("deepspeed --no_ssh --node_rank 1 --hostfile hosts train.py", 3, ""),
        ("deepspeed --help", 3, ""),
        ("mpirun -np 2 python train.py -H 4", 1, ""),
        ("mpirun -np 2 $ARGS python train.py", 3, ""),
        ("mpirun --hostfile $HOSTS python train.py", 3, ""),
        ("srun torchrun train.py", 3, ""),
        ("mpirun -np 2 -H localhost:2 python train.py", 1, ""),
        ("horovodrun -np 2 -H localhost:1,127.0.0.1:1 python train.py", 1, ""),
        ("horovodrun -np 2 -H 127.0.1.1:1,LOCALHOST:1 python train.py", 1, ""),
        ("torchrun train.py --hostfile x", 3, ""),
        ("python train.py --deepspeed ds.json", 3, ""),
        ("python -m mpirun -H a", 3, ""),
        ("", 3, ""),
    ],
)
def test_a_launcher_that_reaches_no_other_pod_is_told(command: str, pods: int, said: str) -> None:
    found = next(filter(None, (explain_launcher(each, pods) for each in read_script(command).launches)), None)
    text = render(found) if found else ""
    assert text.startswith(said) if said else not text


def job(*command: str, kind: str = "PyTorchJob", container: str = "pytorch", **more: Any) -> Document:
    template = {"spec": {"containers": [{"name": container, "image": "a", "command": list(command), **more}]}}
    replicas = {"Master": {"replicas": 1, "template": template}, "Worker": {"replicas": 2, "template": template}}
    field = {"PyTorchJob": "pytorchReplicaSpecs", "PaddleJob": "paddleReplicaSpecs"}[kind]
    return Document(
        {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": "a"}, "spec": {field: replicas}}
    )


def warnings(document: Document) -> list[str]:
    return [f"{each.path}: {each.message}" for each in check(document) if "torchrun, which" in each.message]


SCRIPT = """set -e
# mpirun -H a,b x
cd /work && export A=1
NCCL_DEBUG=INFO exec deepspeed --num_gpus 2 \\
  --hostfile=hosts train.py
"""


def test_the_job_is_warned_once_with_its_roles() -> None:
    (said,) = warnings(job("deepspeed", "train.py"))
    assert said.startswith(f"spec.pytorchReplicaSpecs.Master.template.spec.containers[0].command: {APART}")
    assert said.endswith("(the same in Worker)")


@pytest.mark.parametrize(
    "command",
    [
        ["bash", "-c", SCRIPT],
        ["sh", "-xec", SCRIPT],
        ["bash", "-e", "-c", SCRIPT],
        ["sh", "-c", "if true; then mpirun -H a x || (deepspeed --hostfile h x.py); fi"],
    ],
)
def test_the_text_of_a_shell_is_read(command: list[str]) -> None:
    (said,) = warnings(job(*command))
    assert SSH.format(*("deepspeed", "--hostfile") if SCRIPT in command else ("mpirun", "-H")) in said


@pytest.mark.parametrize(
    "text",
    [
        "echo mpirun -H a,b x",
        "pip install deepspeed; python train.py",
        "echo 'a\nmpirun -H a,b x\n'",
        "mpirun 'x -H a",
        "cat > run.sh <<EOF\nmpirun -H a,b x\nEOF\npython train.py",
    ],
)
def test_the_name_of_a_launcher_alone_is_none(text: str) -> None:
    assert warnings(job("bash", "-c", text)) == []


def test_other_kinds_and_containers_are_not_asked() -> None:
    assert warnings(job("deepspeed", "train.py", kind="PaddleJob", container="paddle")) == []
    assert warnings(job("python", "train.py", args=["deepspeed"])) == []


def test_launchers_of_no_framework_are_told_of_paddlepaddle_s_in_its_jobs() -> None:
    document = job("mpirun", "-np", "2", "python", "train.py", kind="PaddleJob", container="paddle")
    assert any("in each pod with paddle.distributed.launch" in each.message for each in check(document))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("accelerate launch --num_machines 3 --machine_rank 0 t.py", "--machine_rank 0 is the same in 3 pods"),
        ("accelerate launch --num_machines 3 --main_process_ip 127.0.0.1 t.py", "--main_process_ip 127.0.0.1 is each"),
        ("accelerate launch --num_machines 2 t.py", "--num_machines 2 is another number than that of the pods, 3"),
        ("fabric run --num_nodes=3 --node_rank=0 t.py", "--node_rank=0 is the same in 3 pods"),
        ("python -m lightning fabric run --node_rank=0 t.py", "--node_rank=0 is the same in 3 pods"),
        ("composer --node_rank 0 t.py", "--node_rank 0 is the same in 3 pods"),
        ("accelerate launch --num_machines 3 --machine_rank $RANK --main_process_ip $MASTER_ADDR t.py", ""),
        ("accelerate launch --num_machines $N --machine_rank $(hostname | cut -d- -f3) t.py", ""),
        ("accelerate launch --num_machines 3 --main_process_ip a-master-0 t.py", ""),
        (
            "accelerate launch t.py --num_machines 2",
            "each of the 3 pods may train alone: add `--num_machines 3 --machine_rank $RANK --main_process_ip "
            "$MASTER_ADDR --main_process_port $MASTER_PORT --num_processes 3`",
        ),
        ("fabric run t.py", "`--num_nodes 3 --node_rank $RANK --main_address $MASTER_ADDR --main_port $MASTER_PORT`"),
        ("accelerate launch --config_file a.yaml t.py", ""),
        ("accelerate launch --config-file=a.yaml t.py", ""),
        ("accelerate launch $ARGS t.py", ""),
        ("accelerate launch --help", ""),
        ("lightning something --node_rank=0", ""),
    ],
)
def test_options_that_each_pod_needs_of_its_own_are_told(command: str, said: str) -> None:
    found = [each.message for each in check(job("bash", "-c", command)) if each.path.endswith(".command")]
    assert any(said in each for each in found) if said else not found


def test_options_of_a_command_that_no_shell_reads_are_replaced_by_kubernetes() -> None:
    (said,) = (each.message for each in check(job("accelerate", "launch", "t.py")) if each.path.endswith(".command"))
    assert "--machine_rank $(RANK) --main_process_ip $(MASTER_ADDR)" in said
    told = said.partition("`")[2].partition("`")[0].split()
    assert not warnings(job("accelerate", "launch", *told, "t.py"))


def test_arguments_alone_are_a_command_too() -> None:
    assert ".args: " in warnings(job(args=["deepspeed", "train.py"]))[0]


@given(st.lists(st.sampled_from(["bash", "-c", "mpirun", "-H", "a,b", "'", ";", "deepspeed", "--hostfile=", "x.py"])))
def test_any_words_are_read(words: list[str]) -> None:
    for document in (job(*words), job("bash", "-c", " ".join(words))):
        check(document)


PADDLE = "python -m paddle.distributed.launch"


@pytest.mark.parametrize(
    ("kind", "command", "is_told"),
    [
        ("PaddleJob", "torchrun t.py", True),
        ("PaddleJob", "accelerate launch t.py", True),
        ("PyTorchJob", f"{PADDLE} t.py", True),
        ("PyTorchJob", "fleetrun --devices 0 t.py", True),
        ("PaddleJob", "torchrun --nnodes 3 --master_addr $ADDRESS t.py", False),
        ("PaddleJob", "torchrun $ARGS t.py", False),
        ("PyTorchJob", f"PADDLE_MASTER=$MASTER_ADDR:1 {PADDLE} t.py", False),
        ("PyTorchJob", "torchrun t.py", False),
        ("PaddleJob", f"{PADDLE} t.py", False),
        ("PaddleJob", "python t.py", False),
    ],
)
def test_the_launcher_of_the_other_framework_is_told_in_several_pods(kind: str, command: str, is_told: bool) -> None:
    problems = check(job("bash", "-c", command, kind=kind, container="a"))
    assert any("each pod would train apart; write" in each.message for each in problems) is is_told
