"""Charts as somebody looks at them in a browser: restarts with their causes, many points, what ranks used."""

from __future__ import annotations

from itertools import pairwise
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


def keep_restart(directory: Path) -> None:
    """Two ranks in two attempts, the second from step 51 on."""
    keep_run(directory, attempts=(Attempt(0, 100.0), Attempt(1, 200.0, FAILED)))
    for index in (0, 1):
        for attempt, (first, last) in enumerate(((1, 100), (51, 150))):
            log = keep_log(directory, f"worker-{index}", print_steps(first, last), attempt=attempt)
            record = UsageRecord(usage_file(log))
            for second in range(60):
                record.add(Sample(100.0 + 100 * attempt + second, 0.5 + second / 100, 2.0**30))


async def test_a_restart_is_a_flag_above_the_plot_and_never_over_the_curve(tmp_path: Path, page: Page) -> None:
    keep_restart(tmp_path)
    async with serve_console(tmp_path) as served:
        url = await open_charts(page, served)
        loss = page.locator("#chart-loss")
        flag = loss.get_by_role("button", name="attempt 1: failed: worker-1 ended")
        await flag.wait_for()
        assert (await flag.inner_text()).strip() == "1"
        box, plot = await flag.bounding_box(), await loss.locator(".u-over").bounding_box()
        assert box and plot
        # Step 51 of 1 to 150.
        middle = box["x"] + box["width"] / 2
        assert (middle - plot["x"]) / plot["width"] == pytest.approx(50 / 149, abs=0.02)
        assert box["y"] + box["height"] <= plot["y"]
        why = flag.locator("span")
        assert not await why.is_visible()
        await flag.focus()
        assert await why.is_visible() and "worker-1 ended" in await why.inner_text()
        assert "Dashed: lost by a restart" in await page.locator("#restarts").inner_text()
        legend = loss.locator(".chart-legend button")
        assert await legend.all_inner_texts() == ["worker-0", "worker-1"], "one entry for all attempts of a rank"
        for metric in ("cpu", "memory"):
            await page.locator(f"#chart-{metric} .chart-flag").wait_for()

        await page.get_by_role("link", name="by time").click()
        await page.wait_for_url("**by=time")
        await page.set_viewport_size({"width": 360, "height": 800})
        await page.goto(f"{url}{CHARTS}")
        await page.locator("#chart-loss .u-over").wait_for()
        assert await page.evaluate("document.documentElement.scrollWidth") <= 360


READ_TIPS = "[...document.querySelectorAll('.chart-tip:not([hidden])')].map((each) => each.innerText)"
HEIGHT = "document.querySelector('#chart-loss canvas').offsetHeight"
DRAWN = "[...document.querySelectorAll('#chart-loss canvas')].map((each) => each.toDataURL())[0]"


async def test_one_cursor_tells_the_numbers_of_all_charts_of_an_axis(tmp_path: Path, page: Page) -> None:
    keep_run(tmp_path)
    keep_log(tmp_path, "worker-0", "".join(f"step {step} loss {step} lr 0.{step:03}\n" for step in range(1, 102)))
    async with serve_console(tmp_path) as served:
        await open_charts(page, served)
        await page.locator("#chart-lr .u-over").wait_for()
        plot = await page.locator("#chart-loss .u-over").bounding_box()
        assert plot
        await page.mouse.move(plot["x"] + plot["width"] / 2, plot["y"] + 40)
        assert await page.evaluate(READ_TIPS) == ["at step 51\nworker-0\n51", "at step 51\nworker-0\n0.051"]
        await page.mouse.move(0, 0)
        assert await page.evaluate(READ_TIPS) == []


async def test_smoothing_and_log_scale_are_kept_in_the_address_and_in_the_browser(tmp_path: Path, page: Page) -> None:
    keep_run(tmp_path)
    log = keep_log(tmp_path, "worker-0", "".join(f"step {step} loss {step % 2} lr 0.1\n" for step in range(1, 200)))
    record = UsageRecord(usage_file(log))
    for second in range(60):
        record.add(Sample(100.0 + second, 0.5 + second % 2, 2.0**30))
    async with serve_console(tmp_path) as served:
        url = await open_charts(page, served)
        await page.locator("#chart-loss .u-over").wait_for()
        plain = await page.evaluate(DRAWN)
        await page.get_by_role("button", name="Smoothing 0.98").click()
        smooth = await page.evaluate(DRAWN)
        await page.get_by_role("button", name="Log scale").click()
        assert len({plain, smooth, await page.evaluate(DRAWN)}) == 3
        assert page.url.endswith("?smooth=0.98&log=1")
        with log.open("a") as file:
            file.write("step 200 loss 7.5\n")
        await page.get_by_text("worker-0 7.5").wait_for()  # the page was rendered again
        pressed = page.locator("#chart-tools [aria-pressed=true]")
        assert await pressed.all_inner_texts() == ["0.98", "Log scale"]
        await page.goto(f"{url}{CHARTS}")
        assert await pressed.all_inner_texts() == ["0.98", "Log scale"], "this browser has kept it"
        await page.goto(f"{url}{CHARTS}?smooth=0.6&log=0")
        assert await pressed.all_inner_texts() == ["0.6"], "who was sent an address sees what was sent"
        plot = await page.locator("#chart-loss .u-over").bounding_box()
        assert plot
        await page.mouse.move(plot["x"] + plot["width"] / 2, plot["y"] + 40)
        loss, rate = [tip.splitlines()[2:] for tip in await page.evaluate(READ_TIPS)]
        assert loss[0] in ("0", "1") and len(loss) == 2, "what was made of it stands behind what was read"
        assert rate == ["0.1"], "what the program has chosen is not smoothed"
        await page.locator("#chart-cpu .u-over").hover()
        tips = [tip.splitlines()[2:] for tip in await page.evaluate(READ_TIPS)]
        assert tips and all(len(tip) == 1 for tip in tips), "what is held against a limit is not smoothed"


async def test_one_chart_fills_the_screen_until_escape(tmp_path: Path, page: Page) -> None:
    keep_run(tmp_path)
    log = keep_log(tmp_path, "worker-0", print_steps(1, 100))
    async with serve_console(tmp_path) as served:
        await open_charts(page, served)
        await page.locator("#chart-loss .u-over").wait_for()
        before = await page.locator("#chart-loss canvas").bounding_box()
        assert before
        await page.get_by_role("button", name="Full screen: Loss").click()
        await page.wait_for_function("() => document.fullscreenElement?.id === 'chart-loss'")
        await page.wait_for_function(f"() => {HEIGHT} > {before['height']}")
        with log.open("a") as file:
            file.write("step 101 loss 7.5\n")
        await page.get_by_text("worker-0 7.5").wait_for()
        assert await page.evaluate("document.fullscreenElement?.id") == "chart-loss", "an update does not end it"
        await page.keyboard.press("Escape")
        await page.wait_for_function("() => !document.fullscreenElement")
        await page.wait_for_function(
            f"() => document.querySelector('#chart-loss canvas').offsetHeight === {before['height']}"
        )


async def test_chosen_metrics_are_drawn_and_others_are_gone(tmp_path: Path, page: Page) -> None:
    keep_run(tmp_path)
    keep_log(tmp_path, "worker-0", "".join(f"step {step} loss 0.5 tflops: {step}\n" for step in range(1, 20)))
    async with serve_console(tmp_path) as served:
        await open_charts(page, served)
        await page.locator("#chart-loss .u-over").wait_for()
        await page.locator("#chart-metrics summary").click()
        await page.get_by_role("checkbox", name="tflops").check()
        await page.get_by_role("checkbox", name="Loss").uncheck()
        await page.locator("#chart-metrics button").click()
        await page.get_by_role("heading", name="tflops").wait_for()
        await page.locator(".chart .u-over").wait_for()
        assert await page.locator(".chart").count() == 1


async def test_fifty_restarts_have_flags_that_do_not_lie_on_each_other(tmp_path: Path, page: Page) -> None:
    keep_run(
        tmp_path, attempts=tuple(Attempt(each, 100.0 * (each + 1), FAILED if each else None) for each in range(51))
    )
    for attempt in range(51):
        keep_log(tmp_path, "worker-0", print_steps(attempt * 10 + 1, attempt * 10 + 15), attempt=attempt)
    async with serve_console(tmp_path) as served:
        await open_charts(page, served)
        flags = page.locator("#chart-loss .chart-flag")
        await flags.first.wait_for()
        boxes = [box for each in await flags.all() if (box := await each.bounding_box())]
        assert len(boxes) > 5
        assert all(one["x"] + one["width"] < other["x"] for one, other in pairwise(boxes))


async def test_nodes_stay_as_many_however_long_a_page_is_open(tmp_path: Path, page: Page) -> None:
    keep_restart(tmp_path)
    async with serve_console(tmp_path) as served:
        await open_charts(page, served)
        await page.locator("#chart-loss .u-over").wait_for()
        session = await page.context.new_cdp_session(page)
        counts = []
        for _ in range(3):
            await page.evaluate(CHANGE, 40)
            await session.send("HeapProfiler.collectGarbage")
            counts.append((await session.send("Memory.getDOMCounters"))["nodes"])
        assert counts[2] <= counts[0] + 50, counts


CHANGE = """async (times) => {
  const plot = document.querySelector("#plot-loss"), chart = JSON.parse(plot.dataset.chart);
  for (let count = 0; count < times; count++) {
    for (const segment of chart.segments) segment.y[0] = count;
    chart.restarts = count % 2 ? [] : [[51, "attempt 1", 1]];  // drawn from the beginning each time
    plot.dataset.chart = JSON.stringify(chart);
    await new Promise(requestAnimationFrame);
    const { left, top } = plot.querySelector(".u-over").getBoundingClientRect();
    const over = { clientX: left + 5 * count, clientY: top + 9, bubbles: true };
    plot.querySelector(".u-over").dispatchEvent(new MouseEvent("mousemove", over));
  }
}"""


async def test_a_hundred_thousand_points_are_drawn_and_grow(tmp_path: Path, page: Page) -> None:
    keep_run(tmp_path)
    log = keep_log(tmp_path, "worker-0", print_steps(1, 100_000))
    async with serve_console(tmp_path) as served:
        await open_charts(page, served)
        # The first part is drawn at once, and the rest as it is read.
        await page.locator("#chart-loss .u-over").wait_for()
        row = page.locator("#loss-worker-0-0")
        await page.locator("#numbers-loss summary").click()
        await row.get_by_text("100000", exact=True).first.wait_for(timeout=120_000)
        with log.open("a") as file:
            file.write("step 100001 loss 7.5\n")
        await row.get_by_text("7.5", exact=True).first.wait_for()
        points = await page.evaluate(
            'JSON.parse(document.querySelector("#plot-loss").dataset.chart).segments[0].x.length'
        )
        assert points <= 12_000
