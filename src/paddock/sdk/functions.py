"""A Python function -> the script of a job. Reads the function's source and runs nothing of it.

The function runs in another process, which has none of the notebook's names: what it uses must be inside it, as in
Kubeflow's `TrainingClient.train`. A name that is not there is an error here, not after the start of a gang. Annotations
are not evaluated in the script, so they may name anything.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import symtable
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

from paddock.cli.cluster.errors import UserError
from paddock.sdk.literals import NoLiteral, write_literal
from paddock.words.phrases import Phrase, phrase

_OF_A_MODULE = frozenset({"__name__", "__file__", "__doc__", "__builtins__", "__spec__", "__package__", "__loader__"})
_OF_A_NOTEBOOK = frozenset({"display", "get_ipython", "_"})
"""What IPython adds to Python's own names."""


@dataclass(frozen=True, slots=True)
class Script:
    """A function as a program."""

    name: str
    """The function's."""
    text: str
    """The whole program."""


def build_script(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Script:
    """The program that calls `function(*args, **kwargs)`. Raises `UserError` with all that stands in the way."""
    source = read_function(function)
    tree = _parse(function, source)
    problems = list(explain_free_names(find_free_names(tree), function))
    if problems:
        raise UserError(*problems)
    _check_arguments(function, args, kwargs)
    try:
        call = [write_literal(value, f"args[{number}]") for number, value in enumerate(args)]
        call += [f"{name}={write_literal(value, f'kwargs[{name!r}]')}" for name, value in kwargs.items()]
    except NoLiteral as error:
        raise UserError(error.said) from None
    return Script(function.__name__, _TEXT.format(name=function.__name__, source=source, call=", ".join(call)))


_TEXT = '''"""Written by paddock.train: the function {name}, and the call that runs it."""

from __future__ import annotations

{source}

if __name__ == "__main__":
    import os
    import sys

    sys.path.insert(0, os.getcwd())  # as in the notebook; the script itself is elsewhere
    {name}({call})
'''


def read_function(function: Callable[..., Any]) -> str:
    """The source of a plain function, from the left margin. Raises `UserError`."""
    name = getattr(function, "__name__", type(function).__name__)
    if not isinstance(function, FunctionType) or name == "<lambda>":
        raise UserError(phrase("train takes a function made by `def`; {name} is a {type}", name=name,
                               type="lambda" if name == "<lambda>" else type(function).__name__))  # fmt: skip
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(
        function
    ):  # fmt: skip
        raise UserError(phrase("{name} is async or yields, so a call of it trains nothing: a plain function is wanted",
                               name=name))  # fmt: skip
    if function.__closure__:
        names = ", ".join(function.__code__.co_freevars)
        raise UserError(
            phrase("{name} uses {names} of the function that it was made in: give them as arguments, by args= or "
                   "kwargs=", name=name, names=names)
        )  # fmt: skip
    try:
        return textwrap.dedent(inspect.getsource(function)).rstrip()
    except (OSError, TypeError):
        raise UserError(
            phrase("the source of {name} cannot be read: define it in a cell of a notebook or in a file", name=name)
        ) from None


def _parse(function: Callable[..., Any], source: str) -> ast.Module:
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        said = phrase(
            "{name}, line {line}: {problem}: {text} (what only a notebook understands, such as %time and !ls, does not "
            "work in a function that is sent)",
            name=function.__name__, line=error.lineno or 1, problem=error.msg, text=(error.text or "").strip(),
        )  # fmt: skip
        raise UserError(said) from None
    found = tree.body[0] if len(tree.body) == 1 else None
    if not isinstance(found, ast.FunctionDef) or found.name != function.__name__:
        raise UserError(
            phrase("the source of {name} cannot be read: define it in a cell of a notebook or in a file",
                   name=function.__name__)
        )  # fmt: skip
    return tree


class _WithoutAnnotations(ast.NodeTransformer):
    """They are not evaluated, so the names in them need not exist."""

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.returns = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        node.annotation = ast.Constant(None)
        return node


def find_free_names(tree: ast.Module) -> list[str]:
    """The names that the program uses and neither it nor Python defines, in order. The tree is changed."""
    text = ast.unparse(ast.fix_missing_locations(_WithoutAnnotations().visit(tree)))
    tables = list(_walk(symtable.symtable(text, "function", "exec")))
    symbols = [(table, symbol) for table in tables for symbol in table.get_symbols()]
    is_module = {id(table): table.get_type() == "module" for table in tables}
    defined = {
        symbol.get_name()
        for table, symbol in symbols
        if symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
        if is_module[id(table)] or symbol.is_declared_global()
    }
    used = {
        symbol.get_name()
        for table, symbol in symbols
        if symbol.is_referenced() and (symbol.is_global() or is_module[id(table)])
    }
    return sorted(used - defined - (set(dir(builtins)) - _OF_A_NOTEBOOK) - _OF_A_MODULE)


def _walk(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _walk(child)


def explain_free_names(names: Sequence[str], function: Callable[..., Any]) -> Iterator[Phrase]:
    """For each name what to do about it, by what it is in the notebook."""
    known: Mapping[str, Any] = getattr(function, "__globals__", {})
    for name in names:
        value = known.get(name)
        if name not in known:
            todo = phrase("nothing has this name")
        elif isinstance(value, ModuleType):
            way = "" if name == value.__name__ else f" as {name}"
            todo = phrase("write `import {module}` inside it", module=f"{value.__name__}{way}")
        elif getattr(value, "__module__", "__main__") not in ("__main__", getattr(function, "__module__", "")):
            todo = phrase("write `from {module} import {name}` inside it", module=str(value.__module__), name=name)
        elif callable(value):
            todo = phrase("define it inside")
        else:
            todo = phrase("give it as an argument, by args= or kwargs=")
        yield phrase("{function} uses {name}, which is not inside it: {todo}", function=function.__name__, name=name,
                     todo=todo)  # fmt: skip


def _check_arguments(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        raise UserError(phrase("{name}: {problem}", name=f"{function.__name__}()", problem=str(error))) from None
