"""Fixtures: an embedded API in a temporary directory, in process and over HTTPS."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from apiserver.embedded import Http, widget_crd
from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.meta import CRDS


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[LocalApi]:
    opened = await LocalApi.open(tmp_path / "cluster")
    yield opened
    await opened.close()


@pytest.fixture
async def widgets(api: LocalApi) -> LocalApi:
    """The API with a custom kind, `Widget`."""
    await api.create(CRDS, widget_crd())
    return api


@pytest.fixture
async def server(widgets: LocalApi, tmp_path: Path) -> AsyncIterator[Server]:
    started = Server(widgets, tmp_path / "cluster")
    await started.start()
    yield started
    await started.stop()


@pytest.fixture
async def http(server: Server) -> AsyncIterator[Http]:
    client = Http(server)
    yield client
    await client.session.close()
