"""What is not known is never an error: any value of a right command may be filled in later."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.manifests.yaml_nodes import Document
from paddock.preflight import check
from paddock.preflight.scripts import check_script
from paddock.script.kinds import find_kind
from paddock.script.request import ScriptRequest
from paddock.words.phrases import render

PADDLE = "python -m paddle.distributed.launch"
RIGHT = [
    f"{PADDLE} --devices 0,1 --nnodes 2 --master 10.0.0.1:36000 --rank 0 t.py --lr 0.1",
    f"{PADDLE} --gpus=0,1 --log_dir=log --run_mode collective t.py",
    f"{PADDLE} --master etcd://10.0.0.1:2379 --nnodes 2:3 --elastic_level 1 t.py",
    f"{PADDLE} --ips 10.0.0.1,10.0.0.2 --start_port 6170 t.py",
    f"{PADDLE} --servers=10.0.0.1:1,10.0.0.2:1 --trainers=10.0.0.3:1 --gloo_port 6767 t.py",
    f"{PADDLE} --server_num=1 --worker_num=1 --heter_worker_num=2 --heter_devices=cpu t.py",
    f"{PADDLE} --selected_gpus=0,1 --cluster_node_ips=10.0.0.1,10.0.0.2 --node_ip=10.0.0.1 t.py",
    "fleetrun --worker_num 2 --server_num 2 t.py --config a.yaml",
    "torchrun --nnodes 2 --nproc_per_node 4 --node_rank 1 --master_addr 10.0.0.1 --master_port 29500 t.py --lr 0.1",
    "torchrun --nnodes=1:4 --rdzv_backend=c10d --rdzv_endpoint=10.0.0.1:29400 --rdzv_id=7 --max_restarts=3 t.py",
    "python -m torch.distributed.run --standalone --nproc-per-node=2 -m pkg.train --lr 0.1",
    "accelerate launch --num_machines 2 --machine_rank 0 --main_process_ip 10.0.0.1 --mixed_precision bf16 t.py",
    "deepspeed --num_gpus 8 --master_port 29500 t.py --deepspeed ds.json",
    "mpirun -np 4 -H localhost:4 python t.py",
    "numactl -N 0 torchrun --nnodes 2 t.py",
]
UNKNOWN = ("${X}", "$X", "$(hostname -i)", "`cat n`", "${X:-1}", "${A}:${B}", "${HOSTS[0]}", "$((N + 1))", '"$@"', "$1")


def replace_value(words: list[str], place: int, unknown: str) -> list[str]:
    """The word, or what stands behind its `=`."""
    option, equals, _ = words[place].partition("=")
    word = f"{option}={unknown}" if equals and option.startswith("-") else unknown
    return [*words[:place], word, *words[place + 1 :]]


def list_places(words: list[str]) -> list[int]:
    """The words that are values: not the launcher, and not an option without one."""
    start = next(place for place, word in enumerate(words) if word.startswith("-") and word not in ("-m", "-N"))
    return [place for place in range(start, len(words)) if "=" in words[place] or not words[place].startswith("-")]


def build_job(api: str, kind: str, container: dict[str, Any]) -> Document:
    template = {"spec": {"containers": [{"name": "c", "image": "x:1", **container}]}}
    if kind == "PyTorchJob":
        spec: dict[str, Any] = {"pytorchReplicaSpecs": {"Worker": {"replicas": 3, "template": template}}}
    else:
        spec = {"worker": {"replicas": 3, "template": template}}
    return Document({"apiVersion": api, "kind": kind, "metadata": {"name": "j"}, "spec": spec})


def find_errors(text: str) -> list[str]:
    """Of a script, and of a job of each framework whose command it is. There `$1` is nothing, which is known."""
    found = [each.message for each in check_script(text).problems if each.severity == "error"]
    if "$@" in text or "$1" in text:
        return found
    for api, kind in (("batch.paddlepaddle.org/v1", "PaddleJob"), ("kubeflow.org/v1", "PyTorchJob")):
        problems = check(build_job(api, kind, {"command": ["bash", "-c", text]}))
        found += [each.message for each in problems if each.severity == "error"]
    return found


@pytest.mark.parametrize("command", RIGHT)
def test_the_command_itself_is_right(command: str) -> None:
    assert find_errors(command) == []


@given(st.data())
def test_any_values_of_a_right_command_may_be_filled_in_later(data: st.DataObject) -> None:
    words = data.draw(st.sampled_from(RIGHT)).split()
    for place in data.draw(st.sets(st.sampled_from(list_places(words)), min_size=1)):
        words = replace_value(words, place, data.draw(st.sampled_from(UNKNOWN)))
    assert find_errors(" ".join(words)) == []


@given(st.data())
def test_so_may_kubernetes_variables(data: st.DataObject) -> None:
    words = data.draw(st.sampled_from(RIGHT)).split()
    for place in data.draw(st.sets(st.sampled_from(list_places(words)), min_size=1)):
        words = replace_value(words, place, "$(MASTER_ADDR)")
    problems = check(build_job("batch.paddlepaddle.org/v1", "PaddleJob", {"command": words}))
    assert [each.message for each in problems if each.severity == "error"] == []


def find_said(text: str) -> list[str]:
    """All that is said of a command, of any severity, in a script and in jobs of both frameworks."""
    found = [each.message for each in check_script(text).problems]
    for api, kind in (("batch.paddlepaddle.org/v1", "PaddleJob"), ("kubeflow.org/v1", "PyTorchJob")):
        container = {"command": ["bash", "-c", text], "resources": {"limits": {"nvidia.com/gpu": 4}}}
        problems = check(build_job(api, kind, container))
        found += [f"{kind}: {each.message}" for each in problems if each.path.endswith(".command")]
    return found


@given(st.data())
def test_unknown_values_say_nothing_new_of_any_severity(data: st.DataObject) -> None:
    """Of a command of which nothing is said: more processes than devices, the other framework, one rank for all."""
    command = data.draw(st.sampled_from(QUIET))
    words = command.split()
    for place in data.draw(st.sets(st.sampled_from(list_places(words)), min_size=1)):
        words = replace_value(words, place, data.draw(st.sampled_from(UNKNOWN[:-2])))
    assert find_said(" ".join(words)) == []


QUIET = [
    "torchrun --nnodes=3 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_endpoint=a:29400 --max_restarts=3 t.py --lr=0.1",
    "torchrun --nnodes 3 --nproc_per_node 4 --master_addr 10.0.0.1 --master_port 29500 -m pkg.train --lr 0.1",
    "accelerate launch --num_machines 3 --main_process_ip 10.0.0.1 --mixed_precision bf16 t.py",
    "python t.py --lr 0.1 --data /data",
    "RANK=$RANK MASTER_ADDR=$HOST python t.py --lr 0.1",
]


@pytest.mark.parametrize("command", QUIET)
def test_the_commands_of_which_nothing_is_said(command: str) -> None:
    assert find_said(command) == []


TYPED = [
    ("pytorch", "torchrun --nnodes 2 --nproc_per_node 4 --node_rank 1 --master_addr 10.0.0.1 --master_port 295 t.py"),
    ("pytorch", "torchrun --nnodes=2 --rdzv_backend c10d --rdzv_id 7 --rdzv_endpoint 10.0.0.1:29400 t.py"),
    (
        "pytorch",
        "accelerate launch --num_machines 2 --machine_rank 0 --main_process_ip 10.0.0.1 --num_processes 4 t.py",
    ),
    ("pytorch", "fabric run --num_nodes 2 --node_rank 0 --main_address 10.0.0.1 t.py"),
    ("paddle", f"{PADDLE} --nnodes 2 --master 10.0.0.1:36000 --rank 0 t.py"),
    ("paddle", f"{PADDLE} --ips 10.0.0.1,10.0.0.2 t.py"),
]


@pytest.mark.parametrize(("framework", "command"), TYPED)
@given(st.data())
def test_a_shell_may_tell_each_worker_of_a_typed_command(framework: str, command: str, data: st.DataObject) -> None:
    """`paddock run --workers 2 -- bash -c '… --node_rank $RANK …'`: where the workers meet, and which each is, is known
    there alone; any of the other values may be, too."""
    words = command.split()
    places = list_places(words)
    told = [place for place in places if any(name in " ".join(words[place - 1 : place + 1]) for name in PLACES)]
    for place in {*told, *data.draw(st.sets(st.sampled_from(places)))}:
        words = replace_value(words, place, data.draw(st.sampled_from(UNKNOWN[:-2])))  # its arguments are known
    request = ScriptRequest(["bash", "-c", " ".join(words), "bash"], framework=framework, workers=2)
    assert [render(each) for each in find_kind(request).explain_refused(request)] == []
    assert list(find_kind(request).build_command(request)) == request.words


PLACES = ("rank", "master", "endpoint", "main_", "ips")


CONDITIONAL = [
    'if [ -n "$OLD" ]; then LAUNCH --np 2 a.py; else LAUNCH t.py; fi',
    'python -c "import x" && LAUNCH t.py || python -m paddle.distributed.launch_ps t.py',
    "old() { python -m paddle.fluid.launch t.py; }; LAUNCH t.py",
    "case $A in x) LAUNCH --np 2 t.py;; esac; LAUNCH t.py",
    "grep -q x /etc/mode && LAUNCH --np 2 t.py; LAUNCH t.py",
]


@pytest.mark.parametrize("text", CONDITIONAL)
def test_no_error_is_made_of_a_command_on_which_a_condition_decides(text: str) -> None:
    """It may be there for another machine, or for an older version."""
    written = text.replace("LAUNCH", "python -m paddle.distributed.launch")
    assert find_errors(written) == []


UNREAD = [
    "M=h; . /e; ", "M=h; set -a; . .env; ", "M=h; eval $(cat e); ", "M=h; [ -f e ] && . e; ", "M=h; export $(cat e); ",
    'M=h; export "$K=h:80"; ', 'M=h; for each in "$@"; do export "$each"; done; ',
    "M=h; while read k v; do export $k=$v; done < e; ",
    "M=h; test -f e && M=h:80; ", "M=h; grep -q x e && M=h:80; ", "M=h:80; for ((M=0;M<3;M++)); do echo; done; ",
]  # fmt: skip


@pytest.mark.parametrize("before", UNREAD)
def test_what_something_unread_may_have_set_is_not_known(before: str) -> None:
    text = f"{before}python -m paddle.distributed.launch --master $M --nnodes 2 t.py"
    assert find_errors(text) == []


@pytest.mark.parametrize("start", ["bash -c {}", "ssh h {}", "eval {}", "su -c {} me"])
def test_what_is_unknown_stays_it_in_quotes_of_a_text_within_a_text(start: str) -> None:
    inner = "python -m paddle.distributed.launch --master '$M' --nnodes 2 t.py"
    assert find_errors(start.format(f'"{inner}"')) == []
