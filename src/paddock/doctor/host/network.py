"""Packets that do not pass, clocks that differ, and proxies that take what is meant for the machines of a job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from paddock.doctor.findings import Finding, Severity
from paddock.doctor.host.values import Asked, Host
from paddock.words.phrases import Names, phrase

APART = 2.0
"""Seconds between two clocks, beyond what is not certain, from which on lines of two logs stand in wrong order."""
FAR_APART = 300.0
"""Seconds. Kerberos refuses tickets from here on, storages their requests from 900."""
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_LOOPBACK = ("localhost", "127.0.0.1")


def judge_paths(host: Host, asked: Asked) -> Iterator[Finding]:
    for peer in host.others:
        if peer.path is None or not peer.path.vanishes:
            continue
        interface = host.find_interface(peer.source)
        name = interface.name if interface else "eth0"
        yield Finding(
            "mtu-black-hole",
            Severity.WRONG,
            peer.endpoint.host,
            phrase(
                "packets of {vanishes} bytes to {peer} vanish, and those of {passes} bytes arrive; {interface} sends "
                "them "
                "up to {mtu} bytes",
                vanishes=peer.path.vanishes,
                peer=peer.endpoint.host,
                passes=peer.path.passes,
                interface=name,
                mtu=interface.mtu if interface else peer.path.vanishes,
            ),
            phrase(
                "small messages pass, so ranks find each other; the first large tensor is sent again and again and "
                "never "
                "arrives: the training hangs without a line"
            ),
            phrase("set the MTU of the interface to what passes, on each machine, or mend the link between them"),
            f"sudo ip link set dev {name} mtu {peer.path.passes}",
        )


def judge_clocks(host: Host, asked: Asked) -> Iterator[Finding]:
    for peer in host.others:
        if peer.clock is None or abs(peer.clock.offset) - peer.clock.uncertainty < APART:
            continue
        offset = peer.clock.offset
        seconds = f"{abs(offset):.1f}"
        what = (
            phrase(
                "the clock of {peer} is {seconds} s ahead of this machine's", peer=peer.endpoint.host, seconds=seconds
            )
            if offset > 0
            else phrase(
                "the clock of {peer} is {seconds} s behind this machine's", peer=peer.endpoint.host, seconds=seconds
            )
        )
        yield Finding(
            "clocks-apart",
            Severity.WRONG if abs(offset) >= FAR_APART else Severity.RISK,
            peer.endpoint.host,
            what,
            phrase(
                "lines of the two logs are in wrong order, so the rank that failed first is not found; from minutes "
                "on, "
                "certificates, tokens and requests of storages are refused"
            ),
            phrase("let both machines take the time from one server"),
            "timedatectl set-ntp true",
        )


def judge_proxies(host: Host, asked: Asked) -> Iterator[Finding]:
    """The value of a proxy is never said: it may hold a password."""
    set_ = [name for name in _spellings() if host.environ.get(name)]
    if not set_:
        return
    wanted = [*_LOOPBACK, *(each.endpoint.host for each in host.others if each.endpoint.host)]
    caught = [each for each in dict.fromkeys(wanted) if not is_excepted(each, host.environ)]
    if not caught:
        return
    kept = [*(part.strip() for part in _exceptions(host.environ) if part.strip()), *caught]
    yield Finding(
        "proxy-catches-machines",
        Severity.RISK,
        set_[0],
        phrase(
            "{proxies} is set, and no_proxy does not name {machines}",
            proxies=Names(tuple(set_)),
            machines=Names(tuple(caught)),
        ),
        phrase(
            "programs that read these variables (etcd's clients, gRPC, Python's HTTP) send what is meant for these "
            "machines to the proxy, which does not know them: the rendezvous waits, or fails with 502 or 503"
        ),
        phrase("name these machines in no_proxy, each by itself: many programs read no ranges of addresses there"),
        f"export no_proxy={','.join(kept)} NO_PROXY={','.join(kept)}",
    )


def _spellings() -> Iterator[str]:
    for name in _PROXIES:
        yield name
        yield name.upper()


def _exceptions(environ: Mapping[str, str]) -> list[str]:
    return (environ.get("no_proxy") or environ.get("NO_PROXY") or "").split(",")


def is_excepted(host: str, environ: Mapping[str, str]) -> bool:
    """Whether no_proxy names the host: itself, a domain of it, or `*`, as Python and gRPC read it; ranges as Go does
    are no exception for these."""
    for entry in (each.strip().lower() for each in _exceptions(environ)):
        domain = entry.lstrip(".")
        if entry == "*" or (entry and (host.lower() == domain or host.lower().endswith(f".{domain}"))):
            return True
    return False
