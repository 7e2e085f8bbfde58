"""The ports that this machine listens on."""

from __future__ import annotations

import socket

from paddock.app.ports import ListeningPorts, fetch_listening


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
