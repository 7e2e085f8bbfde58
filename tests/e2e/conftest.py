"""Every end-to-end test has a half for each sandbox; where bubblewrap does not work, its half is skipped."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.commands import Cluster, open_cluster
from support.programs import need
from support.sandboxes import SANDBOXES, need_bubblewrap


@pytest.fixture(scope="session", params=SANDBOXES)
def sandbox(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if name == "bubblewrap":
        need_bubblewrap()
    return name


@pytest.fixture(scope="session")
def served(sandbox: str) -> Iterator[Cluster]:
    with open_cluster(sandbox) as cluster:
        yield cluster


@pytest.fixture
def shared(served: Cluster) -> Iterator[Cluster]:
    """One cluster for all tests that only add jobs, each under names of its own."""
    yield served
    served.stop_commands()


@pytest.fixture
def cluster(sandbox: str) -> Iterator[Cluster]:
    """A cluster for one test, which may kill it."""
    with open_cluster(sandbox) as cluster:
        yield cluster


@pytest.fixture
def kubectl() -> None:
    need("kubectl")
