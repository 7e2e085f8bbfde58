"""What a schema says about a single value of the right type: ranges, lengths, patterns, duplicates. And which type a
value has.

Source: the sentences of kube-openapi's validation. The walk through an object is in `structural`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from paddock.apiserver import field_errors
from paddock.kube.errors import FieldCause
from paddock.kube.times import read_time

Schema = Mapping[str, Any]
_RANGES = {"int32": 2**31, "int64": 2**63}


def type_of(value: Any) -> str:
    """The JSON type of a value."""
    if value is None:
        return "null"
    for name in ("boolean", "integer", "number", "string", "array", "object"):
        if TYPES[name](value):
            return name
    return "number" if isinstance(value, float) else type(value).__name__


def is_integer(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, float):
        return value.is_integer() and abs(value) < 2**63
    return isinstance(value, int) and -(2**63) <= value < 2**63


def is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) < 2**1023


TYPES: Mapping[str, Callable[[Any], bool]] = {
    "boolean": lambda value: isinstance(value, bool),
    "integer": is_integer,
    "number": is_number,
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def type_error(path: str, value: Any, wanted: str) -> FieldCause:
    return field_errors.wrong_type(path, value, f'{path} in body must be of type {wanted}: "{type_of(value)}"')


def check_value(value: Any, schema: Schema, path: str) -> list[FieldCause]:
    """Everything that a schema says about a value of the right type, but for allOf, anyOf, oneOf and not."""
    causes = []
    if "enum" in schema and value not in schema["enum"]:
        causes.append(field_errors.not_supported(path, value, schema["enum"]))
    if isinstance(value, str):
        causes += _check_string(value, schema, path)
    elif is_number(value):
        causes += _check_number(value, schema, path)
    elif isinstance(value, list):
        causes += _check_list(value, schema, path)
    elif isinstance(value, dict):
        causes += _check_size(value, schema, path)
    return causes


def _check_string(value: str, schema: Schema, path: str) -> list[FieldCause]:
    causes = []
    if len(value) > schema.get("maxLength", math.inf):
        causes.append(field_errors.too_long(path, schema["maxLength"]))
    if len(value) < schema.get("minLength", 0):
        detail = f"{path} in body should be at least {schema['minLength']} chars long"
        causes.append(field_errors.invalid(path, value, detail))
    pattern = schema.get("pattern")  # Python's: what RE2 alone knows is refused, and who writes `(a+)+` may wait for it
    if pattern and not re.search(pattern, value):
        causes.append(field_errors.invalid(path, value, f"{path} in body should match '{pattern}'"))
    if schema.get("format") == "date-time" and read_time(value) is None:
        causes.append(field_errors.wrong_type(path, value, f'{path} in body must be of type date-time: "{value}"'))
    return causes


def _check_number(value: float, schema: Schema, path: str) -> list[FieldCause]:
    bound = _RANGES.get(schema.get("format", ""))
    details = []
    if bound is not None and not -bound <= value < bound:
        details.append(f"must be of type {schema['format']}")
    if (lowest := schema.get("minimum")) is not None:
        if schema.get("exclusiveMinimum") and value <= lowest:
            details.append(f"should be greater than {lowest}")
        elif value < lowest:
            details.append(f"should be greater than or equal to {lowest}")
    if (highest := schema.get("maximum")) is not None:
        if schema.get("exclusiveMaximum") and value >= highest:
            details.append(f"should be less than {highest}")
        elif value > highest:
            details.append(f"should be less than or equal to {highest}")
    if (step := schema.get("multipleOf")) and not math.isclose(math.remainder(value, step), 0, abs_tol=1e-9):
        details.append(f"should be a multiple of {step}")
    return [field_errors.invalid(path, value, f"{path} in body {detail}") for detail in details]


def _check_list(value: list[Any], schema: Schema, path: str) -> list[FieldCause]:
    causes = []
    if len(value) > schema.get("maxItems", math.inf):
        causes.append(field_errors.too_many(path, len(value), schema["maxItems"]))
    if len(value) < schema.get("minItems", 0):
        detail = f"{path} in body should have at least {schema['minItems']} items"
        causes.append(field_errors.invalid(path, len(value), detail))
    return causes + _check_duplicates(value, schema, path)


def _check_duplicates(value: list[Any], schema: Schema, path: str) -> list[FieldCause]:
    """Lists that are sets, or maps by some keys of their items (`x-kubernetes-list-type`)."""
    kind = schema.get("x-kubernetes-list-type")
    if kind not in ("set", "map"):
        return []
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    seen: set[str] = set()
    causes = []
    for index, item in enumerate(value):
        shown = {key: item.get(key) for key in keys} if kind == "map" and isinstance(item, dict) else item
        text = field_errors.show(shown)
        if text in seen:
            causes.append(field_errors.duplicate(f"{path}[{index}]", shown))
        seen.add(text)
    return causes


def _check_size(value: dict[str, Any], schema: Schema, path: str) -> list[FieldCause]:
    causes = []
    if len(value) > schema.get("maxProperties", math.inf):
        causes.append(field_errors.too_many(path, len(value), schema["maxProperties"]))
    if len(value) < schema.get("minProperties", 0):
        detail = f"{path} in body should have at least {schema['minProperties']} properties"
        causes.append(field_errors.invalid(path, len(value), detail))
    return causes
