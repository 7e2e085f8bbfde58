"""The checks of the specification on a real API server: the same texts as on the embedded cluster, with its `cluster`.

One control plane, one node whose pods run, one operator and one `paddock console --context` for all of them. Checks
9 and 10 are not here: a kubelet keeps 10 MiB of a log, which is less than a million lines. Nor is 12: a pod that fails
at once is deleted at once, and on a busy machine its log may be gone before the console has asked for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from browser.real_cluster import RealCluster, open_real_cluster
from browser.test_checks_cluster import (
    JOBS,
    STORED,
    WAITS,
    sign_in,
    test_a_link_signs_in_once_and_vanishes_from_the_address,
    test_a_manifest_is_pasted_submitted_and_completes_before_the_readers_eyes,
    test_a_row_follows_the_api_without_a_reload,
    test_a_waiting_job_says_what_explain_says,
    test_the_eleventh_tab_loads,
    test_the_failing_rank_is_first_and_its_error_in_view_also_after_its_pod,
)
from browser.test_checks_forms import (
    test_a_typo_has_its_line_field_and_nearest_name_and_a_button_that_mends_it,
    test_form_and_text_lose_nothing_to_each_other,
    test_the_total_follows_the_roles,
    test_what_was_typed_outlives_an_ended_session,
)
from browser.test_checks_jobs import (
    test_a_job_is_suspended_resumed_cloned_and_deleted_by_buttons,
    test_an_edit_shows_what_it_changes_and_costs_and_who_was_faster,
    test_the_commands_beside_the_buttons_do_what_the_buttons_do,
    test_the_plan_of_a_settled_job_is_empty,
)
from e2e.manifests import build_light_job
from paddock.client.client import Client
from paddock.client.kubeconfig import read_config
from support.deployed import Kubectl, write_kubeconfig

if TYPE_CHECKING:
    from playwright.async_api import Page

__all__ = [
    "test_a_job_is_suspended_resumed_cloned_and_deleted_by_buttons",
    "test_a_link_signs_in_once_and_vanishes_from_the_address",
    "test_a_manifest_is_pasted_submitted_and_completes_before_the_readers_eyes",
    "test_a_row_follows_the_api_without_a_reload",
    "test_a_typo_has_its_line_field_and_nearest_name_and_a_button_that_mends_it",
    "test_a_waiting_job_says_what_explain_says",
    "test_an_edit_shows_what_it_changes_and_costs_and_who_was_faster",
    "test_form_and_text_lose_nothing_to_each_other",
    "test_the_commands_beside_the_buttons_do_what_the_buttons_do",
    "test_the_eleventh_tab_loads",
    "test_the_failing_rank_is_first_and_its_error_in_view_also_after_its_pod",
    "test_the_plan_of_a_settled_job_is_empty",
    "test_the_total_follows_the_roles",
    "test_what_was_typed_outlives_an_ended_session",
]
GROUP = "batch.paddlepaddle.org"
pytestmark = [pytest.mark.kubernetes, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[RealCluster]:
    with open_real_cluster() as opened:
        yield opened


@pytest.fixture(autouse=True)
def commands_end(cluster: RealCluster) -> Iterator[None]:
    yield
    cluster.stop_commands()


@dataclass(slots=True)
class Demo:
    """What the checks of the form use of `support.demo.Demo`: a console of its own, and the API."""

    cluster: RealCluster
    api: Client
    url: str = ""

    @property
    def sign_in(self) -> str:
        """A link of the console, which is started again where it was for each one after the first."""
        self.cluster.stop_commands()
        port = ("--port", self.url.rpartition(":")[2]) if self.url else ()
        link = self.cluster.start_console(*self.cluster.options, *port)
        self.url = link.partition("/sign-in")[0]
        return link


@pytest.fixture
async def demo(cluster: RealCluster) -> AsyncIterator[Demo]:
    async with Client(read_config(str(cluster.plane.kubeconfig))) as api:
        yield Demo(cluster, api)


async def test_a_viewer_sees_no_buttons_but_the_reason_and_is_refused(cluster: RealCluster, page: Page) -> None:
    """Check 17: viewer: no buttons but the reason, POST gets 403; the rights are those of the API server."""
    await asyncio.to_thread(cluster.create, STORED, build_light_job("looked-at", WAITS))
    kubectl, rights = Kubectl(cluster.plane), ("--verb=get,list,watch", f"--resource=paddlejobs.{GROUP},pods,events")
    kubectl("create", "serviceaccount", "viewer")
    kubectl("create", "clusterrole", "viewer", *rights)
    kubectl("create", "clusterrolebinding", "viewer", "--clusterrole=viewer", "--serviceaccount=default:viewer")
    config = write_kubeconfig(cluster.plane, cluster.directory / "viewer", "default", "viewer")
    await page.goto(await asyncio.to_thread(cluster.start_console, "--kubeconfig", str(config), "--context", "viewer"))
    url = page.url.rstrip("/")
    await page.goto(f"{url}{JOBS}/looked-at")
    for name in ("Suspend", "Delete"):
        assert await page.get_by_text(name, exact=True).and_(page.locator("a, button")).count() == 0, name
    await page.locator("#why-not summary").click()
    said = await page.locator("#why-not").inner_text()
    assert f"you may not patch paddlejobs.{GROUP} in namespace default" in said
    post = "path => fetch(path, {method: 'POST'}).then(answer => answer.status)"
    assert await page.evaluate(post, f"{url}{JOBS}/looked-at/suspend") == 403
    assert "suspend" not in str(cluster.job("looked-at")["spec"])
    await page.get_by_role("link", name="Logs").first.click()
    await page.get_by_text("you may not read the logs of pods in default").first.wait_for()


async def test_an_api_that_is_away_is_told_and_what_happened_meanwhile_is_caught_up(
    cluster: RealCluster, page: Page
) -> None:
    """Check 20: API down: notice, then caught up, nothing lost. The job ends by itself while nobody can be told."""
    url = await sign_in(page, cluster)
    await asyncio.to_thread(cluster.create, STORED, build_light_job("lonely", "sleep 12; echo trained"))
    await page.goto(url)
    await page.evaluate("window.loaded = 1")
    row = page.locator("tr", has=page.get_by_role("link", name="lonely", exact=True))
    await row.locator("[data-phase=Running]").wait_for()
    await asyncio.to_thread(cluster.plane.down, "--only", "kube-apiserver")
    try:
        notice = page.get_by_text("The cluster's API has not answered for")
        await notice.wait_for()
        assert await row.locator("[data-phase=Running]").count() == 1, "what was known is shown, with its age"
    finally:
        await asyncio.to_thread(cluster.plane.up, "--controllers", "--scheduler")
    await notice.wait_for(state="detached")
    await row.locator("[data-phase=Completed]").wait_for()
    assert await page.evaluate("window.loaded") == 1
    await page.goto(f"{url}{JOBS}/lonely/logs")
    await page.locator(".row", has_text="trained").wait_for()
