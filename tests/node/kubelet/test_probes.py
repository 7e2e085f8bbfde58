"""The probes of a container as a state machine, in tables: no clock, no container."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.kube.container_ends import read_why
from paddock.node.kubelet.actions import Action, Exec, HttpGet, Impossible, Sleep, TcpConnect, find_port, read_action
from paddock.node.kubelet.probes import Kind, Probe, Tally, apply, begin_run, count, find_due, read_probes
from paddock.node.runtime.pod_state import Run

RUN = Run("main", 0, 100.0, pid=1)
PORTS = {"ports": [{"name": "web", "containerPort": 8080}]}
HEADERS = (("User-Agent", "kube-probe/1.33"), ("Accept", "*/*"))


@pytest.mark.parametrize(
    ("handler", "expected"),
    [
        ({"exec": {"command": ["cat", "/x"]}}, Exec(("cat", "/x"))),
        ({"httpGet": {"port": 80}}, HttpGet("http://127.1.2.3:80/", HEADERS)),
        (
            {"httpGet": {"port": "web", "path": "health?a=b c"}},
            HttpGet("http://127.1.2.3:8080/health?a=b%20c", HEADERS),
        ),
        ({"httpGet": {"port": "81", "scheme": "HTTPS", "host": "x"}}, HttpGet("https://x:81/", HEADERS)),
        ({"httpGet": {"port": 80, "host": "::1"}}, HttpGet("http://[::1]:80/", HEADERS)),
        (
            {"httpGet": {"port": 80, "httpHeaders": [{"name": "accept", "value": "a"}, {"name": "X", "value": ""}]}},
            HttpGet("http://127.1.2.3:80/", (HEADERS[0], ("accept", "a"), ("X", ""))),
        ),
        (
            {"httpGet": {"port": 80, "httpHeaders": [{"name": "User-Agent", "value": ""}]}},
            HttpGet("http://127.1.2.3:80/", (HEADERS[1],)),
        ),
        ({"tcpSocket": {"port": "web"}}, TcpConnect("127.1.2.3", 8080)),
        ({"tcpSocket": {"port": 5, "host": "y"}}, TcpConnect("y", 5)),
        ({"sleep": {"seconds": 3}}, Sleep(3)),
        ({"grpc": {"port": 3}}, None),
        ({}, None),
    ],
)
def test_what_a_handler_does(handler: dict[str, Any], expected: Action | None) -> None:
    assert read_action(handler, PORTS, "127.1.2.3") == expected


@pytest.mark.parametrize("handler", [{"tcpSocket": {"port": "other"}}, {"httpGet": {"port": 0}}, {"exec": {}}])
def test_what_cannot_be_done_says_why(handler: dict[str, Any]) -> None:
    assert isinstance(read_action(handler, PORTS, "127.1.2.3"), Impossible)


@given(st.one_of(st.integers(), st.text(), st.none(), st.booleans()))
def test_any_port_is_a_port_or_none(wanted: Any) -> None:
    found = find_port(wanted, PORTS)
    assert found is None or 0 < found < 65536


@pytest.mark.parametrize("wanted", ["00000199999", "0", "99999999999999999999"])
def test_a_text_that_is_no_number_of_a_port_is_none(wanted: str) -> None:
    assert find_port(wanted, PORTS) is None


def test_the_defaults_are_those_of_kubernetes() -> None:
    found = read_probes({"livenessProbe": {"exec": {"command": ["x"]}}, "startupProbe": {"grpc": {"port": 1}}}, "")
    assert found == {Kind.LIVENESS: Probe(Kind.LIVENESS, Exec(("x",)), 0, 10, 1, 1, 3, None)}


def test_a_run_begins_with_what_is_still_to_be_said_of_it() -> None:
    probe = {"exec": {"command": ["x"]}}
    whole = {"startupProbe": probe, "readinessProbe": probe, "lifecycle": {"postStart": {"exec": probe["exec"]}}}
    begun = begin_run(RUN, whole)
    assert (begun.unhooked, begun.unstarted, begun.unready, begun.up, begun.ready) == (True, True, True, False, False)
    assert begin_run(RUN, {"livenessProbe": probe}) == RUN


STARTUP, READY, ALIVE = (
    Probe(kind, Exec(("x",)), delay=5, period=10, failures=2, successes=2 if kind is Kind.READINESS else 1)
    for kind in Kind
)
LATE = Tally(140.0, True, 1)


@pytest.mark.parametrize(
    ("probe", "run", "tally", "due"),
    [
        pytest.param(ALIVE, RUN, Tally(), 105, id="after its delay"),
        pytest.param(ALIVE, RUN, LATE, 150, id="then each period"),
        pytest.param(ALIVE, RUN, Tally(101.0), 111, id="also when it was asked early"),
        pytest.param(ALIVE, replace(RUN, unstarted=True), Tally(), None, id="not before the startup probe has passed"),
        pytest.param(STARTUP, replace(RUN, unstarted=True), Tally(), 105, id="which is asked until then"),
        pytest.param(STARTUP, RUN, Tally(), None, id="and no longer"),
        pytest.param(READY, replace(RUN, unhooked=True), Tally(), None, id="none before postStart has ended"),
        pytest.param(ALIVE, replace(RUN, stopping=130.0), LATE, None, id="a container that is ended may be silent"),
        pytest.param(READY, replace(RUN, stopping=130.0), LATE, 150, id="and its readiness is of interest"),
        pytest.param(READY, replace(RUN, finished=130.0), LATE, None, id="until it has ended"),
    ],
)
def test_when_a_probe_is_asked(probe: Probe, run: Run, tally: Tally, due: float | None) -> None:
    assert find_due(probe, run, tally) == due


@pytest.mark.parametrize(
    ("probe", "answers", "verdicts"),
    [
        (ALIVE, "xx", ". F"),
        (ALIVE, "x.x.x", ". T . T ."),
        (READY, "..", ". T"),
        (READY, ".x.xx", ". . . . F"),
        (READY, "...x.xxx", ". T T . . . F F"),
    ],
)
def test_answers_in_a_row_count(probe: Probe, answers: str, verdicts: str) -> None:
    tally, found = Tally(), list[str]()
    for number, answer in enumerate(answers):
        tally, verdict = count(probe, tally, answer == ".", 100.0 + number)
        found.append({None: ".", True: "T", False: "F"}[verdict])
    assert " ".join(found) == verdicts


def test_what_a_verdict_changes() -> None:
    begun = replace(RUN, unstarted=True, unready=True)
    assert apply(STARTUP, begun, True, 9.0, 30, "") == replace(begun, unstarted=False)
    assert apply(READY, RUN, False, 9.0, 30, "x") == replace(RUN, unready=True)
    assert apply(READY, replace(RUN, unready=True), True, 9.0, 30, "") == RUN
    assert apply(ALIVE, RUN, True, 9.0, 30, "") == RUN
    failed = apply(ALIVE, RUN, False, 9.0, 30, "HTTP probe failed with statuscode: 500")
    assert (failed.stopping, failed.stop_grace, failed.running) == (9.0, 30, True)
    assert read_why(failed.message).startswith("livenessProbe failed 2 times in a row")
    assert failed.message.endswith("livenessProbe failed 2 times in a row: HTTP probe failed with statuscode: 500")
    assert apply(replace(STARTUP, grace=0), begun, False, 9.0, 30, "").stop_grace == 0


@given(st.lists(st.booleans(), max_size=60), st.integers(1, 5), st.integers(1, 5))
def test_readiness_follows_the_last_row_that_was_long_enough(answers: list[bool], good: int, bad: int) -> None:
    probe, run, tally = replace(READY, successes=good, failures=bad), replace(RUN, unready=True), Tally()
    expected, row = False, list[bool]()
    for answer in answers:
        row = [*row, answer] if not row or row[-1] is answer else [answer]
        expected = answer if len(row) >= (good if answer else bad) else expected
        tally, verdict = count(probe, tally, answer, 100.0)
        run = run if verdict is None else apply(probe, run, verdict, 100.0, 30, "")
    assert run.ready is expected
