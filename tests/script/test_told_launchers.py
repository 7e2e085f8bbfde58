"""Launchers of other libraries with several workers: they are told of the others, or refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paddock.jobs.apis.kubeflow_pytorch import KUBEFLOW_PYTORCH
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.frameworks import pytorch
from paddock.jobs.model import Rank
from paddock.kube.downward import expand
from paddock.launches.reading import read_script, read_typed
from paddock.script.kinds import find_kind
from paddock.script.libraries import READS, SET_FOR_SEVERAL
from paddock.script.manifest import build_command, build_manifest
from paddock.script.request import ScriptRequest
from paddock.script.told_launchers import explain_inside, explain_refused, explain_unset
from paddock.words.phrases import render

RANK = {"RANK": "1", "MASTER_ADDR": "train-master-0", "MASTER_PORT": "23456"}


def build(typed: str, workers: int = 2, gpus: int = 1, framework: str = "pytorch") -> ScriptRequest:
    return ScriptRequest(typed.split(), framework=framework, workers=workers, gpus=gpus)


def run(typed: str, workers: int = 2, gpus: int = 1) -> str:
    """The command as the second worker runs it."""
    return " ".join(expand(word, RANK) for word in build_command(build(typed, workers, gpus)))


ACCELERATE = "--num_machines 2 --machine_rank 1 --main_process_ip train-master-0 --main_process_port 23456"
TOLD = [
    ("accelerate launch t.py --lr 1", 1, f"accelerate launch {ACCELERATE} --num_processes 2 t.py --lr 1"),
    ("accelerate launch t.py", 4, f"accelerate launch {ACCELERATE} --num_processes 8 t.py"),
    # on CPUs accelerate makes a group where it is told so
    ("accelerate launch t.py", 0, f"accelerate launch {ACCELERATE} --num_processes 2 --cpu t.py"),
    # what was typed stays, and stands once
    ("accelerate launch --num_processes=4 --multi_gpu t.py", 2,
     f"accelerate launch {ACCELERATE} --num_processes=4 --multi_gpu t.py"),
    ("accelerate launch --main_process_port 1234 t.py", 1,
     "accelerate launch --num_machines 2 --machine_rank 1 --main_process_ip train-master-0 --num_processes 2 "
     "--main_process_port 1234 t.py"),
    # a configuration says how many processes there are
    ("accelerate launch --config_file c.yaml t.py", 1, f"accelerate launch {ACCELERATE} --config_file c.yaml t.py"),
    ("numactl -N 0 python -m accelerate.commands.launch t.py", 1,
     f"numactl -N 0 python -m accelerate.commands.launch {ACCELERATE} --num_processes 2 t.py"),
    ("fabric run --devices 2 t.py", 2,
     "fabric run --num_nodes 2 --node_rank 1 --main_address train-master-0 --main_port 23456 --devices 2 t.py"),
    ("composer -n 2 t.py", 4,
     "composer --world_size 4 --node_rank 1 --master_addr train-master-0 --master_port 23456 -n 2 t.py"),
    ("composer t.py", 0,
     "composer --nproc 1 --world_size 2 --node_rank 1 --master_addr train-master-0 --master_port 23456 t.py"),
    ("torchrun t.py", 1, "torchrun t.py"),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "gpus", "runs"), TOLD)
def test_each_worker_tells_its_launcher_of_the_others(typed: str, gpus: int, runs: str) -> None:
    assert run(typed, gpus=gpus) == runs
    assert run(typed, workers=1, gpus=gpus) == typed, "one worker has no others"


def test_what_was_typed_is_not_expanded_beside_the_options() -> None:
    assert run("accelerate launch t.py $(RANK)").endswith("t.py $(RANK)")


REFUSED = [
    ("accelerate launch --num_machines 3 t.py", "--num_machines 3 is another number than that of the workers, 2"),
    ("accelerate launch --machine_rank 0 t.py", "--machine_rank would keep the 2 workers apart"),
    ("accelerate launch --main_process_ip 10.0.0.1 t.py", "--main_process_ip would keep the 2 workers apart"),
    ("accelerate launch --num_processes 1 t.py", "a multiple of 2 is wanted"),
    ("fabric run --num-nodes=4 t.py", "--num-nodes 4 is another number"),
    ("composer --node_rank 0 t.py", "--node_rank would keep the 2 workers apart"),
    ("deepspeed --num_gpus 2 t.py", "each of the 2 workers would train alone. Leave it out"),
    ("mpirun -np 2 python t.py", "`paddock run --workers 2 -- python t.py`"),
    ("mpirun -np 2 ./train --lr 1", "`paddock run --workers 2 -- ./train --lr 1`"),
    ("srun -n 2 bash run.sh", "`paddock run --workers 2 -- bash run.sh`"),
    ("horovodrun -np 2 python -m pkg.t", "`paddock run --workers 2 -- python -m pkg.t`"),
]


@pytest.mark.parametrize(("typed", "said"), REFUSED)
@pytest.mark.parametrize("framework", ["pytorch", "none", "jax", "paddle"])
def test_what_would_train_alone_is_refused_with_what_to_do(typed: str, said: str, framework: str) -> None:
    request = build(typed, framework=framework)
    assert said in " ".join(map(render, find_kind(request).explain_refused(request)))
    alone = build(typed, workers=1, framework=framework)
    is_of_several = "is another number" in said  # one worker is not several either
    assert bool(list(find_kind(alone).explain_refused(alone))) is is_of_several


def test_several_workers_have_all_names_that_the_libraries_of_torch_read() -> None:
    """The table of libraries, against what the manifest and the operator set."""
    manifest = build_manifest(build("python t.py", workers=2))
    job = KINDS[KUBEFLOW_PYTORCH.resource].read_job(manifest)
    (container,) = manifest["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    found = {each["name"] for each in (*container["env"], *pytorch.build_environment(job, Rank("worker", 0), None))}
    assert found >= SET_FOR_SEVERAL
    read = {module for module, each in READS.items() if SET_FOR_SEVERAL.issuperset(each.names)}
    assert READS.keys() - read == {"horovod", "tensorflow"}


@pytest.mark.parametrize(
    ("imports", "said"),
    [({"torch", "lightning"}, []), ({"torch", "horovod"}, ["HOROVOD_RANK"]), ({"tensorflow"}, ["TF_CONFIG"])],
)
def test_a_library_whose_names_nobody_sets_is_said(imports: set[str], said: list[str]) -> None:
    request = ScriptRequest(["python", "t.py"], workers=2, imports=frozenset(imports))
    found = [render(each) for each in explain_unset(request)]
    assert len(found) == len(said) and all(want in text for want, text in zip(said, found, strict=True))
    assert list(explain_unset(replace(request, workers=1))) == []
    assert list(explain_unset(replace(request, variables=[("TF_CONFIG", "{}"), ("HOROVOD_RANK", "0")]))) == []


INSIDE = [
    ("accelerate launch t.py", ["`--num_machines 2 --machine_rank $RANK --main_process_ip $MASTER_ADDR"]),
    ("fabric run t.py", ["`--num_nodes 2 --node_rank $RANK"]),
    ("deepspeed t.py", ["would train alone"]),
    # who says it says it, who may say it may, and others read variables
    ("accelerate launch --machine_rank $RANK t.py", []),
    ("accelerate launch $ARGS t.py", []),
    ("torchrun t.py", []),
    ("composer t.py", []),
]


@pytest.mark.parametrize(("line", "said"), INSIDE)
def test_a_launcher_in_a_script_is_not_changed_and_what_it_needs_is_said(line: str, said: list[str]) -> None:
    request, launches = build("bash run.sh"), read_script(line).launches
    found = [render(each) for each in explain_inside(request, launches)]
    assert len(found) == len(said) and all(want in text for want, text in zip(said, found, strict=True))
    assert list(explain_inside(build("bash run.sh", workers=1), launches)) == []
    assert list(explain_inside(build("torchrun t.py"), launches)) == []


@pytest.mark.parametrize(
    ("framework", "text", "said"),
    [
        ("pytorch", "accelerate launch t.py > log", "`--num_machines 2 --machine_rank $RANK"),
        (
            "paddle",
            "cd x && python -u t.py --lr 1 2>&1 | tee log",
            "`python -u -m paddle.distributed.launch t.py --lr 1`",
        ),
        ("paddle", "python -m pkg.t", "`python -m paddle.distributed.launch python -m pkg.t`"),
        ("paddle", "python -m paddle.distributed.launch t.py > log", ""),
        ("paddle", "python prepare.py && ./start torchrun", ""),
        ("pytorch", "python t.py > log", ""),
    ],
)
def test_the_text_of_a_shell_stays_as_it_is_and_what_it_lacks_is_said(framework: str, text: str, said: str) -> None:
    request = ScriptRequest(["bash", "-c", text], framework=framework, workers=2)
    launches = read_typed(request.words).launches
    kind = find_kind(request)
    assert list(kind.build_command(request)) == ["bash", "-c", text]
    found = [*kind.explain_workers(request, launches), *explain_inside(request, launches)]
    assert [said in render(each) for each in found] == ([True] if said else [])


@pytest.mark.parametrize(("gpus", "imports", "is_set"), [
    (0, {"transformers"}, True), (0, {"accelerate", "torch"}, True), (0, {"torch"}, False), (1, {"accelerate"}, False),
])  # fmt: skip
def test_accelerate_is_told_that_workers_have_no_gpu(gpus: int, imports: set[str], is_set: bool) -> None:
    request = ScriptRequest(["python", "t.py"], framework="pytorch", workers=2, gpus=gpus, imports=frozenset(imports))
    assert ("ACCELERATE_USE_CPU" in str(build_manifest(request))) == is_set
    one = ScriptRequest(["python", "t.py"], framework="pytorch", gpus=gpus, imports=frozenset(imports))
    assert "ACCELERATE_USE_CPU" not in str(build_manifest(one))


@pytest.mark.parametrize(
    ("typed", "options"),
    [
        ("mpirun -np 2 python t.py", ""),
        ("mpirun -np 2 -x NCCL_DEBUG=INFO -x LR python t.py", "--env NCCL_DEBUG=INFO --env LR "),
        ("env A=1 mpirun -x A=1 -x API_KEY=abc python t.py", "--env A=1 --secret API_KEY "),
    ],
)
def test_the_variables_of_a_launcher_that_is_left_out_stay_in_what_to_type(typed: str, options: str) -> None:
    (said,) = explain_refused(build(typed))
    assert f"`paddock run --workers 2 {options}-- python t.py`" in str(said)
    assert "abc" not in str(said)
