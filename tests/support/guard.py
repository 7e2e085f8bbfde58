"""A file of tests leaves the process as it found it (`process_state` says what is compared).

The guard looks before the first fixture of a file and after its last one. To look at each test would be a third of the
time of most: `pytest --guard=test FILE` does so, and names the test. Fixtures of a session are no test's: they may hold
what they like as long as they live.
"""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from support.process_state import State, explain_changes

_STATE = pytest.StashKey["Guard"]()


class Guard:
    """`left`: what was left before the latest fixture of the session; what is left since is in `before`."""

    def __init__(self) -> None:
        self.left: list[str] = []
        self.before = State()

    def look(self) -> list[str]:
        return [*self.left, *explain_changes(self.before)]

    def go_on(self, left: list[str]) -> None:
        self.left, self.before = left, State()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--guard", choices=("file", "test"), default="file", help="what must leave the process as it was")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What is collected lives to the end: each collection of garbage would look at all of it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def nothing_left_of_the_file(request: pytest.FixtureRequest) -> Iterator[None]:
    guard = request.config.stash[_STATE] = Guard()
    yield
    del request.config.stash[_STATE]
    if changes := guard.look():
        advice = f"to know which test it is: pytest --guard=test {request.node.nodeid}"
        pytest.fail("\n".join(["a test of this file leaves for the next one:", *changes, advice]), pytrace=False)


@pytest.fixture(autouse=True)
def nothing_left(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.config.getoption("--guard") == "file":
        yield
        return
    before = State()
    yield
    if changes := explain_changes(before):
        pytest.fail("\n".join(["this test leaves for the next one:", *changes]), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    guard = request.config.stash.get(_STATE, None)
    if guard is None or fixturedef.scope not in ("session", "package"):
        return (yield)
    left = guard.look()
    try:
        return (yield)
    finally:
        guard.go_on(left)
