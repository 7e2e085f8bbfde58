"""Every end-to-end test runs in both sandboxes; where bubblewrap does not work, its half is skipped with the reason."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from e2e.commands import KUBECTL, Cluster, open_cluster


def _why_no_bubblewrap() -> str:
    try:
        tried = subprocess.run(
            ["bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--unshare-uts", "true"],
            capture_output=True,
            text=True,
            timeout=20,
        )
    except OSError as error:
        return f"bubblewrap does not start: {error}"
    return "" if tried.returncode == 0 else tried.stderr.strip() or f"bwrap ended with {tried.returncode}"


@pytest.fixture(scope="session", params=["bubblewrap", "none"])
def sandbox(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if name == "bubblewrap" and (why := _why_no_bubblewrap()):
        pytest.skip(why)
    return name


@pytest.fixture(scope="session")
def shared(sandbox: str) -> Iterator[Cluster]:
    """One cluster for all tests that only add jobs, each under names of its own."""
    with open_cluster(sandbox) as cluster:
        yield cluster


@pytest.fixture
def cluster(sandbox: str) -> Iterator[Cluster]:
    """A cluster for one test, which may kill it."""
    with open_cluster(sandbox) as cluster:
        yield cluster


@pytest.fixture
def kubectl() -> None:
    if KUBECTL is None:
        pytest.skip("kubectl is not installed")
