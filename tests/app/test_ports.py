"""The ports that this machine listens on."""

from __future__ import annotations

import socket

import pytest

from paddock.app.ports import ListeningPorts, fetch_listening, read_listening

TABLE = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:192B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 0100007F:9C40 0100007F:192B 01 00000000:00000000 00:00000000 00000000     0        0 2 1 0 20 4 30 10 -1
   2: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000
"""


@pytest.mark.parametrize(("table", "ports"), [("", set()), (TABLE.splitlines()[0], set()), (TABLE, {6443, 80})])
def test_listening_ports_are_those_in_state_0a(table: str, ports: set[int]) -> None:
    assert read_listening(table) == ports


def test_an_open_listening_port_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert server.getsockname()[1] in fetch_listening()


def test_ports_are_read_at_most_once_a_second() -> None:
    asked: list[float] = []
    moments = iter((0.0, 0.5, 0.9, 1.0, 1.5, 2.1))
    now = 0.0

    def fetch() -> frozenset[int]:
        asked.append(now)
        return frozenset({len(asked)})

    listening = ListeningPorts(fetch, lambda: now)
    answers = []
    for now in moments:  # noqa: B007 - the clock reads it
        answers.append(listening())
    assert asked == [0.0, 1.0, 2.1]
    assert answers == [{1}, {1}, {1}, {2}, {2}, {3}]
