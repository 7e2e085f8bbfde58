"""`pytest --affected[=REV]` runs the test files that what has changed since the commit REV can make fail.

`support.changes` asks git and reads the files, `support.selection` decides; this collects what was chosen, and tells
what was left out. Without REV it is the commit at which this branch left its upstream, or HEAD. `--sample` adds the
tests that are marked as samples; `--about TIER` leaves out what a change of another room cannot be about.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark.expression import Expression

from support.about import ROOMS, concerns
from support.changes import find_changed, read_tree
from support.selection import Selection, select

_SELECTION = pytest.StashKey[Selection]()
_NOTHING_RUNS = pytest.StashKey[bool]()
_KEY = "paddock/affected"
_MOST_LINES = 40


def pytest_addoption(parser: pytest.Parser) -> None:
    said = "run only the test files that the changes since a commit can affect (the upstream's, or HEAD)"
    parser.addoption("--affected", nargs="?", const="", default=None, metavar="REV", help=said)
    rooms = "with --affected: of a change elsewhere only what imports it (support.about)"
    parser.addoption("--about", choices=sorted(ROOMS), metavar="TIER", help=rooms)
    parser.addoption("--sample", action="store_true", help="with --affected: also the tests that are marked as samples")


def pytest_configure(config: pytest.Config) -> None:
    revision = config.getoption("--affected")
    if revision is None:
        return
    if hasattr(config, "workerinput"):  # a process of xdist: the one that started it has decided
        config.stash[_SELECTION] = load_selection(config.workerinput["affected"])
    else:
        config.stash[_SELECTION] = _select(config, revision)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    if selection := node.config.stash.get(_SELECTION, None):
        node.workerinput["affected"] = dump_selection(selection)


def dump_selection(selection: Selection) -> dict[str, Any]:
    """xdist sends lists and texts."""
    plain = {
        name: sorted(value) if isinstance(value, frozenset) else value for name, value in asdict(selection).items()
    }
    return {**plain, "changed": list(selection.changed), "marks": {}}


def load_selection(plain: Mapping[str, Any]) -> Selection:
    sets = {name: frozenset(plain[name]) for name in ("chosen", "tests", "samples")}
    return Selection(**{**plain, **sets, "changed": tuple(plain["changed"])})


def _select(config: pytest.Config, revision: str) -> Selection:
    root = config.rootpath
    since, changed = find_changed(root, revision)
    known = config.cache.get(_KEY, {}) if hasattr(config, "cache") else {}
    facts, remembered = read_tree(root, known)
    if remembered != known and hasattr(config, "cache"):
        config.cache.set(_KEY, remembered)
    tier = config.getoption("--about")
    return select(facts, changed, since, partial(concerns, rooms=ROOMS[tier]) if tier else lambda _: True)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A test file that is left out is not even imported."""
    selection = config.stash.get(_SELECTION, None)
    if selection is None or not collection_path.is_relative_to(config.rootpath):
        return None
    path = collection_path.relative_to(config.rootpath).as_posix()
    left = selection.left - (selection.samples if config.getoption("--sample") else set())
    return True if path in left else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a file that is left out, the samples run alone."""
    selection = config.stash.get(_SELECTION, None)
    if selection is None:
        return
    left = {config.rootpath / path for path in selection.left}
    dropped = [item for item in items if item.path in left and not item.get_closest_marker("sample")]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        gone = set(dropped)
        items[:] = [item for item in items if item not in gone]


def pytest_report_header(config: pytest.Config) -> str | None:
    selection = config.stash.get(_SELECTION, None)
    return None if selection is None else explain(selection)


@pytest.hookimpl(wrapper=True, tryfirst=True)  # around all others, and so after them
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> Iterator[None]:
    result = yield
    if selection := config.stash.get(_SELECTION, None):
        for line in [explain(selection), *explain_left(selection, _find(config, selection, selection.left))]:
            terminalreporter.write_line(line)
        if config.stash.get(_NOTHING_RUNS, False):
            terminalreporter.write_line("no test is left, as nothing has changed that one of them needs: exit code 0")
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    selection = session.config.stash.get(_SELECTION, None)
    if selection is None or exitstatus != pytest.ExitCode.NO_TESTS_COLLECTED:
        return
    if _find(session.config, selection, selection.left) and not _find(session.config, selection, selection.chosen):
        session.config.stash[_NOTHING_RUNS] = True
        session.exitstatus = pytest.ExitCode.OK


def _find(config: pytest.Config, selection: Selection, among: Iterable[str]) -> list[str]:
    """Those files that these words of pytest may collect tests from."""
    words = [word.partition("::")[0] for word in config.args]
    folders = [Path(config.invocation_params.dir, word).resolve() for word in words]
    inside = (path for path in among if any((config.rootpath / path).is_relative_to(each) for each in folders))
    return sorted(path for path in inside if may_match(config.option.markexpr, selection.marks.get(path, frozenset())))


def may_match(expression: str, marks: Iterable[str]) -> bool:
    """Whether a test with some of these marks can match `-m EXPRESSION`."""
    if not expression:
        return True
    compiled = Expression.compile(expression)
    named = sorted({mark for mark in marks if mark in expression})
    some = (each for number in range(len(named) + 1) for each in combinations(named, number))
    return any(compiled.evaluate(lambda name, /, chosen=each, **_: name in chosen) for each in some)


def explain(selection: Selection) -> str:
    """The line of the header."""
    files = "1 file differs" if len(selection.changed) == 1 else f"{len(selection.changed)} files differ"
    line = (
        f"affected: since {selection.since}, {files}; {len(selection.chosen)} of {len(selection.tests)} test files run"
    )
    if selection.reason:
        line += f", as {selection.reason} has changed, and any test may need it"
    return line


def explain_left(selection: Selection, left: Iterable[str]) -> list[str]:
    """A line for each test file, one for a folder of which no file runs; where that is much, one for each folder."""
    left = sorted(left)
    places = list(_join_folders(left, selection.chosen))
    if len(places) > _MOST_LINES:
        places = list(_join_names(left))
    why = f"has changed since {selection.since}"
    return [
        f"left out: {place}: nothing that {'it imports' if place.endswith('.py') else 'they import'} {why}"
        for place in places
    ]


def _join_folders(left: list[str], chosen: Iterable[str]) -> Iterator[str]:
    kept = {folder for path in chosen for folder in Path(path).parents}
    whole: dict[Path, list[str]] = defaultdict(list)
    for path in left:
        empty = [folder for folder in Path(path).parents if folder not in kept and len(folder.parts) > 1]
        if empty:
            whole[empty[-1]].append(path)
        else:
            yield path
    for folder, paths in whole.items():
        yield paths[0] if len(paths) == 1 else f"{folder}, {len(paths)} files"


def _join_names(left: list[str]) -> Iterator[str]:
    """`tests/kube/{meta,names}`, without what all have: `test_` and `.py`."""
    folders: dict[Path, list[str]] = defaultdict(list)
    for path in map(Path, left):
        folders[path.parent].append(path.stem.removeprefix("test_"))
    for folder, names in folders.items():
        yield f"{folder}/test_{names[0]}.py" if len(names) == 1 else f"{folder}/test_{{{','.join(names)}}}"
