"""A link that was used stays so when the laptop's cluster is started again; sessions end with it."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession

from paddock.app.consoles.links import make_link, read_key
from paddock.app.consoles.listening import LocalConsole
from paddock.app.consoles.used_tickets import open_sign_in, read_used_tickets, write_used_tickets
from paddock.app.home import Home
from paddock.console.tickets import Ticket
from paddock.jobs.model import Settings
from support.consoles import Written
from support.readers import reading

KNOWN = {"a" * 64: 2000, "b" * 64: 3000}


@asynccontextmanager
async def started(home: Home) -> AsyncIterator[str]:
    """A cluster's console, and its address."""
    console = LocalConsole(Written({}), home, "test", Settings())
    await console.start()
    try:
        yield console.url
    finally:
        await console.stop()


async def enter(link: str) -> int:
    async with ClientSession() as browser, browser.get(link, allow_redirects=False) as answer:
        return answer.status


def link_to(home: Home, url: str) -> str:
    return make_link(home, url, time.time()).address


async def test_a_used_link_is_not_taken_after_a_new_start(tmp_path: Path) -> None:
    home = Home(tmp_path, tmp_path)
    async with started(home) as url:
        used, kept = link_to(home, url), link_to(home, url)
        assert await enter(used) == 303
    async with started(home):
        assert await enter(used) == 401
        assert await enter(kept) == 303, "a link that nobody has used is good"


async def test_a_session_ends_with_the_process(tmp_path: Path) -> None:
    home = Home(tmp_path, tmp_path)
    async with started(home) as url:
        origin = url
    async with reading(origin) as browser:
        async with started(home) as url:
            await browser.enter(link_to(home, url))
            async with browser.get("/") as answer:
                assert answer.status == 200
        async with started(home) as url:
            assert url == origin
            async with browser.get("/") as answer:
                assert answer.status == 401 and "`paddock console` opens this console anew" in await answer.text()


@pytest.mark.parametrize(
    "torn", [b"\xff\x00\x80", b"", b"2000 abc", write_used_tickets(KNOWN)[:-1], b"2000 " + b"a" * 65]
)
async def test_after_a_torn_file_no_old_link_is_good_and_nobody_sees_a_crash(tmp_path: Path, torn: bytes) -> None:
    home = Home(tmp_path, tmp_path)
    async with started(home) as url:
        used, unused = link_to(home, url), link_to(home, url)
        assert await enter(used) == 303
    (tmp_path / "console" / "spent").write_bytes(torn)
    async with started(home) as url:
        assert await enter(used) == await enter(unused) == 401
        assert await enter(link_to(home, url)) == 303


def test_what_is_over_is_dropped() -> None:
    assert read_used_tickets(write_used_tickets(KNOWN), 1000.0) == KNOWN
    assert read_used_tickets(write_used_tickets(KNOWN), 2000.0) == {"b" * 64: 3000}


def test_only_digests_are_written_for_this_user_alone(tmp_path: Path) -> None:
    home = Home(tmp_path, tmp_path)
    _, used_tickets = open_sign_in(home, 1000.0)
    old, fresh = Ticket("link", 1300, "0123456789abcdef"), Ticket("link", 5000, "fedcba9876543210")
    used_tickets.add(old, 1000.0)
    used_tickets.add(fresh, 2000.0)
    path = tmp_path / "console" / "spent"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (line,) = path.read_text().splitlines()
    assert line.startswith("5000 ")
    assert fresh.nonce not in line
    assert fresh in used_tickets
    assert os.listdir(path.parent).count("spent.new") == 0


def test_a_directory_that_cannot_be_written_keeps_nobody_out(tmp_path: Path) -> None:
    home = Home(tmp_path, tmp_path)
    key, used_tickets = open_sign_in(home, 1000.0)
    (tmp_path / "console" / "spent.new").mkdir()
    used_tickets.add(ticket := Ticket("link", 1300, "n"), 1000.0)
    assert ticket in used_tickets
    assert read_key(home) == key
