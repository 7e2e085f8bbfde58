"""The walk along a structural schema: its errors, what it prunes, and the defaults that it sets."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.kube.budget import Budget, Exhausted
from paddock.kube.validation.field_errors import Code
from paddock.kube.validation.structural import CHECKED_KEYWORDS, MOST_ERRORS, Reading

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
ROWS: list[tuple[dict[str, Any], Any, list[tuple[Code, tuple[str | int, ...]]]]] = [
    (TEXT, 1, [(Code.WRONG_TYPE, ())]),
    (TEXT, None, [(Code.WRONG_TYPE, ())]),
    ({**TEXT, "nullable": True}, None, []),
    (WHOLE, 2.0, []),
    (WHOLE, True, [(Code.WRONG_TYPE, ())]),
    (WHOLE, 2**63, [(Code.NUMBER_TOO_LARGE, ())]),
    ({"type": "number"}, float("inf"), [(Code.NUMBER_TOO_LARGE, ())]),
    ({"x-kubernetes-int-or-string": True}, [], [(Code.WRONG_TYPE, ())]),
    ({**TEXT, "enum": ["a"]}, "b", [(Code.NOT_IN_ENUM, ())]),
    ({**TEXT, "pattern": "^a", "maxLength": 1}, "bb", [(Code.TOO_LONG, ()), (Code.NO_MATCH, ())]),
    ({**TEXT, "format": "date-time"}, "soon", [(Code.NO_TIME, ())]),
    ({**WHOLE, "minimum": 1}, 0, [(Code.TOO_SMALL, ())]),
    ({**WHOLE, "minimum": 1, "exclusiveMinimum": True}, 1, [(Code.NOT_ABOVE, ())]),
    ({**WHOLE, "maximum": 1, "multipleOf": 2}, 3, [(Code.TOO_LARGE, ()), (Code.NO_MULTIPLE, ())]),
    ({**WHOLE, "format": "int32"}, 2**31, [(Code.OUT_OF_FORMAT, ())]),
    ({"type": "array", "items": WHOLE}, [1, "2"], [(Code.WRONG_TYPE, (1,))]),
    ({"type": "array", "items": WHOLE, "x-kubernetes-list-type": "set"}, [1, 1], [(Code.DUPLICATE, (1,))]),
    ({"type": "object", "additionalProperties": WHOLE, "minProperties": 2}, {"a": 1}, [(Code.TOO_FEW, ())]),
    ({"type": "object", "required": ["a"]}, {}, [(Code.REQUIRED, ("a",))]),
    ({"type": "object", "properties": {"a": TEXT}}, {"b": 1}, [(Code.UNKNOWN_FIELD, ("b",))]),
    ({"anyOf": [WHOLE, TEXT]}, True, [(Code.MATCHES_NONE, ())]),
    ({"oneOf": [WHOLE, WHOLE]}, 1, [(Code.MATCHES_NOT_ONE, ())]),
    ({"not": WHOLE}, 1, [(Code.MATCHES_NOT, ())]),
    ({"allOf": [TEXT]}, 1, [(Code.WRONG_TYPE, ())]),
    ({**TEXT, "maxLength": 1}, "bb", [(Code.TOO_LONG, ())]),
    ({**TEXT, "minLength": 1}, "", [(Code.TOO_SHORT, ())]),
    ({**TEXT, "pattern": "^a"}, "b", [(Code.NO_MATCH, ())]),
    ({**WHOLE, "maximum": 1}, 2, [(Code.TOO_LARGE, ())]),
    ({**WHOLE, "multipleOf": 2}, 3, [(Code.NO_MULTIPLE, ())]),
    ({"type": "array", "items": WHOLE, "maxItems": 1}, [1, 2], [(Code.TOO_MANY, ())]),
    ({"type": "array", "items": WHOLE, "minItems": 1}, [], [(Code.TOO_FEW, ())]),
    ({"type": "object", "additionalProperties": WHOLE, "maxProperties": 0}, {"a": 1}, [(Code.TOO_MANY, ())]),
    ({"type": "boolean"}, "true", [(Code.WRONG_TYPE, ())]),
    ({"type": "string", "description": "of no use"}, True, [(Code.WRONG_TYPE, ())]),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value", "found"), ROWS)
def test_a_value_is_checked_against_its_schema(schema: dict[str, Any], value: Any, found: object) -> None:
    reading = Reading()
    reading.read(value, schema)
    assert [(error.code, error.path) for error in (*reading.errors, *reading.unknown)] == found


@pytest.mark.parametrize("keyword", sorted(CHECKED_KEYWORDS))
def test_a_keyword_that_asks_something_is_asked_where_it_stands_alone(keyword: str) -> None:
    assert any(CHECKED_KEYWORDS & schema.keys() == {keyword} and found for schema, _, found in ROWS)


def test_unknown_fields_are_pruned_and_defaults_are_set() -> None:
    schema = {"type": "object", "properties": {"a": {**TEXT, "default": "x"}, "b": WHOLE}}
    reading = Reading()
    assert reading.read({"b": 1, "c": 2}, schema) == {"a": "x", "b": 1}
    assert list(reading.unknown[0].args["known"]) == ["a", "b"]


def test_a_lenient_null_means_absent() -> None:
    schema = {"type": "object", "required": ["b"], "properties": {"a": TEXT, "b": WHOLE}}
    reading = Reading(lenient=True)
    assert reading.read({"a": None, "b": None}, schema) == {}
    assert [(error.code, error.path, error.args) for error in reading.errors] == [
        (Code.REQUIRED, ("b",), {"type": "integer"})
    ]


ITEMS = [{}] * 1_000


def _items(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "object", **schema}}


# Schemas that do much with each of a thousand items, and the steps that this takes at least.
MULTIPLIED: dict[str, tuple[dict[str, Any], list[Any], int]] = {
    "fields": (_items({"properties": {f"p{i}": TEXT for i in range(1_000)}}), ITEMS, 100_000),
    "required fields": (_items({"required": [f"p{i}" for i in range(1_000)]}), ITEMS, 1_000),
    "a long default": (_items({"properties": {"a": {**TEXT, "default": "x" * 16_000}}}), ITEMS, 1_000_000),
    "a default of defaults": (_items({"properties": {"a": _items({}) | {"default": ITEMS}}}), ITEMS, 500_000),
    "choices": (_items({"anyOf": [{"minProperties": 1}] * 1_000}), ITEMS, 500_000),
    "exclusions": (_items({"allOf": [{"not": {"required": ["a"]}}] * 1_000}), ITEMS, 500_000),
    "allowed values": ({"type": "array", "items": {**WHOLE, "enum": list(range(3_200))}}, [1] * 1_000, 100_000),
    "keys": (
        _items({}) | {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [f"k{i}" for i in range(1_000)]},
        ITEMS,
        1_000_000,
    ),
    "a pattern of many states": (
        {"type": "array", "items": {**TEXT, "pattern": "(a?){500}a{500}"}},
        ["a" * 400 + "".join(map(chr, range(9_000, 9_100)))] * 10,
        100_000,
    ),
}


@pytest.mark.parametrize("case", MULTIPLIED)
def test_what_multiplies_the_size_of_a_value_counts_its_steps(case: str) -> None:
    schema, value, steps = MULTIPLIED[case]
    with pytest.raises(Exhausted):
        Reading(budget=Budget(steps)).read(value, schema)


def test_the_steps_of_a_walk_grow_with_the_value() -> None:
    taken = []
    for length in (100, 1_000):
        budget = Budget(10**9)
        Reading(budget=budget).read([{"a": i} for i in range(length)], _items({"properties": {"a": WHOLE}}))
        taken.append(10**9 - budget.left)
    assert 9 < taken[1] / taken[0] < 11


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "array", "items": WHOLE}, ["x"] * 5_000),
        (_items({"required": [f"p{i}" for i in range(3_000)]}), ITEMS),
        ({"type": "object", "properties": {}}, {f"x{i}": 1 for i in range(5_000)}),
        ({"allOf": [TEXT] * 5_000}, 1),
    ],
)
def test_one_walk_tells_only_so_many_errors(schema: dict[str, Any], value: Any) -> None:
    reading = Reading()
    reading.read(value, schema)
    assert MOST_ERRORS <= len(reading.errors) + len(reading.unknown) <= MOST_ERRORS + 1
