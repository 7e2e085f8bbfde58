"""Host names as whole words of a text: found, and replaced by addresses. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping


def find_names(text: str, addresses: Mapping[str, str]) -> set[str]:
    """The names that occur in `text` as whole words."""
    return {match[0] for match in _pattern(addresses).finditer(text)} if addresses else set()


def replace_names(text: str, addresses: Mapping[str, str]) -> str:
    """Replaces each name that is a whole word by its address: `a-ps-0:2379,http://a-ps-1/x`.

    A part of a longer name or of a path (`/nas/a-ps-0/log`) stays.
    """
    return _pattern(addresses).sub(lambda match: addresses[match[0]], text) if addresses else text


def _pattern(addresses: Mapping[str, str]) -> re.Pattern[str]:
    # A regular expression takes the first alternative that matches, so a longer name must come first.
    longest_first = sorted(addresses, key=len, reverse=True)
    names = "|".join(map(re.escape, longest_first))
    # A name after a slash is a part of a path and stays; only after `://` it is a host.
    return re.compile(rf"(?<=://)(?:{names})(?![\w-]|\.\w)|(?<![\w./-])(?:{names})(?![\w/-]|\.\w)")
