"""Which test files a change can affect: those from which a path of imports leads to a changed file. Pure.

All paths are relative to the root of the repository, with `/`. A node of the graph is a part of a file:

    src/paddock/kube/meta.py       all of it
    src/paddock/__init__.py#       what runs when it is imported: who imports `paddock.kube.meta` runs that alone
    tests/conftest.py#world        a fixture: it runs for those who ask for it

More test files than needed is right, one too few is the defect: what is not understood affects all (`find_reason`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath as Path

from support.imports import LATER, TOP, Facts, Part, name_module

_ROOTS = ("src", "tests", "tools")
"""Where imports begin; `benchmarks` is a package at the root."""
_RULES = frozenset(
    {f"tests/support/{name}.py" for name in ("about", "affected", "changes", "imports", "process_state", "selection")}
)
"""They run with every test, and what their texts name they neither import nor read."""
_ALL, _PRODUCT = "*.py", "src/"
"""Nodes: every module, for who looks for `*.py`; every module of the product, for who names its folder."""
_PAGES = re.compile(r"docs|README.*|CHANGELOG.*|CONTRIBUTING.*|SECURITY.*|.*\*\.md|DIST")
"""Words of who reads pages. `make dist DIST=…` builds archives that hold some."""
_OUTSIDE = frozenset({"house.toml", ".ci/passed", ".ci/run"})
"""What no test runs by: it is for those alone whose texts name it, with its folder, as "run" is a word of hundreds. A
`.ci/run` that starts a tier in another way is tried by the samples of that tier."""
_NOTHING = Part()


def is_module(path: str) -> bool:
    """False for programs, which are started in a folder of their own."""
    parts = Path(path).parts
    inside = parts[0] in ("tests", "tools", "benchmarks") or parts[:2] == ("src", "paddock")
    return path.endswith(".py") and inside and "programs" not in parts


def is_test(path: str) -> bool:
    return path.startswith("tests/") and Path(path).name.startswith("test_") and is_module(path)


def name_path(path: str) -> str:
    root = Path(path).parts[0]
    return name_module(Path(path).relative_to(root if root in _ROOTS else "."))


@dataclass(frozen=True)
class Selection:
    """`chosen` of all test files, as `changed` is another since `since`. `reason`: a changed file because of which all
    run, or empty. `samples`: the test files that hold a sample; `marks`: those of each test file."""

    since: str
    changed: tuple[str, ...]
    chosen: frozenset[str]
    tests: frozenset[str]
    reason: str
    samples: frozenset[str]
    marks: Mapping[str, frozenset[str]]

    @property
    def left(self) -> frozenset[str]:
        return self.tests - self.chosen


def select(
    facts: Mapping[str, Facts], changed: Iterable[str], since: str, about: Callable[[str], bool] = lambda _: True
) -> Selection:
    """`facts` of every module there is now; a file of `changed` may be gone. Of a file that the tests are not `about`,
    those run that import it themselves."""
    changed = tuple(sorted(changed))
    graph = Graph(facts, changed)
    tests = frozenset(path for path in facts if is_test(path))
    near = tuple(filter(about, changed))
    reason = find_reason(graph, near)
    found = graph.find_users(graph.find_seeds(near)) | graph.find_importers(set(changed) - set(near))
    chosen = tests if reason else tests & found
    samples = frozenset(path for path in tests if any("sample" in part.marks for part in facts[path].parts.values()))
    return Selection(since, changed, chosen, tests, reason, samples, {path: graph.marks_of(path) for path in tests})


def find_reason(graph: Graph, changed: Iterable[str]) -> str:
    """The first changed file of which is not known who needs it."""
    known = (path for path in changed if path not in _OUTSIDE and not (is_module(path) or is_page(path)))
    return next((path for path in known if not graph.find_folder(path)), "")


def is_page(path: str) -> bool:
    folder = Path(path).parts[0]
    return path.endswith(".md") and (folder == "docs" or folder == path)


class Graph:
    """Who uses whom. `changed` adds the modules that are gone: who still imports one is affected."""

    def __init__(self, facts: Mapping[str, Facts], changed: Iterable[str] = ()) -> None:
        self.facts = facts
        self._names: dict[str, list[str]] = defaultdict(list)
        for path in sorted({*facts, *filter(is_module, changed)}):
            self._names[name_path(path)].append(path)
        self._below = _list_below(self._names)
        self._files = _group((Path(path).name, path) for path in facts)
        self._mentions = _group((word, path) for path in facts if path not in _RULES for word in facts[path].words)
        self._plugins = _group(
            (str(Path(path).parent), f"tests/{name.replace('.', '/')}.py")
            for path in facts
            for name in facts[path].plugins
        )
        self._uses: dict[str, set[str]] = {}
        for path, found in facts.items():
            self._add_parts(path, found)
        self._add_mentions()
        for path in filter(is_test, facts):
            self._uses[path] |= self._find_around(path)

    def find_users(self, seeds: Iterable[str]) -> set[str]:
        """All nodes from which a path leads to one of `seeds`."""
        users: dict[str, list[str]] = defaultdict(list)
        for node, used in self._uses.items():
            for each in used:
                users[each].append(node)
        return reach(seeds, users)

    def find_importers(self, paths: Iterable[str]) -> set[str]:
        """The modules that name one of `paths` in an import of their own."""
        wanted = set(paths)
        return {node.partition("#")[0] for node, used in self._uses.items() if not wanted.isdisjoint(used)}

    def find_seeds(self, changed: Iterable[str]) -> set[str]:
        """The nodes that a change is in, and those that name a changed file in a text."""
        seeds: set[str] = set()
        for path in changed:
            names = Path(path).parts if path in _OUTSIDE else (Path(path).name,)
            seeds |= set.intersection(*(self._mentions[name] for name in names))
            if is_module(path):
                seeds |= {path, f"{path}#", _ALL} | ({_PRODUCT} if path.startswith("src/") else set())
            elif is_page(path):
                seeds |= {each for each in self.facts if each.startswith("tests/docs/")}
                seeds |= {path for word, paths in self._mentions.items() if _PAGES.fullmatch(word) for path in paths}
            elif folder := self.find_folder(path):
                seeds |= {each for each in self.facts if is_test(each) and each.startswith(f"{folder}/")}
                seeds |= self._mentions[Path(path).parent.name]
        return seeds

    def find_folder(self, path: str) -> str:
        """The folder whose tests a data file is for: the nearest that holds any. Empty where it is no data of tests."""
        if not path.startswith("tests/"):
            return ""
        holding = {str(Path(each).parent) for each in self.facts if is_test(each)}
        return next((str(folder) for folder in Path(path).parents if str(folder) in holding), "")

    def marks_of(self, test: str) -> frozenset[str]:
        """The marks that the tests of a file may have: its own, of what it imports of the tests, of its fixtures."""
        return frozenset(mark for node in self._reach_tests([test]) for mark in self._part(node).marks)

    def _reach_tests(self, nodes: Iterable[str]) -> set[str]:
        return reach(nodes, self._uses, lambda node: node.startswith("tests/"))

    def _part(self, node: str) -> Part:
        path, _, part = node.partition("#")
        return self.facts[path].parts.get(part, _NOTHING) if "#" in node and path in self.facts else _NOTHING

    def _add_parts(self, path: str, found: Facts) -> None:
        self._uses[path] = {f"{path}#", *(f"{path}#{part}" for part in found.parts)}
        for name, part in {TOP: Part(), **found.parts}.items():
            uses = {each for each in part.uses if path not in _RULES or not each.startswith("?")}
            used = {node for each in uses for node in self._resolve(each, path)}
            if path.startswith("src/"):
                used = {node for node in used if node.startswith("src/")}
            self._uses[f"{path}#{name}"] = used | ({f"{path}#"} if name != TOP else set())

    def _add_mentions(self) -> None:
        """A program is started by its file's name; who looks for `*.py` or names `src` reads what it finds."""
        for word, paths in self._mentions.items():
            used = {each for each in self._files[word] if not each.startswith("src/")}
            used |= {_ALL} if word.endswith(".py") and "*" in word else set()
            used |= {_PRODUCT} if word == "src" else set()
            for path in paths:
                self._uses[path] |= used

    def _find_around(self, test: str) -> set[str]:
        """The parts of `conftest.py` files and plugins that run for a test file: always, or as it asks for them."""
        folders = map(str, Path(test).parents)
        files = [path for folder in folders for path in (f"{folder}/conftest.py", *self._plugins[folder])]
        around = {f"{path}#{part}" for path in files for part in (TOP, LATER)}
        fixtures = {
            f"{path}#{name}": name for path in files if path in self.facts for name in self.facts[path].fixtures
        }
        while True:
            reached = self._reach_tests([test, *around])
            asked = {name for node in reached for name in self._part(node).asks}
            more = {node for node, name in fixtures.items() if name in asked} - around
            if not more:
                return around
            around |= more

    def _resolve(self, use: str, path: str) -> Iterator[str]:
        """The nodes of one of `Part.uses`. A package above what is imported runs what stands at its top."""
        if use.startswith("?"):
            yield from self._resolve_text(use[1:])
            return
        module, _, name = use.partition(":")
        if name and (found := self._names.get(f"{module}.{name}")):
            yield from found
            yield from self._find_tops(f"{module}.{name}")
        elif module in self._names:
            yield from self._names[module]
            yield from self._find_tops(module)
            if not name:  # `import a.b` gives the name a, and with it all that a's `__getattr__` imports
                yield from self._names.get(module.partition(".")[0], ())
        elif (beside := f"{Path(path).parent}/{module.partition('.')[0]}.py") in self._uses or beside in self.facts:
            yield beside  # as a program that is started imports what stands beside it

    def _resolve_text(self, text: str) -> Iterator[str]:
        """A text that names a module, or names of one (`paddock.run`); one that ends with "." is followed by a name."""
        if text.endswith("."):
            yield from self._below.get(text[:-1], ())
        module, name = text.rstrip("."), ""
        while module and module not in self._names:
            module, _, name = module.rpartition(".")
        known = self._names.get(module, ())
        if known and ("." in module or not name or name in self._says(known)):
            yield from known
            yield from self._find_tops(module)

    def _says(self, paths: Iterable[str]) -> set[str]:
        """The names that a package has of others, by its own texts: `run`, where `paddock.run` is imported late."""
        parts = [part for path in paths if path in self.facts for part in self.facts[path].parts.values()]
        return {use.rpartition(":")[2] for part in parts for use in part.uses if ":" in use}

    def _find_tops(self, module: str) -> Iterator[str]:
        while module := module.rpartition(".")[0]:
            yield from (f"{path}#" for path in self._names.get(module, ()))


def reach(
    begin: Iterable[str], edges: Mapping[str, Iterable[str]], allowed: Callable[[str], bool] | None = None
) -> set[str]:
    """All that `begin` leads to, and itself."""
    reached = set(begin)
    waiting = list(reached)
    while waiting:
        for node in edges.get(waiting.pop(), ()):
            if node not in reached and (allowed is None or allowed(node)):
                reached.add(node)
                waiting.append(node)
    return reached


def _group(pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    grouped: dict[str, set[str]] = defaultdict(set)
    for key, value in pairs:
        grouped[key].add(value)
    return grouped


def _list_below(names: Mapping[str, list[str]]) -> dict[str, set[str]]:
    """Package -> the files of all modules below it. A folder without `__init__` is a package too."""
    below: dict[str, set[str]] = defaultdict(set)
    for name, paths in names.items():
        while name := name.rpartition(".")[0]:
            below[name] |= set(paths)
    return below
