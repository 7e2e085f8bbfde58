"""The nodes of a parsed Python program, by their kinds. Pure.

A command may read a hundred modules, and the library's `ast.walk`, asked anew by each reader, takes longer for them
than the parser does.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

_LEAVES = (ast.Constant, ast.Name)


def list_children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below, but for those that have no parts and say nothing by themselves, as `Load` and `Add`."""
    found: list[ast.AST] = []
    if isinstance(node, _LEAVES):
        return found
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [each for each in value if isinstance(each, ast.AST) and each._fields]
        elif isinstance(value, ast.AST) and value._fields:
            found.append(value)
    return found


def list_nodes(tree: ast.AST) -> list[ast.AST]:
    """The tree itself and all below, level by level. No tree is too deep for it."""
    found = [tree]
    for node in found:  # which grows meanwhile
        found += list_children(node)
    return found


class Nodes:
    """All nodes of a tree, which is walked once."""

    def __init__(self, tree: ast.AST) -> None:
        self._by_kind: dict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        for node in list_nodes(tree):
            self._by_kind[type(node)].append(node)

    def of(self, *kinds: type[ast.AST]) -> Iterator[Any]:
        """Those of these kinds, one kind after the other."""
        for kind in kinds:
            yield from self._by_kind.get(kind, ())
