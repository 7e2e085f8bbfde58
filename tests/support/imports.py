"""What a Python file says of other modules: its imports, and the names of modules in its texts.

`read_facts` reads one file and knows no other file, so that its answer can be kept as long as the file stays as it is.
`support.selection` puts the facts of all files together.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TOP = ""
"""The part of a module that runs when it is imported."""
LATER = "later"
"""The part that runs later: what functions do that are no fixtures."""
TYPES = "TYPE_CHECKING"
"""The part that no interpreter runs."""

_DOTTED = re.compile(r"[A-Za-z_]\w*(\.\w+)+\.?|[A-Za-z_]\w*\.")
_OF_PADDOCK = re.compile(r"\bpaddock(?:\.\w+)+(?:\.$)?")
_PROGRAM = re.compile(r"\bbin/paddock\b")
_CODE = re.compile(r"(?:^|[;\n])[ \t]*(?:from|import) +([\w.]+)(?: +import +\(?([\w, ]+))?")
_PROPERTY = "hypothesis"
"""The package, and the mark that it gives each test with drawn values."""
_SILENT = (ast.Name, ast.expr_context, ast.operator, ast.cmpop)
"""Nodes that say nothing: half of all."""
_WORD = re.compile(r"[^\s/\\'\"`(),:;=<>\[\]{}|]+")


def name_module(path: Path) -> str:
    """`jobs/model.py` -> `jobs.model`; a package is its `__init__`. `path` is relative to where imports begin."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def find_modules(source: Path) -> dict[str, Path]:
    """Every module by its dotted name. Programs of environments are no modules."""
    paths = (path for path in source.rglob("*.py") if "programs" not in path.relative_to(source).parts)
    return {name_module(path.relative_to(source)): path for path in paths}


def read_imports(nodes: Iterable[ast.AST], modules: set[str]) -> Iterator[str]:
    """The modules that a module imports anywhere: at the top, in a function, or for types alone. `nodes`: its own."""
    for node in nodes:
        for module, name in list_imports(node):
            full = f"{module}.{name}"
            if full in modules or module in modules:
                yield full if full in modules else module


def list_imports(node: ast.AST, package: str = "") -> Iterator[tuple[str, str]]:
    """(module, name) of one statement; the name is empty for `import module`. Relative ones begin at `package`."""
    if isinstance(node, ast.Import):
        yield from ((name.name, "") for name in node.names)
    elif isinstance(node, ast.ImportFrom):
        above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        module = ".".join([*above, *([node.module] if node.module else [])])
        yield from ((module, name.name) for name in node.names)


@dataclass
class Part:
    """What one fixture says, or the rest of the module (`TOP`, `LATER`, `TYPES`).

    `uses`: "a.b" for `import a.b`, "a.b:c" for `from a.b import c`, "?a.b" for a text that names a.b, "?a.b." for a
    text that all names below a.b can begin with. `asks`: words that may be fixtures. `marks`: of pytest.
    """

    uses: set[str] = field(default_factory=set)
    asks: set[str] = field(default_factory=set)
    marks: set[str] = field(default_factory=set)


@dataclass
class Facts:
    """`parts` by their names; `fixtures`: the parts that run for those alone who ask for them; `plugins` of pytest;
    `words` of texts, split where paths and commands are."""

    parts: dict[str, Part]
    fixtures: list[str]
    plugins: list[str]
    words: list[str]

    def to_json(self) -> list[object]:
        parts = {name: [sorted(part.uses), sorted(part.asks), sorted(part.marks)] for name, part in self.parts.items()}
        return [parts, self.fixtures, self.plugins, self.words]

    @classmethod
    def from_json(cls, value: list[Any]) -> Facts:
        parts, fixtures, plugins, words = value
        return cls({name: Part(*map(set, part)) for name, part in parts.items()}, fixtures, plugins, words)


def read_facts(text: str | bytes, package: str = "", tests: bool = True) -> Facts:
    """The facts of one module. Those of the product (`tests=False`) have neither words nor fixtures."""
    reader = _Reader(package, tests)
    for statement in ast.parse(text).body:
        reader.read_statement(statement)
    return Facts(dict(reader.parts), reader.fixtures, reader.plugins, sorted(reader.words))


class _Reader:
    def __init__(self, package: str, tests: bool) -> None:
        self.package = package
        self.tests = tests
        self.parts: dict[str, Part] = defaultdict(Part)
        self.fixtures: list[str] = []
        self.plugins: list[str] = []
        self.words: set[str] = set()

    def read_statement(self, node: ast.stmt) -> None:
        """A statement at the top of the module."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            fixture = _is_fixture(node)
            self.fixtures += [node.name] if fixture else []
            self._read(node, node.name if fixture else LATER)
        elif isinstance(node, ast.Assign) and [*map(ast.unparse, node.targets)] == ["pytest_plugins"]:
            found = ast.walk(node.value)
            self.plugins += [
                each.value for each in found if isinstance(each, ast.Constant) and isinstance(each.value, str)
            ]
        else:
            self._read(node, TOP)

    def _read(self, node: ast.AST, part: str) -> None:
        """Reads `node` into a part; functions in `TOP` run later."""
        waiting = [(node, part)]
        while waiting:
            node, part = waiting.pop()
            self._read_one(node, self.parts[part])
            inner = part
            if part == TOP and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                inner = LATER
            if isinstance(node, ast.If) and ast.unparse(node.test).endswith(TYPES):
                waiting += [(each, TYPES) for each in node.body] + [(each, part) for each in node.orelse]
            elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):  # a docstring does nothing
                waiting += [(each, inner) for each in ast.iter_child_nodes(node) if not isinstance(each, _SILENT)]

    def _read_one(self, node: ast.AST, part: Part) -> None:
        if isinstance(node, ast.Import | ast.ImportFrom):
            pairs = list(list_imports(node, self.package))
            part.uses |= {f"{module}:{name}" if name else module for module, name in pairs}
            part.marks |= {
                _PROPERTY for module, name in pairs if self.tests and module == _PROPERTY and name == "given"
            }
            part.marks |= {_PROPERTY for module, _ in pairs if self.tests and module == f"{_PROPERTY}.stateful"}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            self._read_text(node.value, part)
        elif self.tests and isinstance(node, ast.arg):
            part.asks.add(node.arg)
        elif self.tests and isinstance(node, ast.Attribute) and _names_mark(node.value):
            part.marks.add(node.attr)

    def _read_text(self, text: str, part: Part) -> None:
        if _DOTTED.fullmatch(text):
            part.uses.add(f"?{text}")
        if "paddock" in text:
            part.uses |= {f"?{found}" for found in _OF_PADDOCK.findall(text)}
            part.uses |= {"?paddock.cli.main"} if _PROGRAM.search(text) else set()
        if "import " in text:
            for module, names in _CODE.findall(text):
                part.uses |= {f"{module}:{name.strip()}" for name in names.split(",")} if names else {module}
        if self.tests:
            if text.isidentifier():
                part.asks.add(text)
            self.words |= {word for word in _WORD.findall(text) if len(word) < 80 and word.isprintable()}


def _names_mark(node: ast.expr) -> bool:
    """`pytest.mark`, or `mark` alone."""
    return getattr(node, "attr", getattr(node, "id", "")) == "mark"


def _is_fixture(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A fixture that runs for those who ask for it by the function's name. One with another name is rare, and is taken
    for one that always runs."""
    decorators = [ast.unparse(each) for each in node.decorator_list]
    return any("fixture" in each and "autouse" not in each and "name=" not in each for each in decorators)
