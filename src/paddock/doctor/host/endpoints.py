"""Machines that are asked for: read from what is typed, from files of hosts, and from variables of frameworks."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from paddock.words.phrases import Phrase, phrase

_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_.])?")
LISTS = ("PADDLE_TRAINER_ENDPOINTS", "PADDLE_PSERVERS_IP_PORT_LIST")
"""Variables that hold all addresses of a job: `10.0.0.1:6170,10.0.0.2:6170`."""
MASTER = "PADDLE_MASTER"
MASTERS = (MASTER, "MASTER_ADDR")
"""Variables that name the rendezvous; the port of MASTER_ADDR is MASTER_PORT."""


class WrongPeer(ValueError):
    """A peer is not written as one; `said` is the sentence."""

    def __init__(self, said: Phrase) -> None:
        super().__init__(str(said))
        self.said = said


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A machine, and a port of it."""

    host: str
    port: int = 0
    """0 if none was named."""
    is_http: bool = False
    """Whether it shall be asked for a page, which tells its time; else nothing is sent to the port."""
    variable: str = ""
    """Where it is from; empty if a person named it."""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.port else host

    @property
    def is_address(self) -> bool:
        return is_address(self.host)

    @property
    def is_loopback(self) -> bool:
        return is_loopback(self.host)


def is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether it is a loopback address, or the name of one on every machine."""
    if is_address(host):
        return ipaddress.ip_address(host).is_loopback
    return host.lower().rstrip(".") in ("localhost", "localhost.localdomain")


def read_endpoint(text: str, variable: str = "") -> Endpoint:
    """`gpu-b`, `10.0.0.2:6170`, `[fd00::2]:6170`, `http://gpu-b:9100`. Raises `WrongPeer`."""
    scheme, _, rest = text.strip().rpartition("://")
    if scheme not in ("", "http"):
        said = phrase("{peer}: a peer is reached by TCP or asked by http://, not by {scheme}://",
                      peer=text, scheme=scheme)  # fmt: skip
        raise WrongPeer(said)
    host, port = _split(rest.split("/", 1)[0] if scheme else rest)
    if not (is_address(host) or _NAME.fullmatch(host)):
        said = phrase(
            "{peer} names no machine: HOST, HOST:PORT or http://HOST:PORT is wanted, as in 10.0.0.2:6170",
            peer=repr(text),
        )
        raise WrongPeer(said)
    if port == ":":
        raise WrongPeer(phrase("{peer} ends with a colon: a port is wanted behind it, or no colon", peer=text))
    if port and not (port.isascii() and port.isdecimal() and 0 < int(port) < 65536):
        said = phrase("{peer}: {port} is no port, which is a number from 1 to 65535", peer=text, port=repr(port))
        raise WrongPeer(said)
    return Endpoint(host, int(port) if port else 80 if scheme else 0, bool(scheme), variable)


def _split(text: str) -> tuple[str, str]:
    """Host and port. An IPv6 address stands in brackets where a port follows."""
    if match := re.fullmatch(r"\[([^\]]*)\](?::(.*))?", text):
        return match[1], match[2] or ""
    if text.count(":") > 1:
        return text, ""
    host, colon, port = text.partition(":")
    # `10.0.0.2:` is not `10.0.0.2`: something was left out.
    return host, port if port or not colon else ":"


def read_hosts_file(text: str) -> Iterator[str]:
    """The machines of a file: one in each line, first word; what follows (`slots=8`) and comments are left out."""
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words:
            yield words[0]


def read_variables(environ: Mapping[str, str]) -> tuple[Endpoint, ...]:
    """The machines that frameworks would reach by their variables; what is not readable there is left out."""
    texts = [(name, each) for name in LISTS for each in environ.get(name, "").split(",")]
    texts += [(MASTER, environ.get(MASTER, "").removeprefix("etcd://"))]
    if address := environ.get("MASTER_ADDR", ""):
        texts += [("MASTER_ADDR", f"[{address}]:{environ.get('MASTER_PORT', '')}".removesuffix(":"))]
    return unique(endpoint for name, text in texts if text.strip() for endpoint in _read_quietly(text, name))


def _read_quietly(text: str, variable: str) -> tuple[Endpoint, ...]:
    try:
        endpoint = read_endpoint(text, variable)
    except WrongPeer:
        return ()
    # Nothing is sent to the ports of a job that runs.
    return (Endpoint(endpoint.host, endpoint.port, variable=variable),)


def unique(endpoints: Iterable[Endpoint]) -> tuple[Endpoint, ...]:
    """Each machine and port once, in order."""
    found: dict[tuple[str, int], Endpoint] = {}
    for each in endpoints:
        found.setdefault((each.host, each.port), each)
    return tuple(found.values())
