"""Tests of what the operator promises, in both worlds (`worlds`). The real one is skipped, with the reason, where this
machine has no control plane; `make test-all` builds it first."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from worlds import ControlPlane, NoPrograms, World, find_programs, open_embedded, open_real


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """etcd, kube-apiserver and the controllers (garbage collection, namespaces), with no node: one for all tests."""
    try:
        programs = find_programs()
    except NoPrograms as reason:
        pytest.skip(str(reason))
    plane = ControlPlane(tmp_path_factory.mktemp("control-plane"), programs)
    try:
        plane.up("--controllers")
        yield plane
    finally:
        plane.down()


@pytest.fixture(params=["embedded", pytest.param("kubernetes", marks=pytest.mark.kubernetes)])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    if request.param == "embedded":
        async with open_embedded(tmp_path) as embedded:
            yield embedded
    else:
        async with open_real(request.getfixturevalue("control_plane")) as real:
            yield real
