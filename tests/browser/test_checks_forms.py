"""The form of a new job, as somebody uses it: checks of the console's specification, by their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from browser.places import enter
from paddock.kube.errors import NotFound
from support.demo import PADDLE, TORCH, Demo

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

pytestmark = pytest.mark.browser
DISTRIBUTED = "/new?template=pytorch-distributed"


async def open_form(demo: Demo, page: Page, template: str = "pytorch-distributed") -> None:
    url = await enter(page, demo)
    await page.goto(f"{url}/new?template={template}")


def field(page: Page, name: str):
    return page.locator(f'[name="f:{name}"]')


async def until_text_has(page: Page, said: str) -> None:
    """The text follows the form."""
    await page.wait_for_function("said => document.getElementById('text').value.includes(said)", arg=said)


async def test_a_typo_has_its_line_field_and_nearest_name_and_a_button_that_mends_it(demo: Demo, page: Page) -> None:
    """Check 4: typo `replica`: line, field, nearest name, Fix repairs it."""
    await open_form(demo, page)
    text = await page.input_value("#text")
    await page.fill("#text", text.replace("replicas: 2", "replica: 2"))
    line = text[: text.index("replicas: 2")].count("\n") + 1
    wrong = page.locator(".problems li.bad").first
    await wrong.get_by_text(f"line {line}", exact=True).wait_for()
    said = await wrong.inner_text()
    assert "spec.pytorchReplicaSpecs.Worker.replica" in said and 'did you mean "replicas"?' in said
    await wrong.get_by_role("button", name="Fix").click()
    await until_text_has(page, "replicas: 2")
    await page.locator("#check .good").first.wait_for()
    assert await page.locator(".problems li.bad").count() == 0


async def test_the_total_follows_the_roles(demo: Demo, page: Page) -> None:
    """Check 5: total replicas follow Master + Worker."""
    await open_form(demo, page)
    total = page.locator("#replicas")
    assert await total.inner_text() == "3"
    await field(page, "Worker.replicas").fill("6")
    await page.wait_for_function("() => document.getElementById('replicas').textContent === '7'")
    await until_text_has(page, "replicas: 6")
    assert await page.locator("input[name*=total], input#replicas").count() == 0, "it is never asked for"


async def test_form_and_text_lose_nothing_to_each_other(demo: Demo, page: Page) -> None:
    """Check 6: form -> YAML -> form loses nothing, comments stay."""
    await open_form(demo, page)
    text = await page.input_value("#text")
    await page.fill("#text", "# of mine\n" + text.replace("spec:\n", "spec:  # and this\n", 1))
    await field(page, "name").fill("by-form")
    await until_text_has(page, "name: by-form")
    await field(page, "Worker.replicas").fill("4")
    await until_text_has(page, "replicas: 4")
    kept = await page.input_value("#text")
    assert kept == ("# of mine\n" + text).replace("spec:\n", "spec:  # and this\n", 1).replace(
        "name: pytorch-distributed", "name: by-form"
    ).replace("replicas: 2", "replicas: 4")
    await page.fill("#text", kept.replace("replicas: 4", "replicas: 5"))
    await page.wait_for_function("""() => document.querySelector('[name="f:Worker.replicas"]').value === '5'""")
    assert await field(page, "name").input_value() == "by-form"


async def test_a_job_is_listed_and_submitted_without_scripts(demo: Demo, browser: Browser) -> None:
    """Check 21: list, detail and submit work without scripts."""
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    url = await enter(page, demo)
    assert await page.get_by_role("link", name="gpt-moe", exact=True).count() == 1
    await page.get_by_role("link", name="gpt-moe", exact=True).click()
    assert "worker-1" in await page.locator(".why").inner_text()
    await page.goto(f"{url}{DISTRIBUTED}")
    await field(page, "name").fill("plain")
    await field(page, "Worker.replicas").fill("3")
    await page.locator('button[value="check"]').click()
    assert await page.locator("#replicas").inner_text() == "4"
    await page.locator('button[value="create"]').click()
    await page.wait_for_url("**/jobs/default/pytorchjobs/plain")
    spec = (await demo.api.get(TORCH, "default", "plain"))["spec"]["pytorchReplicaSpecs"]
    assert (spec["Master"]["replicas"], spec["Worker"]["replicas"]) == (1, 3)
    await context.close()


async def press_until(page: Page, found: str, most: int = 80) -> None:
    """Tab, until what has the focus matches the selector."""
    for _ in range(most):
        await page.keyboard.press("Tab")
        if await page.evaluate("said => document.activeElement.matches(said)", found):
            return
    raise AssertionError(f"{most} times Tab never came to {found}")


async def test_by_keyboard_alone_from_submit_to_log(demo: Demo, page: Page) -> None:
    """Check 22: keyboard alone: submit to log; the focus can be seen, and Tab leaves the text."""
    await enter(page, demo)
    await press_until(page, 'a[href$="/new"]')
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/new")
    await press_until(page, 'a[href*="template=paddle"]')
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/new?template=paddle")
    await press_until(page, '[name="f:name"]')
    await page.keyboard.press("Control+A")
    await page.keyboard.type("by-keys")
    outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none", "the focus can be seen"
    await until_text_has(page, "name: by-keys")
    await press_until(page, "#text")
    await page.keyboard.press("Tab")
    assert not await page.evaluate("document.activeElement.matches('#text')"), "Tab leaves the field"
    await page.keyboard.press("Home")
    for _ in range(80):
        if await page.evaluate("document.activeElement.matches('button[value=create]')"):
            break
        await page.keyboard.press("Shift+Tab")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/by-keys")
    await press_until(page, 'a[href$="/by-keys/logs"]')
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/by-keys/logs*")


async def test_what_was_typed_outlives_an_ended_session(demo: Demo, page: Page) -> None:
    """Check 18: an expired session says so in a sentence, and the text of the form is kept."""
    await open_form(demo, page, "paddle")
    text = (await page.input_value("#text")).replace("name: paddle-job", "name: typed-for-long")
    await page.fill("#text", text)
    await page.locator("#check .good").first.wait_for()
    await page.context.clear_cookies()
    await page.locator('button[value="create"]').click()
    await page.get_by_text("paddock console").first.wait_for()
    with pytest.raises(NotFound):
        await demo.api.get(PADDLE, "default", "typed-for-long")
    url = await enter(page, demo)
    await page.goto(f"{url}/new?template=paddle")
    await page.locator("#draft").click()
    assert await page.input_value("#text") == text
    await page.locator("#check .good").first.wait_for()
    await page.locator('button[value="create"]').click()
    await page.wait_for_url("**/typed-for-long")
    assert (await demo.api.get(PADDLE, "default", "typed-for-long"))["spec"] == yaml.safe_load(text)["spec"]
