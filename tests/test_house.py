"""The shape of the whole house: folders that a reader can take in, and no circles of imports."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
MOST_MODULES = 25
"""Of one folder (CONTRIBUTING.md, style)."""


def find_modules(source: Path) -> dict[str, Path]:
    """Every module by its dotted name; a package is its `__init__`. Programs of environments are no modules."""
    paths = (path for path in source.rglob("*.py") if "programs" not in path.parts)
    return {".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def read_imports(text: str, modules: set[str]) -> Iterator[str]:
    """The modules that a module imports anywhere: at the top, in a function, or for types alone."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module:
            full = (f"{node.module}.{name.name}" for name in node.names)
            yield from (name if name in modules else node.module for name in full if {name, node.module} & modules)


def find_circle(graph: dict[str, set[str]]) -> list[str]:
    """One circle of imports, empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle
    return []


def test_no_modules_import_each_other_in_a_circle() -> None:
    """import-linter looks at siblings; this looks at all modules at once, also where folders lean on each other."""
    modules = find_modules(SOURCE)
    graph = {name: set(read_imports(path.read_text(), set(modules))) - {name} for name, path in modules.items()}
    assert len(graph) > 200
    assert find_circle(graph) == []


def test_a_circle_is_found_also_through_late_and_type_imports() -> None:
    texts = {
        "house.a": "def late():\n    from house import b\n",
        "house.b": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from house.c import Name\n",
        "house.c": "import house.a\n",
    }
    graph = {name: set(read_imports(text, set(texts))) for name, text in texts.items()}
    assert sorted(set(find_circle(graph))) == ["house.a", "house.b", "house.c"]
    assert find_circle({**graph, "house.c": set()}) == []


def test_no_folder_has_more_modules_than_a_reader_takes_in() -> None:
    paths = find_modules(SOURCE).values()
    count = Counter(str(path.parent.relative_to(SOURCE)) for path in paths if path.name != "__init__.py")
    assert {folder: number for folder, number in count.items() if number > MOST_MODULES} == {}
