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

_STATE = pytest.StashKey[State]()
"""As it was before the file; what fixtures of the session have changed since is adopted."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--guard", choices=("file", "test"), default="file", help="what must leave the process as it was")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--guard") == "test":
        config.pluginmanager.register(_EachTest())


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What is collected lives to the end: each collection of garbage would look at all of it again. Tests leave little
    behind, so garbage is looked for less often than Python does: a tenth of their CPU seconds."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(autouse=True, scope="module")
def nothing_left_of_the_file(request: pytest.FixtureRequest) -> Iterator[None]:
    before = request.config.stash[_STATE] = State()
    yield
    del request.config.stash[_STATE]
    if changes := explain_changes(before):
        advice = f"to know which test it is: pytest --guard=test {request.node.nodeid}"
        pytest.fail("\n".join(["a test of this file leaves for the next one:", *changes, advice]), pytrace=False)


class _EachTest:
    """The plugin of `--guard=test`: a fixture of every test costs each a quarter of a millisecond."""

    @pytest.fixture(autouse=True)
    def nothing_left(self) -> Iterator[None]:
        before = State()
        yield
        if changes := explain_changes(before):
            pytest.fail("\n".join(["this test leaves for the next one:", *changes]), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    whole = request.config.stash.get(_STATE, None)
    if whole is None or fixturedef.scope not in ("session", "package"):
        return (yield)
    before = State()
    try:
        return (yield)
    finally:
        whole.adopt(before, State())
