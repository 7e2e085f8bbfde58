"""An edit in the browser, and what the form's script keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from browser.places import enter
from support.demo import TORCH, Demo, address

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = pytest.mark.browser

JOB = "gpt-moe"
"""Of PyTorch."""


def field(page: Page, name: str):
    return page.locator(f'[name="f:{name}"]')


async def until_text_has(page: Page, said: str) -> None:
    await page.wait_for_function("said => document.getElementById('text').value.includes(said)", arg=said)


async def test_an_edit_shows_its_difference_its_cost_and_what_somebody_else_changed(demo: Demo, page: Page) -> None:
    """Check 14: edit: diff, "restarts the gang", stale resourceVersion says who changed it."""
    before = await demo.api.get(TORCH, "default", "bert-large")
    role = next(iter(before["spec"]["pytorchReplicaSpecs"]))
    url = await enter(page, demo)
    await page.goto(f"{url}{address('bert-large')}/edit")
    await page.get_by_text("Nothing differs").wait_for()
    await field(page, f"{role}.memory-limit").fill("64Gi")
    await page.locator('.diff [data-sign="+"]', has_text='memory: "64Gi"').wait_for()
    await page.locator("#check .good", has_text="the server takes it").wait_for()

    other = {"spec": {"runPolicy": {"backoffLimit": 77}}}
    await demo.api.patch(TORCH, "default", "bert-large", other)
    await page.locator('button[value="save"]').click()
    await page.locator("#check").get_by_text("changed this job while you edited it").wait_for()
    assert await page.locator('.diff [data-sign="+"]', has_text="backoffLimit: 77").count() == 1, "theirs"
    assert "64Gi" in await page.input_value("#text")
    assert "64Gi" not in str((await demo.api.get(TORCH, "default", "bert-large"))["spec"])

    await page.get_by_text("Restarts and end").click()
    await field(page, "restarts").fill("77")
    await until_text_has(page, "backoffLimit: 77")
    await page.locator('button[value="save"]').click()
    await page.wait_for_url(f"**{address('bert-large')}")
    saved = await demo.api.get(TORCH, "default", "bert-large")
    assert saved["spec"]["runPolicy"]["backoffLimit"] == 77
    assert "64Gi" in str(saved["spec"])


async def test_another_size_says_that_it_restarts_the_gang(demo: Demo, page: Page) -> None:
    url = await enter(page, demo)
    await page.goto(f"{url}{address('resnet50')}/edit")
    await page.locator('input[name="f:Worker.replicas"]').fill("5")
    await page.locator("#check .good", has_text="restarts the gang: attempt").wait_for()


async def test_what_is_unfolded_stays_and_a_choice_is_written(demo: Demo, page: Page) -> None:
    url = await enter(page, demo)
    await page.goto(f"{url}/new?template=pytorch-single")
    await page.get_by_text("Variables and secrets").click()
    await field(page, "pull").select_option("Never")
    await until_text_has(page, "imagePullPolicy: Never")
    await page.fill("#text", (await page.input_value("#text")) + "    Worker: {replicas: 1, template: {spec: {}}}\n")
    await page.locator(".problems").wait_for()
    assert await field(page, "pull").is_visible()
    assert await field(page, "pull").input_value() == "Never"


async def test_a_text_that_cannot_be_read_for_a_moment_greys_the_form_and_keeps_it(demo: Demo, page: Page) -> None:
    url = await enter(page, demo)
    await page.goto(f"{url}/new?template=pytorch-single")
    text = await page.input_value("#text")
    await page.fill("#text", text.replace("metadata:", "metadata: [", 1))
    await page.locator("#fields.out-of-step").wait_for()
    assert await page.locator("#no-form").is_visible()
    assert await field(page, "name").input_value() == "pytorch-single"
    assert await field(page, "name").is_visible()
    assert await field(page, "name").evaluate("each => each.closest('.card').inert"), "nothing is typed into it"
    await page.fill("#text", text.replace("name: pytorch-single", "name: again", 1))
    await page.wait_for_function("""() => document.querySelector('[name="f:name"]').value === 'again'""")
    assert not await page.locator("#fields.out-of-step").count()
    assert await page.locator("#no-form").is_hidden()


async def test_an_error_is_at_its_field_and_submit_goes_to_the_first_wrong_one(demo: Demo, page: Page) -> None:
    url = await enter(page, demo)
    await page.goto(f"{url}/new?template=pytorch-distributed")
    memory = field(page, "Worker.memory")
    await memory.fill("2GB")
    said = page.locator('[id="about:Worker.memory"] .wrong')
    await said.wait_for()
    assert await said.inner_text() == '"2GB" is not understood: write 2G or 2Gi'
    assert await memory.get_attribute("aria-invalid") == "true"
    assert await memory.get_attribute("aria-describedby") == "about:Worker.memory"
    await field(page, "name").focus()
    await page.keyboard.press("Control+Enter")
    await page.wait_for_function("() => document.activeElement.name === 'f:Worker.memory'")
    await page.locator("#lines .wrong").wait_for()
    await memory.fill("2Gi")
    await said.wait_for(state="detached")
    assert await memory.get_attribute("aria-invalid") is None


@pytest.mark.parametrize("keys", ["Enter", "Control+Enter"])
async def test_a_job_is_sent_by_a_key_in_a_field(keys: str, demo: Demo, page: Page) -> None:
    name = f"by-{keys.lower().replace('+', '-')}"
    url = await enter(page, demo)
    await page.goto(f"{url}/new?template=paddle")
    assert await page.locator(".check-button").is_hidden(), "a script brings both together"
    await field(page, "name").fill(name)
    await page.keyboard.press(keys)
    await page.wait_for_url(f"**/{name}")


async def test_a_row_of_a_table_is_followed_by_another_and_the_caret_stays(demo: Demo, page: Page) -> None:
    url = await enter(page, demo)
    await page.goto(f"{url}/new?template=pytorch-single")
    await page.locator('[name="t:datasets:0:0"]').fill("words")
    await until_text_has(page, "paddock.dev/datasets: words:/data")
    await page.locator('[name="t:datasets:1:0"]').wait_for()
    assert await page.evaluate("document.activeElement.name") == "t:datasets:0:0"
    await page.locator("[data-clear]").first.click()
    await page.wait_for_function("() => !document.getElementById('text').value.includes('paddock.dev/datasets')")


async def test_a_text_stays_on_the_page_of_an_ended_session_and_a_draft_that_was_sent_is_not_offered(
    demo: Demo, page: Page
) -> None:
    url = await enter(page, demo)
    form = f"{url}/new?template=pytorch-single"
    await page.goto(form)
    cookies = await page.context.cookies()
    await field(page, "name").fill("kept")
    await until_text_has(page, "name: kept")
    await page.context.clear_cookies()
    await page.locator('button[value="create"]').click()
    await page.locator("#check .bad", has_text="not signed in").wait_for()
    assert "name: kept" in await page.input_value("#text")
    await page.context.add_cookies(cookies)
    await page.locator('button[value="create"]').click()
    await page.wait_for_url("**/pytorchjobs/kept")
    await page.goto(form)
    await page.locator("#check .good").first.wait_for()
    assert not await page.locator("#draft").is_visible()
