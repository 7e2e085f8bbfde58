"""The rules of `x-kubernetes-validations` in a definition: what is wrong with them before any CEL is read. Pure.

Whether a rule is CEL at all is asked in `objects.cel_child`. Only a write of a definition is refused for it: one that
is stored goes on being served (`schema.cel_rules`).
Source: apiextensions-apiserver, pkg/apis/apiextensions/validation (ValidateCustomResourceDefinitionOpenAPISchema).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from paddock.apiserver.schema import field_errors
from paddock.apiserver.schema.cel_rules import (
    ITEMS,
    KEYWORD,
    MOST_LEVELS,
    REASONS,
    VALUES,
    inner_schemas,
    map_keys,
    uses_old,
)
from paddock.kube.errors import FieldCause


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
