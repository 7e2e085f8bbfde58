"""The list of jobs in a browser: it is filtered and sorted in place, and jobs stay chosen meanwhile."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from browser.places import enter
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Phase
from paddock.kube.errors import NotFound
from support.consoles import PADDLE
from support.demo import NOW, Demo, write_many

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = pytest.mark.browser

LOADED = "window.loaded = true"
NAMES = "() => [...document.querySelectorAll('tbody th a')].map((each) => each.textContent)"


async def change(demo: Demo, name: str, running: int) -> None:
    status = {"status": {"worker": {"running": running, "ready": f"{running}/2"}}}
    await demo.api.patch(PADDLE, "default", name, status, subresource="status")


async def complete(demo: Demo, name: str) -> None:
    stored = await demo.api.get(PADDLE, "default", name)
    status = replace(KINDS[PADDLE].read_status(stored), phase=Phase.COMPLETED, finished=NOW)
    patch = {"status": KINDS[PADDLE].write_status(stored["status"], status, NOW)}
    await demo.api.patch(PADDLE, "default", name, patch, subresource="status")


async def open_list(demo: Demo, page: Page, many: int = 0) -> str:
    await write_many(demo.api, many)
    url = await enter(page, demo)
    await page.evaluate(LOADED)
    return url


async def test_the_list_is_filtered_while_one_types_and_keeps_focus_selection_and_address(
    demo: Demo, page: Page
) -> None:
    url = await open_list(demo, page)
    await page.keyboard.press("/")
    await page.keyboard.type("bert")
    await page.wait_for_url(f"{url}/?q=bert")
    await page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 1")
    await page.keyboard.press("Shift+ArrowLeft")
    await page.keyboard.press("Shift+ArrowLeft")
    await demo.api.patch(PADDLE, "default", "mnist", {"metadata": {"labels": {"x": "bert"}}})
    await page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 2")
    where = "() => { const it = document.activeElement; return [it.id, it.value, it.selectionStart, it.selectionEnd]; }"
    assert await page.evaluate(where) == ["q", "bert", 2, 4], "also after a live change of the filtered list"
    await page.fill("#q", "nothing is called so")
    await page.locator(".empty").wait_for()
    await page.get_by_role("link", name="Clear filter").last.click()
    await page.wait_for_url(f"{url}/?")
    await page.go_back()
    await page.wait_for_function("() => document.querySelectorAll('.empty').length === 1")
    assert await page.input_value("#q") == "nothing is called so"
    assert await page.evaluate("window.loaded"), "no page was loaded anew"


async def test_the_list_is_sorted_by_a_head_and_back_is_the_order_before(demo: Demo, page: Page) -> None:
    await open_list(demo, page)
    before = await page.evaluate(NAMES)
    await page.get_by_role("link", name="Name", exact=True).click()
    await page.locator("th[aria-sort=ascending]").wait_for()
    assert await page.evaluate(NAMES) == sorted(before) != before
    await page.get_by_role("link", name="Name", exact=True).click()
    await page.locator("th[aria-sort=descending]").wait_for()
    assert await page.evaluate(NAMES) == sorted(before, reverse=True)
    await page.go_back()
    await page.locator("th[aria-sort=ascending]").wait_for()
    assert await page.evaluate("window.loaded"), "no page was loaded anew"


async def test_jobs_stay_chosen_while_they_are_filtered_away_and_while_rows_change(demo: Demo, page: Page) -> None:
    await page.set_viewport_size({"width": 1440, "height": 800})
    await open_list(demo, page, 3)
    for name in ("many-0000", "many-0002"):
        await page.get_by_label(f"Choose {name}").check()
    await page.fill("#q", "mnist")
    await page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 1")
    assert await page.locator("#chosen output").inner_text() == "2 chosen"
    await page.fill("#q", "")
    await page.get_by_label("Choose many-0002").wait_for()
    await change(demo, "many-0002", 1)
    await page.locator("tr", has_text="many-0002").get_by_text("worker 1/2").wait_for()
    assert await page.locator("tbody .pick :checked").count() == 2
    assert await page.locator("tr", has_text="many-0001").get_by_text("worker 2/2").count() == 1, "a row left as it was"
    await change(demo, "many-0001", 0)
    await page.locator("tr", has_text="many-0001").get_by_text("worker 0/2").wait_for()


async def test_chosen_jobs_are_deleted_once_their_number_is_typed(demo: Demo, page: Page) -> None:
    await open_list(demo, page, 3)
    for name in ("many-0000", "many-0001"):
        await page.get_by_label(f"Choose {name}").check()
    await page.fill("#q", "many-0001")  # the other one is out of sight, and still meant
    await page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 1")
    await page.get_by_role("button", name="Delete").click()
    await page.get_by_label("To go on, type the number of jobs").fill("1")
    await page.get_by_role("button", name="Delete 2 jobs for good").click()
    await page.get_by_text("1 is not their number").wait_for()
    await page.get_by_label("To go on, type the number of jobs").fill("2")
    await page.keyboard.press("Enter")
    await page.get_by_role("heading", name="2 jobs deleted").wait_for()
    for name in ("many-0000", "many-0001"):
        with pytest.raises(NotFound):
            await demo.api.get(PADDLE, "default", name)
    await page.get_by_role("link", name="All jobs").last.click()
    await page.get_by_label("Choose many-0002").wait_for()
    assert await page.locator("#chosen").is_hidden(), "those that were deleted are chosen no more"


async def test_a_view_is_kept_by_its_name_and_taken_away(demo: Demo, page: Page) -> None:
    url = await open_list(demo, page)
    await page.goto(f"{url}/?q=bert&sort=name")
    await page.get_by_text("Save view").click()
    await page.get_by_label("Name of the view").fill("<b>mine</b>")
    await page.keyboard.press("Enter")
    await page.goto(f"{url}/")
    await page.get_by_role("link", name="<b>mine</b>").click()
    await page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 1")
    assert page.url == f"{url}/?q=bert&sort=name"
    await page.get_by_role("button", name="Remove the view <b>mine</b>").click()
    assert await page.locator("#views").is_hidden()


async def test_the_tab_tells_the_state_and_a_notification_the_end(demo: Demo, page: Page) -> None:
    await page.add_init_script("""
      window.told = [];
      window.Notification = class { constructor(title) { window.told.push(title); } };
      Notification.requestPermission = async () => "granted";
    """)
    await open_list(demo, page, 1)
    await page.wait_for_function("() => document.title === '(1✕ 3▶) Jobs · Paddock'")
    assert "paddock-failed.svg" in str(await page.get_attribute("link[rel=icon]", "href"))
    await page.locator("tr", has_text="many-0000").hover()
    await page.get_by_label("Tell me when many-0000 ends").click()
    await page.locator("[data-tell][aria-pressed=true]").wait_for()
    await complete(demo, "many-0000")
    await page.wait_for_function("() => window.told.length === 1")
    assert await page.evaluate("window.told") == ["many-0000: Completed"]
    await page.wait_for_function("() => document.title === '(1✕ 2▶) Jobs · Paddock'")


async def test_a_browser_that_refuses_notifications_says_so(demo: Demo, page: Page) -> None:
    await page.add_init_script("Notification.requestPermission = async () => 'denied'")
    await open_list(demo, page, 1)
    await page.locator("tr", has_text="many-0000").hover()
    await page.get_by_label("Tell me when many-0000 ends").click()
    await page.get_by_text("This browser shows no notifications for this console").wait_for()


async def test_fifteen_jobs_fit_on_a_usual_screen_in_rows_of_one_height(demo: Demo, page: Page) -> None:
    await page.set_viewport_size({"width": 1440, "height": 900})
    await open_list(demo, page, 30)
    heights = await page.evaluate(
        "() => [...document.querySelectorAll('tbody tr')].map((each) => each.getBoundingClientRect())"
        ".map((each) => [each.height, each.bottom <= innerHeight])"
    )
    assert {height for height, _ in heights} == {46}
    assert sum(seen for _, seen in heights) >= 15


async def test_the_cause_keeps_its_room_however_many_columns_are_chosen(demo: Demo, page: Page) -> None:
    await page.set_viewport_size({"width": 1280, "height": 720})
    url = await open_list(demo, page)
    for columns in ("name", "name,ready,duration,age,owner", "name,ready,duration,age,created,resources,owner"):
        await page.goto(f"{url}/?columns={columns}")
        assert (await page.locator(".c-why").bounding_box() or {"width": 0})["width"] >= 180, columns
        assert await page.evaluate("document.documentElement.scrollWidth") == 1280, columns


COVERED = """name => {
  const rows = [...document.querySelectorAll("tr[data-row]")];
  const row = rows.find((each) => each.querySelector("th a").textContent === name);
  const range = document.createRange();
  range.selectNodeContents(row.querySelector(".said"));
  const text = range.getBoundingClientRect(), help = row.querySelector(".help-now");
  return help ? Math.max(0, text.right - help.getBoundingClientRect().left) / text.width : 0;
}"""


async def test_what_helps_lies_over_no_cause(demo: Demo, page: Page) -> None:
    await open_list(demo, page)
    for width, share in ((1440, 0), (1280, 0), (1024, 0.45)):
        await page.set_viewport_size({"width": width, "height": 800})
        for name in ("gpt-moe", "bert-large", "night-run"):
            await page.get_by_role("link", name=name, exact=True).hover()
            assert await page.evaluate(COVERED, name) <= share, (name, width)


async def test_a_hidden_tab_tells_the_state_without_its_stream(demo: Demo, page: Page) -> None:
    await page.clock.install()
    await open_list(demo, page, 1)
    await page.wait_for_function("() => document.title === '(1✕ 3▶) Jobs · Paddock'")
    await page.evaluate("""() => {
      Object.defineProperty(document, "hidden", {value: true});
      Object.defineProperty(document, "visibilityState", {value: "hidden"});
      document.dispatchEvent(new Event("visibilitychange"));
    }""")
    await complete(demo, "many-0000")
    async with page.expect_response(f"{page.url}"):
        await page.clock.run_for(31_000)
    await page.wait_for_function("() => document.title === '(1✕ 2▶) Jobs · Paddock'")


async def test_on_a_phone_jobs_are_chosen_and_what_drops_down_stays_within_the_page(demo: Demo, page: Page) -> None:
    await page.set_viewport_size({"width": 390, "height": 844})
    await open_list(demo, page)
    await page.get_by_label("Choose mnist").check()
    await page.locator("#chosen").get_by_role("button", name="Delete").wait_for()
    for name in ("Columns", "Save view"):
        await page.get_by_text(name, exact=True).click()
        box = await page.locator("details.drop[open] form").bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 390, name
    assert await page.evaluate("document.documentElement.scrollWidth") == 390
