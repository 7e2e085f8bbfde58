"""What follows from the CEL rules of a custom kind: the fields that are refused, and what is warned of. Pure.

`cel_runner` asks a child process and hands the verdicts in. Rule: only what is surely wrong is refused. A rule that was
not evaluated, for whatever reason, is a warning that names the rule, its place and the reason; the object is taken.
Source: apiextensions-apiserver, pkg/apiserver/schema/cel/validation.go (messages, reasons, ratcheting).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paddock.apiserver.schema import field_errors
from paddock.apiserver.schema.brief import brief_text
from paddock.apiserver.schema.cel_rules import MOST_RULES, Rule
from paddock.kube.errors import FieldCause
from paddock.kube.validation.field_errors import Key, Path

EXTRA = "pip install 'paddock-jobs[cel]'"
MOST_WARNINGS = 10
_NAMED = 3
_PLACE = re.compile(r"^ERROR: <input>:\d+:\d+: | \(in container ''\)$")
_SHOWN_RULE = 120
_SHOWN_REASON = 200


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the child says of one value: `failed`, `error` (the rule itself failed on it), `kept` (failed, but the value
    has not changed) or `unknown`; `detail` is what a `messageExpression` gave, the error, or the reason."""

    kind: str
    rule: int
    path: Path
    detail: str
    value: Any = None
    """What was found, of a value that is no object and no list."""


@dataclass(frozen=True, slots=True)
class Judgement:
    causes: tuple[FieldCause, ...] = ()
    warnings: tuple[str, ...] = ()


NOTHING = Judgement()


def judge(rules: Sequence[Rule], verdicts: Iterable[Verdict]) -> Judgement:
    """`rules` are those of the schema (`find_rules`), to which verdicts refer by number."""
    causes: list[FieldCause] = []
    kept: list[str] = []
    unknown: dict[int, str] = {}
    for verdict in verdicts:
        rule = rules[verdict.rule]
        if verdict.kind == "unknown":
            unknown.setdefault(verdict.rule, verdict.detail)
            continue
        cause = _build_cause(rule, verdict)
        if verdict.kind == "kept":
            kept.append(f"{cause.field or '<root>'}: {cause.message}")
        elif len(causes) < field_errors.MOST_CAUSES:
            causes.append(cause)
    if len(rules) > MOST_RULES:
        unknown.setdefault(MOST_RULES, f"a schema has at most {MOST_RULES} rules here")
    return Judgement(tuple(causes), (*kept[:MOST_WARNINGS], *_explain_unknown(rules, unknown)))


def _build_cause(rule: Rule, verdict: Verdict) -> FieldCause:
    field = field_errors.format_path(verdict.path) + rule.field_path
    field = field if verdict.path else field.removeprefix(".")
    found = f'"{rule.type}"'
    if verdict.kind == "error":
        said = brief_text(f"{verdict.detail} evaluating rule: {rule.said}", field_errors.SHOWN_DETAIL)
        return FieldCause(field, f"Invalid value: {found}: {said}")
    if rule.type not in ("object", "array"):
        found = field_errors.show(verdict.value)
    said = brief_text(verdict.detail or rule.message.strip() or f"failed rule: {rule.said}", field_errors.SHOWN_DETAIL)
    match rule.reason:
        case "FieldValueForbidden":
            return field_errors.forbidden(field, said)
        case "FieldValueRequired":
            return field_errors.required(field, said)
        case "FieldValueDuplicate":
            return FieldCause(field, f"Duplicate value: {found}", "FieldValueDuplicate")
    return FieldCause(field, f"Invalid value: {found}: {said}")


def _explain_unknown(rules: Sequence[Rule], unknown: Mapping[int, str]) -> list[str]:
    shown = [
        f"{_name(rules[index])} was not evaluated: {_brief(reason)}"
        for index, reason in list(unknown.items())[:MOST_WARNINGS]
    ]
    left = len(unknown) - len(shown)
    return [*shown, f"{left} other rules were not evaluated either"] if left > 0 else shown


def _brief(reason: str) -> str:
    """The first line of what the library says, without its words for places and containers."""
    return brief_text(_PLACE.sub("", reason.partition("\n")[0]), _SHOWN_REASON)


def _name(rule: Rule) -> str:
    text = brief_text(" ".join(rule.text.split()), _SHOWN_RULE)
    return f"rule {text!r} of {rule.shown_place or 'the object'}"


def explain_absence(kind: str, rules: Sequence[Rule]) -> Judgement:
    """No CEL is installed: one warning that names the first rules."""
    named = ", ".join(_name(rule) for rule in rules[:_NAMED])
    more = f" and {len(rules) - _NAMED} more" if len(rules) > _NAMED else ""
    return Judgement(
        warnings=(f"validation rules of {kind} were not evaluated, as CEL is not installed ({EXTRA}): {named}{more}",)
    )


@dataclass(frozen=True, slots=True)
class Expression:
    """A text of CEL in a definition, and where it stands."""

    path: str
    text: str
    type: str  # BOOL or STRING
    optional: bool


def find_expressions(versions: Sequence[Mapping[str, Any]], rules: Sequence[Sequence[Rule]]) -> list[Expression]:
    """What is to be compiled of the versions of a definition, each with its rules."""
    found = []
    for index, (_, listed) in enumerate(zip(versions, rules, strict=True)):
        for rule in listed[:MOST_RULES]:
            path = f"spec.versions[{index}].schema.openAPIV3Schema{rule.path}"
            found.append(Expression(f"{path}.rule", rule.text, "BOOL", rule.optional_old))
            if rule.message_text:
                found.append(Expression(f"{path}.messageExpression", rule.message_text, "STRING", rule.optional_old))
    return found


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an expression was not compiled. `surely`: Kubernetes does not compile it either."""

    expression: int
    detail: str
    surely: bool


def judge_definition(expressions: Sequence[Expression], problems: Iterable[Problem]) -> Judgement:
    causes: list[FieldCause] = []
    warnings: list[str] = []
    for problem in problems:
        one = expressions[problem.expression]
        if problem.surely:
            causes.append(field_errors.invalid(one.path, one.text, f"compilation failed: {problem.detail}"))
        else:
            warnings.append(f"{one.path} is not evaluated here, as it is not understood: {_brief(problem.detail)}")
    return Judgement(tuple(causes[: field_errors.MOST_CAUSES]), tuple(warnings[:MOST_WARNINGS]))


def read_path(path: Iterable[Any]) -> Path:
    """A path as the child writes it."""
    return tuple(Key(step["key"]) if isinstance(step, Mapping) else step for step in path)
