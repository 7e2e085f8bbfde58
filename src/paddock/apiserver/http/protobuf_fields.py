"""Fields of a message of Kubernetes' Protobuf, and tables of them as texts.

A table has a message a line: its name, then its fields as NAME=NUMBER, and after the number what is not a text:

    #   a number             !    a flag             :bytes   bytes
    :texts, :blobs, :quantities   maps               :Quantity, :IntOrString, :Time, :MicroTime   as JSON has them
    :Message   a message of the table                *   a list of what stands before it
    ?   an optional field: Go writes it only where it is set, so 0, false and an empty text say something

Go always writes the fields without `?`; of those, JSON has no 0, false, empty text or empty message. A field without
a name is a message whose fields JSON has in its place. A line that begins with a blank goes on with the one above.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import NamedTuple

_SPECIAL = {"Quantity": "quantity", "IntOrString": "int-or-string", "Time": "time", "MicroTime": "micro-time"}
_MAPS = ("texts", "blobs", "quantities", "bytes")
_WORD = re.compile(r"(?P<name>\w*)=(?P<number>\d+)(?P<scalar>[#!]?)(?::(?P<type>\w+))?(?P<many>\*?)(?P<optional>\??)")


class Field(NamedTuple):
    """One field of a message."""

    name: str
    type: str | Mapping[int, Field] = "text"
    """text, bytes, number, flag, quantity, int-or-string, time, micro-time, texts, blobs or quantities (maps), ours
    (not read, as the server sets it), or the fields of a message."""
    repeated: bool = False
    unset: Container[int | bytes] = (b"",)
    """What says nothing."""
    inline: bool = False
    """The fields stand in the message itself."""


def read_table(text: str, foreign: Mapping[str, Mapping[int, Field]]) -> Mapping[str, Mapping[int, Field]]:
    """The messages of a table by name. `foreign`: those that it names and does not have. Raises KeyError for one that
    is in neither."""
    lines = [line.split() for line in text.replace("\n ", " ").splitlines() if line]
    messages: dict[str, dict[int, Field]] = {name: {} for name, *_ in lines}
    known = {**foreign, **messages}
    for name, *words in lines:
        messages[name].update(_read_field(word, known) for word in words)
    return messages


def _read_field(word: str, known: Mapping[str, Mapping[int, Field]]) -> tuple[int, Field]:
    found = _WORD.fullmatch(word)
    if found is None:
        raise ValueError(f"{word} is no field")
    kind = found["type"] or {"#": "number", "!": "flag", "": "text"}[found["scalar"]]
    plain = kind in ("number", "flag", "text", *_MAPS)
    type = kind if plain else _SPECIAL.get(kind) or known[kind]
    unset: Container[int | bytes] = () if found["optional"] else (0, b"")
    return int(found["number"]), Field(found["name"], type, bool(found["many"]), unset, not found["name"])
