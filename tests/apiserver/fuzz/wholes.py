"""Whole requests to a server in a process of its own, and what must hold of it after them.

Nothing that is sent may be answered as a fault of the server, end it, make it say that it failed, or keep others from
being served.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from apiserver.embedded import pod, widget_crd
from apiserver.fuzz.judging import Fault
from apiserver.fuzz.recorded import CRDS, NAMESPACE
from apiserver.served import Served

_STALL_SECONDS = float(os.environ.get("FUZZ_STALL_SECONDS", "10"))
"""For which the loop may run nothing else. Far above what a slow machine needs; `make fuzz` says 1."""
_MEBIBYTES = 400
_SECONDS = 120.0
_TOLD = (b"Too large resource version", b"no room within", b"has not arrived within")
"""What Kubernetes answers with 504 and 503, or 429, and is no fault."""


class Client:
    """Speaks HTTP, or anything else, to a server."""

    def __init__(self, served: Served) -> None:
        self._context = ssl.create_default_context(cafile=str(served.certificate_authority))
        self.port = int(served.url.rpartition(":")[2])
        self.token = served.token
        self._connection = self._connect()
        self._watch = self.open_socket()
        self._watch.sendall(self.head("GET", f"{NAMESPACE}/configmaps?watch=true") + b"\r\n")

    def _connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=self._context, timeout=_SECONDS)

    def prepare(self) -> None:
        bound = pod("p")
        bound["spec"]["nodeName"] = "laptop"
        for path, manifest in ((CRDS, widget_crd()), (f"{NAMESPACE}/pods", bound)):
            assert self.send("POST", path, json.dumps(manifest).encode())[0] in (201, 409)

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
        """The answer. Raises `Fault` of one that is a fault of the server."""
        status, text = self.send_any(method, path, body, **headers)
        if status >= 500 and not any(each in text for each in _TOLD):
            raise Fault(f"{method} {path}: {status} {text[:500]!r}")
        return status, text

    def send_any(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
        """The answer, whatever it is; 0 where the server has closed."""
        sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            self._connection.request(method, path, body=body, headers=sent)
            answer = self._connection.getresponse()
            text = answer.read()
        except (ConnectionError, http.client.HTTPException):
            # Also a refusal of a head: the server has closed, and the next request begins anew.
            self._connection.close()
            self._connection = self._connect()
            return 0, b""
        return answer.status, text

    def head(self, method: str, path: str, *lines: str) -> bytes:
        """The head of a request but for the empty line at its end."""
        known = [f"Host: 127.0.0.1:{self.port}", f"Authorization: Bearer {self.token}"]
        return "\r\n".join([f"{method} {path} HTTP/1.1", *known, *lines, ""]).encode()

    def open_socket(self, receive: int = 0) -> ssl.SSLSocket:
        """`receive`: bytes that may lie unread in it, where it is not what the system gives."""
        plain = socket.socket()
        plain.settimeout(_SECONDS)
        if receive:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        plain.connect(("127.0.0.1", self.port))
        return self._context.wrap_socket(plain, server_hostname="127.0.0.1")

    def speak(self, data: bytes) -> bytes:
        """Sends bytes on a connection of their own, and ends it. What was answered at first."""
        with self.open_socket() as opened:
            try:
                opened.sendall(data)
                opened.settimeout(0.05)  # whether there is an answer is not what is asked
                answer = opened.recv(2**16)
            except (TimeoutError, OSError):
                return b""
        status = answer[9:12]
        if answer.startswith(b"HTTP/1.1 5") and not any(each in answer for each in _TOLD):
            raise Fault(f"{data[:300]!r}: {status!r} {answer[:500]!r}")
        return answer

    def enter(self, path: str, upgrade: str, *lines: str) -> ssl.SSLSocket:
        """A connection that has been upgraded."""
        opened = self.open_socket()
        key = base64.b64encode(b"0123456789abcdef").decode()
        words = ["Connection: Upgrade", f"Upgrade: {upgrade}", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}"]
        opened.sendall(self.head("GET", path, *words, *lines) + b"\r\n")
        answer = b""
        while b"\r\n\r\n" not in answer:
            got = opened.recv(2**16)
            assert got, answer
            answer += got
        assert answer.startswith(b"HTTP/1.1 101"), answer
        return opened

    def see_others_served(self) -> None:
        """A watch that was opened before all of it is told of what is created now."""
        assert self.send("GET", "/readyz") == (200, b"ok")
        name = f"after-{os.urandom(4).hex()}"
        made = {"metadata": {"name": name}}
        assert self.send("POST", f"{NAMESPACE}/configmaps", json.dumps(made).encode())[0] == 201
        told = b""
        while name.encode() not in told:
            got = self._watch.recv(2**20)
            assert got, "the watch has ended"
            told = told[-2_000:] + got

    def close(self) -> None:
        self._connection.close()
        self._watch.close()


@contextmanager
def serving(directory: Path) -> Iterator[Client]:
    """A server, which must be well at the end."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    errors = directory / "errors"
    with Served(directory / "cluster", environment, errors=errors) as served:
        client = Client(served)
        client.prepare()
        served.begin()
        yield client
        client.see_others_served()
        client.close()
        assert served.take_longest_stall() < _STALL_SECONDS
        assert served.read_growth() < _MEBIBYTES
    said = errors.read_text(errors="replace")
    assert "Traceback" not in said, said[-5_000:]


def frame(opcode: int, data: bytes, *, fin: bool = True, masked: bool = True, odd: int = 0) -> bytes:
    """A frame of a WebSocket, as a client sends it. `odd`: bits that no extension has asked for."""
    length = len(data)
    size = bytes((length,)) if length < 126 else b"\x7e" + length.to_bytes(2, "big")
    head = bytes((fin << 7 | odd << 4 | opcode, masked << 7 | size[0])) + size[1:]
    return head + (b"\0\0\0\0" if masked else b"") + data
