"""The list and the pages of a job in a browser: by keys alone, narrow, light and dark, while time goes by."""

from __future__ import annotations

import asyncio
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser.places import enter, list_addresses, locate
from support.consoles import PADDLE, Served, keep_log, keep_run, serve_console
from support.demo import Demo, address
from support.written import build_event, build_pod, build_written_job

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

pytestmark = pytest.mark.browser

JOB = "/jobs/default/paddlejobs.batch.paddlepaddle.org/demo"
TIME = "time[datetime]:not([data-since])"
CAUSE = {"reason": "RankFailed", "args": {"ranks": ["worker-1"], "code": 1}}


def build_objects() -> list[dict[str, object]]:
    failed = build_written_job(phase="Failed", mode="PS", attempt=1, cause=CAUSE)
    running = build_written_job("a-very-long-name-without-any-hyphen".replace("-", ""), phase="Running")
    running["metadata"]["uid"] = "two"
    pods = [build_pod("worker", 0), build_pod("worker", 1, "Failed", message="/a/long/path" * 20)]
    return [failed, running, *pods, build_event("RankFailed")]


async def open_console(page: Page, served: Served, address: str = "/") -> str:
    """Where the session has its pages."""
    url = await enter(page, served)
    await page.goto(url + address)
    return url


async def test_a_job_is_read_by_keys_alone(tmp_path: Path, page: Page) -> None:
    keep_run(tmp_path)
    keep_log(tmp_path, "worker-1", "step 1\n")
    async with serve_console(tmp_path, build_objects()) as served:
        url = await open_console(page, served)
        await page.keyboard.press("/")
        await page.keyboard.type("jlem?")
        assert await page.input_value("input[name=q]") == "jlem?"
        await page.wait_for_url(f"{url}/?q=jlem%3F")  # what is typed filters, and no letter of it is a key
        await page.fill("input[name=q]", "")
        await page.wait_for_function("() => document.querySelectorAll('[data-row]').length === 2")
        await page.keyboard.press("Escape")

        for key in ("j", "j", "k"):
            await page.keyboard.press(key)
        assert await page.evaluate("document.activeElement.textContent") == "demo"
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"{url}{JOB}")
        for key, part in (("p", "plan"), ("e", "events"), ("y", "manifest"), ("l", "logs")):
            await page.keyboard.press(key)
            await page.wait_for_url(f"{url}{JOB}/{part}")
        await page.keyboard.press("g")
        await page.keyboard.press("j")
        await page.wait_for_url(f"{url}/")
        await page.keyboard.press("j")
        await page.keyboard.press("l")
        await page.wait_for_url(f"{url}{JOB}/logs")
        await page.keyboard.press("?")  # a log has keys of its own
        await page.locator("dialog[open]").wait_for()
        await page.keyboard.press("Escape")
        await page.keyboard.press("g")
        await page.keyboard.press("j")
        await page.wait_for_url(f"{url}/")
        await page.keyboard.press("?")
        await page.wait_for_url(f"{url}/help")


# A button says it for a second, which a slow machine may not look at.
SEE_BUTTONS = """() => {
  window.seen = "";
  const buttons = () => [...document.querySelectorAll("button[data-copy]")];
  const see = () => { window.seen += buttons().map((each) => each.textContent); };
  new MutationObserver(see).observe(document.body, {childList: true, subtree: true, characterData: true});
}"""


async def test_a_command_is_copied_as_it_is_shown(tmp_path: Path, page: Page) -> None:
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    async with serve_console(tmp_path, build_objects()) as served:
        await open_console(page, served)
        await page.evaluate(SEE_BUTTONS)
        await page.keyboard.press("j")
        await page.keyboard.press("c")
        await page.wait_for_function("window.seen.includes('✓')")
        assert (
            await page.evaluate("navigator.clipboard.readText()")
            == "paddock logs paddlejob/demo --role worker --rank 1"
        )


DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"  # charts too
METRICS = dict.fromkeys(("val_loss", "val_accuracy", "loss", "lr", "grad_norm", "tokens/s", "epoch_time"), 0.123456789)


async def test_no_page_is_wider_than_its_window(demo: Demo, page: Page) -> None:
    progress = {"status": {"progress": {"percent": 99, "metrics": METRICS}}}
    await demo.api.patch(PADDLE, "default", "wide-and-deep", progress, subresource="status")
    url = await enter(page, demo)
    addresses = [*list_addresses().values(), address("wide-and-deep")]
    wide = []
    for each in addresses:
        await page.goto(locate(url, each))
        for width in (1440, 1024, 768, 390, 360):
            await page.set_viewport_size({"width": width, "height": 800})
            await page.evaluate(DRAWN)
            if (found := await page.evaluate("document.documentElement.scrollWidth")) != width:
                wide.append((each, width, found))
    assert not wide


async def test_on_a_phone_the_settings_are_at_the_right_on_the_page_without_a_button_beside_them(
    tmp_path: Path, page: Page
) -> None:
    await page.set_viewport_size({"width": 360, "height": 700})
    async with serve_console(tmp_path, build_objects()) as served:
        await page.goto(f"{await enter(page, served)}/new")
        box = await page.get_by_label("Settings").bounding_box()
        assert box is not None and box["x"] + box["width"] > 320, box


async def until_kept(page: Page, cookie: str) -> None:
    """Chromium keeps the cookie of a script in another process, which a request at once can overtake."""
    async with asyncio.timeout(60):
        while all(each["name"] != cookie for each in await page.context.cookies()):
            await page.wait_for_timeout(50)


async def test_colours_change_in_place_and_stay(tmp_path: Path, page: Page) -> None:
    async with serve_console(tmp_path, build_objects()) as served:
        await open_console(page, served)
        await page.fill("input[name=q]", "typed")
        await page.get_by_label("Settings").click()
        await page.get_by_role("link", name="Dark").click()
        scheme = "getComputedStyle(document.documentElement).colorScheme"
        assert await page.evaluate(scheme) == "dark"
        assert await page.input_value("input[name=q]") == "typed", "the page was not loaded again"
        await until_kept(page, "paddock-theme")
        await page.reload()
        assert await page.evaluate(scheme) == "dark"


async def test_times_are_in_the_zone_of_who_reads_them(demo: Demo, browser: Browser) -> None:
    """The console may be in any other; UTC is the title, and what a page without scripts has."""
    shown = {}
    for zone in ("UTC", "Asia/Shanghai", "America/St_Johns"):
        page = await (await browser.new_context(timezone_id=zone, locale="en-US")).new_page()
        await page.goto(await enter(page, demo) + address("resnet50"))
        created = page.locator(TIME).first
        shown[zone] = await created.inner_text()
        title = await created.get_attribute("title")
        # what the server sends again is in UTC, until the script has seen it
        await created.evaluate("each => { each.textContent = each.title }")
        await page.wait_for_function(f"said => document.querySelector('{TIME}').textContent === said", arg=shown[zone])
        await page.context.close()
        assert title == f"{shown['UTC']} UTC"
    read = {zone: datetime.fromisoformat(said) for zone, said in shown.items()}
    assert read["Asia/Shanghai"] - read["UTC"] == timedelta(hours=8)
    assert read["UTC"] - read["America/St_Johns"] in (timedelta(hours=3.5), timedelta(hours=2.5))


async def test_ages_go_on_without_a_request(tmp_path: Path, page: Page) -> None:
    async with serve_console(tmp_path, build_objects()) as served:
        await open_console(page, served)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        age = page.locator("tbody time").first
        await age.evaluate("each => { each.dataset.since = String(Date.now() / 1000 - 61) }")
        await page.locator("tbody time", has_text=re.compile(r"^(6[1-9]|[789]\d|1[01]\d)s$")).wait_for()
        await age.evaluate("each => { each.dataset.since = String(Date.now() / 1000 - 3 * 3600 - 300) }")
        await page.locator("tbody time", has_text=re.compile("^3h[5-7]m$")).wait_for()
        assert [each for each in asked if "/live" not in each and not each.endswith(".svg")] == [], "but its stream"
