"""A manifest against a structural schema: fields that the kind does not have, and values of another type.

The API server checks the same when it is asked to be strict; here a wrong field gets the nearest right name, and all of
it is known before anything is sent. An absent value and null are the same, as in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from paddock.jobs.fields import TEXT, in_quotes
from paddock.jobs.phrases import NOTHING, Phrase, phrase
from paddock.jobs.problems import Problem
from paddock.jobs.text import either, join_path, missing, nearest, unknown, wrong

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_WORDS: Mapping[str, Phrase] = {
    "object": phrase("a mapping"),
    "array": phrase("a list"),
    "string": TEXT,
    "integer": phrase("a whole number"),
    "number": phrase("a number"),
    "boolean": phrase("true or false"),
}


def check_structure(schema: Mapping[str, Any], value: Any, path: str = "") -> Iterator[Problem]:
    """The problems of `value`, from the outside in; nothing is said about the inside of what has the wrong type."""
    if value is None:
        return
    if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            yield wrong(path, value, phrase("a number or text"))
        return
    kind = schema.get("type")
    if isinstance(kind, str) and not _is_of_type(value, kind):
        yield wrong(path, value, _WORDS[kind], advice=in_quotes(value) if kind == "string" else NOTHING)
        return
    if (options := schema.get("enum")) and value not in options:
        near = nearest(value, options) if isinstance(value, str) else ""
        yield wrong(path, value, either(str(option) for option in options), near)
    if isinstance(value, dict):
        yield from _check_mapping(schema, value, path)
    elif isinstance(value, list) and isinstance(items := schema.get("items"), Mapping):
        for index, item in enumerate(value):
            yield from check_structure(items, item, join_path(path, index))


def _is_of_type(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[kind])


def _check_mapping(schema: Mapping[str, Any], value: Mapping[str, Any], path: str) -> Iterator[Problem]:
    properties: Mapping[str, Any] = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    closed = bool(properties) and not others and not schema.get("x-kubernetes-preserve-unknown-fields")
    for name in schema.get("required") or ():
        if value.get(name) is None:
            kind = (properties.get(name) or {}).get("type", "")
            yield missing(join_path(path, name), _WORDS.get(kind, phrase("a value")))
    for key, item in value.items():
        if key in properties:
            yield from check_structure(properties[key], item, join_path(path, key))
        elif isinstance(others, Mapping):
            yield from check_structure(others, item, join_path(path, key))
        elif closed:
            yield unknown(join_path(path, key), key, properties)
