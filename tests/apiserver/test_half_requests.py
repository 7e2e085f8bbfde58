"""Another user of the machine, without a token, opens connections and sends halves: everybody else is served."""

from __future__ import annotations

import http.client
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from apiserver.served import Served

pytestmark = pytest.mark.slow

FILES = 1024
ATTACK = """
import itertools, socket, sys
halves = b"", b"\\x16\\x03\\x01\\x02\\x00\\x01", b"GET / HTTP/1.1\\r\\nHost: x\\r\\nX: "
held = []
for number, half in zip(range(10_000), itertools.cycle(halves)):
    held.append(socket.create_connection(("127.0.0.1", int(sys.argv[1]))))
    held[-1].send(half)
    if len(held) > 800:
        held.pop(0).close()
print("done", flush=True)
sys.stdin.read()
"""
"""Opens all that it wants, and keeps the last ones until its input ends."""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with Served(tmp_path / "cluster", environment, FILES) as found:
        yield found


def ask(served: Served) -> int:
    """With a new connection, as each command makes one."""
    context = ssl.create_default_context(cafile=str(served.certificate_authority))
    connection = http.client.HTTPSConnection("127.0.0.1", port_of(served), context=context, timeout=180)
    connection.request("GET", "/api/v1/namespaces", headers={"Authorization": f"Bearer {served.token}"})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def port_of(served: Served) -> int:
    return int(served.url.rpartition(":")[2])


@contextmanager
def attacking(served: Served) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", ATTACK, str(port_of(served))]
    attacker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield attacker
    finally:
        attacker.kill()
        attacker.communicate()


def test_ten_thousand_halves_keep_no_command_out(served: Served) -> None:
    with attacking(served) as attacker:
        assert attacker.stdout is not None
        os.set_blocking(attacker.stdout.fileno(), False)
        answers = [ask(served)]
        while not attacker.stdout.read():
            assert attacker.poll() is None
            answers.append(ask(served))
        answers += [ask(served) for _ in range(5)]  # with the halves that he holds
        assert set(answers) == {200}
        assert served.count_files() < FILES / 2
    assert not served.ended
