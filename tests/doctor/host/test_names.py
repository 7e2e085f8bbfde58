"""The own name, variables and interfaces: what speaks, what does not, and what is said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from doctor.host.hosts import ETH0, ETH1, LAPTOP, LO, NODE, ask, checks, peer, with_peers
from paddock.doctor.findings import Severity
from paddock.doctor.host.interfaces import match_interfaces
from paddock.doctor.host.values import Host, Interface, OwnName

PAIR = with_peers(NODE)


def named(*addresses: str, seconds: float = 0.001, is_found: bool = True) -> Host:
    return replace(PAIR, name=OwnName("gpu-a", addresses, seconds, is_found))


@pytest.mark.parametrize(
    ("sentence", "host", "expected"),
    [
        ("a laptop without peers is well with Debian's own name", LAPTOP, []),
        ("a node with a peer is well", PAIR, []),
        ("a peer that is this machine is no peer", with_peers(LAPTOP, peer("10.0.0.1", address="10.0.0.1")), []),
        ("Debian's own name, with a peer", named("127.0.1.1"), ["loopback-host-name"]),
        ("a name with IPv6 and IPv4 is judged by its IPv4 address", named("10.0.0.1", "fd00::1"), []),
        ("a name that stands for nothing", named(), ["unresolvable-host-name"]),
        ("a name with IPv6 alone", named("fd00::1"), ["unresolvable-host-name"]),
        ("a public address that no interface has", named("203.0.113.7"), ["foreign-host-name"]),
        ("a name server that needs two seconds", named("10.0.0.1", seconds=2.0), ["slow-host-name"]),
        ("no answer is told once", named(seconds=5.0, is_found=False), ["slow-host-name"]),
        (
            "the name on the interface of another network",
            with_peers(replace(NODE, name=OwnName("gpu-a", ("192.168.7.1",)), interfaces=(LO, ETH0, ETH1))),
            ["other-interface"],
        ),
        ("two interfaces, and the name on the right one", with_peers(replace(NODE, interfaces=(LO, ETH0, ETH1))), []),
        (
            "no IPv4 address",
            with_peers(
                replace(NODE, name=OwnName("gpu-a", ("fd00::1",)), interfaces=(LO, Interface("eth0", ("fd00::1",)))),
                peer(source="fd00::1"),
            ),
            ["unresolvable-host-name", "ipv6-only"],
        ),
        ("a peer with IPv6 alone", with_peers(NODE, peer("fd00::2", address="fd00::2")), ["ipv6-peer"]),
    ],
)
def test_the_own_name_matters_for_jobs_of_several_machines(sentence: str, host: Host, expected: list[str]) -> None:
    assert checks(host) == expected, sentence


@pytest.mark.parametrize(
    ("sentence", "environ", "expected"),
    [
        ("both variables mend the name", {"POD_IP": "10.0.0.1", "GLOO_SOCKET_IFNAME": "eth0"}, []),
        ("POD_IP alone leaves gloo wrong", {"POD_IP": "10.0.0.1"}, ["loopback-host-name"]),
        ("the interface alone leaves launch wrong", {"GLOO_SOCKET_IFNAME": "eth0"}, ["loopback-host-name"]),
        (
            "an interface that is not there mends nothing",
            {"POD_IP": "10.0.0.1", "GLOO_SOCKET_IFNAME": "eth9"},
            ["loopback-host-name", "no-such-interface"],
        ),
        (
            "loopback mends nothing",
            {"POD_IP": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo"},
            ["loopback-host-name", "loopback-interface"],
        ),
    ],
)
def test_what_mends_a_name_on_loopback(sentence: str, environ: Mapping[str, str], expected: list[str]) -> None:
    assert checks(replace(named("127.0.1.1"), environ=environ)) == expected, sentence


def test_the_command_has_the_address_and_the_interface_by_which_the_peers_are_reached() -> None:
    host = replace(named("127.0.1.1"), interfaces=(LO, ETH1, ETH0))
    [finding] = ask(host)
    assert finding.command == "export POD_IP=10.0.0.1 GLOO_SOCKET_IFNAME=eth0"
    assert (finding.severity, finding.where) == (Severity.WRONG, "this machine")
    assert "127.0.1.1" in str(finding.what) and "gpu-a" in str(finding.what)


@pytest.mark.parametrize(
    ("sentence", "environ", "expected"),
    [
        ("nothing is set", {}, []),
        ("the own address", {"POD_IP": "10.0.0.1"}, []),
        ("a name, which parameter servers need", {"POD_IP": "job-ps-0"}, []),
        ("an address of another machine", {"POD_IP": "10.0.0.9"}, ["pod-ip-of-another"]),
        ("a master at an address of the job", {"PADDLE_MASTER": "10.0.0.2:6170"}, []),
        ("a master on loopback, with a peer", {"PADDLE_MASTER": "127.0.0.1:6170"}, ["loopback-endpoint"]),
        ("torchrun's master on loopback", {"MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}, ["loopback-endpoint"]),
        (
            "one endpoint on loopback",
            {"PADDLE_TRAINER_ENDPOINTS": "127.0.0.1:6170,10.0.0.2:6170"},
            ["loopback-endpoint"],
        ),
        ("a master by its name", {"PADDLE_MASTER": "gpu-b:6170"}, ["master-by-name"]),
        ("torchrun's master by its name is well", {"MASTER_ADDR": "gpu-b", "MASTER_PORT": "29500"}, []),
        ("etcd by its name is well", {"PADDLE_MASTER": "etcd://gpu-b:2379"}, []),
        ("a list of another run", {"PADDLE_TRAINER_ENDPOINTS": "10.9.0.1:6170,10.9.0.2:6170"}, ["stray-variables"]),
        ("a name, of which nobody knows what it stands for", {"MASTER_ADDR": "gpu-b.corp", "MASTER_PORT": "1"}, []),
        ("PADDLE_IPS of another run", {"PADDLE_IPS": "10.9.0.1,10.9.0.2"}, ["stray-variables"]),
        ("PADDLE_IPS of this one", {"PADDLE_IPS": "10.0.0.1,10.0.0.2"}, []),
        ("what nobody can read is left alone", {"PADDLE_MASTER": ":::", "PADDLE_TRAINER_ENDPOINTS": ",,"}, []),
        ("an interface that is not there", {"GLOO_SOCKET_IFNAME": "ens3"}, ["no-such-interface"]),
        ("NCCL takes beginnings", {"NCCL_SOCKET_IFNAME": "eth"}, []),
        ("NCCL's whole name", {"NCCL_SOCKET_IFNAME": "=eth"}, ["no-such-interface"]),
        ("NCCL without some", {"NCCL_SOCKET_IFNAME": "^docker,lo"}, []),
        ("the loopback interface", {"NCCL_SOCKET_IFNAME": "lo"}, ["loopback-interface"]),
    ],
)
def test_variables_of_the_shell(sentence: str, environ: Mapping[str, str], expected: list[str]) -> None:
    assert checks(replace(PAIR, environ=environ)) == expected, sentence


def test_variables_that_name_the_peers_are_no_strays() -> None:
    told = peer("10.9.0.2", 6170, variable="PADDLE_TRAINER_ENDPOINTS", address="10.9.0.2")
    host = replace(with_peers(NODE, told), environ={"PADDLE_TRAINER_ENDPOINTS": "10.0.0.1:6170,10.9.0.2:6170"})
    assert checks(host) == []


def test_the_command_for_a_master_by_name_has_its_address() -> None:
    [finding] = ask(replace(PAIR, environ={"PADDLE_MASTER": "gpu-b:6170"}))
    assert finding.command == "export PADDLE_MASTER=10.0.0.2:6170"


def test_an_interface_that_is_down() -> None:
    down = Interface("eth1", ("192.168.7.1",), 1500, is_up=False)
    host = replace(PAIR, interfaces=(LO, ETH0, down), environ={"GLOO_SOCKET_IFNAME": "eth1"})
    assert checks(host) == ["interface-down"]


@pytest.mark.parametrize(
    ("variable", "value", "names"),
    [
        ("GLOO_SOCKET_IFNAME", "eth", []),
        ("GLOO_SOCKET_IFNAME", "eth0", ["eth0"]),
        ("GLOO_SOCKET_IFNAME", "eth1,eth0", ["eth0", "eth1"]),
        ("NCCL_SOCKET_IFNAME", "eth", ["eth0", "eth1"]),
        ("NCCL_SOCKET_IFNAME", "=eth1", ["eth1"]),
        ("NCCL_SOCKET_IFNAME", "^eth1", ["lo", "eth0"]),
        ("NCCL_SOCKET_IFNAME", "^=eth,lo", ["eth0", "eth1"]),
    ],
)
def test_the_interfaces_that_a_variable_names(variable: str, value: str, names: list[str]) -> None:
    assert [each.name for each in match_interfaces(variable, value, (LO, ETH0, ETH1))] == names
