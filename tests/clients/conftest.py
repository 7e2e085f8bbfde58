"""Clients of others, as their users have them, against a cluster as `paddock up` starts it.

Each is a process in an environment of its own (tools/fetch_clients.py), which finds the cluster by KUBECONFIG as
everywhere. What a client of Python does stands in `programs/`, one function for one habit; it prints what it saw, and
the test judges.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

import pytest

from clients.fetched import PROGRAMS, find
from clients.kubectl import Kubectl
from e2e.commands import Cluster, open_cluster

_SERIAL = count()


@pytest.fixture(scope="session")
def laptop() -> Iterator[Cluster]:
    with open_cluster("auto") as opened:
        yield opened


@pytest.fixture
def namespace(laptop: Cluster) -> Iterator[str]:
    """The test's own, so that the cluster can be shared."""
    name = f"test-{next(_SERIAL)}"
    laptop.create("/api/v1/namespaces", {"metadata": {"name": name}})
    yield name
    laptop.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture(params=["kubectl", "kubectl-debian"])
def kubectl(request: pytest.FixtureRequest, laptop: Cluster, namespace: str) -> Kubectl:
    return Kubectl(str(find(request.param)), laptop, namespace)


@pytest.fixture
def ask(laptop: Cluster, namespace: str) -> Callable[..., Any]:
    """`ask("kr8s", "pages")`: what the function `pages` of programs/of_kr8s.py returns, in the environment of kr8s."""

    def call(client: str, function: str, *words: str, variables: Mapping[str, str] | None = None) -> Any:
        program = [str(find(client)), str(PROGRAMS / f"of_{client}.py"), function, *words]
        place = str(laptop.directory)
        own = {"NAMESPACE": namespace, "HOME": place, "TMPDIR": place, **(variables or {})}
        done = subprocess.run(
            program, env={**laptop.environment, **own}, stdin=subprocess.DEVNULL, cwd=laptop.directory,
            capture_output=True, text=True, timeout=180, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{client} {function}: {done.stdout}{done.stderr}"
        return json.loads(done.stdout.splitlines()[-1])

    return call
