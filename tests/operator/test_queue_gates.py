"""A batch PaddleJob with Kueue's label goes into the queue by its pods, and never runs beside it; what Kueue stops
costs it nothing. A player of Kueue's integration of plain pods (`support.kueue_pods`) answers, tests play the kubelet.
"""

from __future__ import annotations

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.jobs.labels import KUEUE_ANNOTATION, QUEUE_LABEL
from paddock.jobs.model import Settings
from paddock.jobs.queued import GROUP_LABEL, MANAGED
from paddock.kube.calls import Create
from paddock.kube.errors import Unavailable
from paddock.kube.meta import EVENTS, PODS, Manifest, labels_of, name_of, uid_of
from support.kueue_pods import Groups, Webhook
from support.operator_seam import JOBS, Seam, build_job, have_pods, running, set_phase, settled, status_of
from support.waiting import until


def queued(name: str = "demo", workers: int = 2, way: str = "") -> Manifest:
    job = build_job(name, ps=0, worker=workers)
    job["metadata"] |= {"labels": {QUEUE_LABEL: "team"}, "annotations": {KUEUE_ANNOTATION: way} if way else {}}
    return job


async def cause_of(api: LocalApi, name: str = "demo") -> str:
    return str(((await status_of(api, name)).get("cause") or {}).get("reason") or "")


async def waits_for(api: LocalApi, reason: str, name: str = "demo") -> None:
    async def does() -> bool:
        return await cause_of(api, name) == reason

    await until(does)


async def run(api: LocalApi, groups: Groups, workers: int = 2) -> tuple[str, dict[str, Manifest]]:
    """The group that was admitted, whose pods run."""
    group = await until(groups.find_whole)
    await groups.admit(group)
    pods = await until(lambda: have_pods(api, workers))
    for name in pods:
        await set_phase(api, name, "Running")

    async def runs() -> bool:
        return (await status_of(api)).get("phase") == "Running"

    await until(runs)
    return group, pods


@pytest.mark.parametrize("way", ["", "Pods"])
async def test_no_pod_is_made_where_kueue_would_not_hold_it_until_it_does(cluster: LocalApi, way: str) -> None:
    webhook = Webhook(Seam(cluster), on=False)
    async with running(webhook):
        await cluster.create(JOBS, queued(way=way))
        await waits_for(cluster, "QueueNotInForce")
        assert not (await cluster.list(PODS, "default")).items
        assert not any(webhook.asked), "the API was asked, and nothing was to be stored"
        webhook.on = True
        pods = await until(lambda: have_pods(cluster, 2))
        assert all(labels_of(pod)[QUEUE_LABEL] == "team" and MANAGED in labels_of(pod) for pod in pods.values())
        assert webhook.asked.count(True) == 2
    said = [each["message"] for each in (await cluster.list(EVENTS, "default")).items]
    assert any("Kueue would not hold it" in each for each in said)


async def test_a_label_that_is_taken_off_lets_the_job_begin_at_once_without_the_queue(cluster: LocalApi) -> None:
    async with running(Webhook(Seam(cluster), on=False)):
        await cluster.create(JOBS, queued())
        await waits_for(cluster, "QueueNotInForce")
        await cluster.patch(JOBS, "default", "demo", {"metadata": {"labels": {QUEUE_LABEL: None}}})
        pods = await until(lambda: have_pods(cluster, 2))
        assert not any(QUEUE_LABEL in labels_of(pod) for pod in pods.values())


async def test_a_job_that_runs_outside_of_its_queue_runs_on_under_an_operator_that_takes_the_label(
    cluster: LocalApi,
) -> None:
    """Its pods were made by an operator that passed the label over."""
    async with running(Seam(cluster)):
        job = queued()
        del job["metadata"]["labels"]
        await cluster.create(JOBS, job)
        before = await until(lambda: have_pods(cluster, 2))
        for name in before:
            await set_phase(cluster, name, "Running")
    await cluster.patch(JOBS, "default", "demo", {"metadata": {"labels": {QUEUE_LABEL: "team"}}})
    seam = Seam(cluster)
    async with running(Webhook(seam, on=False)):
        await settled(seam)
        after = await have_pods(cluster, 2)
        assert {uid_of(pod) for pod in after.values()} == {uid_of(pod) for pod in before.values()}
        assert await cause_of(cluster) == ""
        await cluster.delete(PODS, "default", "demo-worker-0", grace=0)
        await waits_for(cluster, "QueueNotInForce")  # its next gang goes by the queue


async def test_an_attempt_asks_once_whatever_its_size(cluster: LocalApi) -> None:
    webhook = Webhook(Seam(cluster))
    async with running(webhook):
        await cluster.create(JOBS, queued(workers=40))
        await until(lambda: have_pods(cluster, 40))
    assert (webhook.asked.count(False), webhook.asked.count(True)) == (1, 40)


async def test_an_api_that_does_not_answer_the_question_is_asked_again_and_no_pod_is_made_blindly(
    cluster: LocalApi,
) -> None:
    class Failing(Webhook):
        down = True

        async def send(self, call):  # type: ignore[no-untyped-def]
            if isinstance(call, Create) and call.resource == PODS and call.dry_run and self.down:
                self.down = False
                raise Unavailable("the webhook has timed out")
            return await super().send(call)

    webhook = Failing(Seam(cluster), on=False)
    async with running(webhook):
        await cluster.create(JOBS, queued())
        await waits_for(cluster, "QueueNotInForce")
        assert not (await cluster.list(PODS, "default")).items


@pytest.mark.parametrize("settings", [Settings(output_root="/nowhere"), Settings()], ids=["a laptop", "by suspend"])
async def test_a_laptop_and_a_job_by_suspend_ask_nothing(cluster: LocalApi, settings: Settings) -> None:
    webhook = Webhook(Seam(cluster), on=False)
    way = "" if settings.output_root else "Suspend"
    async with running(webhook, settings):
        await cluster.create(JOBS, queued(way=way))
        pods = await until(lambda: have_pods(cluster, 2))
        assert not webhook.asked and not any(GROUP_LABEL in labels_of(pod) for pod in pods.values())


async def test_a_gang_that_kueue_stops_again_and_again_loses_nothing_and_waits_for_nothing_but_its_queue(
    cluster: LocalApi,
) -> None:
    groups = Groups(cluster, "default")
    async with running(Webhook(Seam(cluster)), Settings(loss_limit=1)):
        await cluster.create(JOBS, queued())
        for attempt in range(4):
            group, _ = await run(cluster, groups)
            await groups.stop(group)
            await waits_for(cluster, "EvictedByQueue")
            assert (await status_of(cluster))["attempt"] == attempt + 1
            await groups.end(group)
        await waits_for(cluster, "WaitingForQueue")
        status = await status_of(cluster)
        assert status["cause"]["args"]["evicted"] == "Preempted" and "delay" not in status["cause"]["args"]
        assert (status.get("restarts", 0), status.get("losses", 0)) == (0, 0)
        again, pods = await run(cluster, groups)
        for name in pods:
            await set_phase(cluster, name, "Succeeded")

        async def is_done() -> bool:
            return (await status_of(cluster)).get("phase") == "Completed"

        await until(is_done)
        assert {labels_of(pod)[GROUP_LABEL] for pod in pods.values()} == {again}
        assert sorted(map(name_of, pods.values())) == ["demo-worker-0", "demo-worker-1"]
