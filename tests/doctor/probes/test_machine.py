"""This machine, read: limits, shared memory and groups that are really small, and what is not kept."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.probes.fakes import install, write_program
from doctor.probes.looking import checks, command, read
from paddock.doctor.host.endpoints import WrongPeer
from paddock.doctor.host.values import Limits
from paddock.doctor.probes.host import WrongInterpreter, examine_host, look_at_host
from paddock.doctor.probes.machine import (
    choose_variables,
    find_container,
    find_rdma,
    read_interfaces,
    read_process_limits,
    read_room,
    read_shm,
)
from support.programs import lack, need

CLEAN = {"PATH": os.environ["PATH"], "HOME": "/nowhere"}


def run_look(*before: str, shell: str = "") -> list[str]:
    words = [*before, *command()] if not shell else [*before, "sh", "-c", f'{shell}; exec "$@"', "sh", *command()]
    done = subprocess.run(words, env=CLEAN, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return checks(read(done.stdout))


def test_few_open_files_of_a_real_shell() -> None:
    assert "few-open-files" in run_look(shell="ulimit -n 200")
    assert "few-open-files" not in run_look(shell="ulimit -Sn 1024")


def test_the_limit_of_the_shell_is_told_and_not_the_one_that_many_peers_need() -> None:
    shell = 'ulimit -Sn 200; "$@" localhost; ulimit -Sn'
    done = subprocess.run(["sh", "-c", shell, "sh", *command()], env=CLEAN, capture_output=True, text=True, timeout=60)
    found, limit = done.stdout.splitlines()
    assert "a process may have 200 files open" in " ".join(each.said for each in read(found)) and limit == "200"


@pytest.mark.slow
def test_a_small_stack_of_a_real_shell() -> None:
    assert "small-stack" in run_look(shell="ulimit -Ss 1024")


@pytest.mark.slow
def test_shared_memory_of_a_real_mount() -> None:
    """As in a container of Docker, and nearly full."""
    unshare = [need("unshare"), "--map-root-user", "--mount"]
    mount = "mount -t tmpfs -o size=64M none /dev/shm && fallocate -l 60M /dev/shm/left"
    tried = subprocess.run([*unshare, "sh", "-c", mount], capture_output=True, text=True)
    if tried.returncode:
        lack("unshare", f"makes no mount here: {tried.stderr.strip()}")
    done = subprocess.run(
        [*unshare, "sh", "-c", f'{mount}; exec "$@"', "sh", *command()], env=CLEAN, capture_output=True, text=True
    )
    [finding] = [each for each in read(done.stdout) if each.where == "/dev/shm"]
    assert finding.check == "small-shm" and "/dev/shm has 64 MiB, 4.0 MiB of it free" in finding.said


def test_no_shared_memory_at_all(tmp_path: Path) -> None:
    assert read_shm(tmp_path / "shm") is None


def test_the_limits_are_those_of_this_process() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limits = read_process_limits()
    assert isinstance(limits, Limits)
    assert (limits.open_files, limits.most_open_files) == tuple(
        None if each == resource.RLIM_INFINITY else each for each in (soft, hard)
    )


def test_cores_and_memory_are_those_of_the_group(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/box\n")
    (tmp_path / "sys/fs/cgroup/box").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/box/cpu.max").write_text("50000 100000\n")
    (tmp_path / "sys/fs/cgroup/box/memory.max").write_text("268435456\n")
    assert read_room(tmp_path) == (0.5, 2**28)


def test_containers_and_cards_of_the_network(tmp_path: Path) -> None:
    assert find_container({}, tmp_path) == "" and find_rdma(tmp_path) == ()
    (tmp_path / "run").mkdir()
    (tmp_path / "run/.containerenv").touch()
    (tmp_path / "sys/class/infiniband/mlx5_0").mkdir(parents=True)
    assert find_container({}, tmp_path) == "docker" and find_rdma(tmp_path) == ("mlx5_0",)
    assert find_container({"KUBERNETES_SERVICE_HOST": "10.96.0.1"}, tmp_path) == "kubernetes"


def test_loopback_is_among_the_interfaces() -> None:
    assert any(each.is_loopback and "127.0.0.1" in each.addresses for each in read_interfaces())


def test_what_is_not_judged_is_not_kept() -> None:
    environ = {
        "AWS_SECRET_ACCESS_KEY": "x",
        "TOKEN": "y",
        "PADDLE_MASTER": "m",
        "XPU_VISIBLE_DEVICES": "0",
        "no_proxy": "z",
    }
    assert set(choose_variables(environ)) == {"PADDLE_MASTER", "XPU_VISIBLE_DEVICES", "no_proxy"}


async def test_a_step_is_reported_and_what_was_found_is_told() -> None:
    said: list[str] = []
    examined = await examine_host(["localhost"], environ=CLEAN, report=said.append)
    assert said == ["looks at this machine", "reaches 1 peer, in a few seconds"]
    assert examined.host.cores >= 0.1 and examined.asked.peers == (examined.host.peers[0].endpoint,)


async def test_peers_come_from_variables_where_none_is_named() -> None:
    environ = {**CLEAN, "PADDLE_MASTER": "localhost:6170"}
    assert [str(each) for each in (await examine_host(environ=environ)).asked.peers] == ["localhost:6170"]
    assert [str(each) for each in (await examine_host(["127.0.0.1"], environ=environ)).asked.peers] == ["127.0.0.1"]


async def test_peers_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("localhost slots=8\n# none\n")
    examined = await examine_host([f"@{tmp_path}/hosts"], environ=CLEAN)
    assert [str(each) for each in examined.asked.peers] == ["localhost"]


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "No such file or directory"), (b"# nobody\n", "no machine is named in it"), (b"\xff\xfe", "UTF-8")],
)
async def test_a_file_of_hosts_that_is_wrong_is_told(tmp_path: Path, content: bytes | None, words: str) -> None:
    path = tmp_path / "hosts"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(WrongPeer, match=words):
        await look_at_host([f"@{path}"], environ=CLEAN)


async def test_an_interpreter_that_is_not_there_is_told_before_anything_is_looked_at() -> None:
    with pytest.raises(WrongInterpreter, match="--python /no/python"):
        await look_at_host(interpreter="/no/python", environ=CLEAN, report=lambda said: pytest.fail(said))


async def test_an_interpreter_without_frameworks(tmp_path: Path) -> None:
    assert "no-framework" in [each.check for each in await look_at_host(interpreter="python3", environ=CLEAN)]


@pytest.mark.parametrize(
    ("package", "version", "requires", "visible", "expected"),
    [
        ("paddlepaddle", "3.3.1", "numpy", None, ["cpu-wheel-on-gpu-machine"]),
        ("paddlepaddle-gpu", "3.3.1", "nvidia-cuda-runtime-cu12==12.6.77", None, ["driver-too-old"]),
        ("paddlepaddle-gpu", "2.2.2.post112", "numpy", None, []),
        ("paddlepaddle-gpu", "2.2.2.post112", "numpy", "4", ["unknown-visible-device"]),
    ],
)
async def test_a_wheel_against_the_driver(
    tmp_path: Path, package: str, version: str, requires: str, visible: str | None, expected: list[str]
) -> None:
    """The whole way: a program nvidia-smi in PATH, a wheel's metadata, the findings."""
    environ = {**install(tmp_path, package, version, requires)}
    smi = write_program(tmp_path, "echo '0, GPU-aa, 470.256.02, Default, 7.0, Tesla V100-SXM2-32GB'")
    environ["PATH"] = f"{smi['PATH']}:{environ['PATH']}"
    if visible is not None:
        environ["CUDA_VISIBLE_DEVICES"] = visible
    assert [each.check for each in await look_at_host(interpreter=sys.executable, environ=environ)] == expected
