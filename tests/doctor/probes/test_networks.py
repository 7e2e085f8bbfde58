"""Networks that are really broken: machines of namespaces, with their own names, firewalls and links."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from doctor.probes.looking import Found, checks, command, read
from support.machines import Bench, Machine, Names, open_machines
from support.programs import lack, need

SLOW = ("peer-slow", "slow-host-name")


def look(machine: Machine, *peers: str, slow: bool = False, env: dict[str, str] | None = None) -> list[Found]:
    """`slow`: also that answers come late, which is true of a busy machine of the tests as well."""
    # A Python without frameworks, so that what the test's own has is no concern.
    done = machine.run(*command(*peers), env={"VIRTUAL_ENV": "/usr", **(env or {})})
    assert done.returncode == 0, done.stderr
    return [each for each in read(done.stdout) if slow or each.check not in SLOW]


def drop(machine: Machine, *rule: str) -> None:
    """A rule of the machine's firewall."""
    need("iptables", path="/usr/sbin:/sbin:/usr/bin")
    done = machine.run("iptables", *rule)
    if done.returncode:
        lack("iptables", f"takes no rule here: {done.stderr.strip()}")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("resolve", []),
        pytest.param("debian", ["loopback-host-name"], marks=pytest.mark.slow),
        pytest.param("unresolvable", ["unresolvable-host-name"], marks=pytest.mark.slow),
    ],
)
def test_the_own_name(tmp_path: Path, names: Names, expected: list[str]) -> None:
    with open_machines(tmp_path, 2, names=names) as bench:
        found = look(bench[0], bench[1].address)
        assert checks(found) == expected
        if found:
            assert found[0].command == "export POD_IP=10.77.0.1 GLOO_SOCKET_IFNAME=eth0"
            # What the command says mends it.
            env = {"POD_IP": "10.77.0.1", "GLOO_SOCKET_IFNAME": "eth0"}
            assert look(bench[0], bench[1].address, env=env) == []


def test_the_own_name_is_asked_as_launch_does_by_its_full_name(tmp_path: Path) -> None:
    """The short name is right, and PaddlePaddle takes what the full name stands for."""
    with open_machines(tmp_path, 2) as bench:
        lines = "127.0.0.1 localhost\n127.0.1.1 machine-a.corp\n10.77.0.1 machine-a.corp machine-a\n"
        (bench[0].directory / "hosts").write_text(lines)
        [finding] = look(bench[0], bench[1].address)
        assert finding.check == "loopback-host-name" and "127.0.1.1" in finding.said


@pytest.mark.slow
def test_a_machine_that_is_well_and_one_that_is_cut_off(tmp_path: Path) -> None:
    with open_machines(tmp_path, 2) as bench:
        assert look(bench[0], "machine-b", "machine-a", "http://machine-b:22") == []
        assert checks(look(bench[0], "machine-b:6170")) == ["peer-refused"]
        assert checks(look(bench[0], "machine-x", "10.99.0.1")) == ["peer-name-unknown", "peer-no-route"]
        bench.cut(1)
        [finding] = look(bench[0], "machine-b:22")
        assert finding.check in ("peer-silent", "peer-no-route") and finding.where == "machine-b:22"


@pytest.mark.slow
def test_firewalls(tmp_path: Path) -> None:
    with open_machines(tmp_path, 2) as bench:
        drop(bench[1], "-A", "INPUT", "-p", "tcp", "--dport", "6170", "-j", "DROP")
        [finding] = look(bench[0], "machine-b:6170")
        assert finding.check == "peer-silent" and "within 2 s, on port 6170" in finding.said
        drop(
            bench[1],
            "-A",
            "INPUT",
            "-p",
            "tcp",
            "--dport",
            "29500",
            "-j",
            "REJECT",
            "--reject-with",
            "icmp-host-prohibited",
        )
        [blocked] = look(bench[0], "machine-b")
        assert blocked.check == "ports-blocked"
        assert "machine-b answers on port 22 and 45000, and not on 6170 and 29500" in blocked.said
        assert checks(look(bench[0], "machine-b:29500")) == ["peer-no-route"]


@pytest.mark.slow
def test_a_link_on_which_large_packets_vanish(tmp_path: Path) -> None:
    with open_machines(tmp_path, 2) as bench:
        narrow(bench, 1400)
        [finding] = look(bench[0], "machine-b")
        assert (finding.check, finding.where) == ("mtu-black-hole", "machine-b")
        assert "packets of 1500 bytes to machine-b vanish, and those of 1400 bytes arrive" in finding.said
        assert finding.command == "sudo ip link set dev eth0 mtu 1400"
        # What the command says mends it.
        assert bench[0].run("ip", "link", "set", "dev", "eth0", "mtu", "1400").returncode == 0
        assert look(bench[0], "machine-b") == []


def test_a_way_that_says_what_passes_is_well(tmp_path: Path) -> None:
    with open_machines(tmp_path, 2) as bench:
        done = bench[0].run("ip", "route", "change", "10.77.0.0/24", "dev", "eth0", "mtu", "1400")
        assert done.returncode == 0, done.stderr
        assert look(bench[0], "machine-b") == []


@pytest.mark.slow
def test_large_frames_on_one_machine_alone_are_well_as_tcp_keeps_to_the_smaller_ones(tmp_path: Path) -> None:
    with open_machines(tmp_path, 2) as bench:
        assert bench[0].run("ip", "link", "set", "dev", "eth0", "mtu", "9000").returncode == 0
        assert look(bench[0], "machine-b") == []


def narrow(bench: Bench, mtu: int) -> None:
    """The switch's ports forget larger packets."""
    for index in range(len(bench.machines)):
        words = (
            "nsenter",
            "-t",
            str(bench.switch.pid),
            "-n",
            "--",
            "ip",
            "link",
            "set",
            f"port{index}",
            "mtu",
            str(mtu),
        )
        subprocess.run(words, check=True, capture_output=True)


@pytest.mark.slow
def test_a_machine_that_loses_packets_is_told_as_slow_with_its_milliseconds(tmp_path: Path) -> None:
    """The first packet of each connection is lost, so each takes a second: as on a link that is full."""
    with open_machines(tmp_path, 2) as bench:
        drop(
            bench[1],
            "-A",
            "INPUT",
            "-p",
            "tcp",
            "--syn",
            "-m",
            "statistic",
            "--mode",
            "nth",
            "--every",
            "2",
            "--packet",
            "0",
            "-j",
            "DROP",
        )
        [finding] = look(bench[0], "machine-b:22", slow=True)
        assert finding.check == "peer-slow" and finding.severity == "risk"
        milliseconds = int(finding.said.split("answered after ")[1].split(" ms")[0])
        assert 900 <= milliseconds < 2000


@pytest.mark.slow
def test_a_name_server_that_does_not_answer(tmp_path: Path) -> None:
    with open_machines(tmp_path, 2, names="unresolvable") as bench:
        drop(bench[1], "-A", "INPUT", "-p", "udp", "--dport", "53", "-j", "DROP")
        resolver = f"nameserver {bench[1].address}\noptions timeout:30 attempts:1\n"
        (bench[0].directory / "resolv.conf").write_text(resolver)
        found = look(bench[0], "machine-b", bench[1].address, slow=True)
        assert checks(found) == ["peer-name-silent", "slow-host-name"]
