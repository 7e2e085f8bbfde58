"""Peers: each way in which a connection does not come about, packets, clocks and proxies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from doctor.host.hosts import LAPTOP, NODE, ask, checks, peer, with_peers
from paddock.doctor.findings import Severity
from paddock.doctor.host.network import is_excepted
from paddock.doctor.host.peers import Answer, Clock, Path, Peer, Probe

BLOCKED = (Probe(22, Answer.OPEN), Probe(6170, Answer.SILENT), Probe(45000, Answer.NO_ROUTE))


@pytest.mark.parametrize(
    ("sentence", "found", "expected"),
    [
        ("a machine that answers, though nothing listens", peer(), []),
        ("a port that is open", peer(port=6170, answer=Answer.OPEN), []),
        ("a port at which nothing listens", peer(port=6170), ["peer-refused"]),
        ("ranks of a list that do not run yet", peer(port=6170, variable="PADDLE_TRAINER_ENDPOINTS"), []),
        ("a master that does not run yet", peer(port=6170, variable="PADDLE_MASTER"), ["peer-refused"]),
        ("a machine that is off", peer(answer=Answer.SILENT), ["peer-silent"]),
        ("a port that is dropped", peer(port=6170, answer=Answer.SILENT), ["peer-silent"]),
        ("no route", peer(port=6170, answer=Answer.NO_ROUTE), ["peer-no-route"]),
        ("a proxy without its program", peer(port=6170, answer=Answer.CLOSED_AT_ONCE), ["peer-closes"]),
        ("a stopped program", peer(port=8000, answer=Answer.MUTE), ["peer-mute"]),
        ("another error", peer(port=8000, answer=Answer.FAILED), ["peer-failed"]),
        ("a firewall that lets ssh through alone", peer(probes=BLOCKED), ["ports-blocked"]),
        ("a name that is not known", peer("gpu-x", address="", probes=()), ["peer-name-unknown"]),
        (
            "a name server that is silent",
            peer(address="", probes=(), is_found=False, lookup=2000),
            ["peer-name-silent"],
        ),
        ("a name on loopback", peer(address="127.0.1.1", probes=()), ["peer-name-loopback"]),
        ("a name that takes long", peer(lookup=900), ["peer-name-slow"]),
        ("an answer that takes long", peer(port=6170, answer=Answer.OPEN, milliseconds=140), ["peer-slow"]),
        ("an answer of a continent's other end", peer(port=6170, answer=Answer.OPEN, milliseconds=60), []),
        (
            "what is silent is not slow as well",
            peer(port=6170, answer=Answer.SILENT, milliseconds=2000),
            ["peer-silent"],
        ),
        ("this machine by its name", peer("gpu-a", probes=()), []),
        ("this machine by its address", peer("10.0.0.1", address="10.0.0.1", probes=()), []),
        (
            "a port of this machine at which nothing listens",
            peer("localhost", 6170, address="127.0.0.1"),
            ["peer-refused"],
        ),
    ],
)
def test_each_way_has_a_finding_of_its_own(sentence: str, found: Peer, expected: list[str]) -> None:
    assert checks(with_peers(NODE, found)) == expected, sentence


def test_the_ports_of_one_machine_that_answer_alike_are_one_finding() -> None:
    peers = [peer(port=port, answer=Answer.SILENT) for port in (6170, 6171, 6172)]
    [finding] = ask(with_peers(NODE, *peers, peer(port=22, answer=Answer.OPEN)))
    assert finding.where == "gpu-b"
    assert "6170, 6171 and 6172" in str(finding.what)


def test_a_refusal_of_what_a_person_named_is_wrong_and_of_a_variable_a_risk() -> None:
    named, told = peer(port=6170), peer(port=6170, variable="MASTER_ADDR")
    assert [each.severity for host in (named, told) for each in ask(with_peers(NODE, host))] == [
        Severity.WRONG,
        Severity.RISK,
    ]


def test_a_finding_has_the_milliseconds() -> None:
    [finding] = ask(with_peers(NODE, peer(port=6170, answer=Answer.OPEN, milliseconds=1034)))
    assert "1034 ms" in str(finding.what) and finding.severity is Severity.RISK


@pytest.mark.parametrize(
    ("sentence", "found", "expected"),
    [
        ("all packets arrive", peer(path=Path(1500)), []),
        ("the network says what passes, and TCP adapts", peer(path=Path(1400)), []),
        ("large packets vanish", peer(path=Path(1400, 1500)), ["mtu-black-hole"]),
        ("a clock a second ahead, known to half a second", peer(clock=Clock(1.2, 0.5, "HTTP")), []),
        ("a clock 3 s ahead", peer(clock=Clock(3.0, 0.5, "HTTP")), ["clocks-apart"]),
        ("a clock behind", peer(clock=Clock(-40.0, 0.01, "NTP")), ["clocks-apart"]),
        ("a clock that is not known well", peer(clock=Clock(2.4, 1.5, "HTTP")), []),
    ],
)
def test_packets_and_clocks(sentence: str, found: Peer, expected: list[str]) -> None:
    assert checks(with_peers(NODE, found)) == expected, sentence


def test_the_command_sets_what_passes() -> None:
    [finding] = ask(with_peers(NODE, peer(path=Path(1400, 1500))))
    assert finding.command == "sudo ip link set dev eth0 mtu 1400"


@pytest.mark.parametrize(
    ("offset", "severity", "words"),
    [(9.0, Severity.RISK, "9.0 s ahead"), (-9.0, Severity.RISK, "9.0 s behind"), (-900.0, Severity.WRONG, "behind")],
)
def test_a_clock_is_ahead_or_behind(offset: float, severity: Severity, words: str) -> None:
    [finding] = ask(with_peers(NODE, peer(clock=Clock(offset, 0.1, "NTP"))))
    assert finding.severity is severity and words in str(finding.what)


@pytest.mark.parametrize(
    ("sentence", "environ", "expected"),
    [
        ("no proxy", {}, []),
        ("exceptions without a proxy", {"no_proxy": "x"}, []),
        ("a proxy for everything", {"http_proxy": "http://u:secret@p:3128"}, ["proxy-catches-machines"]),
        ("loopback and the peer are excepted", {"http_proxy": "http://p", "no_proxy": "localhost,127.0.0.1,gpu-b"}, []),
        ("everything is excepted", {"HTTPS_PROXY": "http://p", "NO_PROXY": "*"}, []),
        (
            "the peer is not excepted",
            {"http_proxy": "http://p", "no_proxy": "localhost,127.0.0.1"},
            ["proxy-catches-machines"],
        ),
        (
            "ranges are not read",
            {"http_proxy": "http://p", "no_proxy": "localhost,127.0.0.0/8,gpu-b"},
            ["proxy-catches-machines"],
        ),
    ],
)
def test_proxies(sentence: str, environ: Mapping[str, str], expected: list[str]) -> None:
    assert checks(replace(with_peers(NODE), environ=environ)) == expected, sentence


def test_a_proxy_is_never_said_as_it_may_hold_a_password() -> None:
    host = replace(LAPTOP, environ={"https_proxy": "http://user:secret@proxy:3128", "no_proxy": ".corp"})
    [finding] = ask(host)
    assert "secret" not in f"{finding.what} {finding.why} {finding.mend} {finding.command} {finding.where}"
    assert finding.command == "export no_proxy=.corp,localhost,127.0.0.1 NO_PROXY=.corp,localhost,127.0.0.1"


@pytest.mark.parametrize(
    ("host", "value", "is_kept"),
    [
        ("gpu-b.corp", ".corp", True),
        ("gpu-b.corp", "corp", True),
        ("gpu-bcorp", "corp", False),
        ("10.0.0.2", "10.0.0.2", True),
        ("10.0.0.2", "10.0.0.0/24", False),
        ("10.0.0.2", "", False),
        ("anything", "a, *", True),
    ],
)
def test_who_is_excepted(host: str, value: str, is_kept: bool) -> None:
    assert is_excepted(host, {"no_proxy": value}) is is_kept
