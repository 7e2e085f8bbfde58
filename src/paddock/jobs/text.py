"""How a problem of a manifest is put into words: what was found, what is allowed, the nearest right name.

One form for all: `found "two", a whole number from 1 to 10000 is allowed`, and `; did you mean "worker"?` where one
name is near. Paths are written as Kubernetes writes them: `spec.worker.template.spec.containers[0].image`, and
`limits[nvidia.com/gpu]` for a key that is no plain word.

Every text is a `Phrase`, which has other languages too; a plain `str` in place of one is English with no places in it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from paddock.jobs.phrases import NOTHING, Phrase, phrase, render
from paddock.jobs.problems import Problem

_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*")
_STEP = re.compile(r"\.?([A-Za-z_][\w-]*)|\[([^\]]*)\]")
_LONGEST_QUOTE = 60
_MOST_NAMES = 14
"""So many names of fields are worth listing; a container has more."""


def join_path(path: str, key: str | int) -> str:
    if isinstance(key, int) or not _PLAIN_KEY.fullmatch(key):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


def split_path(path: str) -> list[str]:
    """`spec.a[0].b` -> `["spec", "a", "0", "b"]`."""
    return [match[1] or match[2] or "" for match in _STEP.finditer(path)]


def quote(value: Any) -> str:
    """A value as the user would recognise it, on one line and not long; in English."""
    return render(quoted(value))


def quoted(value: Any) -> Phrase | str:
    """The same in any language."""
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


def nearest(name: str, names: Iterable[str]) -> str:
    """The one of `names` that was most likely meant; empty where none is near."""
    by_folded = {each.casefold(): each for each in names}
    close = difflib.get_close_matches(name.casefold()[:100], by_folded, n=1, cutoff=0.6)
    return by_folded[close[0]] if close else ""


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
) -> Problem:
    """A problem with a sentence of its own. `about_key`: the field's name is wrong, not its value."""
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
    )


def wrong(
    path: str,
    found: Any,
    allowed: Phrase | str,
    suggestion: str = "",
    *,
    advice: Phrase = NOTHING,
    severity: str = "error",
) -> Problem:
    """A value that is there and is not allowed. `advice` stands in place of the question that `suggestion` makes."""
    said = phrase(
        "found {found}, {allowed} is allowed{advice}",
        found=quoted(found),
        allowed=_phrase(allowed),
        advice=advice if advice.text else perhaps(suggestion),
    )
    return told(path, said, "nothing" if found is None else found, allowed, suggestion, severity=severity)


def missing(path: str, allowed: Phrase | str) -> Problem:
    """A value that must be there and is not."""
    said = phrase("is missing: {allowed} is needed", allowed=_phrase(allowed))
    return Problem(path, render(said), "nothing", render(allowed), said=said)


def unknown(path: str, key: str, names: Iterable[str], homes: tuple[str, ...] = ()) -> Problem:
    """A field that the kind does not have at this place. `homes`: paths where a field of this name is."""
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
    return told(path, said, key, either(options) if options else "", suggestion, about_key=True)


def is_unknown(problem: Problem) -> bool:
    """Whether it is of a field that nobody knows at its place."""
    return problem.said is not None and problem.said.text.startswith("there is no field of this name")


def _phrase(said: Phrase | str) -> Phrase:
    return said if isinstance(said, Phrase) else Phrase(said)
