"""Check 20, the browser's side: the console itself is gone for a while, or its reader's session is."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser.places import enter
from paddock.console.sessions import Sessions
from support.consoles import serve_console

if TYPE_CHECKING:
    from playwright.async_api import Page, Route

pytestmark = pytest.mark.browser


async def test_a_page_that_was_never_connected_tries_again_as_well(page: Page, tmp_path: Path) -> None:
    async with serve_console(tmp_path) as served:
        await page.route("**/live*", lambda route: route.abort())
        await enter(page, served)
        await page.get_by_text("The console has not answered since").wait_for()
        await page.unroute("**/live*")
        await page.locator("#connection").wait_for(state="hidden")


@pytest.mark.parametrize("late", ["console.js", "hx-sse.min.js", "htmx.min.js"])
async def test_a_page_is_live_whichever_script_comes_last(page: Page, tmp_path: Path, late: str) -> None:
    """It connects once all of them are there, and notices that the stream fails."""
    async with serve_console(tmp_path) as served:
        failed = asyncio.Event()

        async def fail(route: Route) -> None:
            await route.abort()
            failed.set()

        async def hold(route: Route) -> None:
            """For as long as it would be lost in: until the stream has failed, if it is begun meanwhile."""
            with suppress(TimeoutError):
                async with asyncio.timeout(2):
                    await failed.wait()
            await route.continue_()

        await page.route("**/live*", fail)
        await page.route(f"**/{late}*", hold)
        await enter(page, served)
        await page.get_by_text("The console has not answered since").wait_for()


async def test_a_page_says_since_when_it_is_old_and_goes_on_by_itself(page: Page, tmp_path: Path) -> None:
    notice, sessions = page.locator("#connection"), Sessions()
    async with serve_console(tmp_path, sessions=sessions) as served:
        async with page.expect_response(lambda answer: "/live" in answer.url):
            await enter(page, served)
        assert await notice.is_hidden()
    port = int(served.url.rpartition(":")[2])
    await page.get_by_text("The console has not answered since").wait_for()
    assert await page.locator("html.stale").count() == 1
    async with serve_console(tmp_path, port=port, sessions=sessions):
        await notice.wait_for(state="hidden")
        assert await page.locator("html.stale").count() == 0
    async with serve_console(tmp_path, port=port):
        await page.get_by_text("You are signed out: what is shown is of").wait_for()
        assert "`paddock console` opens this console anew" in await notice.inner_text()
        await page.reload()
        await page.get_by_text("you are not signed in, or not any more").first.wait_for()
