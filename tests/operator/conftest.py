"""The cluster of the tests of operators: an embedded API that serves jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from support.operator_seam import Seam, open_cluster


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[LocalApi]:
    async with open_cluster(tmp_path) as api:
        yield api


@pytest.fixture
async def seam(cluster: LocalApi) -> Seam:
    return Seam(cluster)
