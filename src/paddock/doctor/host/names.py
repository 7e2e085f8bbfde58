"""The name of this machine: what PaddlePaddle and gloo take for its address and tell the others.

Source: two and three hosts, PaddlePaddle 3.0.0 and 3.3.1, torch 2.13.0 (docs/places/README.md). Launch takes
`gethostbyname(getfqdn())` unless POD_IP is set; gloo takes what the name stands for unless GLOO_SOCKET_IFNAME is set.
"""

from __future__ import annotations

from collections.abc import Iterator

from paddock.doctor.findings import Finding, Severity
from paddock.doctor.host.endpoints import is_loopback
from paddock.doctor.host.values import Asked, Host
from paddock.words.phrases import Phrase, phrase

SLOW = 1.0
"""Seconds. A hosts file answers within a millisecond, a name server of the same network within a tenth of a second."""
GLOO = "GLOO_SOCKET_IFNAME"
_TWO_VARIABLES = phrase(
    "set the two variables in each shell on this machine before the start; parameter servers with gloo read neither: "
    "for them, let the name stand for the address in /etc/hosts"
)


def judge_names(host: Host, asked: Asked) -> Iterator[Finding]:
    """A name matters for jobs of several machines alone, and its speed always."""
    found = _judge_meaning(host) if host.others and host.name.is_found and not _is_cured(host) else None
    if found:
        yield found
    if host.name.seconds >= SLOW or not host.name.is_found:
        yield _explain_slow(host)


def _is_cured(host: Host) -> bool:
    """Whether both variables say what the name does not."""
    named = next((each for each in host.interfaces if each.name == host.environ.get(GLOO)), None)
    told = host.environ.get("POD_IP", "")
    return named is not None and not named.is_loopback and not is_loopback(told) and host.is_own(told)


def _judge_meaning(host: Host) -> Finding | None:
    name, addresses = host.name.name, [each for each in host.name.addresses if ":" not in each]
    if not addresses:
        what = phrase("the name of this machine, {name}, stands for no IPv4 address", name=name)
        why = phrase(
            "PaddlePaddle's launch ends with “ValueError: network … cannot be obtained”, and gloo tells the other "
            "machines 127.0.0.1, where they find themselves"
        )
        return _finding("unresolvable-host-name", host, what, why)
    if is_loopback(addresses[0]):
        what = phrase(
            "the name of this machine, {name}, stands for {address}, which is each machine's own address",
            name=name,
            address=addresses[0],
        )
        why = phrase(
            "PaddlePaddle and gloo tell the other machines the address that the name stands for; these then connect to "
            "themselves: rank 0 prints “master not ready” for ever, or gloo ends with “Connection refused” and the "
            "other machines hang"
        )
        return _finding("loopback-host-name", host, what, why)
    if not host.is_own(addresses[0]):
        what = phrase(
            "the name of this machine, {name}, stands for {address}, and no interface of this machine has this address",
            name=name,
            address=addresses[0],
        )
        why = phrase(
            "PaddlePaddle and gloo open their sockets at the address that the name stands for, which fails, and tell "
            "the other machines this address"
        )
        return _finding("foreign-host-name", host, what, why)
    return None


def _finding(check: str, host: Host, what: Phrase, why: Phrase) -> Finding:
    return Finding(check, Severity.WRONG, "this machine", what, why, _TWO_VARIABLES, build_exports(host))


def build_exports(host: Host) -> str:
    """The command that tells both frameworks the address and the interface of this machine."""
    address = host.own_address
    interface = host.find_interface(address)
    if interface is None:
        return "ip -brief address"
    return f"export POD_IP={address} {GLOO}={interface.name}"


def _explain_slow(host: Host) -> Finding:
    name, seconds = host.name.name, f"{host.name.seconds:.1f}"
    if host.name.is_found:
        what = phrase(
            "it took {seconds} s to learn what {name}, the name of this machine, stands for",
            seconds=seconds,
            name=name,
        )
    else:
        what = phrase(
            "{name}, the name of this machine, was looked up for {seconds} s without an answer",
            seconds=seconds,
            name=name,
        )
    return Finding(
        "slow-host-name",
        Severity.RISK,
        "this machine",
        what,
        phrase(
            "launch looks the name up before its first line, and gloo again before the group is there: each start is "
            "silent for so long; the usual cause is a name server that cannot be reached"
        ),
        phrase("write the name and its address into /etc/hosts, which is read before name servers are asked"),
        f"echo '{host.own_address or '127.0.1.1'} {name}' | sudo tee -a /etc/hosts",
    )
