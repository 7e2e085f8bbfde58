"""The entry scripts of services, run as their nodes with the variables that their pages name; files and linters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from paddock.cli.cluster.errors import UserError
from paddock.cli.main import cli
from places.bare.namespaces import Machine
from places.manifests import PROGRAMS, build_paddle, build_role, build_torch, write_manifest
from support.machines import open_machines

LAUNCH = ["python", "-m", "paddle.distributed.launch", "train.py", "--name", 'it\'s "2 words" $HOME']
TOOLS = Path(sys.executable).parent  # of the development environment
SERVERS = {"ps": build_role(1, "python", "train.py"), "worker": build_role(2, "python", "train.py")}
SHOWN = ("POD_IP", "GLOO_SOCKET_IFNAME", "MASTER_ADDR", "RANK", "TRAINING_ROLE", "PADDLE_PSERVERS_IP_PORT_LIST",
         "PADDLE_TRAINER_ENDPOINTS", "PADDLE_TRAINER_ID", "PADDLE_PSERVER_ID", "PADDLE_PORT",
         "PADDLE_MASTER")  # fmt: skip
FAKE = """#!/usr/bin/env -S python3 -I
import json, os, sys
print(json.dumps({"words": sys.argv[1:], "env": {name: os.environ[name] for name in SHOWN if name in os.environ}}))
"""
MODELARTS = {"MA_NUM_HOSTS": "2", "VC_WORKER_HOSTS": "gpu-a,gpu-b", "VC_TASK_INDEX": "0", "MA_CURRENT_IP": "10.9.0.1"}
SECOND = {"MA_NUM_HOSTS": "2", "VC_WORKER_HOSTS": "gpu-b,gpu-a", "VC_TASK_INDEX": "1", "MA_CURRENT_IP": "10.9.0.1"}
TORCH_JOB = {"WORLD_SIZE": "2", "RANK": "1", "MASTER_ADDR": "gpu-b", "MASTER_PORT": "23456"}
CLUSTER = {"ps": ["gpu-b:2222"], "worker": ["gpu-a:2222", "gpu-c:2222"]}


def render(target: Path, manifest: dict[str, Any], place: str) -> Result:
    typed = ["render", str(write_manifest(target, manifest)), "--to", place, "-o", str(target)]
    return CliRunner().invoke(cli, typed, prog_name="paddock")


def become(directory: Path, file: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs an entry script on a node gpu-a, 10.9.0.1, with a python that prints what it is started with."""
    fake = directory / "bin/python"
    fake.parent.mkdir(exist_ok=True)
    fake.write_text(FAKE.replace("SHOWN", repr(SHOWN)))
    fake.chmod(0o755)
    own = directory / "machine"
    own.mkdir(exist_ok=True)
    machine = Machine(own, peers="10.9.0.2 10.9.0.3", hosts="10.9.0.1 gpu-a\n10.9.0.2 gpu-b\n10.9.0.3 gpu-c")
    path = f"export PATH={fake.parent}:$PATH"
    stray = {"PADDLE_MASTER": "stray:1", "PADDOCK_NAME_SECONDS": "1"}
    return machine.run(directory / file, env={**stray, **env}, before=path)


def read(done: subprocess.CompletedProcess[str]) -> tuple[list[str], dict[str, str]]:
    assert done.returncode == 0, done
    said = json.loads(done.stdout)
    return said["words"], said["env"]


@pytest.mark.parametrize(
    ("place", "file", "env", "master", "index"),
    [
        ("modelarts", "run.sh", MODELARTS, "10.9.0.1", "0"),
        ("modelarts", "run.sh", SECOND, "10.9.0.2", "1"),
        ("pai", "entry.sh", TORCH_JOB, "10.9.0.2", "1"),
        ("aihc", "entry.sh", TORCH_JOB, "10.9.0.2", "1"),
        ("bml", "entry.sh", {"PADDLE_TRAINER_ENDPOINTS": "gpu-b:1,gpu-a:1", "PADDLE_TRAINER_ID": "1"}, "10.9.0.2", "1"),
        ("bml", "entry.sh", TORCH_JOB, "10.9.0.2", "1"),
    ],
)
def test_a_node_becomes_its_rank(
    tmp_path: Path, place: str, file: str, env: dict[str, str], master: str, index: str
) -> None:
    assert render(tmp_path, build_paddle(worker=build_role(2, *LAUNCH)), place).exit_code == 0
    words, known = read(become(tmp_path, file, **env))
    assert words == ["-m", "paddle.distributed.launch", "--master", f"{master}:36000", "--nnodes", "2", "--rank", index,
                     "train.py", "--name", "it's \"2 words\" $HOME"]  # fmt: skip
    assert known == {"POD_IP": "10.9.0.1", "GLOO_SOCKET_IFNAME": "lo"}


@pytest.mark.parametrize("place", ["pai", "aihc"])
@pytest.mark.parametrize(("role", "index", "rank"), [("worker", 0, "0"), ("worker", 1, "1"), ("ps", 0, "0")])
def test_a_tf_job_s_nodes_become_servers_and_trainers(
    tmp_path: Path, place: str, role: str, index: int, rank: str
) -> None:
    assert render(tmp_path, build_paddle(gloo=0, **SERVERS), place).exit_code == 0
    cluster = {**CLUSTER}
    if role == "ps":
        cluster = {"ps": ["gpu-a:2222"], "worker": ["gpu-b:2222", "gpu-c:2222"]}
    elif index:
        cluster["worker"] = ["gpu-c:2222", "gpu-a:2222"]
    told = json.dumps({"cluster": cluster, "task": {"type": role, "index": index}})
    words, known = read(become(tmp_path, "entry.sh", TF_CONFIG=told))
    assert words == ["train.py"]
    number = "PADDLE_PSERVER_ID" if role == "ps" else "PADDLE_TRAINER_ID"
    assert (known["TRAINING_ROLE"], known[number]) == ("PSERVER" if role == "ps" else "TRAINER", rank)
    server = "10.9.0.1" if role == "ps" else "10.9.0.2"
    assert known["PADDLE_PSERVERS_IP_PORT_LIST"] == f"{server}:36000"
    endpoint = f"{known['POD_IP']}:{known['PADDLE_PORT']}"
    of_role = "PADDLE_PSERVERS_IP_PORT_LIST" if role == "ps" else "PADDLE_TRAINER_ENDPOINTS"
    assert endpoint in known[of_role].split(",")


@pytest.mark.parametrize(("place", "file"), [("modelarts", "run.sh"), ("pai", "entry.sh"), ("bml", "entry.sh")])
def test_one_node_needs_nothing_of_the_service(tmp_path: Path, place: str, file: str) -> None:
    assert render(tmp_path, build_paddle(worker=build_role(1, *LAUNCH)), place).exit_code == 0
    words, _ = read(become(tmp_path, file))
    assert words[:3] == ["-m", "paddle.distributed.launch", "train.py"]


@pytest.mark.parametrize(
    ("env", "sentence"),
    [
        ({"MA_NUM_HOSTS": "4", **{key: MODELARTS[key] for key in ("VC_TASK_INDEX", "VC_WORKER_HOSTS")}},
         "the job has 2 ranks, and ModelArts has started 4 nodes: ask for 2 nodes"),
        ({"MA_NUM_HOSTS": "2"}, "VC_TASK_INDEX is not set: ModelArts sets it"),
        ({**MODELARTS, "VC_WORKER_HOSTS": "nowhere,gpu-a", "VC_TASK_INDEX": "1"}, "the name nowhere of a node"),
        ({}, "the job has 2 ranks, and ModelArts has started 1"),
        ({**MODELARTS, "VC_WORKER_HOSTS": ""}, "VC_WORKER_HOSTS is not set"),
        ({**MODELARTS, "VC_TASK_INDEX": "x"}, "ModelArts tells no numbers"),
    ],
)  # fmt: skip
def test_what_a_service_did_otherwise_is_told(tmp_path: Path, env: dict[str, str], sentence: str) -> None:
    assert render(tmp_path, build_paddle(worker=build_role(2, *LAUNCH)), "modelarts").exit_code == 0
    done = become(tmp_path, "run.sh", **env)
    assert done.returncode == 2
    assert sentence in done.stderr


@pytest.mark.parametrize(
    ("place", "env", "sentence"),
    [
        ("pai", {"WORLD_SIZE": "2", "MASTER_ADDR": "gpu-b"}, "RANK is not set"),
        ("pai", {"WORLD_SIZE": "2", "RANK": "1"}, "MASTER_ADDR is not set"),
        ("bml", {}, "neither PADDLE_TRAINER_ENDPOINTS nor MASTER_ADDR is set"),
        ("bml", {"MASTER_ADDR": "gpu-b", "WORLD_SIZE": "2"}, "RANK is not set"),
    ],
)
def test_a_node_that_is_not_told_its_number_does_not_train(
    tmp_path: Path, place: str, env: dict[str, str], sentence: str
) -> None:
    assert render(tmp_path, build_paddle(worker=build_role(2, *LAUNCH)), place).exit_code == 0
    done = become(tmp_path, "entry.sh", **env)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr


@pytest.mark.parametrize("told", ["{", '{"cluster": {"ps": ["a:1"]}, "task": {"type": "evaluator", "index": 0}}'])
def test_a_tf_config_of_another_shape_is_a_sentence(tmp_path: Path, told: str) -> None:
    assert render(tmp_path, build_paddle(gloo=0, **SERVERS), "pai").exit_code == 0
    done = become(tmp_path, "entry.sh", TF_CONFIG=told)
    assert done.returncode == 2
    assert done.stderr.startswith("TF_CONFIG is not that of a node")


@pytest.mark.parametrize(
    ("place", "manifest", "sentence"),
    [
        ("modelarts", build_paddle(**SERVERS), "parameter servers are lost"),
        ("bml", build_paddle(**SERVERS), "parameter servers are lost"),
        ("bml", build_paddle(worker=build_role(5, *LAUNCH)), "at most 4 nodes"),
        ("pai", build_paddle(worker=build_role(2, "python", "train.py")), "tells a node the address of the first one"),
    ],
)
def test_what_a_service_cannot_carry_is_refused_and_nothing_is_written(
    tmp_path: Path, place: str, manifest: dict[str, Any], sentence: str
) -> None:
    done = render(tmp_path, manifest, place)
    assert isinstance(done.exception, UserError)  # exit code 2
    assert sentence in str(done.exception) and "nothing is written" in str(done.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["job.yaml"]


def test_an_image_has_the_framework_of_its_job_and_none_for_a_program_of_none(tmp_path: Path) -> None:
    manifest = build_paddle(worker=build_role(1, "python", "train.py"))
    assert render(tmp_path / "paddle", manifest, "modelarts").exit_code == 0
    assert "install --no-cache-dir paddlepaddle==" in (tmp_path / "paddle/Dockerfile").read_text()
    manifest["metadata"]["annotations"] = {"paddock.dev/framework": "none"}
    assert render(tmp_path / "none", manifest, "modelarts").exit_code == 0
    assert "pip install" not in (tmp_path / "none/Dockerfile").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("place", ["modelarts", "pai", "aihc", "bml"])
def test_linters_find_nothing_in_the_files(tmp_path: Path, place: str) -> None:
    limits = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
    assert render(tmp_path, build_paddle(worker=build_role(2, *LAUNCH, **limits)), place).exit_code == 0
    for script in tmp_path.glob("*.sh"):
        lint = subprocess.run([TOOLS / "shellcheck", str(script)], capture_output=True, text=True)
        assert lint.stdout == ""
    lint = subprocess.run(
        [TOOLS / "hadolint", "--no-color", str(tmp_path / "Dockerfile")], capture_output=True, text=True
    )
    assert lint.stdout == ""
    for body in tmp_path.glob("*.json"):
        assert "made by `paddock render`" in body.read_text()
        assert json.loads(body.read_text())["name"] == "demo"


@pytest.mark.paddle
@pytest.mark.parametrize("kind", ["paddle", "pytorch"])
def test_modelarts_script_trains_on_two_hosts(tmp_path: Path, python_of: Callable[[str], str], kind: str) -> None:
    if kind == "paddle":
        program = [python_of(kind), "-m", "paddle.distributed.launch", "collective.py", "3", "0.1"]
        manifest = build_paddle(worker=build_role(2, *program))
    else:
        program = [python_of(kind), "-m", "torch.distributed.run", "--nproc-per-node", "1", "ddp.py", "3", "0.1"]
        manifest = build_torch(Master=build_role(1, *program), Worker=build_role(1, *program))
    assert render(tmp_path, manifest, "modelarts").exit_code == 0
    for each in PROGRAMS.glob("*.py"):
        (tmp_path / each.name).write_text(each.read_text())
    with open_machines(tmp_path / "bench", 2, names="debian") as bench:
        hosts = ",".join(machine.name for machine in bench.machines[::-1])
        started = []
        for index, machine in enumerate(bench.machines[::-1]):
            own = {"MA_CURRENT_IP": machine.address, "VC_TASK_INDEX": str(index), "MA_NUM_HOSTS": "2"}
            env = {**own, "VC_WORKER_HOSTS": hosts, "PATH": os.environ["PATH"]}
            started.append(machine.start("bash", str(tmp_path / "run.sh"), env=env))
        said = [process.communicate(timeout=120) for process in started]
        codes = [process.returncode for process in started]
    assert codes == [0, 0], said
    assert "step 2 of rank 0: sum 2" in said[0][0]
