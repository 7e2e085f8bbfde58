"""How many lists and objects a body of JSON may have: they take memory by their number, not by its bytes. Pure."""

from __future__ import annotations

import re

from paddock.kube.errors import TooLarge

MOST_CONTAINERS = 200_000
"""Lists and objects of one body of JSON: an empty one of two bytes takes 64 of memory, and three bytes more than that
make it 230. No manifest has so many, as each of them would have 15 bytes."""
_NEXT_CONTAINER = re.compile(rb'(?:[^\[{"]++|"(?:[^"\\]++|\\.)*+")*+[\[{]', re.DOTALL)
"""Up to the next bracket that stands in no text; a text may have any number of them."""


def check_density(body: bytes) -> None:
    """Raises `TooLarge`. Then reading the rest of the largest body takes twenty times its bytes at most."""
    if body.count(b"[") + body.count(b"{") <= MOST_CONTAINERS:
        return
    count, place = 0, 0
    while (match := _NEXT_CONTAINER.match(body, place)) is not None:
        count, place = count + 1, match.end()
        if count > MOST_CONTAINERS:
            raise TooLarge(f"the body has more than {MOST_CONTAINERS} lists and objects, which one request can have")
