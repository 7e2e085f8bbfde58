"""Reads the text of a Python script: whether it is Python, what it imports, whether it reads standard input.

Pure: the text is parsed and never run. It is parsed by the Python that runs this; a script for a later Python may be
correct all the same (`cli.submit.script.files` decides).
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

from paddock.script.environ import Uses, read_uses
from paddock.script.joining import Steps, read_steps
from paddock.script.nodes import Nodes, list_children

_TRAINER_ID = "PADDLE_TRAINER_ID"
_CONDITIONS = (ast.If, ast.IfExp, ast.Try, ast.BoolOp, ast.Match, ast.While)
LARGEST = 2**20
"""Bytes of a script that is read; a larger one is not judged."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a look into a script tells."""

    line: int = 0
    """Of a syntax error, from 1; 0 without one."""
    text: str = ""
    """Of a syntax error; empty without one."""
    problem: str = ""
    """Of a syntax error; empty without one."""
    modules: frozenset[str] = frozenset()
    """All imported modules, and the names that are taken of them, which may be modules: `pkg.net`; with the dots of a
    relative import before them: `.net`, `..data.reader`."""
    reads_stdin: bool = False
    """It calls input() or uses sys.stdin."""
    starts_workers: bool = False
    """It calls `init_worker` of parameter servers."""
    waits: bool = False
    """It looks at the addresses of parameter servers."""
    trainer_id: int = 0
    """The line of a read of PADDLE_TRAINER_ID that fails where there is none, and that no condition guards; 0 without
    one."""
    second_stage: str = ""
    """The device that `device_guard` marks layers for, so that heter ranks compute them; empty without one."""
    steps: Steps = field(default_factory=Steps)
    """What it does about a process group of PyTorch."""
    uses: Uses = field(default_factory=Uses)
    """What it does with variables of its environment."""
    is_read: bool = True
    """False where nothing is known of it: it is too large or too deep, or cannot be read."""

    @property
    def imports(self) -> frozenset[str]:
        """The first parts of all imported modules, but for relative ones."""
        return frozenset(name.partition(".")[0] for name in self.modules) - {""}


def read_source(content: bytes) -> Source:
    """What a look into this text tells. Nothing is known of one that is too large or too deep."""
    if len(content) > LARGEST:
        return Source(is_read=False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape is the interpreter's to warn of
            tree = ast.parse(content)
    except SyntaxError as error:
        return Source(error.lineno or 1, (error.text or "").strip(), error.msg, is_read=False)
    except ValueError as error:  # a NUL byte, in Python 3.11
        return Source(1, "", str(error), is_read=False)
    except (RecursionError, MemoryError):
        return Source(is_read=False)
    nodes = Nodes(tree)
    names = {node.id for node in nodes.of(ast.Name)}
    attributes = {node.attr for node in nodes.of(ast.Attribute)}
    return Source(
        modules=frozenset(name for node in nodes.of(ast.Import, ast.ImportFrom) for name in _read_modules(node)),
        reads_stdin=any(map(_reads_stdin, nodes.of(ast.Call, ast.Attribute))),
        starts_workers="init_worker" in attributes,
        waits=bool({"server_endpoints", "create_connection"} & (attributes | names)),
        trainer_id=_find_trainer_id(tree) if _TRAINER_ID.encode() in content else 0,
        second_stage=next(filter(None, map(_read_stage, nodes.of(ast.Call))), ""),
        steps=read_steps(tree, nodes),
        uses=read_uses(nodes),
    )


def _find_trainer_id(tree: ast.AST) -> int:
    """The first line that a rank without the variable cannot pass. Below a condition or a `try` it is not known who
    comes there."""
    lines, left = [], [tree]
    while left:
        node = left.pop()
        if _sets_trainer_id(node):
            return 0
        if isinstance(node, ast.expr) and _needs_trainer_id(node):
            lines.append(node.lineno)
        if not isinstance(node, _CONDITIONS):
            left.extend(list_children(node))
    return min(lines, default=0)


def _sets_trainer_id(node: ast.AST) -> bool:
    """`os.environ["PADDLE_TRAINER_ID"] = …`, and `os.environ.setdefault("PADDLE_TRAINER_ID", …)`."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Store) and _is_text(node.slice, _TRAINER_ID)
    if not isinstance(node, ast.Call) or not node.args:
        return False
    return _name(node.func) == "setdefault" and _is_text(node.args[0], _TRAINER_ID)


def _needs_trainer_id(node: ast.AST) -> bool:
    """`os.environ["PADDLE_TRAINER_ID"]`, and a number of `os.getenv("PADDLE_TRAINER_ID")`."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Load) and _is_text(node.slice, _TRAINER_ID) and _name(node.value) == "environ"
    if not (isinstance(node, ast.Call) and _name(node.func) == "int" and len(node.args) == 1):
        return False
    read = node.args[0]
    return (
        isinstance(read, ast.Call)
        and _name(read.func) in ("getenv", "get")
        and len(read.args) == 1
        and not read.keywords
        and _is_text(read.args[0], _TRAINER_ID)
    )


def _read_stage(node: ast.Call) -> str:
    """The device of `device_guard("gpu")`; the first stage is that of the CPU."""
    if _name(node.func) != "device_guard" or not node.args:
        return ""
    device = node.args[0]
    if not isinstance(device, ast.Constant) or not isinstance(device.value, str) or device.value.startswith("cpu"):
        return ""
    return device.value


def _is_text(node: ast.AST, text: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == text


def _name(node: ast.AST) -> str:
    """The last part: `environ` of `os.environ`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _read_modules(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    else:
        of = "." * node.level + (node.module or "")
        yield of
        yield from (f"{of}{'.' if node.module else ''}{alias.name}" for alias in node.names if alias.name != "*")


def _reads_stdin(node: ast.Call | ast.Attribute) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "input"
    return node.attr == "stdin" and isinstance(node.value, ast.Name) and node.value.id == "sys"
