"""Launchers in a command: what is read of them, and the options that place a node."""

from __future__ import annotations

import shlex

import pytest

from paddock.places.launchers import find_launch, place_node, without_launcher

PLACED = [
    (
        "python -m paddle.distributed.launch train.py --lr 0.1",
        "python -m paddle.distributed.launch --master 10.0.0.1:36000 --nnodes 2 --rank 1 train.py --lr 0.1",
    ),
    (
        "python3 -u -m paddle.distributed.launch --gpus=0,1 --log_dir logs --nnodes=7 train.py --nnodes 3",
        "python3 -u -m paddle.distributed.launch --master 10.0.0.1:36000 --nnodes 2 --rank 1 --devices=0,1 "
        "--log_dir logs train.py --nnodes 3",
    ),
    (
        # the documents' run.sh of 2019
        "python -m paddle.distributed.launch --cluster_node_ips=192.168.1.2,192.168.1.3 --node_ip=192.168.1.3 "
        "--started_port=6170 --selected_gpus=0,1,2,3 train_with_fleet.py",
        "python -m paddle.distributed.launch --master 10.0.0.1:36000 --nnodes 2 --rank 1 --devices=0,1,2,3 "
        "train_with_fleet.py",
    ),
    (
        "fleetrun --use_paddlecloud --print_config train.py",
        "fleetrun --master 10.0.0.1:36000 --nnodes 2 --rank 1 --print_config train.py",
    ),
    (
        "fleetrun --ips a,b --sort_ip true train.py",
        "fleetrun --master 10.0.0.1:36000 --nnodes 2 --rank 1 --sort_ip true train.py",
    ),
    (
        "torchrun --standalone --nproc-per-node 4 train.py --rank 3",
        "torchrun --nnodes 2 --node-rank 1 --master-addr 10.0.0.1 --master-port 36000 --nproc-per-node 4 train.py "
        "--rank 3",
    ),
    (
        "python -m torch.distributed.run --rdzv_backend=c10d --rdzv-endpoint x:1 --nnodes=1:2 -m pkg.train",
        "python -m torch.distributed.run --nnodes 2 --node-rank 1 --master-addr 10.0.0.1 --master-port 36000 -m "
        "pkg.train",
    ),
]


@pytest.mark.parametrize(("command", "placed"), PLACED)
def test_a_node_gets_its_place_by_options_and_the_program_keeps_its_own(command: str, placed: str) -> None:
    launch = find_launch(shlex.split(command))
    assert launch is not None
    assert shlex.join(place_node(launch, "10.0.0.1", 36000, 2, 1)) == placed


@pytest.mark.parametrize("command", [command for command, _ in PLACED])
def test_what_is_read_is_written_again(command: str) -> None:
    launch = find_launch(shlex.split(command))
    assert launch is not None
    assert shlex.join(word.typed for word in launch.words) == command


def test_one_node_of_paddle_needs_no_master() -> None:
    launch = find_launch(["python", "-m", "paddle.distributed.launch", "--nnodes", "2", "train.py"])
    assert launch is not None
    assert place_node(launch, "10.0.0.1", 36000, 1, 0) == (
        "python",
        "-m",
        "paddle.distributed.launch",
        "train.py",
    )


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("python3 -m paddle.distributed.launch --server_num 2 train.py --lr 1", "python3 train.py --lr 1"),
        ("fleetrun --servers a --workers b train.py", "python train.py"),
        ("/opt/python/bin/python -m paddle.distributed.fleet.launch train.py", "/opt/python/bin/python train.py"),
    ],
)
def test_a_rank_beside_servers_runs_the_script_itself(command: str, program: str) -> None:
    launch = find_launch(shlex.split(command))
    assert launch is not None
    assert shlex.join(without_launcher(launch)) == program


@pytest.mark.parametrize("command", ["python train.py", "bash run.sh", "torchrun.py x", "python -m http.server"])
def test_a_command_without_a_launcher_has_none(command: str) -> None:
    assert find_launch(shlex.split(command)) is None
