"""Outputs in a browser: a picture is drawn, what programs wrote runs nothing, and a board opens by one click."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.consoles.test_boards import JOB, World
from browser.conftest import WAIT_MS
from browser.places import enter
from console.test_outputs import address, job, make_outputs
from support.consoles import serve_console

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

pytestmark = pytest.mark.browser
UID = "0a1b2c3d-4444"
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8cfc0000003010100c9fe92ef"
    "0000000049454e44ae426082"
)
_BAD = "<script>parent.alert(1); alert(1)</script><img src=x onerror=alert(1)>"


async def test_a_picture_is_drawn_and_markup_runs_nothing(page: Page, tmp_path: Path) -> None:
    out = make_outputs(tmp_path, UID)
    (out / "curve.png").write_bytes(PIXEL)
    (out / f"{_BAD[:12]}<img src=x onerror=alert(1)>.html".replace("/", "")).write_text(_BAD)
    (out / "bad.svg").write_text(f"<svg xmlns='http://www.w3.org/2000/svg'>{_BAD}</svg>")
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    async with serve_console(tmp_path, job(UID)) as served:
        url = await enter(page, served)
        await page.goto(url + address())
        links = [await each.get_attribute("href") for each in await page.locator("tbody th a").all()]
        assert len(links) == 4
        for link in links:
            await page.goto(served.url + str(link))
            assert await page.get_by_role("heading", level=1).count() == 1
        await page.goto(url + address("curve.png"))
        drawn = page.locator(".picture img")
        assert await drawn.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1
    assert dialogs == []


async def test_a_board_opens_in_a_tab_of_its_own_by_one_click(browser: Browser, tmp_path: Path) -> None:
    """The tab comes from another site, so the board's strict cookie goes with no redirect of it."""
    world = World(tmp_path)
    context = await browser.new_context()
    context.set_default_timeout(WAIT_MS)
    try:
        page = await context.new_page()
        async with world.serve() as served:
            url = await enter(page, served)
            await page.goto(f"{url}{JOB}/outputs")
            async with context.expect_page() as opening:
                await page.get_by_role("button", name="Open TensorBoard").click()
            board = await opening.value
            await board.wait_for_url("http://board-*.localhost:*/s/*/")
            assert await board.text_content("body") == "the board"
            await page.reload()
            await page.get_by_role("button", name="End").click()
            await page.get_by_text("Boards", exact=True).wait_for()
            assert await page.get_by_role("button", name="End").count() == 0
    finally:
        await context.close()
        await world.boards.close()
