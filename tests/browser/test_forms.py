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
    await page.get_by_text("changed this job while you edited it").wait_for()
    assert await page.locator('.diff [data-sign="+"]', has_text="backoffLimit: 77").count() == 1, "theirs"
    assert "64Gi" in await page.input_value("#text")
    assert "64Gi" not in str((await demo.api.get(TORCH, "default", "bert-large"))["spec"])

    await page.get_by_text("Restarts and end").click()
    await field(page, "restarts").fill("77")
    await page.locator('button[value="check"]').click()
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
    await page.get_by_text("Directory, variables, storage").click()
    await field(page, "pull").select_option("Never")
    await until_text_has(page, "imagePullPolicy: Never")
    await page.fill("#text", (await page.input_value("#text")) + "    Worker: {replicas: 1, template: {spec: {}}}\n")
    await page.locator(".problems").wait_for()
    assert await field(page, "pull").is_visible()
    assert await field(page, "pull").input_value() == "Never"


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
