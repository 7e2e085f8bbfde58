"""A schema's rules for a single value: ranges, lengths, patterns, duplicates; and the JSON types.

Source: kube-openapi's validation. The walk through an object is in `structural`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from paddock.kube.budget import Budget
from paddock.kube.times import read_time
from paddock.kube.validation.field_errors import Code, FieldError, Path

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


def type_error(path: Path, value: Any, wanted: str) -> FieldError:
    """The error of a wrong type, or of a number of the right type that does not fit into 64 bits."""
    too_large = wanted in ("integer", "number", "integer,string") and _is_number_of_any_size(value, wanted)
    code = Code.NUMBER_TOO_LARGE if too_large else Code.WRONG_TYPE
    return FieldError(code, path, value, {"wanted": wanted, "found": type_of(value)})


def _is_number_of_any_size(value: Any, wanted: str) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return wanted == "number" or isinstance(value, int) or value.is_integer()


def check_value(value: Any, schema: Schema, path: Path, budget: Budget) -> Iterator[FieldError]:
    """The errors of a value of the right type, except by allOf, anyOf, oneOf and not. Raises `Exhausted`."""
    if "enum" in schema:
        budget.spend(len(schema["enum"]) / 32)
        if value not in schema["enum"]:
            yield FieldError(Code.NOT_IN_ENUM, path, value, {"allowed": schema["enum"]})
    if isinstance(value, str):
        yield from _check_string(value, schema, path, budget)
    elif is_number(value):
        yield from _check_number(value, schema, path)
    elif isinstance(value, list):
        yield from _check_list(value, schema, path, budget)
    elif isinstance(value, dict):
        yield from _check_size(value, schema, path)


def _check_string(value: str, schema: Schema, path: Path, budget: Budget) -> Iterator[FieldError]:
    if len(value) > (most := schema.get("maxLength", math.inf)):
        yield FieldError(Code.TOO_LONG, path, value, {"most": most})
    if len(value) < (least := schema.get("minLength", 0)):
        yield FieldError(Code.TOO_SHORT, path, value, {"least": least})
    pattern = schema.get("pattern")
    if pattern:
        # late, as few schemas have patterns, and no command line waits for the classes of their syntax
        from paddock.kube.regex.automaton import read_pattern

        if not read_pattern(pattern).search(value, budget):
            yield FieldError(Code.NO_MATCH, path, value, {"pattern": pattern})
    if schema.get("format") == "date-time" and read_time(value) is None:
        yield FieldError(Code.NO_TIME, path, value)


def _check_number(value: float, schema: Schema, path: Path) -> Iterator[FieldError]:
    bound = _RANGES.get(schema.get("format", ""))
    if bound is not None and not -bound <= value < bound:
        yield FieldError(Code.OUT_OF_FORMAT, path, value, {"format": schema["format"]})
    if (lowest := schema.get("minimum")) is not None:
        if schema.get("exclusiveMinimum") and value <= lowest:
            yield FieldError(Code.NOT_ABOVE, path, value, {"bound": lowest})
        elif value < lowest:
            yield FieldError(Code.TOO_SMALL, path, value, {"bound": lowest})
    if (highest := schema.get("maximum")) is not None:
        if schema.get("exclusiveMaximum") and value >= highest:
            yield FieldError(Code.NOT_BELOW, path, value, {"bound": highest})
        elif value > highest:
            yield FieldError(Code.TOO_LARGE, path, value, {"bound": highest})
    if (step := schema.get("multipleOf")) and not math.isclose(math.remainder(value, step), 0, abs_tol=1e-9):
        yield FieldError(Code.NO_MULTIPLE, path, value, {"step": step})


def _check_list(value: list[Any], schema: Schema, path: Path, budget: Budget) -> Iterator[FieldError]:
    if len(value) > (most := schema.get("maxItems", math.inf)):
        yield FieldError(Code.TOO_MANY, path, len(value), {"most": most})
    if len(value) < (least := schema.get("minItems", 0)):
        yield FieldError(Code.TOO_FEW, path, len(value), {"least": least, "of": "items"})
    yield from _check_duplicates(value, schema, path, budget)


def _check_duplicates(value: list[Any], schema: Schema, path: Path, budget: Budget) -> Iterator[FieldError]:
    """Duplicates in lists that are sets, or maps by some keys of their items (`x-kubernetes-list-type`)."""
    kind = schema.get("x-kubernetes-list-type")
    if kind not in ("set", "map"):
        return
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    seen: set[str] = set()
    for index, item in enumerate(value):
        named = {key: item.get(key) for key in keys} if kind == "map" and isinstance(item, dict) else item
        text = json.dumps(named, default=str)
        budget.spend(1 + len(keys) + len(text) / 64)
        if text in seen:
            yield FieldError(Code.DUPLICATE, (*path, index), named)
        seen.add(text)


def _check_size(value: dict[str, Any], schema: Schema, path: Path) -> Iterator[FieldError]:
    if len(value) > (most := schema.get("maxProperties", math.inf)):
        yield FieldError(Code.TOO_MANY, path, len(value), {"most": most})
    if len(value) < (least := schema.get("minProperties", 0)):
        yield FieldError(Code.TOO_FEW, path, len(value), {"least": least, "of": "properties"})
