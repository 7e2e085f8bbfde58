"""What is said of the launcher's options of other years, in scripts and in manifests."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from jobs.samples import read_manifest
from paddock.launches.launch import Launch
from paddock.launches.reading import read_script
from paddock.preflight import check, read_documents
from paddock.preflight.paddle_options import explain_launch, is_paddle
from paddock.preflight.scripts import check_script

LAUNCH = "python -m paddle.distributed.launch"
DOCUMENT = Path(__file__).parent / "run.sh"
"""The script of the documents' public clouds (002), as they print it."""

OLD = "python -m paddle.distributed.fleet.launch"
TOLD = [
    (f"{LAUNCH} --selected_gpus=0,1 t.py", "warning", "write --devices 0,1"),
    (f"{LAUNCH} --selected_gpus 0,1 t.py", "warning", "with a wheel for CPUs takes 0,1 for the program: write --dev"),
    (f"{LAUNCH} --dcus 0,1 t.py", "error", "takes 0,1 for the program: it ends with exit code 1; write --devices 0,1"),
    (f"{OLD} --gpus 0,1 t.py", "warning", "write python -m paddle.distributed.launch --devices 0,1"),
    (f"{OLD} --master a:1 t.py", "error", "write python -m paddle.distributed.launch in place of paddle"),
    (f"{LAUNCH} --nproc-per-node 2 t.py", "error", "write --nproc_per_node 2"),
    (f"{LAUNCH} --log-dir l --max-restart 3 --node_rank 0 --batch-size 2 t.py", "error",
     "write --rank 0 --log_dir l --max_restart 3; no launcher knows --batch-size: write an option of the program"),
    (f"{LAUNCH} --gpus 0,1 -m pkg.train -c x.yml", "error", "write python -m pkg.train in place of -m pkg.train"),
    (f"{LAUNCH} --master_addr=A --master_port=P --node_rank=R t.py", "warning", "write --master A:P --rank R"),
    (f"{LAUNCH} --use_paddlecloud x t.py", "error", "leave --use_paddlecloud out"),
    (f"{LAUNCH} --master a:1 --selected_gpus=0,1 t.py", "warning", "is ignored, and all devices are used"),
    (f"{LAUNCH} --dcus=0 t.py", "warning", "write --devices 0"),
    (f"{LAUNCH} --cluster_node_ips=a,b --node_ip=b --started_port=6170 t.py", "warning",
     "each machine trains alone, as a job of one machine, and ends with exit code 0; write --master a:6170 --nnodes 2 "
     "--rank 1"),
    (f"{LAUNCH} --use_paddlecloud t.py", "warning", "does nothing: leave it out"),
    (f"{LAUNCH} --workers=a:1 --servers=b:1 t.py", "warning",
     "ends with exit code 0 also where a worker or a server has failed, and where gloo is off unless "
     "PADDLE_WITH_GLOO=1; today's, with --trainers, never ends, as its servers do not"),
    (f"{LAUNCH} --worker_num=2 t.py", "warning", "the old launcher starts"),
    (f"{LAUNCH} --worker_num=2 t.py", "error", "name the servers by --server_num or --servers"),
    (f"{LAUNCH} --server_num=0 --worker_num=2 t.py", "error", "name the servers by --server_num or --servers"),
    (f"{OLD} --server_num=1 --trainer_num=1 t.py", "error", "it knows no --trainer_num"),
    (f"{LAUNCH} --http_port=1 --server_num=1 --trainer_num=1 t.py", "error", "it knows no --trainer_num"),
    (f"{LAUNCH} --nnodes 1 --server_num=1 --worker_num=1 t.py", "error", "takes 1 for the program"),
    (f"{LAUNCH} --master a:1 --server_num=1 --worker_num 1 t.py", "error", "takes 1 for the program"),
    (f"{LAUNCH} --server_num=2 --servers=a:1 --worker_num=1 t.py", "error", "is 2, and --servers names 1"),
    (f"{LAUNCH} --server_num=1 --worker_num=1 --heter_devices=cpu t.py", "error", "by --heter_worker_num"),
    (f"{LAUNCH} --server_num=1 --worker_num=1 --heter_worker_num='1;1' --heter_devices=cpu t.py", "error",
     "there are 2 stages of heter ranks, and --heter_devices has 1"),
    (f"{LAUNCH} --run_mode=collective --server_num=1 --worker_num=1 t.py", "error", "has no servers"),
    (f"{LAUNCH} --server_num 1 --trainer_num 2 t.py", "warning",
     "parameter servers that the launcher starts never end"),
    (f"{LAUNCH} --http_port=1 t.py", "error", "write --gloo_port 1"),
    (f"{LAUNCH} --http_port=1 --servers=a:1 t.py", "warning", "write --gloo_port 1"),
    (f"{LAUNCH} --np=2 t.py", "error", "write --nnodes 2"),
    (f"{LAUNCH} --np 2 t.py", "error", "write --nnodes 2"),
    (f"{LAUNCH} --np 2 --my_option=1 t.py", "error", "write --nnodes 2"),
    (f"{LAUNCH} --tra=2 t.py", "error", "it could be --trainer_num or --trainers"),
    (f"{LAUNCH} --elastic_server=10.0.0.1:2379 t.py", "warning", "write --master etcd://10.0.0.1:2379"),
    (f"{LAUNCH} --heter_worker_num=1 t.py", "error", "add --heter_devices"),
    (f"{LAUNCH} --my_option=1 t.py", "warning", "makes it the old launcher"),
    (f"{LAUNCH} --master a:1 --my_option=1 t.py", "warning", "is ignored: no launcher of today knows it"),
    (f"{LAUNCH} --nnodes 2 --master http://a:1 t.py", "error", "ends with a ValueError"),
    (f"{LAUNCH} --nnodes 2 --master '[::1]:1' t.py", "error", "ends with a ValueError"),
    (f"{LAUNCH} --nnodes 2 --master a t.py", "error", "ends with a ValueError"),
    (f"{LAUNCH} --nnodes 0 t.py", "warning", "trains alone"),
    (f"{LAUNCH} --run_mode ps-heter t.py", "warning", "becomes collective"),
    (f"{LAUNCH} --legacy True t.py", "error", "takes True for the program"),
    (f"{LAUNCH} --master a:1 --worker_num=2 t.py", "warning", "are ignored, as the launcher has a master"),
    (f"{LAUNCH} --heter_devices=cpu t.py", "warning", "are for the old launcher alone"),
    (f"{LAUNCH} --master a:1 --heter_worker_num=1 t.py", "warning", "are ignored, as the launcher has a master"),
    (f"{LAUNCH} --ips=127.0.0.1,10.0.0.2 t.py", "error", "ends with a ValueError"),
    ("python -m paddle.fluid.distributed t.py", "error", "there is no paddle.fluid.distributed"),
    (f"{LAUNCH} --ips=gpu-a,gpu-b t.py", "warning", "every machine is rank 0"),
    ("python -m paddle.distributed.launch_ps t.py", "error", "there is no paddle.distributed.launch_ps"),
    ("python -m paddle.fluid.launch t.py", "error", "there is no paddle.fluid.launch"),
    ("python -m paddle.distributed.fleet.launch t.py", "warning", "is the old launcher"),
    ("fleetrun --selected_gpus=0 t.py", "warning", "write --devices 0"),
]  # fmt: skip


def read(command: str) -> Launch:
    (launch,) = filter(is_paddle, read_script(command).launches)
    return launch


@pytest.mark.parametrize(
    "options",
    [
        "--server_num 1 --worker_num 2",
        "--servers a:1 --workers b:1 --http_port 1",
        "--server_num=1 --worker_num=1 --heter_worker_num=2 --heter_devices=cpu",
        "--servers=a:1 --workers=b:1 --heter_workers='c:1;d:1' --heter_devices='cpu;gpu'",
        "--server_num=1 --workers=b:1,b:2",
        "--server_num 1 --trainer_num 2",
        '--servers="$SERVERS" --workers=a:1 --server_num=2',
        '--servers=a:1,b:1 --workers=a:1 --server_num="$PS"',
        "--worker_num=2 $SERVER_ARGS",
        '--worker_num=2 "$@"',
        "--nnodes $N --server_num=1 --worker_num=1",
        '--server_num=1 --worker_num=1 --heter_worker_num="1;1" --heter_devices="$DEVICES"',
        f"--server_num={'9' * 5000} --servers=a:1 --worker_num=1",
    ],
)
def test_what_starts_servers_and_their_workers_is_not_refused(options: str) -> None:
    """Each was run with PaddlePaddle 3.0.0. The first two were refused, as today's launcher knows no --worker_num."""
    launch = read(f"{LAUNCH} {options} t.py")
    assert [str(each.said) for each in explain_launch(launch) if each.severity == "error"] == []


@pytest.mark.parametrize(("command", "severity", "words"), TOLD)
def test_each_old_option_is_told_with_what_to_write(command: str, severity: str, words: str) -> None:
    launch = read(command)
    said = [(each.severity, str(each.said)) for each in explain_launch(launch)]
    assert any(words in text and level == severity for level, text in said), said


@pytest.mark.parametrize(
    "command",
    [
        f"{LAUNCH} t.py --selected_gpus=0 --np=2",
        f"{LAUNCH} --devices 0,1 --nnodes 2 --master 10.0.0.1:36000 --rank 0 t.py",
        f"{LAUNCH} --gpus=0,1 --log_dir=log t.py",
        f"{LAUNCH} --master etcd://a:1,b:2 --nnodes 2:3 t.py",
        f"{LAUNCH} --ips 10.0.0.1,10.0.0.2 t.py",
    ],
)
def test_a_command_of_today_is_left_alone(command: str) -> None:
    assert list(explain_launch(read(command))) == []


@pytest.mark.parametrize("command", ["python train.py --selected_gpus=0", "torchrun --np=2 t.py", "", "echo fleetrun"])
def test_other_programs_have_options_of_their_own(command: str) -> None:
    assert not any(map(is_paddle, read_script(command).launches))


def test_the_documents_script_is_told_line_by_line() -> None:
    read = check_script(DOCUMENT.read_text())
    assert read.launches == 2
    assert [(each.line, each.severity) for each in read.problems] == [(3, "warning"), (5, "warning"), (5, "warning")]
    assert "--devices 0,1,2,3,4,5,6,7" in read.problems[0].message
    assert "--master 192.168.1.2:6170 --nnodes 2 --rank 1" in read.problems[1].message


@pytest.mark.parametrize(
    ("script", "lines"),
    [
        ("# python -m paddle.distributed.launch --np=2 t.py\n", []),
        ("cat <<EOF\nfleetrun --np=2 t.py\nEOF\nfleetrun --np=2 t.py", [4]),
        ('A="--np=2"\nB="$A t.py"\nfleetrun $B', [3]),
        ("for i in 1 2; do\n  CUDA=1 exec fleetrun --np=2 t.py &\ndone\nwait", [2]),
        ("x=$(date --utc)\nfleetrun --np=${N} t.py", [2]),
        ("fleetrun \\\n  --np=2 \\\n  t.py", [1]),
        ('echo "two\nlines"; fleetrun --np=2 t.py', [2]),
        ("echo 'open\nfleetrun --np=2 t.py", [1]),
        ("fleetrun --np=2 t.py \\", [1]),
        ("X=$((1<<n))\nfleetrun --np=2 t.py", [2]),
        ("X=$((1<<nn+1))\nfleetrun --np=2 t.py\nn", [2]),
        ("tr a b <<<EOF\nfleetrun --np=2 t.py", [2]),
        ("bash -c 'cd /w && fleetrun --np=2 t.py'", [1]),
        ("", []),
    ],
)
def test_which_lines_of_a_script_are_read(script: str, lines: list[int]) -> None:
    assert [each.line for each in check_script(script).problems] == lines


@pytest.mark.parametrize("before", ["export PADDLE_MASTER=a:1\n", "PADDLE_MASTER=a:1 "])
def test_a_master_of_the_environment_counts(before: str) -> None:
    (problem,) = check_script(f"{before}fleetrun --my_option=1 t.py").problems
    assert "is ignored: no launcher of today knows it" in problem.message


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("", True),
        ("--master a:1 --my_option=1", True),
        ("--elastic_server=e:2379", False),
        ("--my_option=1", False),
        ("$ARGUMENTS", False),
    ],
)
def test_variables_of_the_old_launcher_s_elastic_training_are_nothing_to_today_s(options: str, said: bool) -> None:
    problems = check_script(
        f"export PADDLE_ELASTIC_SERVER=e:2379 PADDLE_ELASTIC_NP=2\n{LAUNCH} {options} t.py"
    ).problems
    found = [each.message for each in problems if "only the old launcher reads" in each.message]
    assert bool(found) is said
    assert all("PADDLE_ELASTIC_NP and PADDLE_ELASTIC_SERVER" in each for each in found)
    assert all("--master etcd://e:2379 --nnodes 2" in each for each in found)


def test_variables_that_today_s_launcher_reads_are_its_own() -> None:
    assert not check_script(f"export PADDLE_ELASTIC_LEVEL=1 PADDLE_ELASTIC_TIMEOUT=9\n{LAUNCH} t.py").problems


def test_a_manifest_is_told_the_same_and_to_leave_places_to_paddock() -> None:
    manifest = read_manifest("resnet")
    for key in ("uid", "generation"):
        manifest["metadata"].pop(key)
    container = manifest["spec"]["worker"]["template"]["spec"]["containers"][0]
    container |= {"command": ["bash", "-c"], "args": [f"cd /w && {LAUNCH} --node_ip=a --selected_gpus=0 train.py"]}
    (document,) = read_documents(yaml.safe_dump(manifest))
    (problem,) = [each for each in check(document) if "--node_ip" in each.message]
    assert "leave them out: Paddock tells each rank where the others are" in problem.message
    assert "write --devices 0" in problem.message
    assert problem.path == "spec.worker.template.spec.containers[0].command"
