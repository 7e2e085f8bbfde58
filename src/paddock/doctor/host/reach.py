"""Whether the peers are reached: each way in which a connection does not come about has a sentence of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from paddock.doctor.findings import Finding, Severity
from paddock.doctor.host.endpoints import LISTS, is_loopback
from paddock.doctor.host.peers import PATIENCE, Answer, Peer, Probe
from paddock.doctor.host.values import Asked, Host
from paddock.words.phrases import Foreign, Names, phrase

SLOW = 100
"""Milliseconds of a connection. In a building it takes less than one, across a continent about 50."""
SLOW_NAME = 500
"""Milliseconds until a name is an address."""


def judge_reach(host: Host, asked: Asked) -> Iterator[Finding]:
    others = host.others
    own = tuple(each for each in host.peers if each not in others and each.probes)
    for peers in _group(others + own):
        finding = (_judge_name(peers) if peers[0] in others else None) or _judge_ways(peers)
        if finding:
            yield finding
        if slow := _judge_speed(peers):
            yield slow


def _group(peers: Sequence[Peer]) -> Iterator[tuple[Peer, ...]]:
    """The ports of one machine that answered alike are one finding."""
    groups: dict[tuple[object, ...], list[Peer]] = {}
    for peer in peers:
        alike = (peer.endpoint.host, not peer.endpoint.port, tuple(each.answer for each in peer.probes))
        groups.setdefault(alike, []).append(peer)
    yield from map(tuple, groups.values())


def _where(peers: tuple[Peer, ...]) -> str:
    return str(peers[0].endpoint) if len(peers) == 1 else peers[0].endpoint.host


def _judge_name(peers: tuple[Peer, ...]) -> Finding | None:
    peer = peers[0]
    host = peer.endpoint.host
    if not peer.is_found:
        return Finding(
            "peer-name-silent",
            Severity.WRONG,
            _where(peers),
            phrase("the name {peer} was looked up for {time} ms without an answer", peer=host, time=peer.lookup),
            phrase("the name server cannot be reached, so the ranks here find no other machine by its name"),
            phrase("name the machines by their addresses, or write names and addresses into /etc/hosts"),
            f"getent ahostsv4 {host}",
        )
    if not peer.address:
        return Finding(
            "peer-name-unknown",
            Severity.WRONG,
            _where(peers),
            phrase("no machine is called {peer}: the name stands for no address here", peer=host),
            phrase("the ranks here find no other machine by a name that is not known"),
            phrase("look for a slip in the name, or write it with its address into /etc/hosts of each machine"),
            f"getent ahostsv4 {host}",
        )
    if is_loopback(peer.address):
        return Finding(
            "peer-name-loopback",
            Severity.WRONG,
            _where(peers),
            phrase("{peer} stands for {address} here, which is this machine itself", peer=host, address=peer.address),
            phrase("the ranks here look for the other machine on this one"),
            phrase(
                "write the name with the address of that machine into /etc/hosts, in place of the line that is there"
            ),
            f"grep -n {host} /etc/hosts",
        )
    return None


def _judge_ways(peers: tuple[Peer, ...]) -> Finding | None:
    first = peers[0]
    if not first.probes:
        return None
    if not first.endpoint.port and any(each.answer.is_from_there for each in first.probes):
        return _judge_blocked(first, first.probes)
    answer = first.probes[0].answer
    if answer is Answer.OPEN or (answer is Answer.REFUSED and _may_be_closed(peers)):
        return None
    return _EXPLAIN[answer](_Place(peers))


class _Place:
    """The machine and the ports of a finding. `said`: its name with its address; `where`: for the finding."""

    def __init__(self, peers: tuple[Peer, ...]) -> None:
        first = peers[0]
        self.host, self.address, self.where = first.endpoint.host, first.address, _where(peers)
        self.variable, self.probes = first.endpoint.variable, first.probes
        self.said = self.address if self.host == self.address else f"{self.host} ({self.address})"
        asked = tuple(str(each.endpoint.port) for each in peers if each.endpoint.port)
        self.ports = Names(asked or tuple(str(each.port) for each in self.probes))

    @property
    def listeners(self) -> str:
        """The command that shows which programs listen there."""
        return "sudo ss -ltnp" if is_loopback(self.address) else f"ssh {self.host} sudo ss -ltnp"


def _explain_silent(place: _Place) -> Finding:
    return Finding(
        "peer-silent",
        Severity.WRONG,
        place.where,
        phrase(
            "{place} did not answer within {seconds} s, on port {ports}",
            place=place.said,
            seconds=PATIENCE,
            ports=place.ports,
        ),
        phrase(
            "what is sent there is dropped: by a firewall or a security group on the way, or the machine is off; "
            "ranks wait without a line, some until a limit of 30 minutes"
        ),
        phrase("see whether the machine runs, then let its firewall take all ports from the machines of the job"),
        f"ssh {place.host} sudo iptables -S INPUT",
    )


def _explain_no_route(place: _Place) -> Finding:
    return Finding(
        "peer-no-route",
        Severity.WRONG,
        place.where,
        phrase("there is no way from this machine to {place}, port {ports}", place=place.said, ports=place.ports),
        phrase(
            "no route leads there, no machine of this network has the address, or a firewall turns the connection away "
            "with “No route to host”"
        ),
        phrase("see by which interface and gateway it should go, and whether the address is right"),
        f"ip route get {place.address}",
    )


def _explain_closed(place: _Place) -> Finding:
    return Finding(
        "peer-closes",
        Severity.WRONG,
        place.where,
        phrase(
            "{place} accepts connections on port {ports} and ends each of them at once",
            place=place.said,
            ports=place.ports,
        ),
        phrase(
            "something listens there in place of the program that is wanted: a proxy, a forwarded port or a load "
            "balancer whose program does not run"
        ),
        phrase("start the program behind it, or name the port where the program itself listens"),
        place.listeners,
    )


def _explain_mute(place: _Place) -> Finding:
    return Finding(
        "peer-mute",
        Severity.WRONG,
        place.where,
        phrase(
            "{place} accepts connections on port {ports}, and answered no request within {seconds} s",
            place=place.said,
            ports=place.ports,
            seconds=PATIENCE,
        ),
        phrase("the program there hangs, or is stopped: its machine accepts connections without it"),
        phrase("see what the program does, and start it again"),
        place.listeners,
    )


def _explain_failed(place: _Place) -> Finding:
    return Finding(
        "peer-failed",
        Severity.WRONG,
        place.where,
        phrase(
            "no connection to {place}, port {ports}: {error}",
            place=place.said,
            ports=place.ports,
            error=Foreign(place.probes[0].said),
        ),
        phrase("the ranks here do not reach that machine"),
        phrase("mend what the error says"),
        f"ip route get {place.address}",
    )


def _explain_refused(place: _Place) -> Finding:
    return Finding(
        "peer-refused",
        Severity.RISK if place.variable else Severity.WRONG,
        place.where,
        phrase(
            "{place} refuses connections on port {ports}: nothing listens there", place=place.said, ports=place.ports
        ),
        phrase("the machine is reached, and the program is not: ranks that connect there try again, or wait for ever"),
        phrase("start rank 0 there first; before the start of a job, name the machine without a port"),
        place.listeners,
    )


_EXPLAIN: Mapping[Answer, Callable[[_Place], Finding]] = {
    Answer.REFUSED: _explain_refused,
    Answer.SILENT: _explain_silent,
    Answer.NO_ROUTE: _explain_no_route,
    Answer.CLOSED_AT_ONCE: _explain_closed,
    Answer.MUTE: _explain_mute,
    Answer.FAILED: _explain_failed,
}


def _may_be_closed(peers: tuple[Peer, ...]) -> bool:
    """The ports of ranks are open while these run; before the start a refusal shows that the way is free."""
    return all(each.endpoint.variable in LISTS for each in peers)


def _judge_blocked(peer: Peer, probes: tuple[Probe, ...]) -> Finding | None:
    blocked = [each for each in probes if not each.answer.is_from_there]
    if not blocked:
        return None
    return Finding(
        "ports-blocked",
        Severity.WRONG,
        _where((peer,)),
        phrase(
            "{peer} answers on port {open}, and not on {blocked}",
            peer=peer.endpoint.host,
            open=Names(tuple(str(each.port) for each in probes if each.answer.is_from_there)),
            blocked=Names(tuple(str(each.port) for each in blocked)),
        ),
        phrase(
            "a firewall lets some ports through alone; PaddlePaddle and gloo choose ports as they run (35100 to 64000 "
            "and "
            "those of the kernel), so ranks find each other and then hang"
        ),
        phrase("let the firewall of each machine take all TCP ports from the other machines of the job"),
        f"sudo iptables -I INPUT -p tcp -s {peer.address} -j ACCEPT",
    )


def _judge_speed(peers: tuple[Peer, ...]) -> Finding | None:
    peer = max(peers, key=lambda each: max((probe.milliseconds for probe in _answered(each)), default=0))
    slowest = max((each.milliseconds for each in _answered(peer)), default=0)
    if slowest >= SLOW:
        return Finding(
            "peer-slow",
            Severity.RISK,
            str(peer.endpoint),
            phrase(
                "{peer} answered after {time} ms; under {usual} ms is usual",
                peer=peer.endpoint.host,
                time=slowest,
                usual=SLOW,
            ),
            phrase(
                "each step of training waits for the slowest machine; a whole second is a packet that was lost and "
                "sent again"
            ),
            phrase("see whether the machine is overloaded, or far away, and whether its network loses packets"),
            f"ping -c 20 -i 0.2 {peer.address}",
        )
    if peer.lookup >= SLOW_NAME and peer.address:
        return Finding(
            "peer-name-slow",
            Severity.RISK,
            str(peer.endpoint),
            phrase("it took {time} ms to learn the address of {peer}", time=peer.lookup, peer=peer.endpoint.host),
            phrase("each rank waits for it at its start, once for each machine that it connects to"),
            phrase("write the name with its address into /etc/hosts of each machine"),
            f"echo '{peer.address} {peer.endpoint.host}' | sudo tee -a /etc/hosts",
        )
    return None


def _answered(peer: Peer) -> tuple[Probe, ...]:
    return tuple(each for each in peer.probes if each.answer in (Answer.OPEN, Answer.REFUSED, Answer.CLOSED_AT_ONCE))
