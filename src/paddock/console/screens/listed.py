"""Addresses of a page with other filters, or another part of its table. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlencode

_OF_THE_FRAME = ("lang", "theme")


def link_to(query: Mapping[str, str]) -> Callable[..., str]:
    """A function: the address of the same page with other parameters. An empty one is left out, and so is the number of
    the page of the table, unless it is given."""

    def link(**changes: object) -> str:
        kept = {key: value for key, value in query.items() if key not in (*_OF_THE_FRAME, "page")}
        return "?" + urlencode({key: value for key, value in {**kept, **changes}.items() if value})

    return link
