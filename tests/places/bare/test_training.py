"""Real training on machines, by the scripts, as a user starts them: two and three machines, names of every kind."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.commands import until
from places.bare.scripts import Script, place
from places.manifests import PROGRAMS, WIDE_AND_DEEP, build_paddle, build_role, build_torch, write_manifest
from support.machines import Names, open_machines

pytestmark = [pytest.mark.paddle, pytest.mark.timeout(600)]
LAUNCH = ["-m", "paddle.distributed.launch"]


def wait(scripts: list[Script], seconds: float = 240, states: tuple[str, ...] = ("running",)) -> list[str]:
    """What `status` says of each machine when no rank is in one of `states` any more."""
    deadline = time.monotonic() + seconds
    while True:
        said = [script.call("status").stdout for script in scripts]
        if not any(state in each for each in said for state in states):
            return said
        assert time.monotonic() < deadline, [*said, *(script.call("logs").stdout for script in scripts)]
        time.sleep(0.3)


def start(scripts: list[Script], **env: str) -> list[str]:
    done = [script.call("start", **env) for script in scripts]
    assert all(each.returncode == 0 for each in done), done
    return [each.stdout for each in done]


_PLACE = pytest.param("resolve", marks=pytest.mark.sample)  # a place: scripts of `paddock render` on two machines


@pytest.mark.parametrize("names", [_PLACE, "debian", "unresolvable"])
def test_collective_on_two_machines(tmp_path: Path, python_of: Callable[[str], str], names: Names) -> None:
    """They are named by their names where these resolve."""
    command = [python_of("paddle"), *LAUNCH, "collective.py", "3", "0.1"]
    manifest = write_manifest(tmp_path, build_paddle(worker=build_role(2, *command)))
    with open_machines(tmp_path / "bench", 2, names=names) as bench:
        by_name = names != "unresolvable"
        scripts = place(bench, manifest, tmp_path, PROGRAMS / "collective.py", by_name=by_name)
        start(scripts)
        assert wait(scripts) == ["worker-0  ended  exit code 0\n", "worker-1  ended  exit code 0\n"]
        assert "step 2 of rank 0: sum 2" in scripts[0].call("logs", "worker-0").stdout


def test_two_ranks_of_paddle_on_one_machine(tmp_path: Path, python_of: Callable[[str], str]) -> None:
    command = [python_of("paddle"), *LAUNCH, "collective.py", "3", "0.1"]
    manifest = write_manifest(tmp_path, build_paddle(worker=build_role(2, *command)))
    with open_machines(tmp_path / "bench", 1, names="debian") as bench:
        scripts = place(bench, manifest, tmp_path, PROGRAMS / "collective.py", by_name=True)
        start(scripts)
        assert wait(scripts) == ["worker-0  ended  exit code 0\nworker-1  ended  exit code 0\n"]
        assert "step 2 of rank 1: sum 2" in scripts[0].call("logs", "worker-1").stdout


def test_the_command_for_other_nodes_joins_them_when_it_is_typed_there(
    tmp_path: Path, python_of: Callable[[str], str]
) -> None:
    command = [python_of("paddle"), *LAUNCH, "collective.py", "3", "0.1"]
    manifest = write_manifest(tmp_path, build_paddle(worker=build_role(2, *command)))
    with open_machines(tmp_path / "bench", 2, names="debian") as bench:
        first, second = place(bench, manifest, tmp_path, PROGRAMS / "collective.py")
        said = start([first])[0].splitlines()
        assert "Copy the following command to other nodes to run." in said
        (line,) = [each for each in said if each.startswith("env ")]
        stray = {"PADDLE_MASTER": "10.77.0.9:1", "POD_IP": "10.77.0.9", "PADDLE_TRAINER_ENDPOINTS": "10.77.0.9:1"}
        typed = second.machine.run("bash", "-c", line, cwd=second.path.parent, env=stray, timeout=90)
        assert typed.returncode == 0, typed
        assert wait([first]) == ["worker-0  ended  exit code 0\n"]
        assert "step 2 of rank 0: sum 2" in first.call("logs").stdout


@pytest.mark.parametrize(("names", "gloo"), [("resolve", 1), ("unresolvable", 0)])
def test_servers_and_workers_on_two_machines_that_share_a_prefix(
    tmp_path: Path, python_of: Callable[[str], str], names: Names, gloo: int
) -> None:
    command = [python_of("paddle-ps"), "train.py"]
    roles = {"ps": build_role(2, *command), "worker": build_role(2, *command)}
    manifest = write_manifest(tmp_path, build_paddle(gloo=gloo, **roles))
    with open_machines(tmp_path / "bench", 2, names=names, addresses=("1", "11")) as bench:
        scripts = place(bench, manifest, tmp_path, *WIDE_AND_DEEP.glob("*.py"))
        start(scripts, EPOCHS="1", STEPS="100")
        said = wait(scripts, states=("worker-0  running", "worker-1  running"))
        assert all("ended  exit code 0" in each for each in said), [s.call("logs", "worker-0").stdout for s in scripts]
        assert all("running" in each for each in said), "servers run until they are stopped"
        assert all(script.call("stop").returncode == 0 for script in scripts)


def test_servers_whose_peers_would_be_told_a_loopback_address_are_refused(tmp_path: Path) -> None:
    """gloo of PaddlePaddle's PS mode tells what the own name stands for: 127.0.1.1 on Debian."""
    command = ["python3", "train.py"]
    roles = {"ps": build_role(2, *command), "worker": build_role(2, *command)}
    manifest = write_manifest(tmp_path, build_paddle(gloo=1, **roles))
    with open_machines(tmp_path / "bench", 2, names="debian") as bench:
        first, _ = place(bench, manifest, tmp_path, PROGRAMS / "collective.py")
        said = first.call("check")
    assert said.returncode == 2
    assert "the name of this machine, machine-a, stands for 127.0.1.1" in said.stderr
    assert 'write "10.77.0.1 machine-a" into /etc/hosts here, or withGloo: 0' in said.stderr


def test_torch_on_three_machines_some_without_names(tmp_path: Path, python_of: Callable[[str], str]) -> None:
    command = [python_of("pytorch"), "-m", "torch.distributed.run", "--nproc-per-node", "1", "ddp.py", "3", "0.1"]
    roles = {"Master": build_role(1, *command), "Worker": build_role(2, *command)}
    manifest = write_manifest(tmp_path, build_torch(**roles))
    with open_machines(tmp_path / "bench", 3, names="unresolvable") as bench:
        scripts = place(bench, manifest, tmp_path, PROGRAMS / "ddp.py")
        start(scripts)
        assert all("exit code 0" in each for each in wait(scripts))
        assert "step 2 of rank 0: sum 3" in scripts[0].call("logs").stdout


def test_three_ranks_of_torch_on_two_machines_without_a_launcher(
    tmp_path: Path, python_of: Callable[[str], str]
) -> None:
    """The first machine has two ranks, and `python` is found in PATH."""
    command = ["python", "ddp.py", "3", "0.1"]
    manifest = write_manifest(tmp_path, build_torch(Master=build_role(1, *command), Worker=build_role(2, *command)))
    path = f"{Path(python_of('pytorch')).parent}:/usr/sbin:/usr/bin:/sbin:/bin"
    with open_machines(tmp_path / "bench", 2, names="debian") as bench:
        scripts = place(bench, manifest, tmp_path, PROGRAMS / "ddp.py", by_name=True)
        assert "torch 2." in start(scripts, PATH=path)[0]
        assert all("exit code 0" in each for each in wait(scripts))
        assert "step 2 of rank 2: sum 3" in scripts[0].call("logs", "worker-1").stdout


def test_three_machines_go_on_when_one_was_cut_off_for_15_s(tmp_path: Path, python_of: Callable[[str], str]) -> None:
    command = [python_of("paddle"), *LAUNCH, "collective.py", "40", "0.2"]
    manifest = write_manifest(tmp_path, build_paddle(worker=build_role(3, *command)))
    with open_machines(tmp_path / "bench", 3, names="debian") as bench:
        scripts = place(bench, manifest, tmp_path, PROGRAMS / "collective.py")
        start(scripts)
        until("step 5", lambda: "step 5" in scripts[0].call("logs").stdout)
        bench.cut(1)
        time.sleep(15)
        assert "step 39" not in scripts[0].call("logs").stdout
        bench.restore(1)
        ends = wait(scripts)
        assert all("exit code 0" in each for each in ends), ends
        assert "step 39 of rank 0: sum 3" in scripts[0].call("logs").stdout
