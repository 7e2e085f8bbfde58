"""Whether a program of PyTorch joins a process group without asking first if there is one to join. Pure.

`init_process_group` reads RANK, WORLD_SIZE and MASTER_ADDR and fails without them. Programs that run alone as well look
for these first: nanoGPT (`int(os.environ.get("RANK", -1)) != -1`), torchvision's references (`"RANK" in os.environ`).
With them, one that expects a launcher goes on to LOCAL_RANK; so a worker that is alone gets none unless the program
needs them.

It is read, not run: a call is guarded by a condition around it, around the calls of its function, or before it with a
way out, where that condition looks like one about ranks. Functions of all files are told apart by their names alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from paddock.script.environ import find_read, is_environ, is_of_environ, last_of, list_set, text_of
from paddock.script.nodes import Nodes, list_children, list_nodes

JOINS = frozenset({"init_process_group", "init_device_mesh", "init_rpc"})
"""Functions of torch.distributed that read the variables, where no group is there."""
_NEEDED = frozenset({"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
_ASKED = _NEEDED | {"LOCAL_RANK", "GROUP_RANK", "LOCAL_WORLD_SIZE"}
_ABOUT_RANKS = re.compile(
    r"rank|world|ddp|fsdp|dist(?!ance|ill)|parallel|multi|gpus|n_?gpu|nproc|launch|elastic|slurm|nodes|nnode",
    re.IGNORECASE,
)
"""Words of a condition that decides by ranks; `is_initialized` and `is_available` are none."""
_OF_GROUPS = re.compile(
    r"distributed|init_parallel_env|fleet|hapi|spawn|rpc|horovod|hvd|subprocess|importlib|runpy|popen|^system$|^exec",
    re.IGNORECASE,
)
"""Names of what makes a group or is in one, and of what starts a program or a module that is not read."""
_RUNS = frozenset({"exec", "eval", "__import__"})
_NAMING: tuple[type[ast.AST], ...] = (ast.Import, ast.ImportFrom, ast.Name, ast.Attribute, ast.Constant)
_TOP = ""
_JOIN = "<join>"
"""Stands for a call of `JOINS`, and for a read of RANK that fails without it."""


class Joins(StrEnum):
    """What a program does about a process group."""

    NEVER = "never"
    ASKS = "asks"
    """It joins one if variables of ranks are set."""
    ALWAYS = "always"
    """It joins one, or may, without asking for them."""


@dataclass(frozen=True, slots=True)
class Steps:
    """What one file does, by the name of the function; `` for the file itself."""

    sure: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The functions that it calls or hands on under no condition about ranks."""
    guarded: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Those under one."""
    asks: bool = False
    """It looks whether one of the variables is set."""
    speaks: bool = False
    """It names something of a process group, or something by which one could be joined that is not read."""


def read_steps(tree: ast.AST, nodes: Nodes) -> Steps:
    """The steps of a file. `nodes`: all of its tree. Of one that is too deep it is taken that it may join."""
    reader = _Reader(nodes)
    try:
        reader.read_body(getattr(tree, "body", []), _TOP, guarded=False)
    except RecursionError:
        return Steps({_TOP: frozenset({_JOIN})}, speaks=True)
    return Steps(
        {name: frozenset(found) for name, found in reader.sure.items()},
        {name: frozenset(found) for name, found in reader.guarded.items()},
        reader.asks,
        reader.speaks,
    )


def judge(steps: Iterable[Steps]) -> Joins:
    """What a program of these files does. Linear in what they call."""
    sure: dict[str, set[str]] = {}
    names: set[str] = set()
    asks = False
    for each in steps:
        asks = asks or each.asks
        for name, found in each.sure.items():
            sure.setdefault(name, set()).update(found)
            names |= found
        for found in each.guarded.values():
            names |= found
    if _JOIN not in names:
        return Joins.NEVER
    reached, waiting = {_TOP}, [_TOP]
    while waiting:
        for name in sure.get(waiting.pop(), set()) - reached:
            reached.add(name)
            waiting.append(name)
    return Joins.ASKS if asks and _JOIN not in reached else Joins.ALWAYS


class _Reader:
    """Walks the statements of a file once."""

    def __init__(self, nodes: Nodes) -> None:
        self.sure: dict[str, set[str]] = {}
        self.guarded: dict[str, set[str]] = {}
        self.asks = any(map(_asks, nodes.of(ast.Compare, ast.Call)))
        names = {name for node in nodes.of(*_NAMING) for name in _list_names(node)}
        self.speaks = self.asks or any(map(_OF_GROUPS.search, names))
        self._sets = {name for node in nodes.of(ast.Subscript, ast.Call) for name in list_set(node)}
        self._from_asking = {
            last_of(target)
            for node in (nodes.of(ast.Assign, ast.AnnAssign, ast.NamedExpr) if self.asks else ())
            if node.value is not None and any(map(_asks, list_nodes(node.value)))
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        } - {""}

    def read_body(self, body: Iterable[ast.stmt], scope: str, *, guarded: bool) -> None:
        for statement in body:
            self._read_statement(statement, scope, guarded=guarded)
            # what follows a way out is reached only where the condition said so
            if isinstance(statement, ast.If) and self._is_about_ranks(statement.test) and _leaves(statement):
                guarded = True

    def _read_statement(self, node: ast.stmt, scope: str, *, guarded: bool) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self._read_function(node, node.name, scope, guarded=guarded)
        elif isinstance(node, ast.ClassDef):
            for each in node.body:
                name = getattr(each, "name", "")
                if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                    self._read_function(each, node.name if name in ("__init__", "__post_init__") else name, scope,
                                        guarded=guarded)  # fmt: skip
                else:
                    self._read_statement(each, scope, guarded=guarded)
        elif isinstance(node, ast.If):
            inner = guarded or self._is_about_ranks(node.test)
            self._read_expression(node.test, scope, guarded=guarded)
            self.read_body(node.body, scope, guarded=inner)
            self.read_body(node.orelse, scope, guarded=inner)
        else:
            self._read_parts(node, scope, guarded=guarded)

    def _read_parts(self, node: ast.AST, scope: str, *, guarded: bool) -> None:
        for _, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                self.read_body(value, scope, guarded=guarded)
            elif isinstance(value, list) and value and isinstance(value[0], ast.excepthandler | ast.match_case):
                for each in value:
                    self.read_body(each.body, scope, guarded=guarded)
            else:
                for each in value if isinstance(value, list) else [value]:
                    if isinstance(each, ast.AST):
                        self._read_expression(each, scope, guarded=guarded)

    def _read_function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, name: str, scope: str, *, guarded: bool
    ) -> None:
        for decorator in node.decorator_list:
            self._read_expression(decorator, scope, guarded=guarded)
        if node.decorator_list:  # what a decorator does with it is not known: it may be called (hydra, click)
            self._add(name, scope, guarded=guarded)
        self.read_body(node.body, name, guarded=False)

    def _read_expression(self, node: ast.AST, scope: str, *, guarded: bool) -> None:
        waiting = [(node, guarded)]
        while waiting:
            found, under = waiting.pop()
            if isinstance(found, ast.Name | ast.Attribute):
                if isinstance(found.ctx, ast.Load):
                    self._add(last_of(found), scope, guarded=under)
                if isinstance(found, ast.Attribute):
                    waiting.append((found.value, under))
                continue
            if isinstance(found, ast.Constant):
                continue
            if isinstance(found, ast.IfExp):
                inner = under or self._is_about_ranks(found.test)
                waiting += [(found.test, under), (found.body, inner), (found.orelse, inner)]
                continue
            if isinstance(found, ast.BoolOp):
                inner = under or self._is_about_ranks(found.values[0])
                waiting += [(found.values[0], under), *((each, inner) for each in found.values[1:])]
                continue
            if isinstance(found, ast.Call) and last_of(found.func) in JOINS:
                if not self._has_its_own(found):
                    self._add(_JOIN, scope, guarded=under)
            elif find_read(found) in _NEEDED - self._sets:
                self._add(_JOIN, scope, guarded=under)
            waiting += [(each, under) for each in list_children(found)]

    def _add(self, name: str, scope: str, *, guarded: bool) -> None:
        if name not in JOINS:
            (self.guarded if guarded else self.sure).setdefault(scope, set()).add(name)

    def _has_its_own(self, call: ast.Call) -> bool:
        """Whether the call, or its file, says what the variables would."""
        given = {each.arg: each.value for each in call.keywords if each.arg}
        if last_of(call.func) == "init_process_group" and {"rank", "world_size"} <= given.keys():
            place = text_of(given["init_method"]) if "init_method" in given else ""
            return "MASTER_ADDR" in self._sets or bool(place and not place.startswith("env:")) or "store" in given
        return "RANK" in self._sets

    def _is_about_ranks(self, test: ast.expr) -> bool:
        bases = {id(node.value) for node in list_nodes(test) if isinstance(node, ast.Attribute)}
        for node in list_nodes(test):
            word = text_of(node)
            if isinstance(node, ast.Attribute) or (isinstance(node, ast.Name) and id(node) not in bases):
                word = last_of(node) if id(node) not in bases else ""
            if word and (word in self._from_asking or _ABOUT_RANKS.search(word)):
                return True
        return False


def _list_names(node: ast.AST) -> Iterator[str]:
    """What a node names; a text may name a module. PaddlePaddle's `Model` joins by itself."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        module = getattr(node, "module", None) or ""
        yield from (module, *(each.name for each in node.names))
        if module.partition(".")[0] == "paddle" and any(each.name == "Model" for each in node.names):
            yield "hapi"
    elif isinstance(node, ast.Name) and node.id in _RUNS:
        yield "exec"
    elif name := last_of(node):
        yield (
            "hapi" if name == "Model" and isinstance(node, ast.Attribute) and last_of(node.value) == "paddle" else name
        )
    elif " " not in (text := text_of(node)):
        yield text


def _leaves(node: ast.If) -> bool:
    """Whether a branch ends the function, or the program."""
    waiting: list[ast.AST] = [*node.body, *node.orelse]
    while waiting:
        found = waiting.pop()
        if isinstance(found, ast.Return | ast.Raise):
            return True
        if isinstance(found, ast.Call) and last_of(found.func) in ("exit", "quit", "_exit"):
            return True
        if not isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting += list_children(found)
    return False


def _asks(node: ast.AST) -> bool:
    """`"RANK" in os.environ`, `os.environ.get("RANK")`, `os.getenv("RANK", …)`, `is_torchelastic_launched()`."""
    if isinstance(node, ast.Compare):
        return (
            isinstance(node.ops[0], ast.In | ast.NotIn)
            and text_of(node.left) in _ASKED
            and (is_environ(node.comparators[0]) or last_of(getattr(node.comparators[0], "func", node)) == "keys")
        )
    if not isinstance(node, ast.Call):
        return False
    name = last_of(node.func)
    if name == "is_torchelastic_launched":
        return True
    reads = name == "getenv" or is_of_environ(node, "get")
    return reads and bool(node.args) and text_of(node.args[0]) in _ASKED
