"""The JSONPath of printer columns: `.a.b`, `[n]`, `[n:m]`, `[*]`, `['key']`, `[?(@.type=="Ready")].status`.

Source: client-go, util/jsonpath, the part that CRDs use. A path to a missing field finds nothing; an invalid path is a
`ValueError` that quotes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

Step = Callable[[Any], Iterator[Any]]

MOST_CHARACTERS = 1_024
"""Of a path."""

# Possessive: spaces that were read are never given back, so that a path is read in one go.
_STEP = re.compile(
    r"(?P<all>\.\*|\[\s*+\*\s*+\])"
    r"|\.(?P<field>(?:[^.\[\]\\]|\\.)+)"
    r"|\[\s*+(?P<index>-?\d++)\s*+\]"
    r"|\[\s*+(?P<start>-?\d*+)\s*+:\s*+(?P<end>-?\d*+)\s*+\]"
    r"|\[\s*+'(?P<key>[^']*+)'\s*+\]"
    r'|\[\s*+"(?P<key2>[^"]*+)"\s*+\]'
    r"|\[\?\(\s*+@\.(?P<left>[\w./-]++)\s*+(?P<op>==|!=)\s*+(?P<quote>['\"]?)(?P<right>[^'\"]*)(?P=quote)\s*+\)\]"
)


def find(path: str, value: Any) -> list[Any]:
    """All values at `path`."""
    found = [value]
    for step in read_path(path):
        found = [inner for one in found for inner in step(one)]
        if not found:
            break
    return found


@lru_cache(maxsize=512)
def read_path(path: str) -> tuple[Step, ...]:
    """The steps of a path. `ValueError` quotes the invalid part."""
    if len(path) > MOST_CHARACTERS:
        raise ValueError(f"a path has at most {MOST_CHARACTERS} characters: found {len(path)}")
    text = path.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    text = text if text.startswith((".", "[")) or not text else f".{text}"
    steps = []
    position = 0
    while position < len(text) and text != ".":
        match = _STEP.match(text, position)
        if match is None:
            raise ValueError(f"{path!r} is not a path such as .status.phase or .items[0]: found {text[position:]!r}")
        steps.append(_step(match))
        position = match.end()
    return tuple(steps)


def _step(match: re.Match[str]) -> Step:
    if match["all"]:
        return _every
    if match["index"] is not None:
        return _item(int(match["index"]))
    if match["start"] is not None:
        return _slice(match["start"], match["end"])
    if match["left"]:
        return _filter(match["left"], match["op"] == "==", match["right"])
    field = match["field"]
    key = re.sub(r"\\(.)", r"\1", field) if field is not None else (match["key"] or match["key2"] or "")
    return lambda value: iter([value[key]] if isinstance(value, dict) and key in value else [])


def _every(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _item(index: int) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            yield value[index]

    return step


def _slice(start: str, end: str) -> Step:
    part = slice(int(start) if start.strip("-") else None, int(end) if end.strip("-") else None)
    return lambda value: iter(value[part] if isinstance(value, list) else [])


def _filter(left: str, equal: bool, right: str) -> Step:
    path = read_path(f".{left}")

    def step(value: Any) -> Iterator[Any]:
        for item in value if isinstance(value, list) else ():
            found = [item]
            for inner in path:
                found = [deeper for one in found for deeper in inner(one)]
            if found and (_text(found[0]) == right) is equal:
                yield item

    return step


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
