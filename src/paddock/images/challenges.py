"""What a registry wants to know of who asks: its WWW-Authenticate header. Pure.

Sources: RFC 9110 §11.6.1; distribution, "Token Authentication Specification".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

_SCHEME = re.compile(r"\s*(basic|bearer)(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)
_PARAMETER = re.compile(r'([a-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Challenge:
    """How a registry lets somebody in."""

    kind: Literal["basic", "bearer"]
    realm: str = ""
    """Of `bearer`: the address that gives out tokens."""
    service: str = ""
    """Of `bearer`: for whom the token is."""


def read_challenge(headers: Iterable[str]) -> Challenge | None:
    """Of several the token, as it is worth less than the password. None if there is none that is known."""
    found = [each for header in headers if (each := _read(header)) is not None]
    return min(found, key=lambda each: each.kind != "bearer", default=None)


def _read(header: str) -> Challenge | None:
    match = _SCHEME.fullmatch(header)
    if match is None:
        return None
    if match[1].lower() == "basic":
        return Challenge("basic")
    parameters = {name.lower(): quoted or plain for name, quoted, plain in _PARAMETER.findall(match[2] or "")}
    return Challenge("bearer", parameters["realm"], parameters.get("service", "")) if "realm" in parameters else None


def build_scope(name: str, *, push: bool) -> str:
    """What a token is asked for: `repository:team/mnist:pull,push`."""
    return f"repository:{name}:{'pull,push' if push else 'pull'}"
