"""Logs as somebody looks at them in a browser: of a million lines, of several ranks, while they grow."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser.conftest import WAIT_MS
from browser.places import enter
from paddock.console.addresses import address_of_job
from paddock.history.records import Attempt, Cause
from paddock.kube.log_marks import write_mark
from support.consoles import PADDLE, Served, keep_log, keep_run, serve_console

if TYPE_CHECKING:
    from playwright.async_api import Page, Route

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


def append(path: Path, text: str) -> None:
    with path.open("a") as log:
        log.write(text)


async def select(page: Page, first: str, last: str) -> str:
    """Selects from the begin of one line to the end of another, as a reader does with the mouse."""
    script = """([first, last]) => {
        const rows = [...document.querySelectorAll(".row code")];
        const [from, upto] = [first, last].map((text) => rows.find((row) => row.textContent === text).firstChild);
        getSelection().setBaseAndExtent(from, 0, upto, upto.length);
        return String(getSelection());
    }"""
    return str(await page.evaluate(script, [first, last]))


async def read_selection(page: Page) -> str:
    return str(await page.evaluate("String(getSelection())"))


async def become(page: Page, condition: str) -> None:
    """Waits for it. `wait_for_function` evaluates a text in the page, which the content security policy forbids."""
    async with asyncio.timeout(WAIT_MS / 1_000):
        while not await page.evaluate(condition):
            await page.wait_for_timeout(50)


async def count_lines(page: Page) -> None:
    """Waits until the script has asked once more."""
    async with page.expect_response(lambda answer: "/logs/lines?" in answer.url):
        pass


STEPS = "".join(f"step {number}\n" for number in range(1, 101))
BEGUN = (Attempt(0, 100.0), Attempt(1, 160.0, FAILED))


async def test_an_open_page_goes_on_into_the_next_attempt_and_says_so_above_its_lines(
    tmp_path: Path, page: Page
) -> None:
    keep_run(tmp_path)
    keep_log(tmp_path, "worker-0", STEPS)
    keep_log(tmp_path, "worker-1", STEPS)
    async with serve_console(tmp_path) as served:
        await open_logs(page, served, "?rank=worker-1&at=0")
        await page.get_by_text("step 100", exact=True).wait_for()
        await page.evaluate("window.same = true")
        keep_run(tmp_path, attempts=BEGUN)
        keep_log(tmp_path, "worker-0", "again 1\n", attempt=1)
        keep_log(tmp_path, "worker-1", "again 2\n", attempt=1)
        await page.locator(".row", has_text="again 2").wait_for()
        assert re.search(r"\?rank=worker-1&at=1$", page.url)
        divider = page.locator(".divider")
        assert "Attempt 1 began at" in await divider.inner_text() and "worker-1" in await divider.inner_text()
        assert await page.locator(".attempts [aria-current]").inner_text() == "1"
        assert await page.locator(".ranks [aria-current]").get_attribute("href") == await page.locator(
            ".ranks a[data-rank=worker-1]"
        ).get_attribute("href")
        assert await page.evaluate("window.same"), "without loading the page anew"
        append(keep_log(tmp_path, "worker-1", "again 2\n", attempt=1), "again 3\n")
        await page.locator(".row", has_text="again 3").wait_for()
        await divider.get_by_role("link", name="Attempt 0").click()
        await page.locator(".row", has_text="step 100").wait_for()


async def test_who_does_not_follow_is_told_that_the_next_attempt_runs(tmp_path: Path, page: Page) -> None:
    keep_run(tmp_path)
    keep_log(tmp_path, "worker-0", STEPS)
    async with serve_console(tmp_path) as served:
        await open_logs(page, served)
        await page.get_by_text("step 100", exact=True).wait_for()
        follow = page.get_by_role("button", name="Follow")
        style = "button => { const style = getComputedStyle(button); return style.color + style.backgroundColor }"
        on = await follow.evaluate(style)
        await follow.click()
        assert await follow.evaluate(style) != on, "it is seen whether it follows"
        keep_log(tmp_path, "worker-0", "again\n", attempt=1)
        await page.get_by_text("Attempt 1 runs.").wait_for()
        assert await page.locator(".row", has_text="again").count() == 0
        assert await page.locator(".attempts [aria-current]").inner_text() == "0", "all parts are of one attempt"
        await page.get_by_role("link", name="Show it").click()
        await page.locator(".row", has_text="again").wait_for()


async def test_what_is_selected_in_a_running_log_stays_selected_and_is_copied_without_numbers(
    tmp_path: Path, page: Page
) -> None:
    keep_run(tmp_path)
    path = keep_log(tmp_path, "worker-0", STEPS + "half")
    async with serve_console(tmp_path) as served:
        await open_logs(page, served)
        await page.get_by_text("half", exact=True).wait_for()
        selected = await select(page, "step 98", "half")
        assert selected.split() == ["step", "98", "step", "99", "step", "100", "half"]
        append(path, " an ERROR\n" + STEPS)
        await page.get_by_text("half an ERROR", exact=True).wait_for()
        await page.locator(".row[data-level=error]").wait_for()
        await count_lines(page)
        assert await read_selection(page) == selected
        await page.evaluate(
            "addEventListener('copy', (event) => { window.copied = event.clipboardData.getData('text/plain') })"
        )
        await page.keyboard.press("Control+C")
        assert await page.evaluate("window.copied") == "step 98\nstep 99\nstep 100\nhalf"
        await page.locator(".view").evaluate("view => { view.scrollTop = 0 }")
        await page.get_by_text("step 1", exact=True).first.wait_for()
        assert await read_selection(page) == selected, "also out of view"


async def test_a_log_that_is_followed_waits_while_something_is_selected(tmp_path: Path, page: Page) -> None:
    keep_run(tmp_path)
    path = keep_log(tmp_path, "worker-0", STEPS)
    async with serve_console(tmp_path) as served:
        await open_logs(page, served)
        await page.get_by_text("step 100", exact=True).wait_for()
        await select(page, "step 99", "step 100")
        append(path, "".join(f"more {number}\n" for number in range(100)))
        keep_log(tmp_path, "worker-0", "again\n", attempt=1)
        await page.get_by_text("it goes on when nothing is selected").wait_for()
        assert (await read_selection(page)).split() == ["step", "99", "step", "100"]
        await page.evaluate("getSelection().removeAllRanges()")
        await page.locator(".row", has_text="again").wait_for()


async def test_hits_are_marked_and_counted_and_the_log_moves_to_them(tmp_path: Path, page: Page) -> None:
    keep_run(tmp_path, finished=True)
    lines = [f"needle {number}" if number % 100 == 0 else f"hay {number}" for number in range(1, 1001)]
    lines[499] += " ERROR"
    keep_log(tmp_path, "worker-0", "\n".join(lines) + "\n")
    async with serve_console(tmp_path) as served:
        await open_logs(page, served)
        await page.locator(".row", has_text="needle 1000").wait_for()
        await page.evaluate("window.same = true")
        await page.keyboard.press("/")
        await page.keyboard.type("needle")
        said = page.locator("form.search output")
        await page.locator(".row.at", has_text="needle 1000").wait_for()
        assert await said.inner_text() == "10 of 10"
        await page.keyboard.press("Enter")
        await page.locator(".row.at", has_text="needle 100").wait_for()
        await page.keyboard.press("Shift+Enter")
        await page.locator(".row.at", has_text="needle 1000").wait_for()
        await become(page, "CSS.highlights.get('log-hit-now').size === 1")
        marked = "String([...CSS.highlights.get('log-hit-now')][0])"
        assert await page.evaluate(marked) == "needle"
        await page.get_by_label("only matching lines").check()
        await become(page, "document.querySelectorAll('.row').length === 10")
        assert await page.locator(".row .n").all_text_contents() == [str(number) for number in range(100, 1001, 100)]
        await page.locator("select[name=level]").select_option("error")
        await become(page, "document.querySelectorAll('.row').length === 1")
        assert await page.locator(".row code").inner_text() == "needle 500 ERROR"
        await page.locator("select[name=level]").select_option("")
        await page.fill("input[name=q]", "")
        await page.locator(".row", has_text="hay 501").wait_for()
        assert await page.evaluate("window.same"), "without loading the page anew"


async def test_lines_wrap_have_times_and_a_long_one_is_read_whole_in_view(tmp_path: Path, page: Page) -> None:
    keep_run(tmp_path, finished=True)
    text = "".join(f"step {number} {'wide ' * 600}\n" for number in range(1, 301))
    path = keep_log(tmp_path, "worker-0", text)
    path.with_suffix(".times").write_bytes(write_mark(len(text), 1_700_000_000.0))
    async with serve_console(tmp_path) as served:
        await open_logs(page, served)
        last = page.locator(".row", has_text="step 300")
        await last.wait_for()
        await page.get_by_role("button", name="Wrap").click()
        wide = "view => view.scrollWidth <= view.clientWidth"
        assert await page.locator(".view").evaluate(wide)
        await page.get_by_role("button", name="End").click()
        inside = (
            "row => Math.abs(row.getBoundingClientRect().bottom - row.closest('.view').getBoundingClientRect().bottom)"
        )
        assert await last.evaluate(inside) < 40, "the last row is whole"
        await page.get_by_role("button", name="Time", exact=True).click()
        await last.locator(".when", has_text="22:13:20").wait_for()  # so that the row is not drawn anew under the click
        await last.locator("code").click()
        detail = page.locator(".detail")
        await detail.wait_for()
        assert await detail.evaluate("each => each.getBoundingClientRect().bottom <= innerHeight")
        await page.keyboard.press("Escape")
        assert await detail.count() == 0
        await page.reload()
        await page.locator(".view.wrapped").wait_for()


@pytest.mark.parametrize(("width", "height", "part"), [(1280, 720, 0.25), (390, 844, 0.45)])
async def test_the_first_line_stands_high_and_many_lines_are_in_view(
    tmp_path: Path, page: Page, width: int, height: int, part: float
) -> None:
    keep_run(tmp_path, finished=True, phase="Failed", cause=FAILED, attempts=(Attempt(0, 100.0),))
    for rank in ("worker-0", "worker-1"):
        keep_log(tmp_path, rank, STEPS)
    await page.set_viewport_size({"width": width, "height": height})
    async with serve_console(tmp_path) as served:
        url = await open_logs(page, served)
        for query in ("", "?merged=1"):
            await page.goto(f"{url}{LOGS}{query}")
            await page.locator(".row", has_text="step 100").first.wait_for()
            box = await page.locator(".view").bounding_box()
            assert box is not None and box["y"] <= height * part
            assert (min(height, box["y"] + box["height"]) - box["y"]) / 20 >= 15


async def test_an_error_in_a_merged_log_leaves_each_rank_its_colour(tmp_path: Path, page: Page) -> None:
    keep_run(tmp_path, finished=True)
    for index in range(2):
        keep_log(tmp_path, f"worker-{index}", "step 1\nValueError: bad\n")
    async with serve_console(tmp_path) as served:
        await open_logs(page, served, "?merged=1")
        await page.locator(".row", has_text="ValueError").first.wait_for()
        await page.get_by_role("button", name="First error").wait_for()
        colours = await page.locator(".row .n").evaluate_all("all => all.map(each => getComputedStyle(each).color)")
    assert len(colours) == 4 and len(set(colours)) == 2


def answer_with(status: int) -> Callable[[Route], Awaitable[None]]:
    async def answer(route: Route) -> None:
        await route.fulfill(status=status)

    return answer


async def test_who_is_signed_out_or_may_not_read_the_log_any_more_is_told(tmp_path: Path, page: Page) -> None:
    keep_run(tmp_path)
    keep_log(tmp_path, "worker-0", STEPS)
    async with serve_console(tmp_path) as served:
        url = await open_logs(page, served)
        for status, said in ((403, "you may not read this log any more"), (401, "signed out")):
            await page.goto(f"{url}{LOGS}")
            await page.get_by_text("step 100", exact=True).wait_for()
            await page.route("**/logs/lines?*", answer_with(status))
            await page.locator(".tools [role=status]", has_text=said).wait_for()
            await page.unroute("**/logs/lines?*")


async def test_a_log_is_grey_and_says_since_when_while_the_console_is_away(tmp_path: Path, page: Page) -> None:
    keep_run(tmp_path)
    keep_log(tmp_path, "worker-0", STEPS)
    async with serve_console(tmp_path) as served:
        await page.goto(f"{await open_logs(page, served)}{LOGS}")
        await page.get_by_text("step 100", exact=True).wait_for()
        await page.route("**/logs/lines?*", lambda route: route.abort())
        await page.get_by_text("The console has not answered since").wait_for()
        assert await page.locator("html.stale").count() == 1
        await page.unroute("**/logs/lines?*")
        await page.locator("#connection").wait_for(state="hidden")
        assert await page.locator("html.stale").count() == 0
        await page.route("**/logs/lines?*", answer_with(401))
        await page.get_by_text("`paddock console` opens this console anew").wait_for()


async def count_memory(page: Page) -> tuple[float, float]:
    """(bytes of the heap, nodes), once what is not needed was collected."""
    session = await page.context.new_cdp_session(page)
    await session.send("HeapProfiler.collectGarbage")
    told = await session.send("Performance.enable") or await session.send("Performance.getMetrics")
    metrics = {each["name"]: each["value"] for each in told["metrics"]}
    await session.detach()
    return metrics["JSHeapUsedSize"], metrics["Nodes"]


async def test_a_page_that_is_open_for_a_day_of_fifty_restarts_does_not_grow(tmp_path: Path, page: Page) -> None:
    keep_run(tmp_path)
    keep_log(tmp_path, "worker-0", STEPS)
    await page.clock.install()
    async with serve_console(tmp_path) as served:
        await open_logs(page, served)
        await page.get_by_text("step 100", exact=True).wait_for()
        measured: list[tuple[float, float]] = []
        for attempt in range(1, 51):
            keep_log(tmp_path, "worker-0", f"{STEPS}attempt {attempt}\n", attempt=attempt)
            row = page.locator(".row", has_text=re.compile(f"attempt {attempt}$"))
            async with asyncio.timeout(WAIT_MS / 1_000):
                while not await row.count():
                    await page.clock.fast_forward(86_400_000 // 50)
                    await page.wait_for_timeout(50)  # the server answers in real time
            if attempt in (10, 50):
                measured.append(await count_memory(page))
        assert page.url.endswith("at=50&rank=worker-0") or page.url.endswith("rank=worker-0&at=50")
    (heap, nodes), (heap_later, nodes_later) = measured
    assert heap_later < heap * 1.3 + 1_000_000 and nodes_later < nodes * 1.3 + 300
    assert await page.locator(".pane").count() == 1


async def test_nothing_is_asked_for_while_the_page_is_hidden_or_after_the_run(tmp_path: Path, page: Page) -> None:
    keep_run(tmp_path)
    keep_log(tmp_path, "worker-0", STEPS)
    asked: list[str] = []
    page.on("request", lambda sent: asked.append(sent.url) if "/logs" in sent.url else None)
    await page.clock.install()

    async def pass_a_minute() -> list[str]:
        asked.clear()
        await page.clock.run_for(60_000)
        await page.wait_for_timeout(300)  # what would be asked for now is seen
        return asked

    async with serve_console(tmp_path) as served:
        await open_logs(page, served)
        await page.get_by_text("step 100", exact=True).wait_for()
        assert any("n=0" in each for each in await pass_a_minute()), "a log that may grow is asked for"
        await page.evaluate("Object.defineProperty(document, 'hidden', { get: () => window.away }); window.away = true")
        await page.wait_for_timeout(300)  # what was asked for before is answered
        assert await pass_a_minute() == []
        await page.evaluate("window.away = false")
        keep_run(tmp_path, finished=True)
        async with asyncio.timeout(WAIT_MS / 1_000):
            while not await page.locator(".ranks[data-live='']").count():
                await page.clock.run_for(6_000)
                await page.wait_for_timeout(50)  # the server answers in real time
        assert await pass_a_minute() == []
