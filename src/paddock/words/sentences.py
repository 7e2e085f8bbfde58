"""Builds the problems of a manifest as sentences: the value found, the values allowed, the nearest valid name.

All have one form: `found "two", a whole number from 1 to 10000 is allowed`, and `; did you mean "worker"?` if a valid
name is similar. Paths are Kubernetes' field paths: `spec.worker.template.spec.containers[0].image`, and
`limits[nvidia.com/gpu]` for a key with other characters.

Every text is a `Phrase`, which can be translated; a plain `str` is English without placeholders.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

from paddock.kube.nearness import Nearest, nearest
from paddock.kube.validation.field_errors import Code, Path
from paddock.words.phrases import NOTHING, Phrase, phrase, render
from paddock.words.problems import Problem

_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*")
_STEP = re.compile(r"\.?([A-Za-z_][\w-]*)|\[([^\]]*)\]")
_LONGEST_QUOTE = 60
_MOST_NAMES = 14
"""The limit of names in a list of all fields; a container has more."""


def join_path(path: str, key: str | int) -> str:
    if isinstance(key, int) or not _PLAIN_KEY.fullmatch(key):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


def format_path(path: Path, start: str = "") -> str:
    """`spec.a[0].b` for `("a", 0, "b")` below `spec`."""
    return reduce(join_path, path, start)


def split_path(path: str) -> list[str]:
    """`spec.a[0].b` -> `["spec", "a", "0", "b"]`."""
    return [match[1] or match[2] or "" for match in _STEP.finditer(path)]


def quote(value: Any) -> str:
    """A value for a sentence, on one line and cut; in English."""
    return render(quoted(value))


def quoted(value: Any) -> Phrase | str:
    """A value for a sentence, on one line and cut; in any language."""
    if isinstance(value, str):
        cut = value if len(value) <= _LONGEST_QUOTE else value[:_LONGEST_QUOTE] + "…"
        escaped = cut.replace("\\", "\\\\").replace('"', '\\"')
        text = '"' + "".join(c if c.isprintable() else repr(c)[1:-1] for c in escaped) + '"'
        return text if cut == value else phrase("{text} ({length} characters)", text=text, length=len(value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return phrase("nothing")
    if isinstance(value, Mapping):
        return phrase("a mapping") if value else phrase("an empty mapping")
    if isinstance(value, Sequence):
        return phrase("a list") if value else phrase("an empty list")
    return str(value)


def either(names: Iterable[str]) -> Phrase:
    """`Always, Never or OnFailure`."""
    return phrase("{names}", names=tuple(names))


def perhaps(suggestion: str) -> Phrase:
    """`; did you mean "Worker"?`, or nothing."""
    return phrase('; did you mean "{suggestion}"?', suggestion=suggestion) if suggestion else NOTHING


def told(
    path: str,
    said: Phrase | str,
    found: Any = None,
    allowed: Phrase | str = "",
    suggestion: str = "",
    *,
    severity: str = "error",
    about_key: bool = False,
    line: int | None = None,
    column: int | None = None,
    code: Code = Code.INVALID,
    lacks: str = "",
) -> Problem:
    """A problem with its own sentence. `about_key`: the field's name is wrong, not its value."""
    return Problem(
        path,
        render(said),
        "" if found is None else quote(found),
        render(allowed),
        suggestion,
        severity,
        line,
        column,
        about_key,
        said if isinstance(said, Phrase) else Phrase(said),
        code,
        lacks,
    )


def wrong(
    path: str,
    found: Any,
    allowed: Phrase | str,
    suggestion: str = "",
    *,
    advice: Phrase = NOTHING,
    severity: str = "error",
    code: Code = Code.INVALID,
) -> Problem:
    """The problem of a value that is not allowed. `advice` replaces the question with `suggestion`."""
    said = phrase(
        "found {found}, {allowed} is allowed{advice}",
        found=quoted(found),
        allowed=_phrase(allowed),
        advice=advice if advice.text else perhaps(suggestion),
    )
    return told(path, said, "nothing" if found is None else found, allowed, suggestion, severity=severity, code=code)


def missing(path: str, allowed: Phrase | str) -> Problem:
    """The problem of a required value that is absent."""
    said = phrase("is missing: {allowed} is needed", allowed=_phrase(allowed))
    return Problem(path, render(said), "nothing", render(allowed), said=said, code=Code.REQUIRED)


def unknown(
    path: str, key: str, names: Iterable[str], homes: tuple[str, ...] = (), nearest: Nearest = nearest
) -> Problem:
    """The problem of an unknown field. `homes`: paths at which the kind has a field of this name."""
    options = sorted(names)
    suggestion = nearest(key, options)
    if suggestion.casefold() != key.casefold() and homes:
        said = phrase("there is no field of this name here; it belongs to {homes}", homes=homes)
        suggestion = homes[0]
    elif suggestion:
        said = phrase("there is no field of this name{perhaps}", perhaps=perhaps(suggestion))
    elif options and len(options) <= _MOST_NAMES:
        said = phrase("there is no field of this name; there are {names}", names=tuple(options))
    else:
        said = phrase("there is no field of this name")
    allowed = either(options) if options else ""
    return told(path, said, key, allowed, suggestion, about_key=True, code=Code.UNKNOWN_FIELD)


def _phrase(said: Phrase | str) -> Phrase:
    return said if isinstance(said, Phrase) else Phrase(said)
