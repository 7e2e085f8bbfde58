"""The rules of `x-kubernetes-validations` in a definition: what is wrong with them before any CEL is read. Pure.

Whether a rule is CEL at all is asked in `objects.cel_child`. Only a write of a definition is refused for it: one that
is stored goes on being served (`schema.cel_rules`).
Source: apiextensions-apiserver, pkg/apis/apiextensions/validation (ValidateCustomResourceDefinitionOpenAPISchema).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from paddock.apiserver.schema import field_errors
from paddock.apiserver.schema.cel_rules import (
    ITEMS,
    KEYWORD,
    MOST_LEVELS,
    REASONS,
    VALUES,
    Rule,
    Ruled,
    has_rules,
    inner_schemas,
    map_keys,
    read_rules,
    uses_old,
    without_texts,
)
from paddock.apiserver.schema.cel_values import escape
from paddock.kube.errors import FieldCause
from paddock.kube.nearness import nearest

_MOST_NAMED = 100
"""Of one rule: what is named after it is found when an object is read."""


def explain_definition(schema: Mapping[str, Any], path: str) -> Iterator[FieldCause]:
    """All that is wrong with the rules of a schema and needs no CEL to be found; `path` is the schema's."""
    if not has_rules(schema):
        return
    yield from explain_rules(schema, path)
    yield from explain_fields(read_rules(schema), path)


def explain_rules(schema: Mapping[str, Any], path: str) -> Iterator[FieldCause]:
    """The errors of the rules of a schema that need no CEL to be found; `path` is the schema's in the definition."""
    waiting: list[tuple[Any, str, bool, int]] = [(schema, path, True, 0)]
    while waiting:
        one, here, known_again, level = waiting.pop()
        if not isinstance(one, Mapping) or level > MOST_LEVELS:
            continue
        yield from _explain_list(one.get(KEYWORD), f"{here}.{KEYWORD}", known_again)
        for step, inner in inner_schemas(one):
            named = {ITEMS: "items", VALUES: "additionalProperties"}.get(step, f"properties[{step:.200}]")
            known = known_again and (step != ITEMS or bool(map_keys(one)))
            waiting.append((inner, f"{here}.{named}"[:1_000], known, level + 1))


def explain_fields(parts: Iterable[Ruled], path: str) -> Iterator[FieldCause]:
    """The fields that rules name and the schema does not have: Kubernetes' compiler knows the types of all values."""
    for part in parts:
        for rule in part.rules:
            for name, known in _undefined(rule, part.schema):
                near = nearest(name, known)
                hint = f" (did you mean {near!r}?)" if near else ""
                detail = f"compilation failed: undefined field {name!r}{hint}"
                yield field_errors.invalid(f"{path}{rule.path}.rule", rule.text, detail)
        yield from explain_fields((inner for _, inner in part.inner), path)


# `self.a.b`, and `self.a` of `self.a.size()`: what follows a call or an index is of a type that is not read here.
_NAMED = re.compile(r"(?<![\w.])(self|oldSelf)((?:\.[a-zA-Z_]\w*)+)(\s*\()?")
_SHADOWED = re.compile(r"\b(?:self|oldSelf)\s*,")


def _undefined(rule: Rule, schema: Mapping[str, Any]) -> Iterator[tuple[str, frozenset[str]]]:
    bare = without_texts(rule.text)
    if _SHADOWED.search(bare):
        return
    for found in islice(_NAMED.finditer(bare), _MOST_NAMED):
        names = found[2].split(".")[1:]
        if found[1] == "oldSelf" and rule.optional_old:
            continue
        if (missing := _find_missing(names[:-1] if found[3] else names, schema, root=not rule.place)) is not None:
            yield missing


def _find_missing(names: Sequence[str], schema: Mapping[str, Any], *, root: bool) -> tuple[str, frozenset[str]] | None:
    """The first of these names that the schema does not have, and those that it has."""
    one: Any = schema
    for name in names:
        if not isinstance(one, Mapping) or one.get("type") != "object" or one.get("x-kubernetes-int-or-string"):
            return None
        properties, others = one.get("properties") or {}, one.get("additionalProperties")
        if not isinstance(properties, Mapping) or (others and not properties):
            one = others
            continue
        whole = root or one.get("x-kubernetes-embedded-resource")
        known = {alias: inner for field, inner in properties.items() for alias in (escape(field), field) if alias}
        if name not in known:
            identity = frozenset(("apiVersion", "kind", "metadata")) if whole else frozenset[str]()
            return None if name in identity else (name, frozenset(known) | identity)
        one, root = known[name], False
    return None


def _explain_list(listed: Any, path: str, known_again: bool) -> Iterator[FieldCause]:
    if listed is None:
        return
    if not isinstance(listed, list) or not all(isinstance(one, Mapping) for one in listed):
        yield field_errors.wrong_type(path, listed, "must be a list of rules, objects with a `rule`")
        return
    for number, one in enumerate(listed):
        yield from _explain_rule(one, f"{path}[{number}]", known_again)


_TYPES = {
    "rule": str, "message": str, "messageExpression": str, "reason": str, "fieldPath": str, "optionalOldSelf": bool,
}  # fmt: skip


def _explain_rule(one: Mapping[str, Any], path: str, known_again: bool) -> Iterator[FieldCause]:
    for field, value in one.items():
        if (wanted := _TYPES.get(field)) is not None and not isinstance(value, wanted):
            yield field_errors.wrong_type(f"{path}.{field}", value, f"must be a {wanted.__name__}")
            return
    rule, message = str(one.get("rule") or ""), str(one.get("message") or "")
    if not rule.strip():
        yield field_errors.required(f"{path}.rule", "rule is not specified")
        return
    if "message" in one and one["message"] and not message.strip():
        yield field_errors.invalid(f"{path}.message", message, "message must be non-empty if specified")
    elif "\n" in message.strip():
        yield field_errors.invalid(f"{path}.message", message, "message must not contain line breaks")
    elif "\n" in rule.strip() and not message:
        yield field_errors.required(f"{path}.message", "message must be specified if rule contains line breaks")
    if "messageExpression" in one and one["messageExpression"] and not str(one["messageExpression"]).strip():
        yield field_errors.required(f"{path}.messageExpression", "messageExpression must be non-empty if specified")
    if one.get("reason") and one["reason"] not in REASONS:
        yield field_errors.not_supported(f"{path}.reason", one["reason"], REASONS)
    old = uses_old(rule)
    if old and not known_again:
        detail = "oldSelf cannot be used on the uncorrelatable portion of the schema: only items of a list of type map"
        yield field_errors.invalid(f"{path}.rule", rule, f"{detail} are known again")
    if one.get("optionalOldSelf") is True and not old:
        detail = "may not be set if oldSelf is not used in rule"
        yield field_errors.invalid(f"{path}.optionalOldSelf", True, detail)
