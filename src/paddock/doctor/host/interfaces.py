"""Interfaces of the network: those that variables name, and those by which the peers are reached."""

from __future__ import annotations

from collections.abc import Iterator

from paddock.doctor.findings import Finding, Severity
from paddock.doctor.host.names import GLOO, build_exports
from paddock.doctor.host.values import Asked, Host, Interface
from paddock.words.phrases import Names, phrase

NCCL = "NCCL_SOCKET_IFNAME"


def judge_interfaces(host: Host, asked: Asked) -> Iterator[Finding]:
    for variable in (GLOO, NCCL):
        if host.environ.get(variable) and host.interfaces:
            yield from _judge_variable(host, variable)
    if host.others:
        yield from _judge_family(host)
        yield from _judge_way(host)


def match_interfaces(variable: str, value: str, interfaces: tuple[Interface, ...]) -> tuple[Interface, ...]:
    """The interfaces that a variable names. Gloo: names. NCCL: beginnings of names, `=` before them for whole names,
    `^` for all others (NVIDIA, NCCL user guide, environment variables)."""
    names = [each.strip() for each in value.lstrip("^=").split(",") if each.strip()]
    if variable == GLOO:
        return tuple(each for each in interfaces if each.name in value.split(","))
    excluded, exact = value.startswith("^"), value.removeprefix("^").startswith("=")
    return tuple(
        each
        for each in interfaces
        if excluded != any(each.name == name or (not exact and each.name.startswith(name)) for name in names)
    )


def _judge_variable(host: Host, variable: str) -> Iterator[Finding]:
    value = host.environ[variable]
    matched = match_interfaces(variable, value, host.interfaces)
    good = next((each.name for each in host.interfaces if each.addresses and each.is_up and not each.is_loopback), "")
    known = host.find_interface(host.own_address)
    command = f"export {variable}={known.name if known else good}" if known or good else f"unset {variable}"
    mend = phrase("name the interface that has the address at which the other machines reach this one")
    if not matched:
        yield Finding(
            "no-such-interface",
            Severity.WRONG,
            variable,
            phrase(
                "{variable} is {value}, and no interface of this machine is called so: there is {names}",
                variable=variable,
                value=value,
                names=Names(tuple(each.name for each in host.interfaces), most=8),
            ),
            phrase("the group of ranks is never made: gloo and NCCL end with an error that names no variable"),
            mend,
            command,
        )
    elif not any(each.is_up for each in matched):
        yield Finding(
            "interface-down",
            Severity.WRONG,
            variable,
            phrase("{variable} is {value}, and this interface is down", variable=variable, value=value),
            phrase("nothing can be sent through it, so the group of ranks is never made"),
            mend,
            f"sudo ip link set {matched[0].name} up",
        )
    elif host.others and all(each.is_loopback for each in matched):
        yield Finding(
            "loopback-interface",
            Severity.WRONG,
            variable,
            phrase("{variable} is {value}, the loopback interface", variable=variable, value=value),
            phrase("it reaches this machine alone: the other machines are told an address that is their own"),
            mend,
            command,
        )


def _judge_family(host: Host) -> Iterator[Finding]:
    """PaddlePaddle splits endpoints at colons, so it reads no IPv6 address."""
    addresses = [each for one in host.interfaces if one.is_up and not one.is_loopback for each in one.addresses]
    why = phrase(
        "PaddlePaddle splits addresses at their colons and reads no IPv6 address; torchrun does, with brackets: "
        "[ADDRESS]:PORT"
    )
    if addresses and all(":" in each for each in addresses):
        yield Finding(
            "ipv6-only",
            Severity.WRONG,
            "this machine",
            phrase("no interface of this machine has an IPv4 address but loopback"),
            why,
            phrase("give the machine an IPv4 address in the network of its peers"),
            "ip -brief address",
        )
    for peer in host.others:
        if ":" in peer.endpoint.host or ":" in peer.address:
            yield Finding(
                "ipv6-peer",
                Severity.RISK,
                str(peer.endpoint),
                phrase("{peer} is reached by an IPv6 address alone", peer=peer.endpoint.host),
                why,
                phrase("name the machine by its IPv4 address"),
                f"getent ahosts {peer.endpoint.host}",
            )


def _judge_way(host: Host) -> Iterator[Finding]:
    """The own name stands for an address of one interface, and the peers are reached through another one."""
    if host.environ.get(GLOO):
        return
    named = next((each for each in host.name.addresses if ":" not in each), "")
    at = host.find_interface(named)
    ways = {each.source: each for each in host.others if each.source and ":" not in each.source}
    if at is None or at.is_loopback or not ways or named in ways:
        return
    source, peer = next(iter(ways.items()))
    through = host.find_interface(source)
    if through is None or through.name == at.name:
        return
    yield Finding(
        "other-interface",
        Severity.RISK,
        "this machine",
        phrase(
            "the name of this machine stands for {named} ({at}), and {peer} is reached through {through} ({source})",
            named=named,
            at=at.name,
            peer=peer.endpoint.host,
            through=through.name,
            source=source,
        ),
        phrase(
            "gloo tells the others the address that the name stands for; they may not reach it, or by the slower "
            "network"
        ),
        phrase("name the interface of the network in which the machines are together, on each of them"),
        build_exports(host),
    )
