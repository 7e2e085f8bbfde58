"""Reads the text of a Python script: whether it is Python, what it imports, whether it reads standard input.

Pure: the text is parsed and never run. It is parsed by the Python that runs this; a script for a later Python may be
correct all the same (`cli.submit.script.files` decides).
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass

LARGEST = 2**20
"""Bytes of a script that is read; a larger one is not judged."""


@dataclass(frozen=True, slots=True)
class Source:
    """`line` (from 1), `text` and `problem` of a syntax error; 0 and empty without one. `imports`: the first parts of
    all imported modules. `reads_stdin`: it calls input() or uses sys.stdin. `starts_workers` and `waits`: it calls
    `init_worker` of parameter servers, and looks at their addresses."""

    line: int = 0
    text: str = ""
    problem: str = ""
    imports: frozenset[str] = frozenset()
    reads_stdin: bool = False
    starts_workers: bool = False
    waits: bool = False


def read_source(content: bytes) -> Source:
    """Of a text that is too large or too deep nothing is known."""
    if len(content) > LARGEST:
        return Source()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape is the interpreter's to warn of
            tree = ast.parse(content)
    except SyntaxError as error:
        return Source(error.lineno or 1, (error.text or "").strip(), error.msg)
    except ValueError as error:  # a NUL byte, in Python 3.11
        return Source(1, "", str(error))
    except (RecursionError, MemoryError):
        return Source()
    nodes = tuple(ast.walk(tree))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return Source(
        imports=frozenset(name for node in nodes for name in _read_imports(node)),
        reads_stdin=any(_reads_stdin(node) for node in nodes),
        starts_workers="init_worker" in attributes,
        waits=bool({"server_endpoints", "create_connection"} & (attributes | names)),
    )


def _read_imports(node: ast.AST) -> tuple[str, ...]:
    if isinstance(node, ast.Import):
        return tuple(alias.name.partition(".")[0] for alias in node.names)
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return (node.module.partition(".")[0],)
    return ()


def _reads_stdin(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "input"
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "stdin"
        and isinstance(node.value, ast.Name)
        and node.value.id == "sys"
    )
