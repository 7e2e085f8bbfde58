"""What only datagrams tell: the largest packet that reaches a peer, and its clock where it serves NTP.

These calls block, for a few seconds at most. The packets go to the peers alone: to a port where nothing listens, whose
machine says so, and to port 123.
"""

from __future__ import annotations

import errno
import select
import socket
import struct
import time

from paddock.doctor.host.peers import Clock, Path

# Linux's numbers (ip(7)); Python has no names for them.
_MTU_DISCOVER, _DO, _MTU = 10, 2, 14
_HEADERS = 28
"""Bytes of IPv4's and UDP's headers."""
_CLOSED_PORT = 33434
"""Traceroute's first one: no program listens there."""
_WAIT = 0.5
_REFILL = 1.2
"""Seconds. A machine that has just answered a few times answers once a second (Linux: icmp_ratelimit)."""
_SIZES = (1500, 1450, 1400, 1280, 576)
_EPOCH = 2208988800
"""Seconds from 1900, NTP's beginning, to 1970."""


def find_path(address: str, mtu: int) -> Path | None:
    """Sends packets that no router may cut. A packet that arrives is answered with "port unreachable"; one that is
    too large is answered on its way with what passes (then TCP adapts, and nothing is wrong), or vanishes.

    None if the machine answers no packet at all, as behind many firewalls.
    """
    if ":" in address or not _arrives(address, 100):
        return None
    size = _arrives(address, mtu)
    if size:
        return Path(size)
    time.sleep(_REFILL)  # it may only have been silent for having answered before
    if size := _arrives(address, mtu):
        return Path(size)
    passing = next((size for size in _SIZES if size < mtu and _arrives(address, size)), 0)
    if not passing:
        time.sleep(_REFILL)
        return Path(128, mtu) if _arrives(address, 100) else None
    return Path(passing, mtu)


def _arrives(address: str, size: int) -> int:
    """The size of the packet that arrived, 0 if none: it is smaller than `size` where the way told what passes."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.IPPROTO_IP, _MTU_DISCOVER, _DO)
        sock.settimeout(_WAIT)
        try:
            sock.connect((address, _CLOSED_PORT))
            sock.send(bytes(size - _HEADERS))
            sock.recv(1)
        except ConnectionRefusedError:
            return size
        except TimeoutError:
            return 0
        except OSError as error:
            return sock.getsockopt(socket.IPPROTO_IP, _MTU) if error.errno == errno.EMSGSIZE else 0
        return size


def ask_time(address: str, port: int = 123) -> Clock | None:
    """The other clock by NTP (RFC 5905), where it is served; else None, after half a second."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect((address, port))
            sent = time.time()
            mark = struct.pack("!II", *_split(sent))
            sock.send(struct.pack("!B39x", 0x23) + mark)
            readable, _, _ = select.select([sock], [], [], _WAIT)
            answer = sock.recv(512) if readable else b""
        except (OSError, ValueError):
            return None
        return read_time(answer, mark, sent, time.time())


def _split(moment: float) -> tuple[int, int]:
    seconds = int(moment)
    return (seconds + _EPOCH) % 2**32, int((moment - seconds) * 2**32)


def read_time(answer: bytes, mark: bytes, sent: float, received: float) -> Clock | None:
    """The clock of a server's answer to the request with `mark`. One that is not synchronised itself tells its clock
    all the same: it is the clock of the machine that matters. Pure."""
    if len(answer) < 48 or answer[0] & 7 != 4 or answer[24:32] != mark:
        return None
    arrived, left = (_join(*struct.unpack("!II", answer[at : at + 8])) for at in (32, 40))
    if not left:
        return None
    travel = max(0.0, (received - sent) - (left - arrived))
    return Clock(((arrived - sent) + (left - received)) / 2, travel / 2, "NTP")


def _join(seconds: int, parts: int) -> float:
    """Seconds since 1970; 0 for a clock that was never set."""
    return seconds - _EPOCH + parts / 2**32 if seconds else 0.0
