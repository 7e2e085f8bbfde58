"""The CEL rules of a custom kind (`x-kubernetes-validations`): which there are, and of which values they speak. Pure.

`find_rules` reads a schema alone (`cel_definitions` says what is wrong with its rules); `plan_checks` walks an object
along its schema and says which rule is asked of which value, and what that value was before. Rules are evaluated in a
child process (`objects.cel_child`), which is given values as CEL has them by `schema.cel_values`; `objects.cel_judge`
decides what follows. Rule: a rule that is written wrongly in a stored schema is left out here and never raises; only
the write of a definition refuses it.
Source: Kubernetes, "CustomResourceDefinition: validation rules", and apiextensions-apiserver, pkg/apiserver/schema/cel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paddock.kube.validation.field_errors import Key, Path

KEYWORD = "x-kubernetes-validations"
REASONS = ("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")
MOST_RULES = 1_000
"""Of one schema that are evaluated; of the others a warning tells."""
MOST_CHECKS = 10_000
"""Of one object."""
MOST_CHARACTERS = 16_384
"""Of one rule."""
MOST_LEVELS = 100
ITEMS, VALUES = "[*]", "[…]"

_STRINGS = re.compile(
    r"""[rR]?(\"\"\"(?:\\.|.)*?\"\"\"|'''(?:\\.|.)*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""", re.S
)
_OLD = re.compile(r"(?<![\w.])oldSelf\b")
_COMPARES = re.compile(r"==|!=|\bin\b")
_SIDE = r"(?:self|oldSelf)((?:\.\w+)*)"
# A field beside what it was, or a value beside a literal: order matters to neither once lists are sorted.
_BEFORE_AND_NOW = re.compile(_SIDE + r"\s*[!=]=\s*(?:self|oldSelf)\1(?![\w.(\[+])")
_PLAIN = re.compile(r"[!=]=\s*(?:\"\"|true\b|false\b|null\b|-?\d[\w.]*)(?!\s*[.+\[(])")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `place` are the steps to it in the schema, `number` its place in the list there."""

    text: str
    message: str
    message_text: str  # `messageExpression`
    reason: str
    field_path: str
    optional_old: bool  # `optionalOldSelf`
    type: str
    place: tuple[str, ...]
    number: int

    @property
    def of_change(self) -> bool:
        """Whether it compares with what was before: a transition rule."""
        return uses_old(self.text)

    @property
    def said(self) -> str:
        """How Kubernetes names it in a message."""
        return self.message.strip() or self.text.strip()

    @property
    def shown_place(self) -> str:
        """`spec.items[*].name`, `self` of the object itself."""
        shown = ""
        for step in self.place:
            shown += step if step in (ITEMS, VALUES) else f".{step:.200}"
        return shown.removeprefix(".")[:1_000]


@dataclass(frozen=True, slots=True)
class Check:
    """A rule that is asked of one value."""

    rule: Rule
    path: Path
    schema: Mapping[str, Any]
    value: Any
    old: Any
    """What the value was, None where there was none, or none that it can be compared with."""
    unchanged: bool
    """It, or the part of the object around it, is what it was: Kubernetes then only warns ("ratcheting")."""

    @property
    def is_root(self) -> bool:
        return not self.path


def without_texts(rule: str) -> str:
    """The rule with empty string literals and without comments."""
    return re.sub(r"//[^\n]*", "", _STRINGS.sub('""', rule))


def uses_old(rule: str) -> bool:
    return bool(_OLD.search(without_texts(rule)))


def compares(rule: str) -> bool:
    """Whether the order of a list can matter to it: it compares."""
    return bool(_COMPARES.search(without_texts(rule)))


def compares_plainly(rule: str) -> bool:
    """Whether all that it compares are a field with what it was (`self.a == oldSelf.a`), and values with literals. Then
    lists without order are compared rightly once both are sorted."""
    bare = _PLAIN.sub("", _BEFORE_AND_NOW.sub("", without_texts(rule)))
    return not _COMPARES.search(bare) and "+" not in bare and "[" not in bare and ".map(" not in bare


def joins_lists(rule: str) -> bool:
    """Whether it may join lists, or compare one with a list that it writes itself: sets and maps do that otherwise in
    Kubernetes."""
    bare = without_texts(rule)
    return "+" in bare or bool(re.search(r"[!=]=\s*\[|\]\s*[!=]=|\bin\s*\[\s*\[", bare))


def rules_at(schema: Mapping[str, Any], place: tuple[str, ...] = ()) -> list[Rule]:
    """The rules of a value with this schema, and not of what is in it."""
    listed = schema.get(KEYWORD)
    found = [
        _read_rule(one, schema, place, number)
        for number, one in enumerate(listed if isinstance(listed, list) else ())
        if isinstance(one, Mapping) and isinstance(one.get("rule"), str) and one["rule"].strip()
    ]
    for inner in schema.get("allOf") or () if isinstance(schema.get("allOf"), list) else ():
        if isinstance(inner, Mapping) and isinstance(inner.get(KEYWORD), list):
            found += rules_at({KEYWORD: inner[KEYWORD], "type": schema.get("type", "")}, place)
    return found


def _read_rule(one: Mapping[str, Any], schema: Mapping[str, Any], place: tuple[str, ...], number: int) -> Rule:
    return Rule(
        text=one["rule"],
        message=str(one.get("message") or ""),
        message_text=str(one.get("messageExpression") or ""),
        reason=str(one.get("reason") or REASONS[0]),
        field_path=str(one.get("fieldPath") or ""),
        optional_old=one.get("optionalOldSelf") is True,
        type=str(schema.get("type") or ""),
        place=place,
        number=number,
    )


def find_rules(schema: Mapping[str, Any] | None) -> tuple[Rule, ...]:
    """All rules of a schema, in its order; at most `MOST_RULES` and one."""
    found: list[Rule] = []
    waiting: list[tuple[Any, tuple[str, ...]]] = [(schema, ())]
    while waiting and len(found) <= MOST_RULES:
        one, place = waiting.pop()
        if isinstance(one, Mapping):
            found += rules_at(one, place)
            if len(place) < MOST_LEVELS:
                waiting += reversed([(inner, (*place, step)) for step, inner in inner_schemas(one)])
    return tuple(found[: MOST_RULES + 1])


def inner_schemas(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The schemas of what is in a value, each with its step: the name of a field, `ITEMS` or `VALUES`."""
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        yield from properties.items()
    if isinstance(schema.get("items"), Mapping):
        yield ITEMS, schema["items"]
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield VALUES, schema["additionalProperties"]


def plan_checks(schema: Mapping[str, Any], value: Any, old: Any = None) -> Iterator[Check]:
    """What is to be asked of an object: each rule of each value that is there. A transition rule is asked where there
    is something to compare with, or where its `optionalOldSelf` is true. `old` is None where the object is new."""
    yield from _plan(schema, value, old, (), (), unchanged=old is not None and value == old)


def _plan(
    schema: Mapping[str, Any], value: Any, old: Any, path: Path, place: tuple[str, ...], *, unchanged: bool
) -> Iterator[Check]:
    if value is None or len(path) > MOST_LEVELS:
        return
    for rule in rules_at(schema, place):
        if old is not None or rule.optional_old or not rule.of_change:
            yield Check(rule, path, schema, value, old, unchanged)
    if isinstance(value, Mapping):
        yield from _plan_fields(schema, value, old if isinstance(old, Mapping) else {}, path, place, unchanged)
    elif isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        yield from _plan_items(schema, value, old if isinstance(old, list) else [], path, place, unchanged)


def _plan_fields(
    schema: Mapping[str, Any],
    value: Mapping[str, Any],
    old: Mapping[str, Any],
    path: Path,
    place: tuple[str, ...],
    unchanged: bool,
) -> Iterator[Check]:
    properties, others = schema.get("properties"), schema.get("additionalProperties")
    for name, inner in value.items():
        before = old.get(name)
        same = unchanged or (before is not None and inner == before)
        if isinstance(properties, Mapping) and isinstance(properties.get(name), Mapping):
            yield from _plan(properties[name], inner, before, (*path, name), (*place, name), unchanged=same)
        elif isinstance(others, Mapping):
            yield from _plan(others, inner, before, (*path, Key(name)), (*place, VALUES), unchanged=same)


def _plan_items(
    schema: Mapping[str, Any], value: Sequence[Any], old: Sequence[Any], path: Path, place: tuple[str, ...],
    unchanged: bool,
) -> Iterator[Check]:  # fmt: skip
    # Only items with keys are known again, as in Kubernetes: of a set or another list there is no `oldSelf`.
    keys = map_keys(schema)
    before = {_key_of(one, keys): one for one in old} if keys else {}
    for index, inner in enumerate(value):
        was = before.get(_key_of(inner, keys)) if keys else None
        same = unchanged or (was is not None and inner == was)
        yield from _plan(schema["items"], inner, was, (*path, index), (*place, ITEMS), unchanged=same)


def map_keys(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields by which items of a list of type map are known again; none of another list."""
    if schema.get("x-kubernetes-list-type") != "map":
        return ()
    return tuple(str(key) for key in schema.get("x-kubernetes-list-map-keys") or ())


def _key_of(item: Any, keys: tuple[str, ...]) -> str:
    return repr([item.get(key) for key in keys]) if isinstance(item, Mapping) else repr(item)
