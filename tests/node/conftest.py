"""The cluster that most tests of the node run on: once in each sandbox that works here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node.cluster import Cluster, open_cluster
from paddock.node.runtime.sandbox import Sandbox
from support.sandboxes import SANDBOXES, need_sandbox


@pytest.fixture(params=SANDBOXES)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return need_sandbox(request.param)


@pytest.fixture
async def cluster(tmp_path: Path, sandbox: Sandbox) -> AsyncIterator[Cluster]:
    async with open_cluster(tmp_path, sandbox) as cluster:
        yield cluster
