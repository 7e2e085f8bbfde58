"""What a request shows to the server: a value, however it was obtained."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from paddock.kube.times import Moment

_TOKEN = re.compile(r"[\x21-\x7e]+")


def is_token(text: str) -> bool:
    """Whether a request can carry it in a header."""
    return bool(_TOKEN.fullmatch(text))


@dataclass(frozen=True, slots=True)
class Credential:
    """What a request shows to the server: a token, or a certificate with its key (PEM), or both. `expires`: None if it
    holds until a 401."""

    token: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    expires: Moment | None = None
