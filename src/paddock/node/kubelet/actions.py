"""What a probe or a hook does, as values: read from the pod's spec. Pure.

Source: core/v1 (Probe, Lifecycle), kubelet's pkg/probe and pkg/kubelet/lifecycle: a host is the pod's address by
default, a port is a number or the name of one of the container's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from paddock.words.phrases import phrase


@dataclass(frozen=True, slots=True)
class Exec:
    """Runs a command in the container."""

    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HttpGet:
    """`headers`: as they are sent, in order. Certificates are not verified (core/v1, HTTPGetAction)."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class TcpConnect:
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Sleep:
    seconds: float


@dataclass(frozen=True, slots=True)
class Impossible:
    """An action that is never tried. `why`: a sentence."""

    why: str


Action = Exec | HttpGet | TcpConnect | Sleep | Impossible


def read_action(handler: Mapping[str, Any], container: Mapping[str, Any], address: str) -> Action | None:
    """The action of a probe or a hook; None without one, and of `grpc`, which is not honoured here."""
    if (command := handler.get("exec")) is not None:
        words = tuple(str(word) for word in command.get("command") or ())
        return Exec(words) if words else Impossible(str(phrase("the command is empty")))
    if (request := handler.get("httpGet")) is not None:
        return _read_http(request, container, address)
    if (socket := handler.get("tcpSocket")) is not None:
        port = find_port(socket.get("port"), container)
        return _no_port(socket.get("port")) if port is None else TcpConnect(str(socket.get("host") or address), port)
    if (sleep := handler.get("sleep")) is not None:
        return Sleep(float(sleep.get("seconds") or 0))
    return None


def find_port(wanted: Any, container: Mapping[str, Any]) -> int | None:
    """The number of a port that is given by number or by name; a text of digits is a number (intstr)."""
    if isinstance(wanted, int) and not isinstance(wanted, bool):
        return wanted if 0 < wanted < 65536 else None
    for port in container.get("ports") or ():
        if port.get("name") == wanted:
            return int(port["containerPort"])
    text = str(wanted)
    digits = text.lstrip("0")
    return int(digits) if text.isascii() and digits.isdecimal() and len(digits) < 6 and int(digits) < 65536 else None


def _read_http(request: Mapping[str, Any], container: Mapping[str, Any], address: str) -> Action:
    port = find_port(request.get("port"), container)
    if port is None:
        return _no_port(request.get("port"))
    scheme = str(request.get("scheme") or "HTTP").lower()
    host, path = str(request.get("host") or address), str(request.get("path") or "/")
    host = f"[{host}]" if ":" in host and not host.startswith("[") else host
    headers = tuple((str(each["name"]), str(each.get("value") or "")) for each in request.get("httpHeaders") or ())
    return HttpGet(f"{scheme}://{host}:{port}/{quote(path.lstrip('/'), safe=_KEPT)}", _with_defaults(headers))


_KEPT = "%/:?#[]@!$&'()*+,;=-._~"
"""Characters of a URL that stay as they are (RFC 3986)."""


def _with_defaults(headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """kubelet's own headers where the user has none. One with an empty value is not sent (kubelet's formatting)."""
    names = {name.lower() for name, _ in headers}
    own = (("User-Agent", "kube-probe/1.33"), ("Accept", "*/*"))
    kept = tuple((name, value) for name, value in headers if value or name.lower() not in ("user-agent", "accept"))
    return (*((name, value) for name, value in own if name.lower() not in names), *kept)


def _no_port(wanted: Any) -> Impossible:
    said = phrase(
        "port {port} is neither a number nor the name of a port of the container; name it in `ports`", port=repr(wanted)
    )
    return Impossible(str(said))
