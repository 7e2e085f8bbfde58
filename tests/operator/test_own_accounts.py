"""A job in the operator's namespace that names the operator's account, on the real embedded API."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.jobs.model import Settings
from paddock.kube.meta import EVENTS, PODS, Key, Manifest
from support.operator_seam import (
    JOBS,
    Seam,
    build_job,
    have_pods,
    pods_of,
    running,
    set_phase,
    settled,
    status_of,
)
from support.waiting import until

HOME = "paddle-system"
ACCOUNT = "paddle-manager-sa"
SETTINGS = Settings(own_accounts=frozenset({Key(HOME, ACCOUNT)}))
BEFORE = replace(SETTINGS, own_accounts=frozenset())


def build(account: str, **spec: Any) -> Manifest:
    job = build_job(ps=0, worker=2, namespace=HOME, **spec)
    job["spec"]["worker"]["template"]["spec"]["serviceAccountName"] = account
    return job


async def waits(api: LocalApi) -> Manifest | None:
    status = await status_of(api, namespace=HOME)
    return status if status.get("cause", {}).get("reason") == "OwnAccountNamed" else None


@pytest.mark.parametrize("namespaces", [("",), (HOME,)])
async def test_never_a_pod_and_the_job_says_why_until_it_is_edited(cluster: LocalApi, namespaces: Any) -> None:
    seam = Seam(cluster)
    async with running(seam, SETTINGS, namespaces=namespaces):
        await cluster.create(JOBS, build(ACCOUNT))
        status = await until(lambda: waits(cluster))
        assert status["cause"]["args"]["name"] == ACCOUNT
        await settled(seam)
        assert not [request for request in seam.requests if request[:2] in {("create", "pods"), ("create", "services")}]
        said = [event["message"] for event in (await cluster.list(EVENTS, HOME)).items]
        assert any(ACCOUNT in each and "any other account is allowed" in each for each in said)
        mended = {"spec": {"worker": {"template": build("trainer")["spec"]["worker"]["template"]}}}
        await cluster.patch(JOBS, HOME, "demo", mended)
        pods = await until(lambda: have_pods(cluster, 2, namespace=HOME))
    assert {pod["spec"]["serviceAccountName"] for pod in pods.values()} == {"trainer"}


async def start_before(api: LocalApi) -> set[str]:
    """The pods of a job that runs, as an operator has made them that did not ask for their account."""
    async with running(api, BEFORE):
        await api.create(JOBS, build(ACCOUNT))
        made = await until(lambda: have_pods(api, 2, namespace=HOME))
        for number, name in enumerate(sorted(made)):
            await set_phase(api, name, "Running", address=f"127.0.0.{number + 2}", namespace=HOME)
        await until(lambda: in_phase(api, "Running"))
    return set(made)


async def test_pods_that_were_made_before_run_to_their_end(cluster: LocalApi) -> None:
    made, seam = await start_before(cluster), Seam(cluster)
    async with running(seam, SETTINGS):
        await settled(seam)
        assert (await pods_of(cluster, namespace=HOME)).keys() == made
        assert await in_phase(cluster, "Running")
        for name in made:
            await set_phase(cluster, name, "Succeeded", namespace=HOME)
        await until(lambda: in_phase(cluster, "Completed"))


async def test_pods_that_were_made_before_get_no_successors(cluster: LocalApi) -> None:
    made, seam = await start_before(cluster), Seam(cluster)
    async with running(seam, SETTINGS):
        await cluster.delete(PODS, HOME, min(made), grace=0)
        status = await until(lambda: waits(cluster))
        await settled(seam)
    assert status["attempt"] == 1
    assert not await pods_of(cluster, namespace=HOME)
    assert not [request for request in seam.requests if request[:2] == ("create", "pods")]


async def in_phase(api: LocalApi, phase: str) -> bool:
    return (await status_of(api, namespace=HOME)).get("phase") == phase
