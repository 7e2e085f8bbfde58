"""The shape of the whole house: no circles of imports, one place for what must not be done twice, and numbers that only
fall (`house.toml`, which `tools/house.py` measures)."""

from __future__ import annotations

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import house
import pytest

from support.imports import find_modules, read_imports
from support.order import is_left_out

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"


@cache
def read_source() -> tuple[dict[str, int], dict[str, set[str]]]:
    """The numbers of the house, and the modules that each module imports. One reading: to parse all takes seconds."""
    names = {path: name for name, path in find_modules(SOURCE).items()}
    known = set(names.values())
    imports: dict[str, set[str]] = {}

    def keep(path: Path, nodes: house.Nodes) -> None:
        if path in names:
            imports[names[path]] = set(read_imports([*nodes[ast.Import], *nodes[ast.ImportFrom]], known))

    return house.measure(also=keep), imports


def test_the_numbers_of_the_house_only_fall() -> None:
    written = house.parse((ROOT / "house.toml").read_text(encoding="utf-8"))
    measured, _ = read_source()
    faults = house.find_faults(written, measured)
    assert not faults, "\n".join(faults)


def test_no_number_is_raised_by_hand() -> None:
    """What is needed more stands in a row. Without this the base could be raised beside the lines."""
    try:
        commit, text = house.read_earlier(ROOT)
    except LookupError as error:
        pytest.skip(str(error))
    faults = house.find_raised(
        house.parse((ROOT / "house.toml").read_text(encoding="utf-8")), house.parse(text), commit
    )
    assert not faults, "\n".join(faults)


LIGHT = re.compile(r'^light := -m "(.*)"$', re.MULTILINE)
"""What `make test` runs."""


def test_each_room_with_light_tests_has_its_seconds() -> None:
    """`support.costs` tells which room takes more, and of a room without a number nothing. `*.py` of tests are counted
    too."""
    found = LIGHT.search((ROOT / "Makefile").read_text(encoding="utf-8"))
    assert found
    light = [path for path in (ROOT / "tests").rglob("test_*.py") if not is_left_out(path, found[1])]
    rooms = {house.name_room(path.relative_to(ROOT / "tests")) for path in light}
    written = house.parse((ROOT / "house.toml").read_text(encoding="utf-8")).cpu.keys()
    advice = "`make test`, then `python tools/house.py --cpu build/costs`, writes [cpu] of house.toml"
    assert written == rooms, (
        f"without seconds: {sorted(rooms - written)}; without tests: {sorted(written - rooms)}; {advice}"
    )


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
    _, imports = read_source()
    graph = {name: found - {name} for name, found in imports.items()}
    assert len(graph) > 200
    assert find_circle(graph) == []


def test_a_circle_is_found_also_through_late_and_type_imports() -> None:
    texts = {
        "house.a": "def late():\n    from house import b\n",
        "house.b": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from house.c import Name\n",
        "house.c": "import house.a\n",
    }
    graph = {name: set(read_imports(ast.walk(ast.parse(text)), set(texts))) for name, text in texts.items()}
    assert sorted(set(find_circle(graph))) == ["house.a", "house.b", "house.c"]
    assert find_circle({**graph, "house.c": set()}) == []


COMPARE_LINES = {"paddock.console.forms.changes", "paddock.console.forms.lists", "paddock.history.changes"}
"""Of difflib they have what no name needs: which lines of two texts are the same."""


def test_names_are_compared_in_one_place() -> None:
    """difflib's likeness of two names costs milliseconds, and users choose both names and how many there are."""
    texts = {name: path.read_text() for name, path in find_modules(SOURCE).items()}
    named = {name: text for name, text in texts.items() if "difflib" in text}  # parsing all costs seconds
    users = {name for name, text in named.items() if "difflib" in find_imported(text)}
    assert users == COMPARE_LINES
    assert find_imported("def f():\n    from difflib import get_close_matches") == {"difflib"}


PRINTING = re.compile(
    r"\bclick\.(?:echo|secho|prompt|confirm)\b|\bsys\.std(?:out|err)\.write\b|\b(?:Text|Console|Live)\("
)
"""What prints past the two modules that clean the text of others; ruff forbids `print` there (T20)."""


def test_the_command_line_prints_by_what_cleans_the_text_of_others() -> None:
    texts = {name: path.read_text() for name, path in find_modules(SOURCE).items() if name.startswith("paddock.cli.")}
    printing = {name for name, text in texts.items() if PRINTING.search(text)}
    assert printing == {"paddock.cli.output.screen", "paddock.cli.output.terminal"}
    assert PRINTING.search("click.echo(message)") and PRINTING.search("console.print(Text(message))")


DESCRIBED = re.compile(r"(?:^|[.;] |\n\n)(`\w+`(?:(?:,| and|, and) `\w+`)*)")
"""Names with which a sentence or a part of it begins: what follows is about them."""
LIST_OF_FIELDS = re.compile(r"^( *)class .*:\n\1    \"\"\"[^\"]*`\w+`[^\"]*`\w+`", re.MULTILINE)
"""A class whose docstring may describe two fields: only texts that have one are parsed."""


def test_a_field_is_documented_at_the_field() -> None:
    texts = {name: path.read_text() for name, path in find_modules(SOURCE).items()}
    wrong = [each for name, text in texts.items() if LIST_OF_FIELDS.search(text) for each in find_bare(name, text)]
    assert not wrong, "\n".join(wrong)


FIELDS = '''
@dataclass
class Sum:
    """What was counted. `first` and `last`: seconds. `unit`: of both."""

    first: int
    last: int
    unit: str  # of both
'''


def test_a_paragraph_about_fields_is_found_where_two_of_them_are_bare() -> None:
    assert LIST_OF_FIELDS.search(FIELDS)
    assert [each.partition(" ")[0] for each in find_bare("house.a", FIELDS)] == ["house.a.Sum"]
    assert "at `first`, `last`" in find_bare("house.a", FIELDS)[0]
    assert find_bare("house.a", FIELDS.replace("last: int", 'last: int\n    """In seconds."""')) == []
    assert find_bare("house.a", FIELDS.replace("last: int", "last: int  # in seconds")) == []
    assert find_bare("house.a", FIELDS.replace("`first` and `last`: seconds", "From `first` to `last`")) == []


def find_bare(module: str, text: str) -> list[str]:
    """A sentence for each class whose docstring describes two fields or more that have no text of their own."""
    classes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]
    found = {node.name: list_bare(node, text.splitlines()) for node in classes}
    return [
        f"{module}.{name} describes fields in its docstring: write what it says at {', '.join(bare)}, "
        "as a string below the field or as a comment behind it"
        for name, bare in found.items()
        if len(bare) > 1
    ]


def list_bare(node: ast.ClassDef, lines: list[str]) -> list[str]:
    """The fields, as `name`, of which the docstring of the class tells something and the place of the field nothing."""
    told = {name for names in DESCRIBED.findall(ast.get_docstring(node) or "") for name in re.findall(r"`\w+`", names)}
    below = [isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) for each in node.body[1:]] + [False]
    return [
        f"`{ast.unparse(each.target)}`"
        for each, has_text in zip(node.body, below, strict=True)
        if isinstance(each, ast.AnnAssign) and not has_text and "  # " not in lines[(each.end_lineno or 0) - 1]
        if f"`{ast.unparse(each.target)}`" in told
    ]


def find_imported(text: str) -> set[str]:
    """All modules that a text imports, also late ones."""
    nodes = list(ast.walk(ast.parse(text)))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
