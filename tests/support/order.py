"""Tests run in another order each time. One seed names the order and what Hypothesis draws; the last line prints it.

pytest-randomly draws the seed, gives it to the workers of xdist, and shuffles; `-p no:randomly` turns all of it off.
The seed alone decides: with one, Hypothesis does not read its database of former examples. Files that take long come
before the others, each of the two in the order of the seed: one that takes a minute and comes last would be waited for
by all other workers. Before them come those that need the machine's one real node, which `--dist loadfile` gives to one
worker: the others would wait for it, each with its files. Other ways of `--dist` are not for those tests.

`--rooms=waiting` takes the folders whose tests start processes, wait for timers and ask servers, `--rooms=pure` all
others. The latter are busy from the first test to the last: `tools/light_tests.py` gives them one process on a small
machine, as to hand out a short test to another one takes longer than the test.

A file whose tests all have marks that `-m` leaves out is not opened: each process would import it for nothing.

    PYTHONPATH=tests python -m support.order 'not slow'     a test file of each folder, for the bare machine of .ci/run
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark.expression import Expression
from hypothesis import core

WAITING = ("app", "apiserver", "cli", "datasets", "doctor", "e2e", "environments", "kubernetes", "net", "node",
           "operations", "operator", "places", "support", "tools")  # fmt: skip
"""Folders of tests that are not busy all the time."""
COMPUTING = ("apiserver/access", "apiserver/conformance", "app/bundles", "cli/cluster", "cli/output", "cli/rendering",
             "cli/script", "cli/test_explain.py", "cli/test_foreign_text.py", "cli/test_help.py",
             "cli/test_printed_commands.py", "doctor/host", "doctor/logs", "doctor/test_examine.py",
             "doctor/test_launch_block.py", "node/runtime", "node/scheduler",
             "tools/test_catalogues.py")  # fmt: skip
"""What computes in these folders: thousands of short tests. Each process of the others would collect them all, and to
hand one out costs more than the test."""
ON_NODE = ("kubernetes/on_node/", "kubernetes/test_datasets.py", "browser/test_checks_kubernetes.py")
"""Who opens a real node (`support.real_node`): a folder is a package, as one for all of its files is."""
_SHARING = tuple(f"tests/{each}" for each in ON_NODE)
_LONG = ("app", "browser", "chart", "docs/test_typed_pages.py", "e2e", "kubernetes", "net", "places",
         "preflight/test_paddle_options_real.py")  # fmt: skip
"""Folders and files of tests."""
_TESTS = Path(__file__).resolve().parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rooms", choices=("pure", "waiting"), help="run the folders that wait, or the others")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if _TESTS not in collection_path.parents:
        return None
    path = collection_path.relative_to(_TESTS)
    elsewhere = is_elsewhere(path, config.getoption("--rooms"))
    return True if elsewhere or is_left_out(collection_path, config.option.markexpr) else None


def is_elsewhere(path: Path, rooms: str | None) -> bool:
    """Whether a file or folder, by its path below `tests`, has tests of the other rooms alone."""
    if rooms is None or (rooms == "pure" and any(path in Path(each).parents for each in COMPUTING)):
        return False
    return waits(path) is (rooms == "pure")


def is_left_out(path: Path, expression: str) -> bool:
    """Whether `-m EXPRESSION` takes no test of a file, by the marks that the line `pytestmark` gives to all of them."""
    if not expression or path.suffix != ".py":
        return False
    marks = read_marks(path.read_text(encoding="utf-8"))
    return bool(marks) and not may_match_more(expression, marks)


def read_marks(text: str) -> frozenset[str]:
    """The marks of all tests of a file with this text: those that stand in the line which begins with `pytestmark`."""
    return frozenset(name for line in _MARKS_OF_ALL.findall(text) for name in _MARK.findall(line))


def find_firsts(tests: Path, expression: str) -> Iterator[Path]:
    """Of each folder in `tests` the first test file that `-m EXPRESSION` does not leave out, the highest first; nothing
    of a folder that has no such file, as all of `tests/clients` is slow."""
    for folder in sorted({path.relative_to(tests).parts[0] for path in tests.glob("*/**/test_*.py")}):
        files = sorted((tests / folder).rglob("test_*.py"), key=lambda path: (len(path.parts), path))
        yield from [path for path in files if not is_left_out(path, expression)][:1]


_MARKS_OF_ALL = re.compile(r"^pytestmark = (.*)$", re.MULTILINE)
_MARK = re.compile(r"\bpytest\.mark\.(\w+)")


@lru_cache(maxsize=256)
def may_match_more(expression: str, marks: frozenset[str]) -> bool:
    """Whether a test can match that has these marks, and any others beside them."""
    compiled = Expression.compile(expression)
    cases = (marks | more for more in _choose_others(expression, marks))
    return any(compiled.evaluate(lambda name, /, has=case, **_: name in has) for case in cases)


def _choose_others(expression: str, marks: frozenset[str]) -> Iterator[frozenset[str]]:
    others = set(re.findall(r"\w+", expression)) - {"and", "or", "not", *marks}
    for number in range(len(others) + 1):
        yield from map(frozenset, combinations(others, number))


def waits(path: Path) -> bool:
    """Whether tests of a file or folder, by its path below `tests`, belong to the room that waits."""
    return path.parts[0] in WAITING and not any(path.is_relative_to(each) for each in COMPUTING)


@pytest.hookimpl(trylast=True)  # after pytest-randomly has drawn, and after Hypothesis has read --hypothesis-seed
def pytest_configure(config: pytest.Config) -> None:
    if core.global_force_seed is None:
        core.global_force_seed = config.getoption("randomly_seed", None)


@pytest.hookimpl(trylast=True)  # after pytest-randomly has shuffled
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ranks = {path: rank(path) for path in {item.path for item in items}}  # once for all tests of a file
    items.sort(key=lambda item: ranks[item.path])


def rank(path: Path) -> tuple[int, int]:
    """Of a test file: the lowest runs first, and what shares a node stands together."""
    path = path.relative_to(_TESTS) if path.is_relative_to(_TESTS) else Path(path.name)
    node = next((number for number, each in enumerate(ON_NODE) if path.is_relative_to(each)), len(ON_NODE))
    return node, not any(path.is_relative_to(each) for each in _LONG)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """For `--dist loadfile`; None for all others, as xdist then makes its own."""
    if config.option.dist != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

    class OneNode(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return share(super()._split_scope(nodeid))

    return OneNode(config, log)


def share(file: str) -> str:
    """What one worker runs together: a test file, by its path below the root, or all that need the node."""
    return "the real node" if file.startswith(_SHARING) else file


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    seed = config.getoption("randomly_seed", None)
    if config.pluginmanager.hasplugin("randomly"):
        terminalreporter.write_line(f"the same order again: pytest --randomly-seed={seed}")


if __name__ == "__main__":
    print(*(path.relative_to(_TESTS.parent) for path in find_firsts(_TESTS, sys.argv[1])))
