"""What a node of a Python program does with `os.environ`. Pure.

`environ` counts by its last name, however it was imported: `os.environ`, `environ`, `env`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from paddock.script.nodes import Nodes


@dataclass(frozen=True, slots=True)
class Uses:
    """What a program does with the variables of its environment, by their names."""

    asked: frozenset[str] = frozenset()
    """Those that it reads, in a line before it sets them, or without setting them."""
    sets: frozenset[str] = frozenset()
    """Those that it sets or deletes, and does not read before."""


_USING: tuple[type[ast.AST], ...] = (ast.Call, ast.Subscript, ast.Assign, ast.AugAssign, ast.Compare, ast.Delete)


def read_uses(nodes: Nodes) -> Uses:
    """What the nodes of a file do. Lines stand for the order of time; a condition around them is not looked at."""
    asked: dict[str, int] = {}
    replaced: dict[str, int] = {}
    for node in nodes.of(*_USING):
        for name in list_asked(node):
            asked[name] = min(node.lineno, asked.get(name, node.lineno))
        last = node.end_lineno or node.lineno
        for name in list_replaced(node):
            replaced[name] = min(last, replaced.get(name, last))
    first = frozenset(name for name, line in asked.items() if line <= replaced.get(name, line)) - {""}
    return Uses(first, frozenset(replaced) - first - {""})


def list_asked(node: ast.AST) -> Iterator[str]:
    """The names of variables that a node reads: `os.environ["LR"]`, `os.environ.get("LR")`, `os.getenv("LR")`, `"LR" in
    os.environ`, `os.path.expandvars("$LR")`, `envvar="LR"` of click and typer; a default that is set for one that is
    not there: `os.environ.setdefault("LR", "1")`."""
    if isinstance(node, ast.Subscript):
        yield find_read(node)
    elif isinstance(node, ast.AugAssign):
        yield from list_set(node.target)
    elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        if is_environ(node.comparators[0]) or is_environ(_owner(node.comparators[0], "keys")):
            yield text_of(node.left)
    elif isinstance(node, ast.Call):
        yield from _list_passed(node)


def _list_passed(call: ast.Call) -> Iterator[str]:
    name = last_of(call.func)
    first = text_of(call.args[0]) if call.args else ""
    if name == "getenv" or is_of_environ(call, "get") or is_of_environ(call, "setdefault"):
        yield first
    elif name == "expandvars":
        yield from re.findall(r"\$\{?(\w+)", first)
    for each in call.keywords:
        if each.arg == "envvar":
            yield from map(text_of, each.value.elts if isinstance(each.value, ast.List | ast.Tuple) else [each.value])


def list_replaced(node: ast.AST) -> Iterator[str]:
    """The names of variables whose values from outside end here: they are set, whatever they were, or deleted."""
    if isinstance(node, ast.Assign | ast.Delete):
        yield from (text_of(each.slice) for each in node.targets
                    if isinstance(each, ast.Subscript) and is_environ(each.value))  # fmt: skip
    elif isinstance(node, ast.Call) and is_of_environ(node, "pop") and node.args:
        yield text_of(node.args[0])
    elif isinstance(node, ast.Call) and last_of(node.func) != "setdefault":
        yield from list_set(node)


def _owner(node: ast.AST, method: str) -> ast.AST:
    """The `x` of `x.method()`; the node itself where it is something else."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method:
        return node.func.value
    return node


def list_set(node: ast.AST) -> Iterator[str]:
    """The names of variables that a node sets: `os.environ["RANK"] = "0"`, `os.environ.setdefault("RANK", "0")`."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and is_environ(node.value):
        yield text_of(node.slice)
    elif isinstance(node, ast.Call) and last_of(node.func) in ("setdefault", "putenv") and node.args:
        yield text_of(node.args[0])
    elif isinstance(node, ast.Call) and is_of_environ(node, "update"):
        yield from (each.arg or "" for each in node.keywords)
        yield from (text_of(key) for each in node.args if isinstance(each, ast.Dict) for key in each.keys if key)


def find_read(node: ast.AST) -> str:
    """The name of `os.environ["RANK"]` where it is read; empty for anything else."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and is_environ(node.value):
        return text_of(node.slice)
    return ""


def is_of_environ(call: ast.Call, method: str) -> bool:
    """`os.environ.get(…)`."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == method and is_environ(call.func.value)


def is_environ(node: ast.AST) -> bool:
    return last_of(node) in ("environ", "env")


def text_of(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def last_of(node: ast.AST) -> str:
    """The last part: `environ` of `os.environ`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
