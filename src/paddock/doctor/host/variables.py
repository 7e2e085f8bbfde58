"""Variables of frameworks in the shell in which training would start, which say other than this machine or the peers.

Launch takes a variable over its own option: one that a former run has left changes the next one.
"""

from __future__ import annotations

from collections.abc import Iterator

from paddock.doctor.findings import Finding, Severity
from paddock.doctor.host.endpoints import LISTS, MASTER, MASTERS, Endpoint, is_address, is_loopback, read_variables
from paddock.doctor.host.values import Asked, Host
from paddock.words.phrases import Names, phrase


def judge_variables(host: Host, asked: Asked) -> Iterator[Finding]:
    told = read_variables(host.environ)
    yield from _judge_own(host)
    if any(not each.is_loopback for each in (*told, *asked.peers)):
        yield from _judge_loopback(told)
    yield from _judge_master(host, told)
    yield from _judge_strays(host, asked, told)


def _judge_own(host: Host) -> Iterator[Finding]:
    """POD_IP that is a name is no concern of launch; parameter servers need it as it stands in their list."""
    told = host.environ.get("POD_IP", "")
    if is_address(told) and not host.is_own(told):
        yield Finding(
            "pod-ip-of-another",
            Severity.WRONG,
            "POD_IP",
            phrase("POD_IP is {address}, and no interface of this machine has this address", address=told),
            phrase(
                "PaddlePaddle takes it for the own address: rank 0 opens no rendezvous, and servers find themselves "
                "nowhere in their list"
            ),
            phrase("set it to the address at which the other machines reach this one"),
            f"export POD_IP={host.own_address}" if host.own_address else "unset POD_IP",
        )


def _judge_loopback(told: tuple[Endpoint, ...]) -> Iterator[Finding]:
    for variable in (*MASTERS, *LISTS):
        hosts = [each.host for each in told if each.variable == variable and each.is_loopback]
        if hosts:
            yield Finding(
                "loopback-endpoint",
                Severity.WRONG,
                variable,
                phrase(
                    "{variable} names {address}, which is each machine's own address, and other machines are named too",
                    variable=variable,
                    address=hosts[0],
                ),
                phrase("each machine looks for the others on itself, and waits for ever"),
                phrase("write the address at which the other machines reach that one"),
                f"echo ${variable}",
            )


def _judge_master(host: Host, told: tuple[Endpoint, ...]) -> Iterator[Finding]:
    master = next((each for each in told if each.variable == MASTER and not each.is_address), None)
    if master is None or host.environ[MASTER].startswith("etcd://") or not host.others:
        return
    address = next((each.address for each in host.peers if each.endpoint.host == master.host and each.address), "")
    if not address and master.host == host.name.name:
        address = host.own_address
    port = master.port
    yield Finding(
        "master-by-name",
        Severity.WRONG,
        MASTER,
        phrase("PADDLE_MASTER is {master}, a name", master=str(master)),
        phrase(
            "rank 0 opens the rendezvous only where the address in PADDLE_MASTER is its own, and compares no name: "
            "nobody opens it, and all ranks wait for ever"
        ),
        phrase("write the address of rank 0's machine in place of its name"),
        f"export PADDLE_MASTER={address}:{port}"
        if address and port and not is_loopback(address)
        else f"getent ahostsv4 {master.host}",
    )


def _judge_strays(host: Host, asked: Asked, told: tuple[Endpoint, ...]) -> Iterator[Finding]:
    """Only where a person named peers: then variables that name others are of another run. Addresses are compared; of a
    name in a variable nobody knows what it stands for."""
    named = {each.host for each in asked.peers if not each.variable}
    meant = {each.address for each in host.peers if each.endpoint.host in named}
    if not named or "" in meant:
        return
    texts = [each for each in told if each.is_address and each.host not in meant and not host.is_own(each.host)]
    strays = sorted({each.variable for each in texts})
    if ips := host.environ.get("PADDLE_IPS", ""):
        listed = [each for each in ips.split(",") if is_address(each)]
        texts += [Endpoint(each) for each in listed if each not in meant and not host.is_own(each)]
        strays += ["PADDLE_IPS"] if any(each.variable == "" for each in texts) else []
    if strays:
        others = tuple(dict.fromkeys(each.host for each in texts))
        yield Finding(
            "stray-variables",
            Severity.RISK,
            "this machine",
            phrase(
                "{variables} of this shell: named there is {hosts}, which is neither this machine nor a named peer",
                variables=Names(tuple(strays)),
                hosts=Names(others),
            ),
            phrase("launch takes what variables say over its own options: they may be left from another run"),
            phrase("remove them before a start by hand; keep them if they are of the job that you look at"),
            f"unset {' '.join(strays)}",
        )
