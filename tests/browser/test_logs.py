"""Logs as somebody looks at them in a browser: of a million lines, of several ranks, while they grow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser.places import enter
from paddock.console.addresses import address_of_job
from paddock.history.records import Attempt, Cause
from paddock.kube.log_marks import write_mark
from support.consoles import PADDLE, Served, keep_log, keep_run, serve_console

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = pytest.mark.browser

LOGS = address_of_job(PADDLE, "default", "demo") + "/logs"
FAILED = Cause("RankFailed", {"ranks": ["worker-1"], "code": 1})


async def open_logs(page: Page, served: Served, query: str = "") -> str:
    """Where the session has its pages."""
    url = await enter(page, served)
    await page.goto(f"{url}{LOGS}{query}")
    return url


async def test_a_million_lines_are_read_from_their_end_with_few_rows(tmp_path: Path, page: Page) -> None:
    keep_run(tmp_path, finished=True)
    lines = [f"step {number}" for number in range(1, 1_000_001)]
    keep_log(tmp_path, "worker-0", "\n".join(lines) + "\n")
    async with serve_console(tmp_path) as served:
        await open_logs(page, served)
        await page.reload()
        await page.get_by_text("step 1000000", exact=True).wait_for()
        assert await page.locator(".row").count() < 200

        await page.fill("input[name=q]", "step 999999")
        await page.locator(".view").evaluate("view => { view.scrollTop = 0 }")
        await page.get_by_text("step 1", exact=True).wait_for()
        await page.get_by_role("button", name="Next").click()
        await page.locator(".row.at", has_text="step 999999").wait_for()
        assert page.url.endswith("#rank=worker-0&line=999999")
        assert await page.locator(".row").count() < 200


async def test_the_rank_that_failed_first_is_opened_at_its_error_and_a_link_names_a_line(
    tmp_path: Path, page: Page
) -> None:
    keep_run(tmp_path, finished=True, phase="Failed", cause=FAILED, attempts=(Attempt(0, 100.0),))
    steps = "".join(f"step {number}\n" for number in range(1, 5_001))
    keep_log(tmp_path, "worker-0", steps)
    keep_log(tmp_path, "worker-1", f"{steps}ValueError: <script>document.title = 'broken'</script>\n")
    async with serve_console(tmp_path) as served:
        url = await open_logs(page, served)
        await page.locator(".row.at", has_text="ValueError: <script>").wait_for()
        assert "broken" not in await page.title()
        await page.goto(f"{url}{LOGS}#rank=worker-0&line=2500")
        await page.locator(".row.at", has_text="step 2500").wait_for()
        await page.goto(f"{url}{LOGS}?rank=worker-0,worker-1#rank=worker-1&line=12")
        await page.locator("[data-rank=worker-1] .row.at", has_text="step 12").wait_for()
        assert await page.locator(".pane").count() == 2


@pytest.mark.sample  # one page: its script, its stream, its buttons and keys
async def test_a_log_is_followed_and_keys_move_in_it(tmp_path: Path, page: Page) -> None:
    keep_run(tmp_path)
    path = keep_log(tmp_path, "worker-0", "".join(f"step {number}\n" for number in range(1, 101)))
    async with serve_console(tmp_path) as served:
        await open_logs(page, served)
        await page.get_by_text("step 100", exact=True).wait_for()
        with path.open("a") as log:
            log.write("".join(f"step {number}\n" for number in range(101, 301)) + "half")
        await page.get_by_text("half", exact=True).wait_for()
        with path.open("a") as log:
            log.write(" and half\n" + "wide " * 300)
        await page.get_by_text("half and half", exact=True).wait_for()
        await page.locator(".view").press("Home")
        await page.get_by_text("step 1", exact=True).wait_for()
        assert await page.get_by_role("button", name="Follow").get_attribute("aria-pressed") == "false"
        await page.locator(".view").press("G")
        await page.locator(".row", has_text="wide wide").click()
        await page.locator(".detail", has_text="wide " * 300).wait_for()
        await page.locator(".view").press("Escape")
        assert await page.locator(".detail").count() == 0


async def test_without_scripts_the_same_lines_are_read_by_links(tmp_path: Path, page: Page) -> None:
    keep_run(tmp_path, finished=True)
    keep_log(tmp_path, "worker-0", "".join(f"step {number}\n" for number in range(1, 1_201)))
    async with serve_console(tmp_path) as served:
        assert page.context.browser is not None
        context = await page.context.browser.new_context(java_script_enabled=False)
        plain = await context.new_page()
        await open_logs(plain, served)
        assert await plain.get_by_text("step 1200", exact=True).count() == 1
        await plain.get_by_role("link", name="Earlier lines").click()
        assert await plain.get_by_text("step 801", exact=True).count() == 1
        await context.close()


async def test_a_rank_and_an_attempt_that_come_later_are_shown(tmp_path: Path, page: Page) -> None:
    keep_run(tmp_path)
    keep_log(tmp_path, "worker-0", "one\n")
    async with serve_console(tmp_path) as served:
        await open_logs(page, served)
        await page.locator(".row", has_text="one").wait_for()
        keep_log(tmp_path, "worker-1", "two\n")
        await page.locator(".ranks a[data-rank=worker-1]").wait_for()
        keep_log(tmp_path, "worker-0", "three\n", attempt=1)
        await page.locator(".attempts a", has_text="1").click()
        await page.locator(".row", has_text="three").wait_for()


async def test_ranks_are_merged_by_time_while_they_print_and_a_line_leads_to_its_rank(
    tmp_path: Path, page: Page
) -> None:
    keep_run(tmp_path)
    paths = [keep_log(tmp_path, f"worker-{index}", "") for index in range(2)]

    def print_line(rank: int, text: str, when: float) -> None:
        with paths[rank].open("a") as log, paths[rank].with_suffix(".times").open("ab") as times:
            log.write(f"{text}\n")
            times.write(write_mark(log.tell(), when))

    print_line(1, "second", 2.0)
    print_line(0, "first", 1.0)
    async with serve_console(tmp_path) as served:
        await open_logs(page, served, "?merged=1")
        await page.locator(".row", has_text="second").wait_for()
        print_line(0, "third", 3.0)
        await page.locator(".row", has_text="third").wait_for()
        # Rows are `content-visibility: auto`: the rendered text of one that was never painted is empty.
        assert await page.locator(".row code").all_text_contents() == ["first", "second", "third"]
        assert await page.locator(".row .n").all_text_contents() == ["worker-0:1", "worker-1:1", "worker-0:2"]
        await page.get_by_role("link", name="worker-0:2").click()
        await page.locator("[data-rank=worker-0] .row.at", has_text="third").wait_for()
