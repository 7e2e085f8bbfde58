"""How a problem of a manifest is put into words: what was found, what is allowed, the nearest right name.

One form for all: `found "two", a whole number from 1 to 10000 is allowed`, and `; did you mean "worker"?` where one
name is near. Paths are written as Kubernetes writes them: `spec.worker.template.spec.containers[0].image`, and
`limits[nvidia.com/gpu]` for a key that is no plain word.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from paddock.jobs.model import Problem

_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*")
_LONGEST_QUOTE = 60


def join_path(path: str, key: str | int) -> str:
    if isinstance(key, int) or not _PLAIN_KEY.fullmatch(key):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


def quote(value: Any) -> str:
    """A value as the user would recognise it, on one line and not long."""
    if isinstance(value, str):
        cut = value if len(value) <= _LONGEST_QUOTE else value[:_LONGEST_QUOTE] + "…"
        escaped = cut.replace("\\", "\\\\").replace('"', '\\"')
        text = '"' + "".join(c if c.isprintable() else repr(c)[1:-1] for c in escaped) + '"'
        return text if cut == value else f"{text} ({len(value)} characters)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, Sequence):
        return "a list" if value else "an empty list"
    return str(value)


def either(names: Iterable[str]) -> str:
    """`Always, Never or OnFailure`."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def nearest(name: str, names: Iterable[str]) -> str:
    """The one of `names` that was most likely meant; empty where none is near."""
    by_folded = {each.casefold(): each for each in names}
    close = difflib.get_close_matches(name.casefold()[:100], by_folded, n=1, cutoff=0.6)
    return by_folded[close[0]] if close else ""


def wrong(path: str, found: Any, allowed: str, suggestion: str = "", *, severity: str = "error") -> Problem:
    """A value that is there and is not allowed."""
    tail = f'; did you mean "{suggestion}"?' if suggestion else ""
    message = f"found {quote(found)}, {allowed} is allowed{tail}"
    return Problem(path, message, quote(found), allowed, suggestion, severity)


def missing(path: str, allowed: str) -> Problem:
    """A value that must be there and is not."""
    return Problem(path, f"is missing: {allowed} is needed", "nothing", allowed)


def unknown(path: str, key: str, names: Iterable[str]) -> Problem:
    """A field that the kind does not have."""
    options = sorted(names)
    suggestion = nearest(key, options)
    tail = f'; did you mean "{suggestion}"?' if suggestion else ""
    allowed = either(options) if options else "none"
    return Problem(path, f"there is no field of this name{tail}", quote(key), allowed, suggestion)
