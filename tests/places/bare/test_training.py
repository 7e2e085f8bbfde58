"""Real training on machines, by the scripts, as a user starts them: two and three machines, names of every kind."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from places.bare.scripts import Script, place
from places.manifests import PROGRAMS, WIDE_AND_DEEP, build_paddle, build_role, build_torch, write_manifest
from support.machines import Names, open_machines

pytestmark = [pytest.mark.paddle, pytest.mark.timeout(300)]
LAUNCH = ["-m", "paddle.distributed.launch"]


def wait(scripts: list[Script], seconds: float = 90, states: tuple[str, ...] = ("running",)) -> list[str]:
    """What `status` says of each machine when no rank is in one of `states` any more."""
    deadline = time.monotonic() + seconds
    while True:
        said = [script.call("status").stdout for script in scripts]
        if not any(state in each for each in said for state in states):
            return said
        assert time.monotonic() < deadline, [*said, *(script.call("logs").stdout for script in scripts)]
        time.sleep(0.3)


def start(scripts: list[Script]) -> list[str]:
    done = [script.call("start") for script in scripts]
    assert all(each.returncode == 0 for each in done), done
    return [each.stdout for each in done]


@pytest.mark.parametrize("names", ["resolve", "debian", "unresolvable"])
def test_collective_on_two_machines(tmp_path: Path, python_of: Callable[[str], str], names: Names) -> None:
    command = [python_of("paddle"), *LAUNCH, "collective.py", "3", "0.1"]
    manifest = write_manifest(tmp_path, build_paddle(worker=build_role(2, *command)))
    with open_machines(tmp_path / "bench", 2, names=names) as bench:
        scripts = place(bench, manifest, tmp_path, PROGRAMS / "collective.py")
        start(scripts)
        assert wait(scripts) == ["worker-0  ended  exit code 0\n", "worker-1  ended  exit code 0\n"]
        assert "step 2 of rank 0: sum 2" in scripts[0].call("logs", "worker-0").stdout


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


def test_servers_and_workers_on_two_machines_that_share_a_prefix(
    tmp_path: Path, python_of: Callable[[str], str]
) -> None:
    command = [python_of("paddle-ps"), "train.py"]
    roles = {"ps": build_role(2, *command), "worker": build_role(2, *command)}
    manifest = write_manifest(tmp_path, build_paddle(**roles))
    with open_machines(tmp_path / "bench", 2, names="debian", addresses=("1", "11")) as bench:
        scripts = place(bench, manifest, tmp_path, *WIDE_AND_DEEP.glob("*.py"))
        start(scripts)
        said = wait(scripts, states=("worker-0  running", "worker-1  running"))
        assert all("ended  exit code 0" in each for each in said), [s.call("logs", "worker-0").stdout for s in scripts]
        assert all("running" in each for each in said), "servers run until they are stopped"
        assert all(script.call("stop").returncode == 0 for script in scripts)


def test_torch_on_three_machines_some_without_names(tmp_path: Path, python_of: Callable[[str], str]) -> None:
    command = [python_of("pytorch"), "-m", "torch.distributed.run", "--nproc-per-node", "1", "ddp.py", "3", "0.1"]
    roles = {"Master": build_role(1, *command), "Worker": build_role(2, *command)}
    manifest = write_manifest(tmp_path, build_torch(**roles))
    with open_machines(tmp_path / "bench", 3, names="unresolvable") as bench:
        scripts = place(bench, manifest, tmp_path, PROGRAMS / "ddp.py")
        start(scripts)
        assert all("exit code 0" in each for each in wait(scripts))
        assert "step 2 of rank 0: sum 3" in scripts[0].call("logs").stdout


def test_a_machine_that_is_cut_off_for_15_s_goes_on(tmp_path: Path, python_of: Callable[[str], str]) -> None:
    command = [python_of("paddle"), *LAUNCH, "collective.py", "40", "0.2"]
    manifest = write_manifest(tmp_path, build_paddle(worker=build_role(2, *command)))
    with open_machines(tmp_path / "bench", 2, names="debian") as bench:
        scripts = place(bench, manifest, tmp_path, PROGRAMS / "collective.py")
        start(scripts)
        deadline = time.monotonic() + 60
        while "step 5" not in scripts[0].call("logs").stdout:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        bench.cut(1)
        time.sleep(15)
        bench.restore(1)
        assert all("exit code 0" in each for each in wait(scripts))
        assert "step 39 of rank 0: sum 2" in scripts[0].call("logs").stdout
