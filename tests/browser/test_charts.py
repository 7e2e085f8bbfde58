"""Charts as somebody looks at them in a browser: restarts with their causes, many points, what ranks used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser.places import enter
from paddock.console.addresses import address_of_job
from paddock.history.records import Attempt, Cause
from paddock.node.usage.records import UsageRecord, usage_file
from paddock.node.usage.samples import Sample
from support.consoles import PADDLE, Served, keep_log, keep_run, serve_console

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = pytest.mark.browser

CHARTS = address_of_job(PADDLE, "default", "demo") + "/charts"
FAILED = Cause("RankFailed", {"ranks": ["worker-1"], "code": 1})


async def open_charts(page: Page, served: Served, query: str = "") -> str:
    """Where the session has its pages."""
    url = await enter(page, served)
    await page.goto(f"{url}{CHARTS}{query}")
    return url


def print_steps(first: int, last: int) -> str:
    return "".join(f"step {step} loss {1 / step:.4f}\n" for step in range(first, last + 1))


async def test_a_restart_is_a_mark_with_its_cause_on_each_chart(tmp_path: Path, page: Page) -> None:
    keep_run(tmp_path, attempts=(Attempt(0, 100.0), Attempt(1, 200.0, FAILED)))
    for index in (0, 1):
        for attempt, (first, last) in enumerate(((1, 100), (51, 150))):
            log = keep_log(tmp_path, f"worker-{index}", print_steps(first, last), attempt=attempt)
            record = UsageRecord(usage_file(log))
            for second in range(60):
                record.add(Sample(100.0 + 100 * attempt + second, 0.5 + second / 100, 2.0**30))
    async with serve_console(tmp_path) as served:
        url = await open_charts(page, served)
        loss = page.locator("#chart-loss")
        mark = loss.locator(".chart-mark")
        await mark.wait_for()
        assert "attempt 1: failed: worker-1 ended" in (await mark.text_content() or "")
        box, plot = await mark.bounding_box(), await loss.locator(".u-over").bounding_box()
        assert box and plot
        # Step 51 of 1 to 150.
        assert (box["x"] - plot["x"]) / plot["width"] == pytest.approx(50 / 149, abs=0.02)
        assert "Dashed: lost by a restart" in await loss.inner_text()
        assert await loss.locator(".u-legend").inner_text() != ""
        write = "all => all.map((each) => `${each.style.borderStyle} ${each.style.background}`)"
        looks = (await loss.locator(".u-marker").evaluate_all(write))[1:]  # the first is that of the axis
        assert [each.split()[0] for each in looks] == ["solid", "dashed", "solid"] * 2
        assert ["rgb" in each for each in looks] == [False, False, True] * 2, "the newest attempt alone is filled"
        for metric in ("cpu", "memory"):
            mark = page.locator(f"#chart-{metric} .chart-mark")
            assert "attempt 1: failed: worker-1 ended" in (await mark.text_content() or "")

        await page.get_by_role("link", name="by time").click()
        await page.wait_for_url("**by=time")
        await page.set_viewport_size({"width": 360, "height": 800})
        await page.goto(f"{url}{CHARTS}")
        await page.locator("#chart-loss .u-over").wait_for()
        assert await page.evaluate("document.documentElement.scrollWidth") <= 360
        assert await page.locator("#plot-loss").evaluate("each => each.scrollWidth <= each.clientWidth")


async def test_a_hundred_thousand_points_are_drawn_and_grow(tmp_path: Path, page: Page) -> None:
    keep_run(tmp_path)
    log = keep_log(tmp_path, "worker-0", print_steps(1, 100_000))
    async with serve_console(tmp_path) as served:
        await open_charts(page, served)
        # The first part is drawn at once, and the rest as it is read.
        await page.locator("#chart-loss .u-over").wait_for()
        row = page.locator("#loss-worker-0-0")
        await row.get_by_text("100000", exact=True).first.wait_for(timeout=120_000)
        with log.open("a") as file:
            file.write("step 100001 loss 7.5\n")
        await row.get_by_text("7.5", exact=True).first.wait_for()
        points = await page.evaluate(
            'JSON.parse(document.querySelector("#plot-loss").dataset.chart).segments[0].x.length'
        )
        assert points <= 12_000
