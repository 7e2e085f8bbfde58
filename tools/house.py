"""The ratchet: numbers of the house that may only fall, as `house.toml` has them (`make ratchet`).

    python tools/house.py                      lowers the numbers of house.toml to today's; it never raises one
    python tools/house.py --cpu build/costs    writes [cpu] anew, by what the last `make test` has cost

A number is allowed to be its base and what the rows of `more` add. `tests/test_house.py` fails where a number is above
what is allowed, or well below it while the file still has the old one, and where the file allows more than at an
earlier commit without a new row. The functions `count_…` and `find_names` are pure: the syntax of one text in, a number
out. `[cpu]` is read by `tests/support/costs.py`, which fails nothing.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import math
import re
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "house.toml"

TOP = "top"
"""The room of the modules that stand at the top of src/paddock, and of test files at the top of tests."""
WHOLE, TESTS = "lines.paddock", "lines.tests"
SLACK = 20
"""Lines of a room that may be gone before the file must be lowered."""
FRAMEWORKS = Path("jobs/frameworks")
"""The one folder of src/paddock in which a framework is asked for by its name."""

MEANINGS = {
    "texts": "msgids of the catalogues",
    "names": "distinct names below paddock.dev/ in texts of src",
    "verbs": "of `paddock`",
    "run_options": "that `paddock run --help` lists",
    "options": "declarations click.option(…) in src",
    "participles": "classes whose name is a participle alone, such as Asked or Found",
    "fragments": "docstrings of functions and classes that begin with Of, As, Those, It …",
    "frameworks": 'comparisons of a framework with a name, such as framework == "paddle", outside jobs/frameworks',
    "branches": "on laptop or cluster: is_local, home is None, kept is not None, not home …",
}
"""What each number of `[counts]` counts."""

_PARTICIPLES = frozenset(
    {
        "begun", "bought", "broken", "brought", "built", "caught", "chosen", "dealt", "done", "drawn",
        "driven", "fallen", "felt", "forgotten", "found", "frozen", "given", "gone", "grown", "heard", "held",
        "hidden", "kept", "known", "left", "lent", "lost", "made", "meant", "met", "overridden", "paid", "put",
        "ran", "read", "redrawn", "ridden", "risen", "said", "seen", "sent", "shown", "sold", "spent", "spoken",
        "stolen", "struck", "stuck", "stood", "taken", "taught", "thought", "thrown", "told", "torn",
        "understood", "won", "worn", "written",
    }
)  # fmt: skip
"""Irregular ones; regular ones end in -ed, and no noun such as `Feed` in -eed. `un` may stand before each. Without
`bound`, which is a noun here."""
_UNKNOWN = "Unknown"
"""The value of what cannot be known: no participle, but the field's word."""
_FRAGMENTS = re.compile(
    r"\s*(?:Of|As|Those|That|Whose|Who|It|They|One|Nothing|At|By|In|On|For)\b(?!-)", re.ASCII | re.IGNORECASE
)
_NAMES = re.compile(r"\bpaddock\.dev/[A-Za-z](?:[\w./-]*\w)?")
_Node = TypeVar("_Node", bound=ast.AST)


class Nodes:
    """The nodes of the syntax tree of one text, by their class: `nodes[ast.Call]`."""

    def __init__(self, text: str) -> None:
        self._found: dict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        for node in ast.walk(ast.parse(text)):
            self._found[type(node)].append(node)

    def __getitem__(self, kind: type[_Node]) -> list[_Node]:
        return cast("list[_Node]", self._found.get(kind, []))


def count_texts(catalogue: str) -> int:
    """The texts of a `.po`, without its head and those that are obsolete. Both texts of a plural are one."""
    return len(re.findall(r"^msgid ", catalogue, re.MULTILINE)) - 1


def count_listed_options(help_text: str) -> int:
    """Options that a command's help lists below `Options:`."""
    return len(re.findall(r"^  -", help_text.partition("\nOptions:\n")[2], re.MULTILINE))


def count_verbs(nodes: Nodes) -> int:
    """Keys of the dict VERBS."""
    named = [each.value for each in nodes[ast.AnnAssign] if getattr(each.target, "id", "") == "VERBS"]
    return sum(len(each.keys) for each in named if isinstance(each, ast.Dict))


def count_options(nodes: Nodes) -> int:
    """Calls of `click.option`, also where click or option was imported by another name."""
    modules = {"click", *_list_imported(nodes[ast.Import], "click")}
    from_click = [each for each in nodes[ast.ImportFrom] if each.module == "click"]
    functions = _list_imported(from_click, "option")
    called = [call.func for call in nodes[ast.Call]]
    return sum(
        each.attr == "option" and _name(each.value) in modules
        if isinstance(each, ast.Attribute)
        else _name(each) in functions
        for each in called
    )


def _list_imported(imports: Sequence[ast.Import | ast.ImportFrom], name: str) -> set[str]:
    """The names that imports give to what is called `name` where it comes from."""
    return {alias.asname or name for each in imports for alias in each.names if alias.name == name}


def find_names(nodes: Nodes) -> set[str]:
    """Names below paddock.dev/ in texts."""
    texts = [each.value for each in nodes[ast.Constant] if isinstance(each.value, str)]
    return {name for text in texts if "paddock.dev/" in text for name in _NAMES.findall(text)}


def count_participles(nodes: Nodes) -> int:
    return sum(is_participle(each.name) for each in nodes[ast.ClassDef])


def is_participle(name: str) -> bool:
    """Whether the name of a class is one word, and that a participle: it has no noun."""
    name = name.lstrip("_")
    if not re.fullmatch(r"[A-Z][a-z]+", name) or name == _UNKNOWN:
        return False
    return name.lower().removeprefix("un") in _PARTICIPLES or (name.endswith("ed") and not name.endswith("eed"))


def count_fragments(nodes: Nodes) -> int:
    documented = [*nodes[ast.FunctionDef], *nodes[ast.AsyncFunctionDef], *nodes[ast.ClassDef]]
    return sum(bool(_FRAGMENTS.match(ast.get_docstring(each, clean=False) or "")) for each in documented)


def count_frameworks(nodes: Nodes) -> int:
    """Comparisons of a value named framework with a literal, and cases of a `match` of one."""
    compared = [[each.left, *each.comparators] for each in nodes[ast.Compare]]
    cases = [len(each.cases) for each in nodes[ast.Match] if _name(each.subject) == "framework"]
    return sum(cases) + sum(
        any(_name(side) == "framework" for side in sides) and any(_is_literal(side) for side in sides)
        for sides in compared
    )


def _is_literal(node: ast.expr) -> bool:
    """Whether it is a text, or a tuple, list or set of texts."""
    parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    return all(isinstance(each, ast.Constant) and isinstance(each.value, str) for each in parts)


def count_branches(nodes: Nodes) -> int:
    """Reads of a value `is_local`; comparisons of one named home or kept with None, and questions whether a home is
    true: what is kept, and asked so, is mostly a list."""
    names: list[ast.Name | ast.Attribute] = [*nodes[ast.Name], *nodes[ast.Attribute]]
    reads = [each for each in names if isinstance(each.ctx, ast.Load)]
    compared = [
        each.left
        for each in nodes[ast.Compare]
        if isinstance(each.ops[0], ast.Is | ast.IsNot) and getattr(each.comparators[0], "value", "") is None
    ]
    return (
        sum(_name(each) == "is_local" for each in reads)
        + sum(_name(each) in ("home", "kept") for each in compared)
        + sum(_name(each) == "home" for each in _list_truths(nodes))
    )


def _list_truths(nodes: Nodes) -> list[ast.expr]:
    """What is asked whether it is true: by if, not, and, or."""
    return [
        *(each.test for each in nodes[ast.If]),
        *(each.test for each in nodes[ast.IfExp]),
        *(each.operand for each in nodes[ast.UnaryOp] if isinstance(each.op, ast.Not)),
        *(value for each in nodes[ast.BoolOp] for value in each.values),
    ]


def _name(node: ast.expr) -> str:
    """`c` of `c`, of `a.b.c`, of `(c := …)`; empty for what has no name."""
    node = node.target if isinstance(node, ast.NamedExpr) else node
    found: str = getattr(node, "attr", getattr(node, "id", ""))
    return found


COUNTED: dict[str, Callable[[Nodes], int]] = {
    "counts.options": count_options,
    "counts.participles": count_participles,
    "counts.fragments": count_fragments,
    "counts.branches": count_branches,
}
"""What is counted in each module of src."""


def measure(root: Path = ROOT, also: Callable[[Path, Nodes], None] = lambda path, nodes: None) -> dict[str, int]:
    """All numbers of a tree. `also` is given each module of src with its nodes, as to parse all takes seconds."""
    package = root / "src/paddock"
    numbers: Counter[str] = Counter()
    names: set[str] = set()
    with _without_collections():
        for path in sorted(package.rglob("*.py")):
            nodes = Nodes(text := path.read_text(encoding="utf-8"))
            numbers.update(measure_module(path.relative_to(package), text, nodes))
            names |= find_names(nodes)
            also(path, nodes)
    tests = (path.read_bytes().count(b"\n") for path in (root / "tests").rglob("*.py"))
    catalogues = package.glob("locale/*/LC_MESSAGES/paddock.po")
    return dict(numbers) | {
        TESTS: round_up(sum(tests)),
        "counts.names": len(names),
        "counts.texts": max(count_texts(each.read_text(encoding="utf-8")) for each in catalogues),
        "counts.verbs": count_verbs(Nodes((package / "cli/main.py").read_text(encoding="utf-8"))),
        "counts.run_options": count_listed_options((root / "tests/cli/goldens/help-run.txt").read_text()),
    }


def measure_module(path: Path, text: str, nodes: Nodes) -> dict[str, int]:
    """The numbers of one module; `path` is below src/paddock."""
    lines = text.count("\n")
    framework = 0 if path.is_relative_to(FRAMEWORKS) else count_frameworks(nodes)
    counted = {number: count(nodes) for number, count in COUNTED.items()}
    return {f"lines.{name_room(path)}": lines, WHOLE: lines, "counts.frameworks": framework, **counted}


def round_up(lines: int) -> int:
    """Full thousands."""
    return -(-lines // 1000) * 1000


def name_room(path: Path) -> str:
    """The first folder of a relative path."""
    return path.parts[0] if len(path.parts) > 1 else TOP


@contextmanager
def _without_collections() -> Iterator[None]:
    """Python's cyclic collector looks at each tree again and again, which is half of what it takes to parse."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@dataclass(frozen=True)
class Row:
    """A row of `more`: a number may be larger than its base."""

    number: str
    """The number as `table.name`: `lines.cli`. One of a room of src counts for `lines.paddock` too."""
    by: int
    why: str
    who: str
    """Who asked: a field case, a review, an issue."""

    @property
    def reason(self) -> tuple[str, str, str]:
        """What a row is known by in an earlier file. Without `by`: a row that was raised is no new one."""
        return self.number, self.why, self.who

    def counts_for(self, number: str) -> bool:
        return self.number == number or (number == WHOLE and is_room(self.number))


def is_room(number: str) -> bool:
    """Whether a number is of the lines of a room of src."""
    return number.startswith("lines.") and number not in (WHOLE, TESTS)


@dataclass(frozen=True)
class House:
    """What house.toml says."""

    base: Mapping[str, int]
    """By the number as `table.name`."""
    more: Sequence[Row]
    cpu: Mapping[str, float]
    """CPU seconds by folder of tests."""
    faults: Sequence[str] = ()
    """What is wrong with the form of the file; nothing else of it is read then."""

    def allow(self, number: str) -> int:
        return self.base.get(number, 0) + sum(row.by for row in self.more if row.counts_for(number))


def parse(text: str) -> House:
    """Raises `tomllib.TOMLDecodeError` for a text that is no TOML."""
    tables: dict[str, Any] = tomllib.loads(text)
    if faults := list(_find_wrong_forms(tables)):
        return House({}, [], {}, faults)
    base = {f"{table}.{name}": value for table in _BASE for name, value in tables.get(table, {}).items()}
    rows = tables.get("more", [])
    more = [Row(row.get("number", ""), row.get("by", 0), row.get("why", ""), row.get("who", "")) for row in rows]
    return House(base, more, tables.get("cpu", {}))


_BASE = ("lines", "counts")
_NUMBERS: Mapping[str, tuple[type, ...]] = {"lines": (int,), "counts": (int,), "cpu": (int, float)}
"""The tables, and what their values are."""
_FIELDS = {"number": str, "by": int, "why": str, "who": str}
_KINDS = {str: "a text", int: "a whole number"}


def _find_wrong_forms(tables: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each value that has no place in the file, or is of another type."""
    for key, value in tables.items():
        if key == "more":
            yield from _find_wrong_rows(value)
        elif key not in _NUMBERS:
            yield f"house.toml has {key!r} at its top: it has tables [lines], [counts] and [cpu], and rows [[more]]"
        elif not isinstance(value, dict):
            yield f"{key} of house.toml is {value!r}: write a table [{key}]"
        else:
            wrong = {name: each for name, each in value.items() if type(each) not in _NUMBERS[key]}
            yield from (f"{key}.{name} of house.toml is {each!r}: write a whole number" for name, each in wrong.items())


def _find_wrong_rows(rows: Any) -> Iterator[str]:
    if not (isinstance(rows, list) and all(isinstance(row, dict) for row in rows)):
        yield "more of house.toml is no list of rows: begin each row with [[more]]"
        return
    for row in rows:
        for name, kind in _FIELDS.items():
            if name in row and type(row[name]) is not kind:  # true is an int to isinstance
                said = f"a row [[more]] of house.toml for {row.get('number')!r} has `{name} = {row[name]!r}`"
                yield f"{said}: write {_KINDS[kind]}"


def find_faults(house: House, measured: Mapping[str, int]) -> list[str]:
    """A sentence for each number that is not as the file has it, and for each row that is not whole. Of a file whose
    form is wrong, that alone."""
    if house.faults:
        return list(house.faults)
    faults = [fault for row in house.more if (fault := explain_row(row, measured))]
    faults += [
        f"{number} is in house.toml, and nothing measures it: `make ratchet` takes it out"
        for number in house.base
        if number not in measured
    ]
    for number, now in measured.items():
        if number in house.base:
            fault = explain_number(number, house.allow(number), now, find_slack(number, measured))
            faults += [fault] if fault else []
        else:
            table, _, name = number.partition(".")
            faults.append(
                f"{number} is {now}, and house.toml does not have it: write `{name} = 0` into [{table}], and a row "
                f"[[more]] with `by = {now}`, `why`, and `who` asked for it"
            )
    return faults


def explain_row(row: Row, measured: Mapping[str, int]) -> str:
    """What is wrong with a row, or nothing."""
    if row.number not in measured:
        return (
            f"a row [[more]] of house.toml is for {row.number!r}, which nothing measures: name a number that is there"
        )
    if row.by <= 0:
        return f"a row [[more]] of house.toml for {row.number} has `by = {row.by}`: write a whole number above 0"
    if not (row.why.strip() and row.who.strip()):
        return f"a row [[more]] of house.toml for {row.number} lacks `why` or `who`: say why, and who asked for it"
    return ""


def find_slack(number: str, measured: Mapping[str, int]) -> int:
    """How much less a number must be before the file is to be lowered. Fixed for a room, and for all of src the sum of
    its rooms: of a share of the lines, a thousand of them could come back unasked."""
    if number == WHOLE:
        return SLACK * sum(map(is_room, measured))
    return SLACK if is_room(number) else 1


def explain_number(number: str, allowed: int, now: int, slack: int) -> str:
    """What is wrong with a number, or nothing. It may be less than what is allowed, by less than `slack`."""
    if now > allowed:
        return (
            f"{number} is {now}, and house.toml allows {allowed}: make it less by {now - allowed}, or add a row "
            f"[[more]] to house.toml with `by = {now - allowed}`, `why`, and `who` asked for it"
        )
    if allowed - now < slack:
        return ""
    return f"{number} has fallen to {now}, and house.toml allows {allowed}: `make ratchet` lowers it"


def find_raised(house: House, earlier: House, commit: str) -> list[str]:
    """A sentence for each number of which the file allows more than an earlier one did, rows that are new apart.

    Rows of the earlier file may have become part of the base. They are known by all but `by`, so that a row which was
    raised counts with what it has now. A number that the earlier file did not have was 0.
    """
    known = {row.reason for row in earlier.more}
    old = replace(house, more=[row for row in house.more if row.reason in known])
    faults = []
    for number in house.base:
        before = earlier.allow(number)
        if number == TESTS:
            before = round_up(before)  # the first files had them to the line
        if (more := old.allow(number) - before) > 0:
            faults.append(
                f"{number} was raised by hand: house.toml allows {before} at {commit}, and {before + more} now without "
                f"the rows that are new: take {more} from it, and where they are needed write a row [[more]] of their "
                f"own with `by = {more}`, `why`, and `who` asked for it"
            )
    return faults


def read_earlier(root: Path = ROOT) -> tuple[str, str]:
    """A commit, and house.toml as it was there: the commit of `.ci/passed`, as all tests are known to have passed
    there, and all commits of a change come after it. Where that is older than the file, the first commit that has one.
    Raises `LookupError`, with the reason, where git knows neither.
    """
    passed = _read_passed(root)
    is_before = _git(root, "merge-base", "--is-ancestor", passed, "HEAD") is not None
    if is_before and (text := _git(root, "show", f"{passed}:./{FILE.name}")):
        return passed, text
    if _git(root, "rev-parse", "--verify", "HEAD") is None:
        raise LookupError("no earlier house.toml is known, as git tells no history of this folder")
    if (_git(root, "rev-parse", "--is-shallow-repository") or "").strip() == "true":
        raise LookupError("no earlier house.toml is known, as this clone is shallow, and lacks that of .ci/passed")
    added = (_git(root, "log", "--diff-filter=A", "--format=%h", "--", FILE.name) or "").split()
    if not added:
        raise LookupError("no earlier house.toml is known, as no commit has one")
    return added[-1], _git(root, "show", f"{added[-1]}:./{FILE.name}") or ""


def _read_passed(root: Path) -> str:
    """The commit of `.ci/passed`, which an archive of the sources does not have; empty without one."""
    try:
        lines = (root / ".ci/passed").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.split()[0] for line in lines if line.strip() and not line.startswith("#")), "")


def _git(root: Path, *words: str) -> str | None:
    """What git says; None where it fails, or is not there."""
    try:
        ended = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, encoding="utf-8")
    except OSError:
        return None
    return None if ended.returncode else ended.stdout


def lower(house: House, measured: Mapping[str, int]) -> House:
    """The file with each number at today's where that is lower. The rows of a number are the first to become less, the
    oldest first; what nothing measures is left out. Nothing is raised."""
    more = list(house.more)
    for number in sorted(measured.keys() & house.base.keys(), key=lambda number: number == WHOLE):  # after its rooms
        more = _trim(more, number, House(house.base, more, {}).allow(number) - measured[number])
    lowered = House(house.base, more, house.cpu)
    base = {
        number: min(value, value + measured[number] - lowered.allow(number))
        for number, value in house.base.items()
        if number in measured
    }
    return replace(lowered, base=base)


def _trim(rows: Sequence[Row], number: str, slack: int) -> list[Row]:
    """The rows with those of one number less by `slack` together; one of which nothing is left is left out."""
    kept = []
    for row in rows:
        less = min(row.by, max(slack, 0)) if row.number == number else 0
        slack -= less
        kept += [replace(row, by=row.by - less)] if row.by > less else []
    return kept


HEAD = """\
# The numbers of this house, which only fall (CONTRIBUTING.md, "The ratchet"). tests/test_house.py compares them with
# the tree, and `make ratchet` lowers them to today's: both by tools/house.py, which also writes this file.
# What needs more adds a row at the end, which says why, and who asked: a field case, a review, an issue.
#
# [[more]]
# number = "lines.cli"
# by = 120
# why = "the verb that …"
# who = "issue 61"
"""


def render(house: House) -> str:
    """The text of the file."""
    tables: dict[str, list[str]] = {"lines": [], "counts": []}
    for number, value in house.base.items():
        table, _, name = number.partition(".")
        comment = f"  # {MEANINGS[name]}" if name in MEANINGS else ""
        tables.setdefault(table, []).append(f"{name} = {value}{comment}\n")
    tables["cpu"] = [f"{room} = {seconds:g}\n" for room, seconds in house.cpu.items()]
    return "".join((HEAD, *_render_tables(tables), *map(_render_row, house.more)))


_ABOUT = {
    "lines": "of Python: of each room of src/paddock, of all of it (paddock), of tests in full thousands",
    "counts": "in src/paddock",
    "cpu": "seconds of `make test` by folder of tests, by tools/house.py --cpu; more is told, and fails nothing",
}


def _render_tables(tables: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for table, lines in tables.items():
        about = f"  # {_ABOUT[table]}" if table in _ABOUT else ""
        yield f"\n[{table}]{about}\n{''.join(lines)}"


def _render_row(row: Row) -> str:
    values = {"number": row.number, "by": row.by, "why": row.why, "who": row.who}
    lines = (f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items())
    return f"\n[[more]]\n{''.join(lines)}"


CALLS = ("pure", "waiting")
"""The two calls of `make test`, each of which writes what it has cost (`tests/support/costs.py`)."""


def read_costs(folder: Path) -> dict[str, float]:
    """CPU seconds of both calls by folder of tests, rounded up. Raises `OSError` where one has left no file."""
    whole: Counter[str] = Counter()
    for call in CALLS:
        whole.update(json.loads((folder / f"{call}.json").read_text(encoding="utf-8")))
    return {room: max(1, math.ceil(seconds)) for room, seconds in sorted(whole.items())}


def main(words: Sequence[str], file: Path = FILE) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu", type=Path, metavar="FOLDER", help="where the last `make test` has left its costs")
    folder: Path | None = parser.parse_args(words).cpu
    house = parse(file.read_text(encoding="utf-8"))
    if house.faults:
        return _tell(house.faults)
    return lower_file(file, house, measure()) if folder is None else fill_cpu(file, house, folder)


def fill_cpu(file: Path, house: House, folder: Path) -> int:
    try:
        cpu = read_costs(folder)
    except OSError as error:
        return _tell([f"{error.filename} cannot be read ({error.strerror}): `make test` writes it, if all of it runs"])
    file.write_text(render(replace(house, cpu=cpu)), encoding="utf-8")
    return 0


def lower_file(file: Path, house: House, measured: Mapping[str, int]) -> int:
    """Prints each number that it has lowered. A file with a row that is not whole stays as it is."""
    wrong = [fault for row in house.more if (fault := explain_row(row, measured))]
    lowered = house if wrong else lower(house, measured)
    if lowered != house:
        file.write_text(render(lowered), encoding="utf-8")
    for number in house.base:
        if number not in lowered.base:
            print(f"{number} is gone")
        elif house.allow(number) != lowered.allow(number):
            print(f"{number} {house.allow(number)} -> {lowered.allow(number)}")
    return _tell(find_faults(lowered, measured))


def _tell(faults: Sequence[str]) -> int:
    """The exit code."""
    print("\n".join(faults), end="\n" if faults else "", file=sys.stderr)
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
