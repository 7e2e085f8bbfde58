"""Tests run in another order each time. One seed names the order and what Hypothesis draws; the last line prints it.

pytest-randomly draws the seed, gives it to the workers of xdist, and shuffles; `-p no:randomly` turns all of it off.
The seed alone decides: with one, Hypothesis does not read its database of former examples. Files of whole clusters come
before the others, each of the two in the order of the seed: one that takes a minute and comes last would be waited for
by all other workers.

`--rooms=waiting` takes the folders whose tests start processes, wait for timers and ask servers, `--rooms=pure` all
others. The latter are busy from the first test to the last: `tools/light_tests.py` gives them one process on a small
machine, as to hand out a short test to another one takes longer than the test.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import core

WAITING = ("app", "apiserver", "cli", "datasets", "doctor", "e2e", "environments", "kubernetes", "node", "operations",
           "operator", "places", "support", "tools")  # fmt: skip
"""Folders of tests that are not busy all the time."""
COMPUTING = ("apiserver/access", "apiserver/conformance", "app/bundles", "cli/cluster", "cli/output", "cli/rendering",
             "cli/script", "cli/test_explain.py", "cli/test_foreign_text.py", "cli/test_help.py",
             "cli/test_printed_commands.py", "doctor/host", "doctor/logs", "doctor/test_examine.py",
             "doctor/test_launch_block.py", "node/runtime", "node/scheduler")  # fmt: skip
"""What computes in these folders: thousands of short tests. Each process of the others would collect them all, and to
hand one out costs more than the test."""
_LONG = ("app", "e2e", "kubernetes")
"""Folders of tests."""
_TESTS = Path(__file__).resolve().parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rooms", choices=("pure", "waiting"), help="run the folders that wait, or the others")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    wanted = config.getoption("--rooms")
    if wanted is None or collection_path in (_TESTS, *_TESTS.parents) or _TESTS not in collection_path.parents:
        return None
    path = collection_path.relative_to(_TESTS)
    if wanted == "pure" and any(path in Path(each).parents for each in COMPUTING):
        return None
    return True if waits(path) is (wanted == "pure") else None


def waits(path: Path) -> bool:
    """Whether tests of a file or folder, by its path below `tests`, belong to the room that waits."""
    return path.parts[0] in WAITING and not any(path.is_relative_to(each) for each in COMPUTING)


@pytest.hookimpl(trylast=True)  # after pytest-randomly has drawn, and after Hypothesis has read --hypothesis-seed
def pytest_configure(config: pytest.Config) -> None:
    if core.global_force_seed is None:
        core.global_force_seed = config.getoption("randomly_seed", None)


@pytest.hookimpl(trylast=True)  # after pytest-randomly has shuffled
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    long = {_TESTS / name for name in _LONG}
    items.sort(key=lambda item: long.isdisjoint(item.path.parents))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    seed = config.getoption("randomly_seed", None)
    if config.pluginmanager.hasplugin("randomly"):
        terminalreporter.write_line(f"the same order again: pytest --randomly-seed={seed}")
