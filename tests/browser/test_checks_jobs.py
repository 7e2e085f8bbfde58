"""What is done with a job from its page: checks of the console's specification, by number."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from browser.places import enter
from browser.test_checks_cluster import JOBS, STORED, WAITS, become, sign_in
from e2e.commands import Cluster
from e2e.manifests import build_light_job
from paddock.console.backend import Identity
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, Get, List, T
from paddock.kube.errors import Forbidden
from paddock.kube.meta import Resource
from support.demo import address, serve_demo
from support.programs import need

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Page

PYTORCH_JOBS = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"

pytestmark = pytest.mark.browser
STOPPING_MS = 180_000.0
"""A rank starts again once its pod is gone, and a real kubelet takes 10 to 60 s for that."""


async def run_job(cluster: Cluster, name: str, script: str = WAITS) -> None:
    await asyncio.to_thread(cluster.create, STORED, build_light_job(name, script))
    await become(f"{name} runs", lambda: cluster.phase(name) in ("Running", "Completed"))


async def test_the_plan_of_a_settled_job_is_empty(cluster: Cluster, page: Page) -> None:
    """Check 13: plan of a settled job is empty."""
    url = await sign_in(page, cluster)
    await run_job(cluster, "settled", "true")
    await become("its end", lambda: cluster.phase("settled") == "Completed")
    await page.goto(f"{url}{JOBS}/settled/plan")
    await page.locator("p.good").wait_for()
    assert await page.locator("main table").count() == 0


async def test_an_edit_shows_what_it_changes_and_costs_and_who_was_faster(cluster: Cluster, page: Page) -> None:
    """Check 14: edit: diff, "restarts the gang", a stale version says that somebody changed it; nothing is lost."""
    url = await sign_in(page, cluster)
    await run_job(cluster, "edited")
    await page.goto(f"{url}{JOBS}/edited/edit")
    text = await page.input_value("#text")
    await page.fill("#text", text.replace("replicas: 1", "replicas: 2"))
    await page.locator('.diff [data-sign="+"]', has_text="replicas: 2").wait_for()
    await page.get_by_text("restarts the gang").first.wait_for()
    await asyncio.to_thread(
        cluster.kubectl,
        "patch",
        "pdj",
        "edited",
        "--type",
        "merge",
        "-p",
        '{"metadata": {"labels": {"by": "another"}}}',
    )
    await page.locator('button[value="save"]').click()
    await page.locator(".diff", has_text="another").first.wait_for()
    assert read_edits(cluster.job("edited")) == (1, "another"), "the reader sees it before anything is overwritten"
    both = text.replace("replicas: 1", "replicas: 2").replace("metadata:\n", "metadata:\n  labels: {by: another}\n", 1)
    await page.fill("#text", both)
    await page.locator('button[value="save"]').click()
    await page.wait_for_url(f"**{JOBS}/edited")
    assert read_edits(cluster.job("edited")) == (2, "another")


def read_edits(job: dict[str, Any]) -> tuple[int, str]:
    return job["spec"]["worker"]["replicas"], job["metadata"].get("labels", {}).get("by", "")


async def test_the_commands_beside_the_buttons_do_what_the_buttons_do(cluster: Cluster, page: Page) -> None:
    """Check 15: copied kubectl and paddock commands run, also where a job of another kind has the name."""
    need("kubectl")
    url = await sign_in(page, cluster)
    await asyncio.to_thread(cluster.create, PYTORCH_JOBS, build_namesake("typed"))
    await run_job(cluster, "typed")
    await page.goto(f"{url}{JOBS}/typed")
    copied = await page.locator("#commands [data-copy]").evaluate_all("all => all.map(each => each.dataset.copy)")
    words = {(verb, "kubectl" in text): text for text in copied for verb in ("suspend", "resume", "delete")
             if verb in text or (verb == "resume" and '"suspend":false' in text)}  # fmt: skip
    suspend = next(text for text in copied if "kubectl" in text and '"suspend":true' in text)
    resume = next(text for text in copied if "kubectl" in text and '"suspend":false' in text)
    steps = [(words["suspend", False], "Suspended"), (resume, "Running"), (suspend, "Suspended"),
             (words["resume", False], "Running")]  # fmt: skip
    for command, phase in steps:
        await asyncio.to_thread(type_in, cluster, command)
        await page.locator(f".why [data-phase={phase}]").wait_for(timeout=STOPPING_MS)
    await asyncio.to_thread(type_in, cluster, words["delete", True])
    await page.locator(".why").wait_for(state="detached", timeout=STOPPING_MS)


def build_namesake(name: str) -> dict[str, Any]:
    """A job of another kind with this name, which does nothing."""
    pod = {"spec": {"containers": [{"name": "pytorch", "image": "program", "command": ["true"]}]}}
    roles = {"Master": {"replicas": 1, "template": pod}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name},
        "spec": {"runPolicy": {"suspend": True}, "pytorchReplicaSpecs": roles},
    }


def type_in(cluster: Cluster, command: str) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command], env={**cluster.environment, "PATH": path}, capture_output=True, text=True, timeout=90
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)


async def test_a_job_is_suspended_resumed_cloned_and_deleted_by_buttons(cluster: Cluster, page: Page) -> None:
    """Check 16: suspend, resume, clone, delete (type the name)."""
    url = await sign_in(page, cluster)
    await run_job(cluster, "handled")
    await page.goto(f"{url}{JOBS}/handled")
    await page.get_by_role("button", name="Suspend", exact=True).click()
    await page.locator(".why [data-phase=Suspended]").wait_for()
    assert await page.get_by_role("button", name="Suspend", exact=True).count() == 0
    await page.get_by_role("button", name="Resume", exact=True).click()
    await page.locator(".why [data-phase=Running]").wait_for(timeout=STOPPING_MS)
    await page.get_by_role("link", name="Clone", exact=True).click()
    await page.locator('[name="f:name"]').wait_for()
    assert await page.input_value('[name="f:name"]') == "handled-2"
    await page.locator('button[value="create"]').click()
    await page.wait_for_url(f"**{JOBS}/handled-2")
    await page.get_by_role("link", name="Delete", exact=True).click()
    await page.fill("#name", "handled")
    await page.get_by_role("button", name="Delete for good").click()
    await page.locator("[role=alert]").wait_for()
    assert cluster.job("handled-2")
    await page.fill("#name", "handled-2")
    await page.get_by_role("button", name="Delete for good").click()
    await become("it is gone", lambda: "handled-2" not in cluster.paddock("get", "jobs").out)
    assert "handled" in (await asyncio.to_thread(cluster.paddock, "get", "jobs")).out


FAILS_ONCE = """
first=$((PADDOCK_ATTEMPT * 5 + 1))
for step in $(seq $first $((first + 9))); do echo "step $step loss 0.$((50 - step))"; done
[ "$PADDOCK_ATTEMPT" = 1 ]
"""


async def test_a_restart_is_marked_with_its_cause_on_the_curve(cluster: Cluster, page: Page) -> None:
    """Check 12: restart: mark and cause on the loss curve; the first attempt's pod is gone by then."""
    url = await sign_in(page, cluster)
    job = build_light_job("again", FAILS_ONCE)
    job["spec"]["worker"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    await asyncio.to_thread(cluster.create, STORED, job)
    await become("its end", lambda: cluster.phase("again") == "Completed")
    await page.goto(f"{url}{JOBS}/again/charts")
    loss = page.locator("#chart-loss")
    assert "attempt 1: restart 1: worker-0 ended with exit code 1" in (
        await loss.locator(".chart-flag").text_content() or ""
    )
    await loss.locator("#numbers-loss summary").click()
    for attempt, last in (("0", "0.40"), ("1", "0.35")):
        await loss.locator(f"#loss-worker-0-{attempt}").get_by_text(last).first.wait_for()


class Viewer(Api):
    """The rights of somebody who may look."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def send(self, call: Call[T]) -> T:
        if isinstance(call, Get | List):
            return await self._api.send(call)
        raise Forbidden(f"user viewer may not {call.verb} {call.resource.plural}")

    def follow(self, resource: Resource, namespace: str = "", **selectors: str) -> AsyncIterator[Event]:
        return self._api.follow(resource, namespace, **selectors)

    async def may(self, verb: str, resource: Resource, namespace: str, subresource: str = "") -> bool:
        return verb in ("get", "list", "watch")


async def test_a_viewer_sees_no_buttons_but_the_reason_and_is_refused(tmp_path: Path, page: Page) -> None:
    """Check 17: viewer: no buttons but the reason, POST gets 403."""

    def connect(identity: Identity) -> Viewer:
        return Viewer(demo.api)

    async with serve_demo(
        tmp_path,
        backend=lambda backend: replace(backend, connect=connect, rights=connect),  # the API is there when it is asked
    ) as demo:
        url = await enter(page, demo)
        await page.goto(url + address("wide-and-deep"))
        for name in ("Suspend", "Delete"):
            assert await page.get_by_text(name, exact=True).and_(page.locator("a, button")).count() == 0, name
        await page.locator("#why-not summary").click()
        assert "may not" in await page.locator("#why-not").inner_text()
        status = await page.evaluate(
            "path => fetch(path, {method: 'POST'}).then(answer => answer.status)", f"{page.url}/suspend"
        )
        assert status == 403
        await page.goto(f"{url}/new?template=paddle")
        await page.locator('button[value="create"]').wait_for()
