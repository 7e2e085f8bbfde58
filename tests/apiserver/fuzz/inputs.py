"""What is sent: values that break readers, and real requests that are changed a little, or made to grow.

A purely random text is refused at its first byte. So most inputs begin with something that a client really sends
(`recorded`), of which one place is replaced, taken out, doubled or repeated.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import strategies as st

ODD: Sequence[Any] = [
    None, True, False, 0, -1, 5, 1.5, -0.0, 10**20, -(10**20), 2**63, 2**63 - 1, -(2**63), 10**17, -(10**17), 1e300,
    1e19, "", " ", "All", "5", "-5", "x" * 300, "a/b", "a=b", "a,b", "../x", "..", "%s", "{}", "\x00", "\x7f", "\n",
    "é",
    "\U0001f600", "٣", "１２", "0x10", "1e3", "1Gi", "1" * 400, "0001-01-01T00:00:00", "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59-23:59", "2026-11-20T08:12:00Z", "NaN", "Infinity", [], {}, [[]], [{}], {"": ""},
    {"name": None},
    [None], ["a", "a"], {"$patch": "delete"}, {"$patch": "replace"}, {"apiVersion": 5, "kind": []},
]  # fmt: skip
"""Values of JSON that some reader does not expect."""

values = st.recursive(
    st.sampled_from(ODD) | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
"""Values of JSON."""

Path = tuple[str | int, ...]


def list_paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """The path of each value in a value of JSON, its own first."""
    yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from list_paths(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from list_paths(inner, (*path, index))


def change(value: Any, path: Path, how: str, new: Any) -> Any:
    """A copy of `value` in which the place at `path` is replaced by `new`, taken out, doubled, or holds `new` too."""
    if not path:
        return new
    changed = copy.deepcopy(value)
    parent = changed
    for step in path[:-1]:
        parent = parent[step]
    last = path[-1]
    match how, parent:
        case "take out", _:
            del parent[last]
        case "double", list():
            parent.insert(last, copy.deepcopy(parent[last]))
        case "add", dict():
            parent[str(new)[:20]] = new
        case _:
            parent[last] = new
    return changed


@st.composite
def changed(draw: st.DrawFn, originals: Sequence[Any], most: int = 2) -> Any:
    """One of the originals, changed at one place or some."""
    value = copy.deepcopy(draw(st.sampled_from(originals)))
    for _ in range(draw(st.integers(1, most))):
        path = draw(st.sampled_from(list(list_paths(value))))
        value = change(value, path, draw(st.sampled_from(["replace", "take out", "double", "add"])), draw(values))
    return value


@st.composite
def broken(draw: st.DrawFn, originals: Sequence[bytes]) -> bytes:
    """One of the originals, with some of its bytes changed, cut, put in, or repeated."""
    data = draw(st.sampled_from(originals))
    for _ in range(draw(st.integers(0, 3))):
        begin = draw(st.integers(0, len(data)))
        end = min(len(data), begin + draw(st.integers(0, 8)))
        new = draw(
            st.binary(max_size=4) | st.sampled_from([b"\x00", b"\xff", b"\xff" * 9, b"[", b"{", b'"', b"\\u", b","])
        )
        data = data[:begin] + new + data[end:]
    return data


@st.composite
def grown(draw: st.DrawFn, originals: Sequence[bytes], most: int) -> bytes:
    """One of the originals, in which a piece is repeated until all has about `most` bytes."""
    data = draw(st.sampled_from(originals))
    begin = draw(st.integers(0, max(0, len(data) - 1)))
    piece = data[begin : begin + draw(st.integers(1, 12))] or b"["
    size = draw(st.sampled_from((most, most // 8, most // 64)))
    return data[:begin] + piece * max(1, (size - len(data)) // len(piece)) + data[begin:]


def as_json(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    return strategy.map(lambda value: json.dumps(value).encode())


def texts(originals: Sequence[str], most: int = 4_000) -> st.SearchStrategy[str]:
    """Texts of a small language: `originals` broken and grown, and any text."""
    known = [text.encode() for text in originals]
    bytes_of = st.sampled_from(known) | broken(known) | grown(known, most)
    return bytes_of.map(lambda data: data.decode("utf-8", "replace")) | st.text(max_size=30)
