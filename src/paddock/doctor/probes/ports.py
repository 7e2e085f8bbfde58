"""One connection by TCP: what came of it. Nothing is sent but to a peer that was named with http://."""

from __future__ import annotations

import asyncio
import errno
import socket
import time
from email.utils import parsedate_to_datetime

from paddock.doctor.host.peers import PATIENCE, Answer, Clock, Probe
from paddock.doctor.host.reach import SLOW

_NO_ROUTE = (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EADDRNOTAVAIL)
_CLOSED = (errno.ECONNRESET, errno.EPIPE)
_SETTLE = 0.3
"""Seconds for which an open connection is watched: a proxy without its program ends it within this."""


async def probe_port(address: str, port: int) -> Probe:
    """Connects, and once more if it took long: a single late answer says nothing of the next one."""
    first = await _connect(address, port)
    if first.milliseconds < SLOW or not first.answer.is_from_there:
        return first
    second = await _connect(address, port)
    return min(first, second, key=lambda each: each.milliseconds) if second.answer.is_from_there else first


async def _connect(address: str, port: int) -> Probe:
    loop, started = asyncio.get_running_loop(), time.monotonic()
    try:
        sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    except OSError as error:
        return Probe(port, Answer.FAILED, 0, error.strerror or str(error))
    with sock:
        sock.setblocking(False)
        try:
            async with asyncio.timeout(PATIENCE):
                await loop.sock_connect(sock, (address, port))
        except TimeoutError:
            return Probe(port, Answer.SILENT, _since(started))
        except OSError as error:
            return _explain(port, error, _since(started))
        took = _since(started)
        segment = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
        return Probe(port, Answer.CLOSED_AT_ONCE if await _is_closed(sock) else Answer.OPEN, took, segment=segment)


def _explain(port: int, error: OSError, took: int) -> Probe:
    if isinstance(error, ConnectionRefusedError):
        return Probe(port, Answer.REFUSED, took)
    if error.errno == errno.ETIMEDOUT:
        return Probe(port, Answer.SILENT, took)
    if error.errno in _NO_ROUTE:
        return Probe(port, Answer.NO_ROUTE, took)
    if error.errno in _CLOSED:
        return Probe(port, Answer.CLOSED_AT_ONCE, took)
    return Probe(port, Answer.FAILED, took, error.strerror or str(error))


async def _is_closed(sock: socket.socket) -> bool:
    """Whether the other side ends the connection before a word."""
    try:
        async with asyncio.timeout(_SETTLE):
            return not await asyncio.get_running_loop().sock_recv(sock, 1)
    except TimeoutError:
        return False
    except OSError:
        return True


def _since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


async def ask_page(address: str, host: str, port: int) -> tuple[Probe, Clock | None]:
    """Asks for the head of the page `/`, which has the time of the other machine, to a second."""
    started, sent = time.monotonic(), time.time()
    try:
        async with asyncio.timeout(PATIENCE):
            head = await _read_head(address, host, port)
    except TimeoutError:
        probe = await _connect(address, port)
        return (Probe(port, Answer.MUTE, _since(started)) if probe.answer is Answer.OPEN else probe), None
    except OSError as error:
        return _explain(port, error, _since(started)), None
    if not head:
        return Probe(port, Answer.CLOSED_AT_ONCE, _since(started)), None
    return Probe(port, Answer.OPEN, _since(started)), read_clock(head, sent, time.time())


async def _read_head(address: str, host: str, port: int) -> str:
    reader, writer = await asyncio.open_connection(address, port)
    try:
        writer.write(f"HEAD / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        head = b""
        try:
            while b"\r\n\r\n" not in head and len(head) < 16384 and (more := await reader.read(4096)):
                head += more
        except ConnectionResetError:
            pass  # a program of another protocol ends it so, after its own first words
        return head.decode("latin-1")
    finally:
        writer.close()


def read_clock(head: str, sent: float, received: float) -> Clock | None:
    """The clock of an answer that left between `sent` and `received`; its Date has whole seconds, cut off. Pure."""
    for line in head.splitlines():
        name, _, value = line.partition(":")
        if name.lower() == "date":
            try:
                there = parsedate_to_datetime(value.strip()).timestamp() + 0.5
            except ValueError:
                return None
            return Clock(there - (sent + received) / 2, 0.5 + (received - sent) / 2, "HTTP")
    return None
