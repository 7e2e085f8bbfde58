"""Label and field selectors as predicates.

Grammar: apimachinery, labels.Parse (`a=b`, `a==b`, `a!=b`, `a>1`, `a<1`, `a in (x,y)`, `a notin (x)`, `a`,
`!a`) and
fields.ParseSelector (`a=b`, `a==b`, `a!=b`). Terms are joined by commas and must all hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sized
from typing import Any

from paddock.kube.validation.names import check_qualified_name

_WHOLE = re.compile("-?[0-9]{1,18}")
Predicate = Callable[[Mapping[str, Any]], bool]

MOST_TERMS = 250
"""Of one selector: a watch asks each of them about each change."""

# Possessive: spaces that were read are never given back, so that a selector is read in one go.
_TERM = re.compile(
    r"\s*+(?:!\s*+(?P<absent>[\w./-]++)"
    r"|(?P<key>[\w./-]++)\s*+(?:(?P<op>==|=|!=|>|<)\s*+(?P<value>[\w./:-]*+)"
    r"|(?P<set>in|notin)\s*+\((?P<values>[^()]*+)\))?+)\s*+(?:,|$)"
)


def match_labels(selector: str) -> Predicate:
    """A predicate over labels. `ValueError` names the part that is not a selector."""
    terms: list[Predicate] = []
    position = 0
    while position < len(selector.rstrip()):
        match = _TERM.match(selector, position)
        if match is None or match.end() == position:
            raise ValueError(f"unable to parse requirement: found {selector[position:]!r} in {selector!r}")
        terms.append(_label_term(match))
        position = match.end()
        _check_count(terms)
    if selector.rstrip().endswith(","):
        raise ValueError(f"found '', expected: identifier after ',' in {selector!r}")
    return lambda labels: all(term(labels) for term in terms)


def _label_term(match: re.Match[str]) -> Predicate:
    _check_key(match["absent"] or match["key"])
    if absent := match["absent"]:
        return lambda labels: absent not in labels
    key, op = str(match["key"]), match["op"] or match["set"]
    if op in (">", "<"):
        return _compare(key, op, match["value"])
    if op in ("=", "=="):
        value = match["value"]
        return lambda labels: labels.get(key) == value
    # As in Kubernetes, != and notin also select objects without the label.
    if op == "!=":
        value = match["value"]
        return lambda labels: labels.get(key) != value
    if op is None:
        return lambda labels: key in labels
    values = {value.strip() for value in match["values"].split(",")}
    if op == "in":
        return lambda labels: labels.get(key) in values
    return lambda labels: labels.get(key) not in values


def _check_key(key: str) -> None:
    if any(check_qualified_name(key)):
        raise ValueError(f"unable to parse requirement: invalid label key {key!r}: a key is `name` or `prefix/name`")


def _compare(key: str, operator: str, text: str) -> Predicate:
    """Of labels whose value is a whole number; others are not selected."""
    if not _WHOLE.fullmatch(text):
        raise ValueError(
            f"unable to parse requirement: {key}{operator}{text}: for '{operator}' the value is a whole number"
        )
    bound = int(text)

    def holds(labels: Mapping[str, Any]) -> bool:
        found = str(labels.get(key, ""))
        return bool(_WHOLE.fullmatch(found)) and (int(found) > bound if operator == ">" else int(found) < bound)

    return holds


def match_selector(selector: Mapping[str, Any]) -> Predicate:
    """A predicate over labels from a metav1.LabelSelector (`matchLabels`, `matchExpressions`); empty matches all."""
    wanted: Mapping[str, str] = selector.get("matchLabels") or {}
    expressions = selector.get("matchExpressions") or ()

    def holds(labels: Mapping[str, Any]) -> bool:
        return all(labels.get(key) == value for key, value in wanted.items()) and all(
            _expression(expression, labels) for expression in expressions
        )

    return holds


def _expression(expression: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    key, operator, values = str(expression.get("key")), expression.get("operator"), expression.get("values") or ()
    if operator == "In":
        return labels.get(key) in values
    if operator == "NotIn":
        return labels.get(key) not in values
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    raise ValueError(f"operator {operator!r} of a label selector: In, NotIn, Exists or DoesNotExist")


def read_fields(selector: str) -> list[tuple[str, bool, str]]:
    """The terms of a field selector: (path, equal, value)."""
    terms = []
    for term in filter(None, (part.strip() for part in selector.split(","))):
        path, operator, value = _split_field(term)
        terms.append((path, operator != "!=", value))
        _check_count(terms)
    return terms


def _check_count(terms: Sized) -> None:
    if len(terms) > MOST_TERMS:
        raise ValueError(f"a selector has at most {MOST_TERMS} requirements; `key in (a,b)` is one")


def _split_field(term: str) -> tuple[str, str, str]:
    for operator in ("!=", "==", "="):
        if operator in term:
            path, value = term.split(operator, 1)
            return path.strip(), operator, value.strip()
    raise ValueError(f"invalid field selector: found {term!r}, wanted path=value or path!=value")


def match_fields(selector: str) -> Predicate:
    """A predicate over objects. Paths are dotted (`metadata.name`, `involvedObject.uid`); a missing field is ''."""
    terms = read_fields(selector)
    return lambda obj: all((_value_at(obj, path) == value) is equal for path, equal, value in terms)


def _value_at(obj: Any, path: str) -> str:
    for part in path.split("."):
        obj = obj.get(part) if isinstance(obj, Mapping) else None
    return "" if obj is None else str(obj)
