"""What a script says of its machine before anything starts: real names, addresses, ports and programs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from places.bare.namespaces import Machine
from places.bare.rendered import build_manifest, build_torch_manifest, write_scripts

PLAIN = build_torch_manifest(("python", "train.py"), workers=1)
NAMES = "gpu-a,gpu-b"
ADDRESSES = "10.9.0.1,10.9.0.2"
BY_NAMES = "name the machines by their addresses (--hosts)"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text("print('trains')\n")
    return path


@pytest.mark.parametrize(
    ("hosts", "lines", "said"),
    [
        pytest.param(ADDRESSES, "", "", id="addresses need no names"),
        pytest.param(ADDRESSES, "127.0.1.1 gpu-a", "", id="addresses with Debian's own name"),
        pytest.param(NAMES, "10.9.0.1 gpu-a\n10.9.0.2 gpu-b", "", id="names that resolve"),
        pytest.param(NAMES, "127.0.1.1 gpu-a\n10.9.0.2 gpu-b", "", id="Debian's own name"),
        pytest.param(NAMES, "127.0.1.1 gpu-a\n10.9.0.1 gpu-a\n10.9.0.2 gpu-b", "", id="two addresses of the own name"),
        pytest.param(NAMES, "10.9.0.1 gpu-a\n127.0.1.1 gpu-b\n10.9.0.2 gpu-b", "", id="two addresses of a peer"),
        pytest.param(
            NAMES,
            "10.9.0.1 gpu-a",
            f"gpu-b (machine 1) does not resolve on this machine, gpu-a: write it into /etc/hosts, or {BY_NAMES}\n",
            id="a name that does not resolve",
        ),
        pytest.param(
            NAMES,
            "10.9.0.1 gpu-a\n127.0.1.1 gpu-b",
            "gpu-b (machine 1) resolves to 127.0.1.1 on this machine, gpu-a, which is each machine's own address: "
            f"{BY_NAMES}\n",
            id="a peer on loopback",
        ),
        pytest.param(
            NAMES,
            "10.9.0.1 gpu-a\n10.9.0.1 gpu-b",
            "gpu-a and gpu-b are one machine, 10.9.0.1: each machine is named once (--hosts)\n",
            id="two names of one machine",
        ),
        pytest.param(
            "10.9.0.11,10.9.0.1",
            "",
            "this script is for 10.9.0.11, and this machine, gpu-a, has 10.9.0.1, 10.9.1.1: take the script of this "
            "machine, or the right address (--hosts)\n",
            id="the script of another machine, whose address begins alike",
        ),
        pytest.param(
            NAMES,
            "10.9.0.7 gpu-a\n10.9.0.2 gpu-b",
            "this script is for gpu-a (10.9.0.7), and this machine, gpu-a, has 10.9.0.1, 10.9.1.1: take the script of "
            "this machine, or the right address (--hosts)\n",
            id="a name that was given away",
        ),
    ],
)
def test_a_script_knows_its_machine_by_its_address(
    hosts: str, lines: str, said: str, tmp_path: Path, program: Path
) -> None:
    script = write_scripts(tmp_path, PLAIN, hosts)[0]
    answer = Machine(tmp_path, addresses="10.9.0.1 10.9.1.1", hosts=lines).run(script, "check")
    assert (answer.stderr, answer.returncode) == (said, 2 if said else 0)


@pytest.mark.parametrize("without", ["", "ip"])
def test_a_rank_is_told_its_address_and_its_interface(without: str, tmp_path: Path, program: Path) -> None:
    """Also where `ip` is not installed, and Python is asked."""
    program.write_text("import os\nprint(*(os.environ[name] for name in ('POD_IP', 'GLOO_SOCKET_IFNAME', 'RANK')))\n")
    script = write_scripts(tmp_path, PLAIN, NAMES)[0]
    text = script.read_text()
    if without:
        text = text.replace("type -P ip", "false")
    script.write_text(text)
    lines = "127.0.1.1 gpu-a\n10.9.0.2 gpu-b"
    answer = Machine(tmp_path, hosts=lines).run(script, "run", "master-0")
    assert answer.stdout == "10.9.0.1 lo 0\npaddock-end master-0 0\n"


def test_every_problem_of_a_machine_is_told_at_once(tmp_path: Path) -> None:
    env = [
        {"name": "HUB_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}},
        {"name": "hub.url", "valueFrom": {"configMapKeyRef": {"name": "hub", "key": "url"}}},
        {"name": "EMPTY", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "empty"}}},
    ]
    manifest = build_manifest("worker", "ps", command=("python", "train.py"), env=env, replicas=1)
    script = write_scripts(tmp_path, manifest, "10.9.0.1")[0]
    program = "import socket, time; s = socket.create_server(('', 36000)); print(flush=True); time.sleep(60)"
    listens = f'{{ exec {{port}}< <("{sys.executable}" -c "{program}" 2>/dev/null); read -r -u "$port"; }}'
    answer = Machine(tmp_path).run(script, "start", env={"EMPTY": ""}, before=listens)
    place = tmp_path.resolve()
    lines = answer.stderr.splitlines()
    assert lines[:2] == [
        "HUB_TOKEN is not set: the cluster has it in Secret hub, key token; export HUB_TOKEN=… before the start",
        "hub.url is not set: the cluster has it in ConfigMap hub, key url; no shell can have this name, so start with "
        f"env 'hub.url=…' bash {script.name} start",
    ]
    assert lines[2].startswith("ps-0: port 36000 of this machine is taken: ")
    assert "pid " in lines[2] and lines[2].endswith("listens there; end it, or render with another --port")
    assert lines[3:] == [
        f"{rank}: there is no file {place}/train.py on this machine: copy the program there, or start in another "
        "directory: export PADDOCK_DIRECTORY=…"
        for rank in ("ps-0", "worker-0")
    ]
    assert (answer.returncode, answer.stdout) == (2, "python " + sys.version.split()[0] + "\n")
    assert not (tmp_path / "paddock-probe").exists()


def test_a_program_that_is_not_there_is_named(tmp_path: Path, program: Path) -> None:
    script = write_scripts(tmp_path, build_torch_manifest(("pithon", "train.py"), workers=0), "127.0.0.1")[0]
    answer = Machine(tmp_path).run(script, "check")
    assert answer.stderr.startswith("master-0: there is no program pithon on this machine: it is looked for in /")
    assert answer.returncode == 2


@pytest.mark.parametrize(
    ("command", "text", "is_wanted"),
    [
        pytest.param(("python", "-m", "torch.distributed.run", "train.py"), "", True, id="its launcher"),
        pytest.param(
            ("python", "train.py"), "if True:\n    from torch import nn\n", True, id="a script that imports it"
        ),
        pytest.param(("python", "train.py"), "print('torchvision')\n", False, id="a script that does not"),
    ],
)
def test_the_framework_must_be_there_for_a_program_that_uses_it(
    command: tuple[str, ...], text: str, is_wanted: bool, tmp_path: Path, program: Path
) -> None:
    program.write_text(text)
    script = write_scripts(tmp_path, build_torch_manifest(command, workers=0), "127.0.0.1")[0]
    answer = Machine(tmp_path).run(script, "check")
    told = (
        "master-0: " + str(Path(sys.executable).parent / "python") + " has no module torch: install torch for it, or "
    )
    assert answer.stderr.startswith(told) if is_wanted else not answer.stderr
    assert answer.returncode == (2 if is_wanted else 0)


def test_the_versions_of_python_and_of_the_framework_are_told(tmp_path: Path, program: Path) -> None:
    """They are found without an import, which takes seconds and may write."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise SystemExit('imported')\n")
    (tmp_path / "torch-2.13.0.dist-info").mkdir()
    (tmp_path / "torch-2.13.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0\n"
    )
    script = write_scripts(tmp_path, PLAIN, ADDRESSES)[0]
    answer = Machine(tmp_path).run(script, "check")
    assert (answer.stdout, answer.stderr) == (f"python {sys.version.split()[0]}\ntorch 2.13.0\n", "")


def test_a_directory_that_is_not_there_is_named(tmp_path: Path, program: Path) -> None:
    script = write_scripts(tmp_path, PLAIN, ADDRESSES)[0]
    answer = Machine(tmp_path).run(script, "check", env={"PADDOCK_DIRECTORY": str(tmp_path / "none")})
    assert answer.stderr == (
        f"master-0: {tmp_path}/none is no directory of this machine in which files can be written: make it, or name "
        "another one: export PADDOCK_DIRECTORY=…\n"
    )
    assert answer.returncode == 2


def test_a_command_or_rank_that_does_not_exist_is_wrong_use(tmp_path: Path, program: Path) -> None:
    script = write_scripts(tmp_path, PLAIN, ADDRESSES)[0]
    machine = Machine(tmp_path)
    assert machine.run(script, "begin").returncode == 2
    answer = machine.run(script, "run", "worker-0")
    assert (answer.stderr, answer.returncode) == (
        "there is no rank worker-0 on this machine: it has master-0\n",
        2,
    )
    answer = machine.run(script, "command", "gpu-z")
    assert answer.stderr == "there is no machine gpu-z: 0 to 1 are 10.9.0.1 10.9.0.2\n"


def test_the_first_machine_prints_one_right_command_for_each_rank_of_the_others(tmp_path: Path, program: Path) -> None:
    manifest = build_manifest(command=("python", "-m", "paddle.distributed.launch", "train.py", "--name", "a b"))
    script = write_scripts(tmp_path, manifest, NAMES)[0]
    machine = Machine(tmp_path, hosts="127.0.1.1 gpu-a\n10.9.0.2 gpu-b")
    answer = machine.run(script, "command")
    rule, title, line, end = answer.stdout.splitlines()
    assert (rule, title, end) == ("-" * 80, "# worker-1, on gpu-b:", "-" * 80)
    assert line.startswith("env -u PADDLE_TRAINER_ENDPOINTS ")
    assert line.endswith(
        " POD_IP=10.9.0.2 GLOO_SOCKET_IFNAME=\"$(ip -4 -o address show to 10.9.0.2/32 | awk '{print $2}')\" "
        "PYTHONUNBUFFERED=1 python -m paddle.distributed.launch --master 10.9.0.1:36000 --nnodes 2 --rank 1 train.py "
        "--name a\\ b"
    )
    assert machine.run(script, "command", "1").stdout == machine.run(script, "command", "gpu-b").stdout == answer.stdout
