"""The CEL rules of a custom kind (`x-kubernetes-validations`): which there are, and of which values they speak. Pure.

`read_rules` and `find_rules` read a schema alone (`cel_definitions` says what is wrong with its rules); `plan_checks`
walks an object along its schema and says which rule is asked of which value, and what that value was before. Rules are
evaluated in a child process (`objects.cel_child`), which is given values as CEL has them by `schema.cel_values`;
`objects.cel_judge` decides what follows. Rule: a rule that is written wrongly in a stored schema is left out here and
never raises; only the write of a definition refuses it.
Source: Kubernetes, "CustomResourceDefinition: validation rules", and apiextensions-apiserver, pkg/apiserver/schema/cel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
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
# What depends on the place of an item: an index, a list that is made or joined, a function of lists.
_TELLS_ORDER = re.compile(
    r"[+\[]|\.(?:map|join|isSorted|indexOf|lastIndexOf|slice|reverse|first|last|flatten|sort\w*)\("
)
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

    @property
    def path(self) -> str:
        """Where it stands in the schema of a definition, with a dot before it."""
        named = {ITEMS: ".items", VALUES: ".additionalProperties"}
        steps = "".join(named.get(step, f".properties[{step:.200}]") for step in self.place)
        return f"{steps[:1_000]}.{KEYWORD}[{self.number}]"


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
    return not _COMPARES.search(bare) and not _TELLS_ORDER.search(bare)


def joins_lists(rule: str) -> bool:
    """Whether it may join lists, or compare one with a list that it writes itself: sets and maps do that otherwise in
    Kubernetes."""
    bare = without_texts(rule)
    return "+" in bare or bool(re.search(r"[!=]=\s*\[|\]\s*[!=]=|\bin\s*\[\s*\[", bare))


@dataclass(frozen=True, eq=False, slots=True)
class Ruled:
    """The part of a schema that has rules: those of a value, and of what is in it by its step."""

    schema: Mapping[str, Any]
    rules: tuple[Rule, ...]
    inner: tuple[tuple[str, Ruled], ...]


def read_rules(schema: Any) -> tuple[Ruled, ...]:
    """The rules of a value with this schema: one part for the schema itself, and one for each schema in its `allOf`."""
    return tuple(_read_nodes(schema, schema, ())) if has_rules(schema) else ()


def has_rules(schema: Any) -> bool:
    """Whether `KEYWORD` stands anywhere in a schema. Most kinds have no rule, and thousands of parts that would be read
    for one: this is a tenth of that."""
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if not isinstance(one, dict):
            continue
        if KEYWORD in one:
            return True
        properties, joined = one.get("properties"), one.get("allOf")
        if isinstance(properties, dict):
            waiting.extend(properties.values())
        if isinstance(joined, list):
            waiting.extend(joined)
        waiting += one.get("items"), one.get("additionalProperties")
    return False


def _read_nodes(node: Any, schema: Any, place: tuple[str, ...], level: int = 0) -> Iterator[Ruled]:
    # `node` is the schema of the value, or in the `allOf` of it, where nothing says of which type values are.
    if not isinstance(node, Mapping) or not isinstance(schema, Mapping) or level > MOST_LEVELS:
        return
    types = dict(inner_schemas(schema))
    inner = tuple(
        (step, ruled)
        for step, one in inner_schemas(node)
        if step in types
        for ruled in _read_nodes(one, types[step], (*place, step), level + 1)
    )
    rules = tuple(_read_list(node, schema, place))
    if rules or inner:
        yield Ruled(schema, rules, inner)
    joined = node.get("allOf")
    for one in joined if isinstance(joined, list) else ():
        yield from _read_nodes(one, schema, place, level + 1)


def _read_list(node: Mapping[str, Any], schema: Mapping[str, Any], place: tuple[str, ...]) -> Iterator[Rule]:
    listed = node.get(KEYWORD)
    for number, one in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(one, Mapping) and isinstance(one.get("rule"), str) and one["rule"].strip():
            yield _read_rule(one, schema, place, number)


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
    return tuple(islice(_flatten(read_rules(schema)), MOST_RULES + 1))


def _flatten(parts: Iterable[Ruled]) -> Iterator[Rule]:
    for part in parts:
        yield from part.rules
        yield from _flatten(inner for _, inner in part.inner)


def inner_schemas(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The schemas of what is in a value, each with its step: the name of a field, `ITEMS` or `VALUES`."""
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        yield from properties.items()
    if isinstance(schema.get("items"), Mapping):
        yield ITEMS, schema["items"]
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield VALUES, schema["additionalProperties"]


def plan_checks(parts: Iterable[Ruled], value: Any, old: Any = None) -> Iterator[Check]:
    """What is to be asked of an object: each rule of each value that is there. A transition rule is asked where there
    is something to compare with, or where its `optionalOldSelf` is true. `old` is None where the object is new."""
    for part in parts:
        yield from _plan(part, value, old, (), unchanged=old is not None and value == old)


def _plan(part: Ruled, value: Any, old: Any, path: Path, *, unchanged: bool) -> Iterator[Check]:
    if value is None:
        return
    for rule in part.rules:
        if old is not None or rule.optional_old or not rule.of_change:
            yield Check(rule, path, part.schema, value, old, unchanged)
    for step, inner in part.inner:
        for one, before, name in _values_at(part.schema, step, value, old):
            same = (unchanged or (before is not None and one == before)) and (path, step) not in _OF_THE_TYPE
            yield from _plan(inner, one, before, (*path, name), unchanged=same)


_OF_THE_TYPE = (((), "apiVersion"), ((), "kind"))
"""What has changed where it has not: old and new are told in the same version."""


def _values_at(schema: Mapping[str, Any], step: str, value: Any, old: Any) -> Iterator[tuple[Any, Any, str | int]]:
    """The values in a value to which a schema in its schema belongs, each with what it was and its step of the path."""
    properties = schema.get("properties")
    named = properties if isinstance(properties, Mapping) else {}
    if isinstance(value, Mapping):
        before = old if isinstance(old, Mapping) else {}
        if step == VALUES:
            yield from ((one, before.get(name), Key(name)) for name, one in value.items() if name not in named)
        elif step in value and step in named:
            yield value[step], before.get(step), step
    elif isinstance(value, list) and step == ITEMS:
        # Only items with keys are known again, as in Kubernetes: of a set or another list there is no `oldSelf`.
        keys = map_keys(schema)
        known = {_key_of(one, keys): one for one in old} if keys and isinstance(old, list) else {}
        for index, one in enumerate(value):
            yield one, known.get(_key_of(one, keys)) if keys else None, index


def map_keys(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields by which items of a list of type map are known again; none of another list."""
    if schema.get("x-kubernetes-list-type") != "map":
        return ()
    return tuple(str(key) for key in schema.get("x-kubernetes-list-map-keys") or ())


def _key_of(item: Any, keys: tuple[str, ...]) -> str:
    return repr([item.get(key) for key in keys]) if isinstance(item, Mapping) else repr(item)
