"""The console of the laptop's cluster: it listens at once, and costs nothing until somebody opens it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from aiohttp import ClientError, ClientSession

from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.consoles.listening import LocalConsole
from paddock.app.home import Home
from paddock.jobs.model import Settings

NOT_OF_A_START = ("paddock.console.server", "paddock.console.screens", "paddock.app.consoles.local", "jinja2")
LISTED = "import sys, paddock.app.local; print(*sys.modules)"


def open_console(directory: Path, api: LocalApi) -> LocalConsole:
    return LocalConsole(api, Home(directory / "home", Path()), "here", Settings())


async def test_the_first_request_loads_it_and_is_answered(tmp_path: Path) -> None:
    api = await LocalApi.open(tmp_path / "store")
    console = open_console(tmp_path, api)
    await console.start()
    try:
        assert not console.is_loaded
        async with ClientSession(console.url) as session:
            for path, status in (("/sign-in", 200), ("/", 401)):
                async with session.get(path) as answer:
                    assert answer.status == status
        assert console.is_loaded
    finally:
        await console.stop()
        await api.close()


async def test_it_ends_where_nobody_came_and_comes_again_at_its_port(tmp_path: Path) -> None:
    api = await LocalApi.open(tmp_path / "store")
    urls = []
    for _ in range(2):
        console = open_console(tmp_path, api)
        await console.start()
        urls.append(console.url)
        await console.stop()
    await api.close()
    assert urls[0] == urls[1]


async def test_one_that_cannot_be_opened_is_tried_again_at_the_next_visit(tmp_path: Path) -> None:
    api = await LocalApi.open(tmp_path / "store")
    console = open_console(tmp_path, api)
    await console.start()
    in_the_way = tmp_path / "home" / "console" / "spent"
    in_the_way.mkdir()
    try:
        async with ClientSession(console.url) as session:
            with pytest.raises(ClientError):
                await session.get("/sign-in")
            assert not console.is_loaded
            in_the_way.rmdir()
            async with session.get("/sign-in") as answer:
                assert answer.status == 200
    finally:
        await console.stop()
        await api.close()


async def test_links_can_be_signed_from_its_start_on(tmp_path: Path) -> None:
    """Each command makes links by itself: two that made a key at the same time would sign with two."""
    api = await LocalApi.open(tmp_path / "store")
    console = open_console(tmp_path, api)
    await console.start()
    assert (tmp_path / "home" / "console" / "key").is_file()
    await console.stop()
    await api.close()


@pytest.mark.slow
def test_a_cluster_starts_without_it() -> None:
    ended = subprocess.run([sys.executable, "-c", LISTED], capture_output=True, text=True, check=True)
    assert not set(NOT_OF_A_START) & set(ended.stdout.split())
