"""The rules of a schema in a CRD: it must be structural, so that reading an object along it never fails
(`kube.validation`).

Source: apiextensions' rules of structural schemas: a type for every field, no references, one schema for the items of a
list, and junctors (allOf, anyOf, oneOf, not) that only validate values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from paddock.apiserver.schema import field_errors
from paddock.kube.budget import Budget
from paddock.kube.errors import FieldCause
from paddock.kube.regex.automaton import read_pattern
from paddock.kube.regex.syntax import PatternError

# The costs in steps (`kube.budget`): of a schema, and of each character of a pattern.
_SCHEMA, _CHARACTER = 10, 10
_SHOWN_PATH = 1_000
_TYPES = ("array", "boolean", "integer", "number", "object", "string")


def explain_schema(schema: Any, path: str, budget: Budget) -> Iterator[FieldCause]:
    """The errors of a schema that is not structural. Raises `Exhausted`."""
    budget.spend(_SCHEMA)
    if not isinstance(schema, Mapping):
        yield field_errors.wrong_type(path, schema, "must be a schema")
        return
    if "$ref" in schema:
        yield field_errors.forbidden(f"{path}.$ref", "$ref is not supported")
    yield from _explain_type(schema, path)
    yield from _explain_values(schema, path, budget)
    if schema.get("properties") and schema.get("additionalProperties"):
        yield field_errors.forbidden(f"{path}.additionalProperties", "it excludes properties beside it")
    if schema.get("type") == "array" and not isinstance(schema.get("items"), Mapping):
        yield field_errors.required(f"{path}.items", "must be specified as one schema")
    for name, inner in _inner_schemas(schema):
        yield from explain_schema(inner, _join(path, name), budget)


def _join(path: str, name: str) -> str:
    # The name of a field may have a megabyte, and stand in the path of each field below it.
    return f"{path}.{name:.200}"[:_SHOWN_PATH]


def _inner_schemas(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    properties = schema.get("properties") or {}
    if isinstance(properties, Mapping):
        for name, inner in properties.items():
            yield f"properties[{name}]", inner
    if isinstance(schema.get("items"), Mapping):
        yield "items", schema["items"]
    if not isinstance(schema.get("additionalProperties", True), bool):
        yield "additionalProperties", schema["additionalProperties"]


def _explain_type(schema: Mapping[str, Any], path: str) -> Iterator[FieldCause]:
    kind = schema.get("type")
    if kind is None:
        if not (schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")):
            yield field_errors.required(f"{path}.type", "must not be empty for specified object fields")
    elif kind not in _TYPES:
        yield field_errors.not_supported(f"{path}.type", kind, _TYPES)


# The types of the keywords' values. A wrong one, as `maxLength: "5"`, would fail while an object is read.
_KEYWORDS: Mapping[str, tuple[type, ...]] = {
    "properties": (dict,), "required": (list,), "enum": (list,), "pattern": (str,), "format": (str,),
    "minimum": (int, float), "maximum": (int, float), "multipleOf": (int, float),
    "minLength": (int,), "maxLength": (int,), "minItems": (int,), "maxItems": (int,),
    "minProperties": (int,), "maxProperties": (int,),
    "allOf": (list,), "anyOf": (list,), "oneOf": (list,), "not": (dict,), "x-kubernetes-list-map-keys": (list,),
}  # fmt: skip


def _explain_values(schema: Mapping[str, Any], path: str, budget: Budget) -> Iterator[FieldCause]:
    for keyword, value in schema.items():
        types = _KEYWORDS.get(keyword)
        if types is not None and (not isinstance(value, types) or isinstance(value, bool)):
            yield field_errors.wrong_type(f"{path}.{keyword}", value, f"must be of type {types[0].__name__}")
            return
    for junctor in ("allOf", "anyOf", "oneOf"):
        for index, inner in enumerate(schema.get(junctor) or ()):
            yield from _explain_in_junctor(inner, f"{path}.{junctor}[{index}]", budget)
    if "not" in schema:
        yield from _explain_in_junctor(schema["not"], f"{path}.not", budget)
    pattern = schema.get("pattern")
    if not pattern:
        return
    try:
        budget.spend(len(pattern) * _CHARACTER)
        read_pattern(pattern)
    except PatternError as error:
        sentence = f"must be a valid regular expression, but isn't: {error}"
        yield field_errors.invalid(f"{path}.pattern", pattern, sentence)


def _explain_in_junctor(schema: Any, path: str, budget: Budget) -> Iterator[FieldCause]:
    """The errors of a schema inside a junctor, where `type` is optional."""
    budget.spend(_SCHEMA)
    if not isinstance(schema, Mapping):
        yield field_errors.wrong_type(path, schema, "must be a schema")
        return
    if schema.get("type") is not None and schema["type"] not in _TYPES:
        yield field_errors.not_supported(f"{path}.type", schema["type"], _TYPES)
    yield from _explain_values(schema, path, budget)
    for name, inner in _inner_schemas(schema):
        yield from _explain_in_junctor(inner, _join(path, name), budget)
