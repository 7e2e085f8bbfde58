"""The machines of tests: what they see of each other, and that nothing is left of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.machines import Names, open_machines


def test_machines_reach_each_other_by_ssh_and_leave_nothing(tmp_path: Path) -> None:
    links = set(os.listdir("/sys/class/net"))
    with open_machines(tmp_path, 2) as bench:
        said = bench.laptop.run("ssh", bench[1].address, "hostname; ip -4 -o address show dev eth0")
        assert said.stdout.splitlines()[0] == "machine-b", said
        assert bench[1].address in said.stdout
        pids = [machine.pid for machine in bench.machines]
        bench[0].start("sleep", "1000")
    assert set(os.listdir("/sys/class/net")) == links
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.mark.parametrize(
    ("names", "own", "other"),
    [("resolve", "10.77.0.1", "10.77.0.2"), ("debian", "127.0.1.1", "10.77.0.2"), ("unresolvable", "", "")],
)
def test_what_names_stand_for(tmp_path: Path, names: Names, own: str, other: str) -> None:
    with open_machines(tmp_path, 2, names=names) as bench:
        found = [bench[0].run("getent", "hosts", name).stdout.split()[:1] for name in ("machine-a", "machine-b")]
    assert found == [[own] if own else [], [other] if other else []]


def test_a_cut_machine_is_silent_and_comes_back(tmp_path: Path) -> None:
    with open_machines(tmp_path, 2) as bench:
        reach = ["timeout", "1", "bash", "-c", f"echo > /dev/tcp/{bench[1].address}/22"]
        assert bench[0].run(*reach).returncode == 0
        bench.cut(1)
        assert bench[0].run(*reach).returncode == 124
        bench.restore(1)
        assert bench[0].run(*reach).returncode == 0


def test_ssh_may_be_refused_or_not_know_the_machine(tmp_path: Path) -> None:
    with open_machines(tmp_path, 2) as bench:
        bench.forget(0)
        bench.stop_ssh(1)
        unknown = bench.laptop.run("ssh", "-o", "BatchMode=yes", bench[0].address, "true")
        refused = bench.laptop.run("ssh", "-o", "BatchMode=yes", bench[1].address, "true")
    assert "Host key verification failed" in unknown.stderr
    assert "Connection refused" in refused.stderr
