"""As much of PromQL as tells which metrics an expression names, and with which labels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_RANGE = re.compile(r"\[[^\]]*\]")
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_SELECTOR = re.compile(r"\b([a-zA-Z_:][\w:]*)\b\s*(\{[^}]*\})?(?!\s*\()")
_WORDS = frozenset(
    {"and", "or", "unless", "bool", "offset", "by", "without", "on", "ignoring", "group_left", "group_right"}
)


class Selector(NamedTuple):
    """A metric, and the labels that its matchers name."""

    metric: str
    labels: tuple[str, ...]


def read_selectors(expression: str) -> list[Selector]:
    """Every selector of an expression."""
    bare = _GROUPING.sub(" ", _RANGE.sub(" ", _STRING.sub('""', expression)))
    return [
        Selector(found[1], tuple(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", found[2] or "")))
        for found in _SELECTOR.finditer(bare)
        if found[1] not in _WORDS
    ]


def read_groupings(expression: str) -> Iterator[str]:
    """Every label that is grouped or joined by."""
    for found in _GROUPING.finditer(_STRING.sub('""', expression)):
        yield from (label.strip() for label in found[1].split(",") if label.strip())
