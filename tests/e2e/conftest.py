"""Every end-to-end test runs in both sandboxes; where bubblewrap does not work, its half is skipped with the reason."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from e2e.commands import Cluster, open_cluster
from support.programs import lack, need


def _why_no_bubblewrap() -> str:
    try:
        tried = subprocess.run(
            ["bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--unshare-uts", "true"],
            capture_output=True,
            text=True,
            timeout=20,
        )
    except OSError as error:
        return str(error)
    return "" if tried.returncode == 0 else tried.stderr.strip() or f"bwrap ended with {tried.returncode}"


@pytest.fixture(scope="session", params=["bubblewrap", "none"])
def sandbox(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if name == "bubblewrap":
        need("bwrap")
        if why := _why_no_bubblewrap():
            lack("bwrap", f"does not work here: {why}")
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
