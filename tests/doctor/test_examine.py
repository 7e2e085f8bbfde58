"""What doctor finds in the logs of real runs (logs/README.md), and that it finds nothing in healthy ones."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from paddock import doctor
from paddock.doctor.asked import CPU, Asked, Machine, RankSeen, RoleAsked
from paddock.doctor.case import join_places, place
from paddock.doctor.examine import examine, name_logs
from paddock.doctor.findings import Finding, Severity
from paddock.doctor.launch_block import LaunchLog, read_launch_logs
from paddock.environments.packages.devices import DEVICES
from paddock.jobs.model import CauseRecord
from paddock.kube.pod_stacks import Frame, PodStacks, ProcessStacks, Thread
from paddock.launches.reading import find_main, read_typed
from paddock.logs.stacks import Folded, fold
from paddock.words.phrases import phrase, render

LOGS = Path(__file__).parent / "logs"
HEALTHY = (
    "single", "two-processes", "two-hosts", "modelarts", "own-name-unknown-interface", "cut-and-back", "torch-static",
    "torch-c10d", "torch-cut-and-back", "torch-one-host",
)  # fmt: skip
FOUND = {
    "own-name-unknown": ["own-name-is-unknown"],
    "name-127.0.1.1": ["nobody-serves-the-master"],
    "name-127.0.1.1-pod-ip": ["name-is-loopback"],
    "master-by-name": ["master-is-a-name"],
    "master-gone": ["master-has-gone"],
    "cut-for-good": ["peer-was-lost"],
    "elastic-lost-node": ["collective-in-a-world-of-one", "peer-was-lost"],
    "elastic-two-of-three": ["elastic-level-is-off"],
    "no-etcd3": ["etcd3-is-missing", "elastic-level-is-off", "elastic-default-job-id"],
    "etcd-protobuf": ["etcd3-and-protobuf"],
    "etcd-unreachable": ["etcd-is-unreachable"],
    "range-without-etcd": ["elastic-without-etcd"],
    "cpu-wheel-visible": ["cpu-wheel-with-visible-devices"],
    "cpu-wheel-devices": ["cpu-wheel-with-devices"],
    "devices-are-labels": ["devices-are-labels"],
    "old-flags": ["old-launcher"],
    "ps-old-launcher": ["old-launcher"],
    "ps-launch-master": ["launcher-waits-for-servers"],
    "ps-launch-servers": ["launcher-waits-for-servers"],
    "ps-launch-cut": ["launcher-waits-for-servers"],
    "no-servers-ps": ["wheel-without-parameter-servers"],
    "no-servers-worker": ["wheel-without-parameter-servers"],
    "server-lost": ["server-was-lost"],
    "server-with-trainer-id": ["trainer-id-of-no-worker"],
    "server-without-trainer-id": ["no-trainer-id"],
    "servers-protobuf": ["servers-and-protobuf"],
    "heter-merged-var": ["heter-cannot-be-split"],
    "heter-no-dataset": ["heter-without-dataset"],
    "heter-port": ["heter-is-not-reached"],
    "heter-gloo": ["heter-with-gloo"],
    "one-of-two": ["waits-for-peers"],
    "run-check": ["run-check-needs-two-nodes"],
    "torch-127.0.1.1": ["name-is-loopback"],
    "torch-unresolvable": ["name-is-loopback"],
    "torch-peer-name": ["peer-name-is-unknown"],
    "torch-nobody-hosts": ["nobody-hosts-the-store"],
    "torch-local-addr": ["store-is-not-reached"],
    "torch-cut-for-good": ["peer-was-lost"],
    "torch-cut-84s": ["peer-was-lost"],
    "torch-static-cut": ["silent-for-long"],
    "torch-nccl": ["cpu-wheel-asked-for-gpu"],
    "torch-port": ["port-is-taken"],
    "store-port": ["port-is-taken"],
    "cpu-wheel-set-device": ["cpu-wheel-asked-for-gpu"],
}


def read(name: str) -> dict[str, LaunchLog]:
    return name_logs(read_launch_logs((LOGS / f"{name}.log").read_text().splitlines()))


def find(name: str) -> dict[str, Finding]:
    return {each.check: each for each in examine(Asked(), read(name))}


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_found_in_the_log_of_a_healthy_run(name: str) -> None:
    assert [(each.check, render(each.what)) for each in examine(Asked(), read(name))] == []


@pytest.mark.parametrize(("name", "checks"), FOUND.items())
def test_the_cause_is_found_in_the_log_of_a_real_run_and_its_effects_are_not_told_again(
    name: str, checks: list[str]
) -> None:
    found = examine(Asked(), read(name))
    assert [each.check for each in found] == checks
    for each in found:
        assert render(each.what) and render(each.why) and render(each.mend) and each.where


def test_each_log_of_the_folder_is_in_a_table() -> None:
    assert {path.stem for path in LOGS.glob("*.log")} == {*HEALTHY, *FOUND, "no-launcher", "heter-hogwild"}


COMMANDS = {
    ("name-127.0.1.1", "nobody-serves-the-master"):
        "POD_IP=10.77.0.1 python -m paddle.distributed.launch --master 10.77.0.1:25880 --nnodes 2 /app/train.py 2",
    ("devices-are-labels", "devices-are-labels"): "python -m paddle.distributed.launch --devices 2,3 train.py",
    ("cpu-wheel-devices", "cpu-wheel-with-devices"): "python -m paddle.distributed.launch --nproc_per_node 2 train.py",
    ("old-flags", "old-launcher"):
        "python -m paddle.distributed.launch --master 192.0.2.2:6170 --nnodes 2 --rank 1 --devices 0 train.py",
    ("range-without-etcd", "elastic-without-etcd"):
        "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=python python -m paddle.distributed.launch --master "
        "etcd://ETCD_HOST:2379 --nnodes 2:3 --elastic_level 1 --job_id my-job train.py",
}  # fmt: skip


@pytest.mark.parametrize(("where", "command"), COMMANDS.items())
def test_the_command_is_that_of_the_log_with_what_mends_it(where: tuple[str, str], command: str) -> None:
    assert find(where[0])[where[1]].command == command


def test_devices_that_a_variable_names_are_not_blamed_on_what_was_typed() -> None:
    lines = ["LAUNCH WARNING args devices will be overridden by env: PADDLE_DEVICES value: 2",
             "LAUNCH ERROR 2026-11-25 14:31:42,999 Device not found 2 from 2 for setting ",
             "LAUNCH INFO 2026-11-25 14:31:43,006 devices: 2",
             "LAUNCH INFO 2026-11-25 14:31:43,006 training_script: train.py"]  # fmt: skip
    found = next(each for each in examine(Asked(), name_logs(read_launch_logs(lines))) if "devices" in each.check)
    assert render(found.what) == "PADDLE_DEVICES=2 was asked for, and this PaddlePaddle sees no device"
    assert "unset PADDLE_DEVICES, which wins over --devices" in render(found.mend)
    assert found.command == "env -u PADDLE_DEVICES python -m paddle.distributed.launch --nproc_per_node 1 train.py"


def test_a_finding_says_its_numbers() -> None:
    assert render(find("devices-are-labels")["devices-are-labels"].what) == (
        "--devices 0,1 was asked for, and CUDA_VISIBLE_DEVICES shows 2,3 alone"
    )
    assert "10.77.0.1:25880 (4 times not ready)" in render(find("name-127.0.1.1")["nobody-serves-the-master"].what)


def block(*lines: str, **arguments: str) -> LaunchLog:
    """A launcher's block with these arguments, then lines of the launcher."""
    base = {
        "devices": "None", "elastic_level": "-1", "elastic_timeout": "30", "host": "None", "job_id": "default",
        "master": "None", "nnodes": "1", "nproc_per_node": "None", "rank": "-1", "run_mode": "collective",
        "training_script": "train.py", "training_script_args": "[]",
    }  # fmt: skip
    said = ["-----------  Configuration  ----------------------"]
    said += [f"{name}: {value}" for name, value in {**base, **arguments}.items()]
    said += ["-" * 50, *lines]
    return read_launch_logs([f"LAUNCH INFO 2026-11-20 15:38:21,548 {each}" for each in said])[0]


def job_line(count: int, least: int = 0, mode: str = "collective") -> str:
    return f"Job: default, mode {mode}, replicas {count}[{least or count}:{count}], elastic False"


def started(count: int) -> tuple[str, str]:
    return tuple(f"{verb} Pod: abcdef, replicas {count}, status running" for verb in ("Run", "Watching"))  # type: ignore[return-value]


def launch(command: str) -> RoleAsked:
    return RoleAsked("worker", 1, launch=find_main(read_typed(command.split())))


def lines(*printed: str) -> LaunchLog:
    """The log of a program."""
    return read_launch_logs(printed)[0]


DATALOADER_KILLED = (
    "SystemError: (Fatal) DataLoader process (pid 1104) exited is killed by signal: Killed. (at /paddle/a.cc:181)"
)
DEVICE_FULL = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 79 GiB"
)
GPU = next(each for each in DEVICES if each.name == "GPU")
JOB = Asked(job="demo", framework="paddle", mode="Collective", roles=(RoleAsked("worker", 2),))
ALONE = Asked(job="demo", framework="paddle", mode="Collective", roles=(RoleAsked("worker", 1),))
RUNS = RankSeen(running=True, quiet=1.0, begun=60.0)
WAITS = block(job_line(2), "Waiting peer start...", nnodes="2", master="10.0.0.1:6170")
TRAINS = block(job_line(2), *started(1), nnodes="2", master="10.0.0.1:6170")
BUSY = RankSeen(running=True, quiet=400.0, begun=420.0, cores=1.0)
UNSEEN = RankSeen(running=True, quiet=400.0, begun=420.0)
QUIET = RankSeen(running=True, quiet=400.0, begun=420.0, cores=0.0)

RETRY = (
    "I1125 14:05:17.974907 12966 tcp_utils.cc:109] Retry to connect to 10.0.0.1:6070 while the server is not yet "
    "listening."
)
IN_USE = (
    "RuntimeError: The server socket has failed to listen on any local network address. port: 29500, useIpv6: false, "
    "code: -98, name: EADDRINUSE, message: address already in use"
)
NOT_CONNECTED = (
    "E1123 21:29:54.6 26103 brpc_ps_client.cc:383] err:[E112]Not connected to 10.0.0.3:26280 yet, server_id=0"
)

MADE: dict[str, tuple[Asked, dict[str, LaunchLog], dict[str, RankSeen], list[str]]] = {
    "a job with one pod whose command waits for two nodes": (
        ALONE, {"worker-0": WAITS}, {"worker-0": RUNS}, ["waits-for-nodes-that-nobody-starts"],
    ),
    "a job with two pods whose launchers were told of one node": (
        JOB, {"worker-0": block(job_line(1), *started(1)), "worker-1": block(job_line(1), *started(1))},
        {"worker-0": RUNS, "worker-1": RUNS}, ["each-node-trains-alone"],
    ),
    "a launcher that waits for a pod that is not there": (
        JOB, {"worker-0": WAITS}, {"worker-0": RUNS, "worker-1": RankSeen(waits=phrase("needs 1 GPU, 0 are free"))},
        ["waits-for-peers"],
    ),
    "a heter rank that trains the whole net": (
        JOB, {"heter-0": read("heter-hogwild")[""]}, {"heter-0": RUNS}, ["heter-trains-alone"],
    ),
    "a worker that trains the whole net, as workers of plain parameter servers do": (
        JOB, {"worker-0": read("heter-hogwild")[""]}, {"worker-0": RUNS}, [],
    ),
    "a launcher that has just begun to wait": (
        JOB, {"worker-0": WAITS}, {"worker-0": RankSeen(running=True, quiet=3.0, begun=5.0)}, [],
    ),
    "a rank that has failed while another is silent": (
        JOB, {"worker-0": TRAINS, "worker-1": TRAINS}, {"worker-0": QUIET, "worker-1": RankSeen(code=1)},
        ["program-failed", "waits-for-ended-rank"],
    ),
    "a rank that has failed a moment ago": (
        JOB, {"worker-0": TRAINS, "worker-1": TRAINS}, {"worker-0": RUNS, "worker-1": RankSeen(code=1)},
        ["program-failed"],
    ),
    "all ranks print, and no GPU works": (
        JOB, {"worker-0": TRAINS, "worker-1": TRAINS},
        {name: replace(RUNS, gpus=4.0, idle=3000.0) for name in ("worker-0", "worker-1")}, ["gpus-do-nothing"],
    ),
    "all ranks silent": (JOB, {"worker-0": TRAINS, "worker-1": TRAINS}, {"worker-0": QUIET, "worker-1": QUIET},
                         ["silent-for-long"]),
    "all ranks silent, and all compute": (
        JOB, {"worker-0": TRAINS, "worker-1": TRAINS}, {"worker-0": BUSY, "worker-1": BUSY}, [],
    ),
    "all ranks silent, and one computes": (
        JOB, {"worker-0": TRAINS, "worker-1": TRAINS}, {"worker-0": QUIET, "worker-1": BUSY}, ["silent-for-long"],
    ),
    "all ranks silent for some minutes, and nobody knows what they use": (
        JOB, {"worker-0": TRAINS, "worker-1": TRAINS}, dict.fromkeys(("worker-0", "worker-1"), UNSEEN), [],
    ),
    "a master that one host does not reach": (
        Asked(), {"": block(job_line(2), "Waiting peer start...", "master not ready", "master not ready",
                            nnodes="2", master="10.0.0.1:6170", rank="1", host="10.0.0.2")}, {},
        ["master-is-not-reached"],
    ),
    "a rank that its probe holds back": (
        JOB, {}, {"worker-0": RUNS, "worker-1": RankSeen(begun=31.0, unready="paddle")}, ["not-ready"],
    ),
    "a rank that its probe holds back, nobody knows how long": (
        JOB, {}, {"worker-0": RankSeen(unready="paddle")}, ["not-ready"],
    ),
    "a rank that is not ready, beside a failure that does not explain it": (
        JOB, {"worker-0": TRAINS, "worker-1": lines("step 1", "ValueError: no data")},
        {"worker-0": RankSeen(unready="paddle"), "worker-1": RankSeen(code=1)}, ["not-ready", "program-failed"],
    ),
    "a launcher that ended before it started anything": (
        Asked(), {"": block(job_line(1), "Exit code 1")}, {}, ["never-started"],
    ),
    "two pods, and a program without a launcher": (
        JOB, {name: read_launch_logs(["x: UserWarning: Currently not a parallel execution environment, nothing"])[0]
              for name in ("worker-0", "worker-1")}, {"worker-0": RUNS, "worker-1": RUNS}, ["no-parallel-environment"],
    ),
    "one pod, and a program without a launcher": (
        ALONE, {"worker-0": read_launch_logs(["x: UserWarning: Currently not a parallel execution environment"])[0]},
        {"worker-0": RUNS}, [],
    ),
    "a template that sets which GPUs are visible": (
        Asked("demo", roles=(RoleAsked("worker", 1, device=GPU, devices=1,
                                       variables={"CUDA_VISIBLE_DEVICES": ""}),)),
        {"worker-0": block(job_line(1), *started(1))}, {"worker-0": RUNS}, ["visible-devices-are-set"],
    ),
    "torchrun that was told of more nodes than there are": (
        Asked("demo", roles=(replace(launch("torchrun --nnodes 3 t.py"), ranks=2),)), {}, {},
        ["waits-for-nodes-that-nobody-starts"],
    ),
    "a driver that is too old": (
        Asked(), {"": read_launch_logs(["RuntimeError: The NVIDIA driver on your system is too old"])[0]},
        {}, ["driver-too-old"],
    ),
    "a wheel for GPUs without one": (
        Asked(), {"": block(job_line(1), "You are using GPU version Paddle, but your CUDA device is not set properly."
                            " CPU device will be used by default.")}, {}, ["gpu-wheel-without-gpu"],
    ),
    "one rank silent, as launchers print rank 0 alone": (
        JOB, {"worker-0": TRAINS, "worker-1": TRAINS}, {"worker-0": RUNS, "worker-1": QUIET}, [],
    ),
    "a job that asks for a GPU with an environment for CPUs": (
        Asked("demo", roles=(RoleAsked("worker", 1, device=GPU,
                                       devices=2),), wheel=CPU, environment="paddle"),
        {"worker-0": block(job_line(1), *started(1))}, {"worker-0": RUNS}, ["cpu-wheel-on-gpu-machine"],
    ),
    "two GPUs for a rank, and one process": (
        Asked("demo", roles=(RoleAsked("worker", 1, device=GPU,
                                       devices=2),)),
        {"worker-0": block(job_line(1), *started(1))}, {"worker-0": RUNS}, ["processes-are-not-devices"],
    ),
    "an option of the command that the environment has replaced": (
        Asked("demo", roles=(launch("python -m paddle.distributed.launch --nproc_per_node 4 train.py"),)),
        {"worker-0": read_launch_logs([
            "LAUNCH WARNING args nproc_per_node will be overridden by env: PADDLE_NPROC_PER_NODE value: 1",
            "LAUNCH INFO 2026-11-20 15:38:21,548 -----------  Configuration  ----------------------",
            "LAUNCH INFO 2026-11-20 15:38:21,548 nproc_per_node: 1",
            f"LAUNCH INFO 2026-11-20 15:38:21,548 {job_line(1)}",
            *(f"LAUNCH INFO 2026-11-20 15:38:21,548 {each}" for each in started(1)),
        ])[0]}, {"worker-0": RUNS}, ["argument-not-in-effect"],
    ),
    "a job with one pod whose command says two nodes": (
        Asked("demo", roles=(launch("python -m paddle.distributed.launch --nnodes 2 t.py"),)),
        {"worker-0": block(job_line(1), *started(1))}, {"worker-0": RUNS}, ["nodes-differ-from-replicas"],
    ),
    "a job that has not begun, with one pod, whose command says two nodes": (
        Asked("demo", roles=(launch("python -m paddle.distributed.launch --nnodes 2 t.py"),)),
        {}, {"worker-0": RankSeen()}, ["nodes-differ-from-replicas"],
    ),
    "an option of other years in the command of a job": (
        Asked("demo", roles=(launch("python -m paddle.distributed.launch --master 10.0.0.1:61 --print_config t.py"),)),
        {"worker-0": block(job_line(1), *started(1))}, {"worker-0": RUNS}, ["old-arguments"],
    ),
    "hosts that are told of different masters": (
        Asked(), {"a": block(job_line(2), "Waiting peer start...", nnodes="2", master="10.0.0.1:6170"),
                  "b": block(job_line(2), "Waiting peer start...", nnodes="2", master="10.0.0.2:6170")},
        {}, ["hosts-disagree"],
    ),
    "hosts with the same rank": (
        Asked(), {"a": block(job_line(2), "Waiting peer start...", nnodes="2", master="10.0.0.1:6170", rank="0"),
                  "b": block(job_line(2), "Waiting peer start...", nnodes="2", master="10.0.0.1:6170", rank="0")},
        {}, ["same-rank-twice"],
    ),
    "hosts that were started for one node each": (
        Asked(), {"a": block(job_line(1), *started(1)), "b": block(job_line(1), *started(1))}, {},
        ["each-node-trains-alone"],
    ),
    "an elastic level without etcd": (
        Asked(), {"": block(job_line(2), *started(1), nnodes="2", master="10.0.0.1:6170", elastic_level="1")}, {},
        ["elastic-without-etcd"],
    ),
    "etcd without a range": (
        Asked(), {"": block(job_line(2), *started(1), nnodes="2", master="etcd://10.0.0.1:2379", job_id="a",
                            elastic_level="1")}, {}, ["elastic-without-range"],
    ),
    "elastic with all that it needs": (
        Asked(), {"": block(job_line(3, 2), *started(1), nnodes="2:3", master="etcd://10.0.0.1:2379", job_id="a",
                            elastic_level="1")}, {}, [],
    ),
    "elastic with a fixed rank and a long timeout": (
        Asked(), {"": block(job_line(3, 2), *started(1), nnodes="2:3", master="etcd://10.0.0.1:2379", job_id="a",
                            elastic_level="1", rank="0", elastic_timeout="600")}, {},
        ["elastic-fixed-rank", "elastic-timeout-is-long"],
    ),
    "fewer processes than --devices": (
        Asked(), {"": block(job_line(1), *started(1), devices="0,1")}, {}, ["processes-are-not-devices"],
    ),
    "a rank that ended with an error in its log": (
        JOB, {"worker-0": TRAINS, "worker-1": lines("step 1", "ValueError: no data")},
        {"worker-0": RUNS, "worker-1": RankSeen(code=1)}, ["program-failed"],
    ),
    "a rank whose DataLoader lost a process": (
        JOB, {"worker-0": TRAINS, "worker-1": lines("step 1", DATALOADER_KILLED)},
        {"worker-0": RUNS, "worker-1": RankSeen(code=1)}, ["memory-was-used-up"],
    ),
    "a log whose device is full": (
        Asked(), {"": lines("step 1", DEVICE_FULL)}, {}, ["device-memory-was-used-up"],
    ),
    "a rank whose module is hidden by a file of the user's own": (
        ALONE, {"worker-0": lines("ModuleNotFoundError: No module named 'http.client'; 'http' is not a package")},
        {"worker-0": RankSeen(code=1)}, ["standard-module-is-hidden"],
    ),
    "a rank whose package is missing": (
        ALONE, {"worker-0": lines("ModuleNotFoundError: No module named 'pandas'")}, {"worker-0": RankSeen(code=1)},
        ["module-is-missing"],
    ),
    "a rank that ended without a word": (
        JOB, {"worker-0": TRAINS}, {"worker-0": RUNS, "worker-1": RankSeen(code=3)}, ["program-failed"],
    ),
    "a rank that was killed": (
        JOB, {"worker-1": lines("step 1")}, {"worker-0": RUNS, "worker-1": RankSeen(code=137)}, ["program-was-killed"],
    ),
    "a rank that was killed in native code": (
        JOB, {"worker-1": lines("step 1")}, {"worker-0": RUNS, "worker-1": RankSeen(code=139)}, ["program-was-killed"],
    ),
    "a job that has completed and printed what it caught": (
        ALONE, {"worker-0": lines("Traceback (most recent call last):", "ValueError: printed only")},
        {"worker-0": RankSeen()}, [],
    ),
    "an error that was caught in a run that goes on": (
        ALONE, {"worker-0": lines("ValueError: skipped", "epoch 2 loss 0.1")}, {"worker-0": RUNS}, [],
    ),
    "a log alone whose program went on after an error": (
        Asked(), {"": block(job_line(1), *started(1))}, {}, [],
    ),
    "an option that a launcher hands over": (
        Asked(), {"": lines("usage: t.py [-h]", "t.py: error: unrecognized arguments: --local-rank=0",
                            "E1125 09:00:00.000 900 torch/distributed/elastic/multiprocessing/api.py:870] failed "
                            "(exitcode: 2) local_rank: 0 (pid: 905) of binary: /usr/bin/python3")}, {},
        ["local-rank-is-no-option"],
    ),
    "shared memory that is used up": (
        Asked(), {"": lines("RuntimeError: DataLoader worker (pid 231) is killed by signal: Bus error. It is possible "
                            "that dataloader's workers are out of shared memory.")}, {}, ["shared-memory-is-full"],
    ),
    "a collective that timed out": (
        Asked(), {"": lines("[rank1]:[E1125 10:21:44.118 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective "
                            "operation timeout: WorkNCCL(SeqNum=412, OpType=ALLREDUCE, NumelIn=2, Timeout(ms)=600000) "
                            "ran for 600052 milliseconds before timing out.")}, {}, ["collective-timed-out"],
    ),
    "a rank that waits for the store of another": (
        JOB, {"worker-1": lines(*[RETRY] * 3), "worker-0": lines("loads the data")},
        {"worker-0": replace(RUNS, names=frozenset({"10.0.0.1"})), "worker-1": RUNS}, ["waits-for-address"],
    ),
    "a rank that has asked for a store twice": (
        JOB, {"worker-1": lines(*[RETRY] * 2)}, {"worker-0": RUNS, "worker-1": RUNS}, [],
    ),
    "a rank that waited, and goes on": (
        JOB, {"worker-1": lines(*[RETRY] * 9, "epoch 1 loss 0.3")}, {"worker-0": RUNS, "worker-1": RUNS}, [],
    ),
    "a rank that serves a store at an address that is not its own": (
        Asked(), {"": lines("I1125 14:05:17.974493 12966 tcp_store.cc:336] create libuv server at port: 6070",
                            *[RETRY] * 4)}, {}, ["own-address-is-not-here"],
    ),
    "the first of several hosts of --ips alone": (
        Asked(), {"": block(job_line(1), *started(1),
                            "I1125 14:05:17.974493 12966 tcp_store.cc:336] create libuv server at port: 6070",
                            ips="10.0.0.1, 10.0.0.2")}, {}, ["waits-for-hosts"],
    ),
    "a port that another rank of the job has": (
        JOB, {"worker-0": lines("I1125 14:05:17.9 12 tcp_store.cc:336] create libuv server at port: 29500"),
              "worker-1": lines(IN_USE)},
        {"worker-0": RUNS, "worker-1": RankSeen(code=1)}, ["port-is-another-ranks"],
    ),
    "a port that somebody has": (
        JOB, {"worker-0": lines("step 1"), "worker-1": lines(IN_USE)},
        {"worker-0": RUNS, "worker-1": RankSeen(code=1)}, ["port-is-taken"],
    ),
    "a rank that was told to end beside one that failed by itself": (
        JOB, {"worker-0": lines("step 1"), "worker-1": lines("ValueError: bad batch")},
        {"worker-0": RankSeen(code=143), "worker-1": RankSeen(code=1)}, ["program-failed"],
    ),
    "a rank that was told to end": (
        ALONE, {"worker-0": lines("step 1")}, {"worker-0": RankSeen(code=143)}, ["program-was-killed"],
    ),
    "a server that was not there yet": (
        JOB, {"worker-0": lines(NOT_CONNECTED)}, {"worker-0": RUNS}, ["server-was-never-reached"],
    ),
    "a server that was not there yet and came": (
        JOB, {"worker-0": lines(NOT_CONNECTED, "epoch 1 loss 0.3")}, {"worker-0": RUNS}, [],
    ),
    "as many processes as --devices": (Asked(), {"": block(job_line(1), *started(2), devices="6,7")}, {}, []),
}  # fmt: skip


@pytest.mark.parametrize("case", MADE)
def test_a_case_gives(case: str) -> None:
    asked, logs, ranks, expected = MADE[case]
    assert [each.check for each in examine(asked, logs, ranks, Machine(0, is_shared=True))] == expected


def test_a_job_of_which_its_status_says_that_it_is_silent_is_never_nothing_found() -> None:
    """The stacks that were written into its logs look like lines of a moment ago."""
    cause = CauseRecord("JobSilent", {"seconds": 6, "who": ["worker-0"], "places": ["stuck, hang.py:5"]})
    logs, ranks = {"worker-0": lines("a"), "worker-1": lines("a")}, {"worker-0": RUNS, "worker-1": RUNS}
    assert [each.check for each in examine(JOB, logs, ranks, cause=cause)] == ["silent-for-long"]
    assert examine(JOB, logs, ranks) == ()


def test_a_job_that_was_ended_as_nobody_printed_is_told_by_its_cause() -> None:
    cause = CauseRecord("SilentFailed", {"seconds": 1800, "who": ["worker-1"], "places": ["read_batch, data.py:41"]})
    logs = {"worker-0": lines("step 1"), "worker-1": lines("step 1")}
    (found,) = examine(JOB, logs, {"worker-0": RankSeen(), "worker-1": RankSeen()}, cause=cause, has_failed=True)
    assert (found.check, render(found.where)) == ("ended-for-silence", "worker-0, line 1, worker-1, line 1")
    assert render(found.what) == "failed: no rank has printed for over 30m: worker-1 in read_batch, data.py:41"


@pytest.mark.parametrize(
    ("error", "check", "command"),
    [
        (DATALOADER_KILLED, "memory-was-used-up", "journalctl -k -g 'out of memory'"),
        ("RuntimeError: DataLoader worker (pid 12) is killed by signal: Killed. ", "memory-was-used-up",
         "journalctl -k -g 'out of memory'"),
        ("train.sh: line 3: 1234 Killed                  python train.py", "memory-was-used-up",
         "journalctl -k -g 'out of memory'"),
        ("MemoryError", "memory-was-used-up", "free -h"),
        ("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 3.20 GiB for an array with shape (9,)",
         "memory-was-used-up", "free -h"),
        ("OSError: [Errno 12] Cannot allocate memory", "memory-was-used-up", "free -h"),
        ("RuntimeError: [enforce fail at alloc_cpu.cpp:124] data. DefaultCPUAllocator: can't allocate memory",
         "memory-was-used-up", "free -h"),
        (DEVICE_FULL, "device-memory-was-used-up", "nvidia-smi"),
        ("ResourceExhaustedError: Out of memory error on GPU 0. Cannot allocate 1GB memory on GPU 0",
         "device-memory-was-used-up", "nvidia-smi"),
        ("RuntimeError: Killed it", "program-failed", ""),
    ],
)  # fmt: skip
def test_a_log_whose_memory_was_used_up_has_a_cure(error: str, check: str, command: str) -> None:
    (found,) = examine(Asked(), {"": lines("step 1 loss 0.5", error)})
    assert (found.check, found.command) == (check, command)
    assert error.strip() in render(found.what)


@pytest.mark.parametrize(
    ("amounts", "said"),
    [
        ({"memory_used": "2.0 GiB", "memory_limit": "2.0 GiB"}, "it used 2.0 GiB of 2.0 GiB"),
        ({}, "it was ended as its memory was used up (OOMKilled)"),
    ],
)
def test_a_rank_that_the_kernel_ended_is_told_by_the_cause_of_the_job(amounts: dict[str, str], said: str) -> None:
    cause = CauseRecord("RankFailed", {"ranks": ["worker-1"], "code": 137, "memory": True, **amounts})
    seen = {"worker-0": RankSeen(running=True), "worker-1": RankSeen(code=137)}
    (found,) = examine(JOB, {"worker-1": lines("step 1")}, seen, cause=cause)
    assert found.check == "memory-was-used-up" and said in render(found.what)
    (other,) = examine(JOB, {"worker-0": lines("step 1")}, {"worker-0": RankSeen(code=137)}, cause=cause)
    assert other.check == "program-was-killed", "the cause is another rank's"


@pytest.mark.parametrize(
    ("printed", "command"),
    [
        ("AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'", "import torch"),
        ("E1129 01:49:36.896170 25168 place.cc:338] Cannot use GPU because you have installed CPU version "
         "PaddlePaddle.", "import paddle"),
    ],
)  # fmt: skip
def test_a_wheel_for_cpus_says_in_several_ways_that_it_has_no_cuda(printed: str, command: str) -> None:
    (found,) = examine(JOB, {"worker-0": lines(printed)}, {"worker-0": RankSeen(code=1)})
    assert found.check == "cpu-wheel-asked-for-gpu" and command in found.command


CAUGHT = ("Traceback (most recent call last):", '  File "t.py", line 8, in main', "    load()", "ValueError: shard 3")
"""As `traceback.print_exc` prints it: from the frame that caught."""


@pytest.mark.parametrize(
    ("printed", "line", "what"),
    [
        ((*CAUGHT, *("a",) * 9, "giving up"), 4, "it failed: ValueError: shard 3; its last line: giving up"),
        ((*CAUGHT, "step 1 loss 0.5", "giving up"), 6, "it failed: giving up"),
        ((*CAUGHT, *("a",) * 3_000, "giving up"), 4, "it failed: ValueError: shard 3; its last line: giving up"),
        ((*CAUGHT, "step 1 loss 0.5"), 4, "it failed: ValueError: shard 3"),
        (("a", "ERROR:root:no data", "b"), 2, "it failed: ERROR:root:no data"),
        ((*("a",) * 3_000, "ERROR:root:no data", "b"), 3_001, "it failed: ERROR:root:no data"),
        (("ERROR:root:no data", *("step 1 loss 0.5",) * 3_000, "b"), 3_002,
         "it failed (exit code 1), and printed no error; its last line: b"),
    ],
)  # fmt: skip
def test_a_failure_is_told_by_what_ended_the_program(printed: tuple[str, ...], line: int, what: str) -> None:
    (found,) = examine(JOB, {"worker-0": lines(*printed)}, {"worker-0": RankSeen(code=1)})
    assert (render(found.where), render(found.what)) == (f"worker-0, line {line}", what)


@pytest.mark.parametrize("code", [137, 139, 143])
@pytest.mark.parametrize("after", [("going on",), ("step 1 loss 0.5", "going on")])
@pytest.mark.parametrize("error", ["ValueError: shard 3", "MemoryError"])
def test_a_signal_and_no_error_that_was_caught_ended_a_program(error: str, after: tuple[str, ...], code: int) -> None:
    log = lines(*CAUGHT[:-1], error, *after)
    (found,) = examine(JOB, {"worker-0": log}, {"worker-0": RankSeen(code=code)})
    assert (found.check, render(found.where)) == ("program-was-killed", f"worker-0, line {4 + len(after)}")
    assert render(found.what).endswith("; its last line: going on")
    crash = (
        "-" * 22,
        "Error Message Summary:",
        "-" * 22,
        "FatalError: `Segmentation fault` is detected by the system.",
    )
    log = lines(*CAUGHT[:-1], error, *after, *crash)
    assert [each.check for each in examine(JOB, {"worker-0": log}, {"worker-0": RankSeen(code=code)})] == [found.check]
    log = lines(*CAUGHT[:-1], error, *after, *CAUGHT)
    (found,) = examine(JOB, {"worker-0": log}, {"worker-0": RankSeen(code=code)})
    assert found.check != "program-was-killed", "the last error may be what ended it"
    (found,) = examine(JOB, {"worker-0": lines(*CAUGHT)}, {"worker-0": RankSeen(code=code)})
    assert render(found.what) == "it failed: ValueError: shard 3"


def test_an_error_that_was_caught_and_may_have_ended_the_program_keeps_its_cure() -> None:
    log = lines(*CAUGHT[:-1], DEVICE_FULL, "Exiting.")
    (found,) = examine(JOB, {"worker-0": log}, {"worker-0": RankSeen(code=1)})
    assert (found.check, render(found.where)) == ("device-memory-was-used-up", "worker-0, line 4")


GPU = "Out of memory error on GPU 0. Cannot allocate 1.5GB memory on GPU 0, 39GB memory has been allocated."


@pytest.mark.parametrize(
    "printed",
    [
        ("ResourceExhaustedError: ", "", GPU),
        ("RuntimeError: ResourceExhaustedError:", "", GPU),
        (*CAUGHT[:-1], "MemoryError: ", "", GPU),
        (*CAUGHT[:-1], "MemoryError: (ResourceExhausted) ", "", GPU),
        (*CAUGHT[:-1], "MemoryError: ", "", "-" * 38, "C++ Traceback (most recent call last):", "-" * 38,
         *("0   phi::a()",) * 30, "", "-" * 22, "Error Message Summary:", "-" * 22, "ResourceExhaustedError: ", "",
         GPU),
    ],
)  # fmt: skip
def test_the_memory_of_a_device_is_told_below_an_empty_message(printed: tuple[str, ...]) -> None:
    after = ("", "Please check whether there is any other process using GPU 0.")
    (found,) = examine(JOB, {"worker-0": lines(*printed, *after)}, {"worker-0": RankSeen(code=1)})
    assert (found.check, render(found.what)) == (
        "device-memory-was-used-up", f"the memory of a device was used up: {GPU}"
    )  # fmt: skip


@pytest.mark.parametrize("error", ["ModuleNotFoundError: No module named 'http.x'; 'http' is not a package",
                                   "ValueError: x is not a number", "OSError: no such file or directory"])  # fmt: skip
def test_what_a_program_said_stays_in_its_own_words(error: str) -> None:
    (found,) = examine(ALONE, {"worker-0": lines(error)}, {"worker-0": RankSeen(code=1)})
    assert render(found.what, "zh") == f"失败：{error}"


@pytest.mark.parametrize(
    ("asked", "machine", "mend", "command"),
    [
        (replace(ALONE, environment="mine", is_built=True), Machine(is_shared=True),
         "add the package opencv-python to environment mine, and run the job again",
         "paddock env update mine --add opencv-python"),
        (replace(ALONE, environment="paddle", is_built=True, file="/w/requirements.txt"), Machine(is_shared=True),
         "write opencv-python into /w/requirements.txt, and run the job again with it (-r /w/requirements.txt)",
         "echo opencv-python >> /w/requirements.txt"),
        (replace(ALONE, environment="host"), Machine(is_shared=True),
         "write opencv-python into a requirements.txt, and run the job with it (-r requirements.txt)",
         ""),
        (ALONE, Machine(), "add the package opencv-python to its image, and run the job again", ""),
    ],
)  # fmt: skip
def test_a_package_that_is_missing_has_a_cure(asked: Asked, machine: Machine, mend: str, command: str) -> None:
    logs = {"worker-0": lines("ModuleNotFoundError: No module named 'cv2'")}
    (found,) = examine(asked, logs, {"worker-0": RankSeen(code=1)}, machine)
    assert (render(found.mend), found.command) == (mend, command)


def test_a_failure_whose_pods_are_gone_is_told_by_the_cause_and_the_logs() -> None:
    cause = CauseRecord("RankFailed", {"ranks": ["worker-1"], "code": 1, "error": "ValueError: no data"})
    logs = {"worker-0": lines("RuntimeError: Connection closed by peer"), "worker-1": lines("ValueError: no data")}
    gone = {"worker-0": RankSeen(), "worker-1": RankSeen()}
    (found,) = examine(JOB, logs, gone, cause=cause, has_failed=True)
    assert (found.check, render(found.where)) == ("program-failed", "worker-1, line 1")
    assert render(found.what) == "it failed: ValueError: no data"
    (found,) = examine(JOB, logs, gone, has_failed=True)
    assert render(found.where) == "worker-1, line 1", "an error that no peer's end explains comes first"
    (found,) = examine(JOB, {}, gone, cause=cause, has_failed=True)
    assert render(found.what) == "it failed (exit code 1), and its log could not be read here"
    assert found.command == "paddock logs demo --role worker --rank 1"
    (found,) = examine(JOB, {"worker-1": LaunchLog()}, gone, cause=cause, has_failed=True)
    assert render(found.what) == "it failed (exit code 1), and printed nothing of its own"
    assert found.command == "", "no command shows what is not there"
    not_started = CauseRecord("RankFailed", {"ranks": ["worker-1"], "code": 128, "message": "exec: no such file"})
    (found,) = examine(JOB, {}, gone, cause=not_started, has_failed=True)
    assert (render(found.what), found.command) == ("it was not started: exec: no such file", "")
    assert examine(JOB, {"worker-0": lines("step 1")}, gone) == ()


NEEDS: dict[str, tuple[CauseRecord, str, str, str]] = {
    "a rank that failed beside a Master that ended well": (
        CauseRecord("Completed", {"succeeded": 1, "failed": ["worker-0"], "code": 1, "error": "ValueError: no room"}),
        "rank-failed-at-end", "the job has completed, but worker-0 failed: ValueError: no room (exit code 1)",
        "paddock logs demo -n team --role worker --rank 0",
    ),
    "a dataset that somebody must mend": (
        CauseRecord("DatasetFailed", {"dataset": "words", "message": "host has no words.tar", "retries": False}),
        "dataset-failed", "dataset words could not be fetched: host has no words.tar",
        "paddock dataset rerun words -n team",
    ),
    "a dataset that is tried again": (
        CauseRecord("DatasetFailed", {"dataset": "words", "message": "the disk is full", "retries": True}),
        "dataset-failed", "dataset words could not be fetched: the disk is full", "paddock dataset rerun words -n team",
    ),
    "a dataset that is not there": (
        CauseRecord("DatasetMissing", {"dataset": "wrds", "namespace": "team", "nearest": "words"}),
        "dataset-missing", "namespace team has no dataset wrds", "paddock dataset create wrds -n team --from URL",
    ),
    "a dataset that is being deleted": (
        CauseRecord("DatasetMissing", {"dataset": "words", "namespace": "team", "deleting": True}),
        "dataset-missing", "dataset words is being deleted", "paddock dataset create words -n team --from URL",
    ),
    "a cluster without datasets": (
        CauseRecord("DatasetsUnserved", {"dataset": "words"}),
        "datasets-unserved", "the job mounts dataset words, and this cluster has no Datasets",
        "paddock manifests --datasets --image IMAGE | kubectl apply -f -",
    ),
    "an operator that may not read them": (
        CauseRecord("DatasetsUnserved", {"dataset": "words", "message": "datasets is forbidden"}),
        "datasets-unserved", "the operator cannot read dataset words: datasets is forbidden",
        "paddock manifests --datasets --image IMAGE | kubectl apply -f -",
    ),
    "an environment that could not be built": (
        CauseRecord("EnvironmentFailed", {"rank": "worker-0", "message": "environment mine: no package nmpy"}),
        "environment-failed", "worker-0 cannot start: environment mine: no package nmpy",
        "paddock env build mine",
    ),
}  # fmt: skip


@pytest.mark.parametrize("need", NEEDS)
def test_what_a_job_needs_and_has_not_is_found_with_the_command_that_mends_it(need: str) -> None:
    cause, check, what, command = NEEDS[need]
    waits = {"worker-0": RankSeen(waits=phrase("it waits")), "worker-1": QUIET}
    (found,) = examine(replace(JOB, options=" -n team"), {}, waits, cause=cause)
    assert (found.check, render(found.what), found.command) == (check, what, command)
    assert found.severity is Severity.WRONG


def test_what_is_typed_for_a_dataset_reaches_the_cluster_of_the_job() -> None:
    asked = replace(JOB, options=" --context prod -n team")
    unserved = CauseRecord("DatasetsUnserved", {"dataset": "words"})
    (found,) = examine(asked, {}, {}, cause=unserved)
    assert found.command == "paddock manifests --datasets --image IMAGE | kubectl --context prod apply -f -"
    failed = CauseRecord("DatasetFailed", {"dataset": "words", "message": "404", "retries": False})
    (found,) = examine(asked, {}, {}, cause=failed)
    assert "`paddock dataset create words --context prod -n team --from URL --replace`" in render(found.mend)


def test_a_job_that_only_waits_for_its_data_needs_nothing_of_anybody() -> None:
    cause = CauseRecord("WaitingForDataset", {"dataset": "words", "percent": 41})
    assert examine(JOB, {}, {}, cause=cause) == ()


def read_checks() -> set[str]:
    """The names of all checks, in the code."""
    folder = Path(doctor.__file__).parent
    text = "".join(path.read_text() for path in folder.glob("*.py"))
    called = re.findall(r"(?:Finding|_tell)\(\s*\"([a-z0-9-]+)\"(?: if \w+ else \"([a-z0-9-]+)\")?", text)
    return {name for names in called for name in names if name}


def test_each_check_has_a_case() -> None:
    checks = read_checks()
    assert len(checks) > 35
    cases = [*FOUND.values(), *(expected for _, _, _, expected in MADE.values())]
    cases += [[check] for _, check, _, _ in NEEDS.values()] + [["ended-for-silence"]]  # by its cause, below
    assert checks - {name for names in cases for name in names} == set()


@pytest.mark.parametrize("page", ["doctor.md", "doctor.zh-CN.md"])
def test_each_check_is_on_the_page(page: str) -> None:
    text = (Path(__file__).parents[2] / "docs" / page).read_text()
    rows = "".join(line.split("|")[1] for line in text.splitlines() if line.startswith("| `"))
    assert set(re.findall(r"`([a-z0-9-]+)`", rows)) == read_checks()


def test_what_a_launcher_waits_for_is_named_with_its_reason() -> None:
    asked, logs, ranks, _ = MADE["a launcher that waits for a pod that is not there"]
    said = render(examine(asked, logs, ranks)[0].what)
    assert said == "1 of 2 launchers wait for worker-1: needs 1 GPU, 0 are free"


def test_the_rank_that_did_fewer_steps_is_the_one_to_look_at() -> None:
    lines = "LAUNCH INFO 2026-11-20 15:38:21,548 Watching Pod: abcdef, replicas 1, status running"
    logs = {
        f"worker-{index}": read_launch_logs([lines, f"Epoch 1, Batch {step}, Loss 0.5"])[0]
        for index, step in ((0, 30), (1, 29))
    }
    found = examine(JOB, logs, {"worker-0": QUIET, "worker-1": QUIET})
    assert [(each.check, each.where) for each in found] == [("silent-for-long", "worker-1")]


def test_a_program_with_long_epochs_is_not_silent() -> None:
    slow = RankSeen(running=True, quiet=400.0, begun=3600.0)
    logs = {name: read_launch_logs(["epoch"] * 9)[0] for name in ("worker-0", "worker-1")}
    assert examine(JOB, logs, {"worker-0": slow, "worker-1": slow}) == ()


def test_what_is_wrong_comes_before_what_is_a_risk() -> None:
    found = examine(Asked(), read("no-etcd3"))
    assert [each.severity for each in found] == sorted((each.severity for each in found), key=[*Severity].index)


def test_a_place_in_a_log_is_said_in_the_readers_language() -> None:
    both = join_places([place("worker-0", 59), place("worker-1")])
    assert (str(both), render(both, "zh")) == ("worker-0, line 59; worker-1", "worker-0 第 59 行；worker-1")
    assert (str(place("", 3)), place("worker-0"), place("")) == ("line 3", "worker-0", "log")


def see_stacks(**frames: str) -> Folded:
    """Where ranks are: `worker_0="all_reduce"` in the collective, anything else in a function of the user."""
    own = Frame("step", "/home/me/train.py", 88)
    waits = Frame("all_reduce", "/usr/lib/python3/site-packages/torch/distributed/distributed_c10d.py", 5)
    reads = Frame("read_batch", "/home/me/data.py", 41)
    pods = {}
    for name, function in frames.items():
        threads = (Thread("MainThread", True, (own, waits if function == "all_reduce" else reads)),)
        pods[name.replace("_", "-")] = PodStacks(name, (ProcessStacks(1, "a", "python", "", threads, "py-spy"),))
    return fold(pods)


def test_where_ranks_are_is_told_in_place_of_who_stopped_first() -> None:
    logs = {name: read_launch_logs(["a", "b"])[0] for name in ("worker-0", "worker-1")}
    ranks = {"worker-0": replace(QUIET, quiet=401.0), "worker-1": QUIET}
    asked = replace(JOB, stacks="paddock stacks demo")
    (found,) = examine(asked, logs, ranks, stacks=see_stacks(worker_0="all_reduce", worker_1="read_batch"))
    assert (found.check, str(found.where), found.command) == ("silent-for-long", "worker-1", "paddock stacks demo")
    assert str(found.what) == (
        "no rank has printed for 6m40s: worker-0 in all_reduce, train.py:88; worker-1 in read_batch, data.py:41"
    )
    assert str(found.why) == "the collective of worker-0 lacks worker-1"
    (found,) = examine(asked, logs, ranks, stacks=see_stacks(worker_0="all_reduce", worker_1="all_reduce"))
    assert str(found.where) == "worker-0, worker-1"
    assert str(found.what) == "no rank has printed for 6m40s: worker-0 and worker-1 in all_reduce, train.py:88"


STOPPED: dict[str, tuple[dict[str, list[str]], float, str, str]] = {
    "within a second, after the same line": (
        {"worker-0": ["step 1"], "worker-1": ["step 1"]}, 0.4, "worker-0, worker-1",
        "no rank has printed for 6m40s; all stopped after 'step 1'",
    ),
    "within a second, after different lines": (
        {"worker-0": ["I am 0"], "worker-1": ["I am 1"]}, 1.0, "worker-0, worker-1",
        "no rank has printed for 6m40s; all stopped at the same time",
    ),
    "one stopped seconds before": (
        {"worker-0": ["step 1"], "worker-1": ["step 1"]}, 5.0, "worker-0",
        "no rank has printed for 6m40s; worker-0 stopped first, after 1 line",
    ),
    "one did fewer steps": (
        {"worker-0": ["Epoch 1, Batch 30, Loss 0.5"], "worker-1": ["Epoch 1, Batch 29, Loss 0.5"]}, 0.4, "worker-1",
        "no rank has printed for 6m40s; worker-1 stopped first, after 1 line",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STOPPED)
def test_nobody_is_accused_for_a_moment(name: str) -> None:
    lines, earlier, where, what = STOPPED[name]
    logs = {rank: read_launch_logs(each)[0] for rank, each in lines.items()}
    quiet = replace(QUIET, begun=410.0)
    found = examine(JOB, logs, {"worker-0": replace(quiet, quiet=400.0 + earlier), "worker-1": quiet})
    assert [(str(each.where), str(each.what)) for each in found] == [(where, what)]
