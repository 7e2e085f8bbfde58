"""The operator on the real embedded API, with the real plan: what it creates, and which failures it survives."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.build import BUILD
from paddock.jobs.labels import HALTED_ANNOTATION, PORT_ANNOTATION
from paddock.jobs.model import PORTS_IN_BLOCK, Settings
from paddock.jobs.policies.ports import FIRST_PORT, LAST_PORT
from paddock.jobs.waiting import TRIES
from paddock.kube.api import Event
from paddock.kube.errors import (
    NAMESPACE_TERMINATING,
    ApiError,
    BadRequest,
    Conflict,
    FieldCause,
    Forbidden,
    InternalError,
    Invalid,
)
from paddock.kube.meta import (
    EVENTS,
    NODES,
    POD_GROUPS,
    PODS,
    SERVICES,
    Manifest,
    Resource,
    annotations_of,
    uid_of,
)
from paddock.operator.metrics import Measures, Result
from paddock.operator.readings import Readings
from support.operator_seam import (
    JOBS,
    Request,
    Seam,
    build_job,
    find_config_map,
    have_pods,
    install_jobs,
    install_pod_groups,
    pods_of,
    running,
    set_phase,
    settled,
    status_of,
)
from support.waiting import rest, until

RANKS = {"demo-ps-0", "demo-ps-1", "demo-worker-0", "demo-worker-1"}


async def start_gang(api: LocalApi, pods: Any, phase: str = "Running") -> None:
    for number, pod in enumerate(sorted(pods)):
        await set_phase(api, pod, phase, address=f"127.0.0.{number + 2}")


async def in_phase(api: LocalApi, phase: str, name: str = "demo") -> Manifest | None:
    status = await status_of(api, name)
    return status if status.get("phase") == phase else None


async def events_of(api: LocalApi, reason: str) -> list[Manifest]:
    return [event for event in (await api.list(EVENTS)).items if event["reason"] == reason]


async def test_a_parameter_server_job_runs_to_its_end_and_is_cleaned_up(cluster: LocalApi) -> None:
    async with running(cluster):
        await cluster.create(JOBS, build_job())
        pods = await until(lambda: have_pods(cluster, 4))
        assert set(pods) == RANKS
        assert {service["metadata"]["name"] for service in (await cluster.list(SERVICES)).items} == RANKS
        await start_gang(cluster, pods)
        config_map = await until(lambda: find_config_map(cluster))
        assert "127.0.0.2:" in config_map["data"]["PADDLE_PSERVERS_IP_PORT_LIST"]
        await until(lambda: in_phase(cluster, "Running"))
        for worker in ("demo-worker-0", "demo-worker-1"):
            await set_phase(cluster, worker, "Succeeded")
        status = await until(lambda: in_phase(cluster, "Completed"))
        assert (status["attempt"], status["restarts"]) == (0, 0)
        await until(lambda: have_no_pods(cluster))


async def test_the_counts_of_a_completed_job_follow_the_servers_that_its_policy_keeps(cluster: LocalApi) -> None:
    seam = Seam(cluster)
    async with running(seam):
        await cluster.create(JOBS, build_job(cleanPodPolicy="Never"))
        await start_gang(cluster, await until(lambda: have_pods(cluster, 4)))
        await until(lambda: in_phase(cluster, "Running"))
        for worker in ("demo-worker-0", "demo-worker-1"):
            await set_phase(cluster, worker, "Succeeded")
        done = await until(lambda: in_phase(cluster, "Completed"))
        assert (done["ps"]["ready"], done["worker"]["ready"]) == ("2/2", "0/2")
        await settled(seam)
        for number, server in enumerate(("demo-ps-0", "demo-ps-1"), 1):
            await set_phase(cluster, server, "Failed", code=143)
            later = await until(lambda count=number: _with_ended_servers(cluster, count))
        for pod in await pods_of(cluster):
            await cluster.delete(PODS, "default", pod, grace=0)
        bare = await until(lambda: _without_refs(cluster))
        await settled(seam)
        assert await status_of(cluster) == bare, "and then nothing more is written"
    assert later["ps"]["ready"] == bare["ps"]["ready"] == "0/2"
    assert [bare[role] for role in ("ps", "worker")] == [
        {"ready": "0/2", "failed": 2},
        {"ready": "0/2", "succeeded": 2},
    ]
    rest = ("phase", "cause", "conditions", "startTime", "completionTime", "attempt", "restarts")
    assert {name: bare.get(name) for name in rest} == {name: done.get(name) for name in rest}


async def test_a_rank_whose_ended_pod_is_cleared_away_does_not_train_again(cluster: LocalApi) -> None:
    """An autoscaler that removes the node of a worker that is done, the garbage collection of pods, a cron job."""
    seam = Seam(cluster)
    async with running(seam):
        await cluster.create(JOBS, build_job(ps=1))
        pods = await until(lambda: have_pods(cluster, 3))
        await start_gang(cluster, pods)
        await until(lambda: in_phase(cluster, "Running"))
        await set_phase(cluster, "demo-worker-0", "Succeeded")
        status = await until(lambda: _with_successes(cluster))
        ended = "2026-01-01T00:01:00Z"
        assert status["succeeded"] == {
            "worker": {"attempt": 0, "indexes": "0", "firstFinishTime": ended, "lastFinishTime": ended}
        }
        await cluster.delete(PODS, "default", "demo-worker-0", grace=0)
        await settled(seam, 1.2)
    # The record is all that is left of it.
    async with running(seam):
        await settled(seam, 1.2)
        assert sorted(await pods_of(cluster)) == ["demo-ps-0", "demo-worker-1"]
        assert (await status_of(cluster))["attempt"] == 0
        await set_phase(cluster, "demo-worker-1", "Succeeded")
        status = await until(lambda: in_phase(cluster, "Completed"))
    assert (status["attempt"], status.get("losses")) == (0, None)
    assert status["worker"]["succeeded"] == 2


async def test_an_ended_pod_that_is_deleted_before_its_success_is_recorded_is_a_loss(cluster: LocalApi) -> None:
    """Nobody knows then how the rank ended."""
    seam = Seam(cluster)
    async with running(seam):
        await cluster.create(JOBS, build_job(ps=0))
        await start_gang(cluster, await until(lambda: have_pods(cluster, 2)))
        await until(lambda: in_phase(cluster, "Running"))
        seam.told = lambda resource, event: (
            event.type != "MODIFIED" or event.object["status"].get("phase") != "Succeeded"
        )
        await set_phase(cluster, "demo-worker-0", "Succeeded")
        await cluster.delete(PODS, "default", "demo-worker-0", grace=0)
        status = await until(lambda: _in_attempt(cluster, 1))
    assert status["cause"]["reason"] == "PodsDeleted"


@pytest.mark.slow
async def test_a_large_job_that_ends_rank_by_rank_costs_no_write_for_each(cluster: LocalApi) -> None:
    seam = Seam(cluster)
    async with running(seam):
        await cluster.create(JOBS, build_job(ps=1, worker=40))
        await start_gang(cluster, await until(lambda: have_pods(cluster, 41)))
        await until(lambda: in_phase(cluster, "Running"))
        await settled(seam)
        before = seam.requests.count(("patch", "paddlejobs/status", "demo"))
        for number in range(39):
            await set_phase(cluster, f"demo-worker-{number}", "Succeeded")
        await until(lambda: _with_successes(cluster, "0-38"))
        written = seam.requests.count(("patch", "paddlejobs/status", "demo")) - before
    assert written < 20


@pytest.mark.parametrize("written", [{"phase": "Completed"}, {"completionTime": "2026-01-01T00:00:00Z"}], ids=str)
async def test_a_job_that_runs_and_whose_end_somebody_writes_keeps_its_pods_and_its_record_is_mended(
    cluster: LocalApi, written: dict[str, Any]
) -> None:
    seam = Seam(cluster)
    async with running(seam):
        await cluster.create(JOBS, build_job(ps=0))
        await start_gang(cluster, await until(lambda: have_pods(cluster, 2)))
        await until(lambda: in_phase(cluster, "Running"))
        before = await uids_of_pods(cluster)
        await cluster.patch(JOBS, "default", "demo", {"status": written}, subresource="status")
        status = await until(lambda: _is_mended(cluster))
        await settled(seam)
        assert await uids_of_pods(cluster) == before
    assert (status["attempt"], status.get("losses", 0)) == (0, 0)


async def uids_of_pods(cluster: LocalApi) -> set[str]:
    return {each["metadata"]["uid"] for each in (await cluster.list(PODS, "default")).items}


async def _is_mended(cluster: LocalApi) -> Manifest | None:
    status = await status_of(cluster)
    return status if status.get("phase") == "Running" and "completionTime" not in status else None


@pytest.mark.parametrize("written", [{"phase": "Running"}, {"phase": None, "cause": None}], ids=str)
async def test_a_finished_job_whose_phase_somebody_writes_over_never_trains_again(
    cluster: LocalApi, written: dict[str, Any]
) -> None:
    seam = Seam(cluster)
    async with running(seam):
        await cluster.create(JOBS, build_job(ps=0))
        await start_gang(cluster, await until(lambda: have_pods(cluster, 2)))
        await until(lambda: in_phase(cluster, "Running"))
        for worker in ("demo-worker-0", "demo-worker-1"):
            await set_phase(cluster, worker, "Succeeded")
        done = await until(lambda: in_phase(cluster, "Completed"))
        await until(lambda: have_no_pods(cluster))
        await settled(seam)
        before = seam.requests.count(("create", "pods", ""))
        await cluster.patch(JOBS, "default", "demo", {"status": written}, subresource="status")
        status = await until(lambda: in_phase(cluster, "Completed"))
        await settled(seam, 1.2)
    assert not await pods_of(cluster)
    assert seam.requests.count(("create", "pods", "")) == before
    assert (status["completionTime"], status["attempt"]) == (done["completionTime"], 0)


async def _with_successes(api: LocalApi, indexes: str = "0") -> Manifest | None:
    status = await status_of(api)
    return status if status.get("succeeded", {}).get("worker", {}).get("indexes") == indexes else None


async def _in_attempt(api: LocalApi, attempt: int) -> Manifest | None:
    status = await status_of(api)
    return status if status.get("attempt") == attempt else None


async def _with_ended_servers(api: LocalApi, count: int) -> Manifest | None:
    status = await status_of(api)
    return status if status["ps"].get("failed") == count else None


async def _without_refs(api: LocalApi) -> Manifest | None:
    status = await status_of(api)
    return None if "refs" in status["ps"] or "refs" in status["worker"] else status


async def have_no_pods(api: LocalApi) -> bool:
    return not await pods_of(api)


async def test_a_job_of_four_pods_costs_at_most_thirteen_requests_until_its_pods_exist(cluster: LocalApi) -> None:
    seam = Seam(cluster)
    async with running(seam):
        await cluster.create(JOBS, build_job())
        await until(lambda: have_pods(cluster, 4))
        assert len(seam.requests) <= 13, Counter(request[:2] for request in seam.requests)


async def test_an_operator_with_nothing_to_do_sends_nothing(cluster: LocalApi) -> None:
    seam = Seam(cluster)
    async with running(seam):
        await cluster.create(JOBS, build_job())
        await start_gang(cluster, await until(lambda: have_pods(cluster, 4)))
        await until(lambda: in_phase(cluster, "Running"))
        await settled(seam, seconds=1)
        before = list(seam.requests)
        await settled(seam, seconds=1)
        assert seam.requests == before


async def test_a_failed_rank_restarts_the_whole_gang_once(cluster: LocalApi) -> None:
    job = build_job()
    job["spec"]["worker"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    job["spec"]["runPolicy"] = {"backoffLimit": 3}
    now = [1000.0]
    async with running(cluster, readings=Readings(lambda: now[0])):
        await cluster.create(JOBS, job)
        first = await until(lambda: have_pods(cluster, 4))
        await start_gang(cluster, first)
        await until(lambda: in_phase(cluster, "Running"))
        await set_phase(cluster, "demo-worker-1", "Failed", code=1)
        await until(lambda: _waits(cluster, "WaitingForStatuses"))
        now[0] += 10.0  # the ends of the others are waited for, but the operator has to be woken
        await cluster.patch(JOBS, "default", "demo", {"metadata": {"annotations": {"wake": "up"}}})
        await until(lambda: in_phase(cluster, "Restarting"))
        await until(lambda: have_no_pods(cluster))
        now[0] += 1000.0  # past any backoff
        await cluster.patch(JOBS, "default", "demo", {"metadata": {"annotations": {"wake": "up again"}}})
        second = await until(lambda: have_pods(cluster, 4))
        status = await status_of(cluster)
    assert (status["attempt"], status["restarts"]) == (1, 1)
    assert {pod["metadata"]["uid"] for pod in first.values()}.isdisjoint(
        pod["metadata"]["uid"] for pod in second.values()
    )


async def test_concurrent_jobs_get_different_ports_before_the_caches_have_their_pods(
    cluster: LocalApi,
) -> None:
    names = [f"job{number}" for number in range(12)]
    free = {FIRST_PORT + number * PORTS_IN_BLOCK for number in range(len(names))}
    taken = frozenset(range(FIRST_PORT, LAST_PORT + 1, PORTS_IN_BLOCK)) - free
    seam, lagging = Seam(cluster), asyncio.Event()

    async def wait_for_pods(resource: Resource, event: Event) -> None:
        if resource == PODS and event.type != "SYNCED":
            await lagging.wait()

    seam.lag = wait_for_pods
    async with running(seam, readings=Readings(taken_ports=lambda: taken)):
        await asyncio.gather(*(cluster.create(JOBS, build_job(name, ps=1, worker=1)) for name in names))
        for name in names:
            await until(lambda name=name: have_pods(cluster, 2, name))
        ports = [{annotations_of(pod)[PORT_ANNOTATION] for pod in (await pods_of(cluster, name)).values()}
                 for name in names]  # fmt: skip
    assert [len(of_job) for of_job in ports] == [1] * len(names)
    assert {int(port) for of_job in ports for port in of_job} == free


async def test_the_event_of_an_own_write_starts_no_reconcile_however_late_it_comes(cluster: LocalApi) -> None:
    seam, released = Seam(cluster), asyncio.Event()

    async def hold_echoes(resource: Resource, event: Event) -> None:
        if resource == JOBS and event.type == "MODIFIED":
            await released.wait()

    class Reconciles(Measures):
        count = 0

        def reconciled(self, resource: Resource, result: Result, seconds: float) -> None:
            self.count += 1

    seam.lag, measures = hold_echoes, Reconciles()
    async with running(seam, measures=measures):
        await cluster.create(JOBS, build_job())
        await until(lambda: have_pods(cluster, 4))
        await rest(lambda: measures.count)
        before, requests = measures.count, list(seam.requests)
        released.set()
        await rest(lambda: measures.count)
        assert measures.count == before
        await cluster.patch(JOBS, "default", "demo", {"metadata": {"annotations": {"an": "edit"}}})
        await until(lambda: _reconciled(measures, before + 1))
        await rest(lambda: measures.count)
    assert measures.count == before + 1  # for the edit alone
    assert seam.requests == requests, "which decides nothing, and is asked about nobody"


async def _reconciled(measures: Any, count: int) -> bool:
    return bool(measures.count >= count)


async def test_every_pod_of_a_job_keeps_its_port_after_a_restart_of_the_operator(cluster: LocalApi) -> None:
    async with running(cluster):
        await cluster.create(JOBS, build_job("one"))
        await until(lambda: have_pods(cluster, 4, "one"))
    held = {int(annotations_of(pod)[PORT_ANNOTATION]) for pod in (await pods_of(cluster, "one")).values()}
    async with running(cluster):
        await cluster.create(JOBS, build_job("two"))
        await until(lambda: have_pods(cluster, 4, "two"))
    other = {int(annotations_of(pod)[PORT_ANNOTATION]) for pod in (await pods_of(cluster, "two")).values()}
    assert len(held) == len(other) == 1
    assert held != other


async def test_a_foreign_pod_with_a_needed_name_is_waited_for_and_left_alone(cluster: LocalApi) -> None:
    theirs = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "demo-ps-0", "namespace": "default"},
              "spec": {"containers": [{"name": "c", "image": "x"}]}}  # fmt: skip
    stored = await cluster.create(PODS, theirs)
    async with running(cluster):
        await cluster.create(JOBS, build_job())
        status = await until(lambda: in_phase(cluster, "Pending"))
        assert status["cause"]["reason"] == "ObjectInTheWay"
        assert await pods_of(cluster) == {}
        assert (await cluster.get(PODS, "default", "demo-ps-0"))["metadata"]["uid"] == stored["metadata"]["uid"]
        await cluster.delete(PODS, "default", "demo-ps-0")
        await until(lambda: have_pods(cluster, 4), seconds=25)  # at once, not after half a minute


async def test_a_foreign_pod_that_is_deleted_while_the_status_is_written_is_not_waited_for(cluster: LocalApi) -> None:
    theirs = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "demo-ps-0", "namespace": "default"},
              "spec": {"containers": [{"name": "c", "image": "x"}]}}  # fmt: skip
    await cluster.create(PODS, theirs)
    seam, gone = Seam(cluster), asyncio.Event()

    async def lag(resource: Resource, event: Event) -> None:
        if resource is PODS and event.type == "DELETED":
            gone.set()

    async def after(request: Request) -> None:
        if request[:2] == ("patch", "paddlejobs/status") and not gone.is_set():
            await cluster.delete(PODS, "default", "demo-ps-0")
            await gone.wait()
            await asyncio.sleep(0.05)  # the operator has heard of it before the answer of its own write comes

    seam.lag, seam.after = lag, after
    async with running(seam):
        await cluster.create(JOBS, build_job())
        await until(lambda: have_pods(cluster, 4), seconds=25)  # at once, not after half a minute


async def test_a_foreign_pod_that_the_cache_does_not_have_is_found_by_its_name(cluster: LocalApi) -> None:
    theirs = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "demo-ps-0", "namespace": "default"},
              "spec": {"containers": [{"name": "c", "image": "x"}]}}  # fmt: skip
    await cluster.create(PODS, theirs)
    seam = Seam(cluster)
    seam.told = lambda resource, event: event.object["metadata"]["name"] != "demo-ps-0"
    async with running(seam):
        await cluster.create(JOBS, build_job())
        status = await until(lambda: _waits(cluster, "ObjectInTheWay"))
    assert status["cause"]["args"]["objects"] == ["Pod demo-ps-0"]


async def _waits(api: LocalApi, reason: str) -> Manifest | None:
    status = await status_of(api)
    return status if (status.get("cause") or {}).get("reason") == reason else None


async def test_an_invalid_job_is_recorded_with_one_event_and_harms_no_other_job(cluster: LocalApi) -> None:
    bad = build_job("bad", ps=2, worker=0)
    async with running(cluster):
        await cluster.create(JOBS, bad)
        await cluster.create(JOBS, build_job())
        await until(lambda: have_pods(cluster, 4))
        status = await until(lambda: _refused(cluster, "bad"))
        assert status["phase"] == "Invalid"
        assert any("worker" in problem for problem in status["cause"]["args"]["problems"])
        (event,) = await until(lambda: events_of(cluster, "InvalidJob"))
        assert event["involvedObject"]["name"] == "bad"
        patch = {"spec": {"worker": build_job()["spec"]["worker"]}}
        await cluster.patch(JOBS, "default", "bad", patch)  # mended
        await until(lambda: have_pods(cluster, 4, "bad"))
        assert (await until(lambda: in_phase(cluster, "Pending", "bad")))["cause"]["reason"] != "InvalidJob"
        created = await until(lambda: _created_of(cluster, "bad"))
    assert len(created) == 1, "it begins like a new job"
    assert [event["count"] for event in await events_of(cluster, "InvalidJob")] == [1]


async def _created_of(api: LocalApi, name: str) -> list[Manifest]:
    return [event for event in await events_of(api, "Created") if event["involvedObject"]["name"] == name]


async def _refused(api: LocalApi, name: str) -> Manifest | None:
    status = await status_of(api, name)
    return status if (status.get("cause") or {}).get("reason") == "InvalidJob" else None


WEBHOOK = 'Internal error occurred: failed calling webhook "pods.x": connection refused'


@pytest.mark.usefixtures("tries_soon")
async def test_a_webhook_that_is_down_is_the_cause_until_it_answers(cluster: LocalApi) -> None:
    seam, down = Seam(cluster), [True]
    tries = 0

    async def call_webhook(request: Request) -> None:
        nonlocal tries
        if request[:2] == ("create", "pods") and down[0]:
            tries += request[2] == "demo-worker-0"
            raise InternalError(f"{WEBHOOK} ({tries})")

    seam.before = call_webhook
    async with running(seam):
        await cluster.create(JOBS, build_job(ps=0))
        status = await until(lambda: _waits(cluster, "ObjectsNotCreated"))
        assert status["cause"]["args"]["objects"] == ["Pod demo-worker-0", "Pod demo-worker-1"]
        assert status["cause"]["args"]["message"].startswith(WEBHOOK)
        written = [request for request in seam.requests if request[:2] == ("patch", "paddlejobs/status")]
        assert tries >= TRIES[0]
        assert len(written) <= 3, "the pods that are missing, then the cause"
    recorded = (await status_of(cluster))["cause"]
    async with running(seam):
        await settled(seam, seconds=0.5)
        found = (await status_of(cluster))["cause"]
        assert _without_tries(found) == _without_tries(recorded), "an operator that starts finds it so"
        assert found["args"]["tries"] >= recorded["args"]["tries"], "it counts on"
        down[0] = False
        await until(lambda: have_pods(cluster, 2))
        await until(lambda: _waits(cluster, "WaitingForAddresses"))


def _without_tries(cause: Manifest) -> Manifest:
    return {**cause, "args": {name: value for name, value in cause["args"].items() if name != "tries"}}


async def test_a_pod_that_does_not_start_on_a_lost_node_is_told_so(cluster: LocalApi) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    lost = {"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    await cluster.create(NODES, node)
    await cluster.patch(NODES, "", "n1", {"status": {"conditions": [lost]}}, subresource="status")
    seam, now = Seam(cluster), [1000.0]
    async with running(seam, readings=Readings(lambda: now[0])):
        await cluster.create(JOBS, build_job(ps=0))
        for pod in await until(lambda: have_pods(cluster, 2)):
            await cluster.create(PODS, _bind(pod, "n1"), namespace="default", name=pod, subresource="binding")
        await until(lambda: _waits(cluster, "WaitingForAddresses"))
        await settled(seam)
        assert not [request for request in seam.requests if request[1] == "nodes"], "most pods start in a minute"
        now[0] += 61
        await cluster.patch(JOBS, "default", "demo", {"metadata": {"annotations": {"wake": "up"}}})
        status = await until(lambda: _waits(cluster, "NodeSilent"))
        await settled(seam)
        assert await status_of(cluster) == status
    assert status["cause"]["args"] == {
        "ranks": ["worker-0", "worker-1"], "nodes": ["n1"], "state": "silent", "moment": 1767225600,
    }  # fmt: skip


def _bind(pod: str, node: str) -> Manifest:
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    metadata = {"name": pod, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}


async def test_the_message_of_a_pod_group_is_the_cause(cluster: LocalApi) -> None:
    await install_pod_groups(cluster)
    told = {"phase": "Pending", "conditions": [{"type": "Unschedulable", "status": "True", "message": "queue is full"}]}
    async with running(cluster, Settings(pod_groups=POD_GROUPS)):
        await cluster.create(JOBS, build_job(ps=0))
        await until(lambda: have_pods(cluster, 2))
        await cluster.patch(POD_GROUPS, "default", "demo", {"status": told})
        status = await until(lambda: _waits(cluster, "WaitingForPodGroup"))
    assert (status["cause"]["args"]["phase"], status["cause"]["args"]["message"]) == ("Pending", "queue is full")


async def test_an_event_says_which_variable_of_the_users_is_overwritten(cluster: LocalApi) -> None:
    async with running(cluster):
        await cluster.create(JOBS, _with_an_overwritten_variable())
        (event,) = await until(lambda: events_of(cluster, "ManifestWarning"))
    path = "spec.worker.template.spec.containers[0].env[0].name"
    assert event["message"].startswith(f"{path}: is overwritten: Paddock sets PADDLE_PORT for all ranks")
    assert event["type"] == "Warning"


def _with_an_overwritten_variable() -> Manifest:
    job = build_job()
    container = job["spec"]["worker"]["template"]["spec"]["containers"][0]
    job["spec"]["worker"]["template"]["spec"]["containers"] = [
        {**container, "env": [{"name": "PADDLE_PORT", "value": "6170"}]}
    ]
    return job


async def test_of_a_job_that_is_made_again_under_its_name_everything_is_told_again(cluster: LocalApi) -> None:
    seam, made = Seam(cluster), asyncio.Event()

    async def hold(resource: Resource, event: Event) -> None:
        if resource == JOBS and event.type == "DELETED":
            await made.wait()

    seam.lag = hold
    async with running(seam):
        await cluster.create(JOBS, _with_an_overwritten_variable())
        await until(lambda: have_pods(cluster, 4))
        await settled(seam)
        await cluster.delete(JOBS, "default", "demo")
        second = await cluster.create(JOBS, _with_an_overwritten_variable())
        made.set()
        await until(lambda: _warned(cluster, second))


async def _warned(api: LocalApi, job: Manifest) -> bool:
    warnings = await events_of(api, "ManifestWarning")
    return any(event["involvedObject"]["uid"] == uid_of(job) for event in warnings)


async def test_a_write_of_another_client_ends_the_reconcile_and_the_next_one_acts(cluster: LocalApi) -> None:
    seam, disturbed = Seam(cluster), []

    async def disturb(request: Request) -> None:
        if request[:2] == ("patch", "paddlejobs/status") and not disturbed:
            disturbed.append(request)
            await cluster.patch(JOBS, "default", "demo", {"metadata": {"annotations": {"someone": "else"}}})

    seam.before = disturb
    async with running(seam):
        await cluster.create(JOBS, build_job())
        await until(lambda: have_pods(cluster, 4))
    writes = [
        request for request in seam.requests if request[:2] in {("patch", "paddlejobs/status"), ("create", "pods")}
    ]
    assert [request[0] for request in writes[:3]] == ["patch", "patch", "create"]


@pytest.mark.parametrize("moment", [("patch", "paddlejobs/status"), ("create", "pods"), ("create", "services")])
async def test_a_crash_between_two_writes_loses_nothing_and_repeats_nothing(
    cluster: LocalApi, moment: tuple[str, str]
) -> None:
    reached, seam = asyncio.Event(), Seam(cluster)

    async def crash(request: Request) -> None:
        if request[:2] == moment and (moment[1] == "paddlejobs/status" or request[2].endswith("worker-0")):
            reached.set()
            await asyncio.Event().wait()

    await cluster.create(JOBS, build_job())
    seam.before = crash
    async with running(seam), asyncio.timeout(180):
        await reached.wait()
    survivors = {name: pod["metadata"]["uid"] for name, pod in (await pods_of(cluster)).items()}
    async with running(cluster):
        pods = await until(lambda: have_pods(cluster, 4))
        await start_gang(cluster, pods)
        status = await until(lambda: in_phase(cluster, "Running"))
    assert (status["attempt"], status["restarts"]) == (0, 0)
    assert survivors.items() <= {name: pod["metadata"]["uid"] for name, pod in pods.items()}.items()


async def test_a_crash_between_record_and_act_acts_on_what_was_recorded(cluster: LocalApi) -> None:
    job = build_job()
    async with running(cluster):
        await cluster.create(JOBS, job)
        await start_gang(cluster, await until(lambda: have_pods(cluster, 4)))
        await until(lambda: in_phase(cluster, "Running"))
    reached, seam = asyncio.Event(), Seam(cluster)

    async def crash(request: Request) -> None:
        if request[0] == "delete":
            reached.set()
            await asyncio.Event().wait()

    seam.before = crash
    async with running(seam), asyncio.timeout(180):
        await cluster.delete(PODS, "default", "demo-worker-0", grace=0)
        await reached.wait()
    status = await status_of(cluster)
    assert (status["attempt"], status["restarts"], status["cause"]["reason"]) == (1, 0, "PodsDeleted")
    async with running(cluster):
        pods = await until(lambda: have_pods(cluster, 4))
        await until(lambda: in_phase(cluster, "Pending"))
    assert (await status_of(cluster))["attempt"] == 1
    assert {pod["metadata"]["labels"]["paddock.dev/attempt"] for pod in pods.values()} == {"1"}


async def test_a_pod_that_the_cache_has_lost_is_read_live_before_an_attempt_ends(cluster: LocalApi) -> None:
    async with running(cluster):
        await cluster.create(JOBS, build_job())
        await start_gang(cluster, await until(lambda: have_pods(cluster, 4)))
        await until(lambda: in_phase(cluster, "Running"))
    seam = Seam(cluster)

    def lags(resource: Resource, event: Event) -> bool:
        return not (resource == PODS and event.object["metadata"]["name"] == "demo-worker-0")

    seam.told = lags
    async with running(seam):
        await until(lambda: _asked(seam, ("get", "pods", "demo-worker-0")))
        await cluster.patch(JOBS, "default", "demo", {"metadata": {"annotations": {"wake": "up"}}})
        await settled(seam)
        status = await status_of(cluster)
    assert (status["attempt"], status["phase"]) == (0, "Running")


async def test_a_gang_that_the_cache_has_lost_is_read_live_before_its_size_is_recorded(cluster: LocalApi) -> None:
    """Else the added ranks would join ranks that were started with another number of peers."""
    async with running(cluster):
        await cluster.create(JOBS, build_job())
        await until(lambda: have_pods(cluster, 4))
    await cluster.patch(JOBS, "default", "demo", {"spec": {"worker": {"replicas": 3}}})
    seam = Seam(cluster)
    seam.told = lambda resource, event: resource != PODS
    async with running(seam):
        await until(lambda: _attempted(cluster, 1))
    assert not [name for name in seam.requests if name[:2] == ("create", "pods")]


async def _attempted(api: LocalApi, attempt: int) -> bool:
    return bool((await status_of(api)).get("attempt") == attempt)


async def _asked(seam: Seam, request: Request) -> bool:
    return request in seam.requests


async def test_an_operator_whose_pod_cache_gets_no_events_creates_each_pod_once(cluster: LocalApi) -> None:
    seam = Seam(cluster)
    seam.told = lambda resource, event: resource == JOBS
    async with running(seam):
        await cluster.create(JOBS, build_job())
        await until(lambda: have_pods(cluster, 4))
        await cluster.patch(JOBS, "default", "demo", {"metadata": {"annotations": {"wake": "up"}}})
        await settled(seam)
    assert Counter(request for request in seam.requests if request[:2] == ("create", "pods")).most_common(1)[0][1] == 1


async def test_two_concurrent_operators_never_create_two_pods_of_a_rank(cluster: LocalApi) -> None:
    names = [f"job{number}" for number in range(5)]
    async with running(cluster, settings=Settings()), running(cluster, settings=Settings()):
        for name in names:
            await cluster.create(JOBS, build_job(name))
        for name in names:
            await start_gang(cluster, await until(lambda name=name: have_pods(cluster, 4, name)))
        for name in names:
            await until(lambda name=name: in_phase(cluster, "Running", name))
        statuses = [await status_of(cluster, name) for name in names]
    assert {(status["attempt"], status["restarts"]) for status in statuses} == {(0, 0)}
    ranks = Counter(pod["metadata"]["name"] for pod in (await cluster.list(PODS)).items)
    assert set(ranks.values()) == {1}
    assert len(ranks) == 20


async def test_an_operator_whose_view_of_the_pods_is_late_writes_nothing_of_a_gang_that_runs(cluster: LocalApi) -> None:
    """Each write wakes the other operator: they wrote Running and Starting to and fro for as long as it was late."""
    on_time, late, seen = Seam(cluster), Seam(cluster), asyncio.Event()

    async def hold(resource: Resource, event: Event) -> None:
        if resource == PODS and (event.object.get("status") or {}).get("phase") == "Running":
            await seen.wait()

    late.lag = hold
    async with running(on_time, Settings()), running(late, Settings()):
        await cluster.create(JOBS, build_job(ps=0, worker=4))
        await start_gang(cluster, await until(lambda: have_pods(cluster, 4)), "Pending")
        await settled(late, 1.2)
        await start_gang(cluster, await pods_of(cluster))
        ran = await until(lambda: in_phase(cluster, "Running"))
        before = len([each for each in late.requests if each[0] == "patch"])
        await settled(on_time, 1.2)
        await settled(late, 1.2)
        status = await status_of(cluster)
        written = [each for each in late.requests if each[0] == "patch"][before:]
        seen.set()
        await settled(late, 1.2)
    assert (status["phase"], status["conditions"]) == ("Running", ran["conditions"])
    assert written == []


@pytest.mark.parametrize(
    ("edit", "attempt"), [({"runPolicy": {"backoffLimit": 3}}, 0), ({"worker": {"replicas": 3}}, 1)]
)
async def test_pods_whose_first_record_is_lost_tell_of_which_size_they_are(
    cluster: LocalApi, edit: Manifest, attempt: int
) -> None:
    """Kueue edits each job before it begins. The leader dies between the pods and the record, which is put off."""
    seam = Seam(cluster)

    async def refuse(request: Request) -> None:
        if request == ("patch", "paddlejobs/status", "demo"):
            raise InternalError("died")

    async with running(seam, Settings()):
        await cluster.create(JOBS, build_job("first", ps=0, worker=1))  # its record shows that the definition fits
        await until(lambda: in_phase(cluster, "Pending", "first"))
        seam.before = refuse
        await cluster.create(JOBS, build_job(ps=0))
        before = {uid_of(pod) for pod in (await until(lambda: have_pods(cluster, 2))).values()}
    assert not await status_of(cluster)
    await cluster.patch(JOBS, "default", "demo", {"spec": edit})
    after = Seam(cluster)
    async with running(after, Settings()):
        await until(lambda: _in_attempt(cluster, attempt))
        await settled(after, 1.2)
        kept = before & {uid_of(pod) for pod in (await pods_of(cluster)).values()}
    assert (kept == before) == (attempt == 0)
    assert await _in_attempt(cluster, attempt)


async def test_a_job_whose_status_a_later_version_has_written_is_left_as_it_is_and_that_is_said(
    cluster: LocalApi,
) -> None:
    """It was taken for a new job, whatever was recorded of it."""
    async with running(cluster):
        await cluster.create(JOBS, build_job(ps=0))
        await start_gang(cluster, await until(lambda: have_pods(cluster, 2)))
        await until(lambda: in_phase(cluster, "Running"))
    await cluster.patch(JOBS, "default", "demo", {"status": {"phase": "Hibernating"}}, subresource="status")
    await cluster.delete(PODS, "default", "demo-worker-0", grace=0)
    seam = Seam(cluster)
    async with running(seam):
        told = await until(lambda: events_of(cluster, "PhaseUnknown"))
        await cluster.delete(PODS, "default", "demo-worker-1", grace=0)
        await settled(seam)
        assert (await status_of(cluster))["phase"] == "Hibernating"
        assert not await pods_of(cluster)
        await cluster.patch(JOBS, "default", "demo", {"status": {"phase": "Running"}}, subresource="status")
        await until(lambda: _in_attempt(cluster, 1))
    assert told[0]["message"].startswith('status.phase is "Hibernating", which this version of Paddock (' + f"{BUILD})")
    assert len(await events_of(cluster, "PhaseUnknown")) == 1


async def test_a_server_that_prunes_status_fields_is_reported_and_the_kind_is_halted(cluster: LocalApi) -> None:
    seam = Seam(cluster)

    def prune(request: Request, answer: Manifest) -> Manifest:
        return {**answer, "status": {"phase": answer["status"].get("phase")}} if "status" in answer else answer

    seam.answers = prune
    async with running(seam):
        await cluster.create(JOBS, build_job())
        (event,) = await until(lambda: events_of(cluster, "StatusDropped"))
        await cluster.create(JOBS, build_job("other"))
        await settled(seam)
    assert "status.attempt" in event["message"]
    assert "CustomResourceDefinition" in event["message"]
    cure = "`paddock manifests crd --kinds paddlejobs.batch.paddlepaddle.org | kubectl apply -f -` installs"
    assert cure in event["message"], "the definition alone: the operator stays as it was installed"
    assert (await cluster.list(PODS)).items == []


@pytest.mark.parametrize("prunes", [False, True])
async def test_no_event_says_that_a_node_is_avoided_where_the_definition_has_no_suspects(
    cluster: LocalApi, prunes: bool
) -> None:
    """That of an older Paddock: the record is lost, and the next attempt avoids none."""
    seam, job = Seam(cluster), build_job(ps=0, worker=1)
    job["spec"]["worker"]["template"]["spec"] |= {"nodeName": "gpu-7", "restartPolicy": "OnFailure"}

    def prune(_: Request, answer: Manifest) -> Manifest:
        kept = {name: each for name, each in answer.get("status", {}).items() if name != "suspects"}
        return {**answer, "status": kept} if prunes and answer.get("kind") == JOBS.kind else answer

    seam.answers = prune
    async with running(seam, Settings(avoids_nodes=True)):
        await cluster.create(JOBS, job)
        await start_gang(cluster, await until(lambda: have_pods(cluster, 1)))
        await until(lambda: in_phase(cluster, "Running"))
        lost = {"status": {"phase": "Failed", "reason": "NodeLost"}}
        await cluster.patch(PODS, "default", "demo-worker-0", lost, subresource="status")
        await until(lambda: _in_attempt(cluster, 1))
        await settled(seam)
    said = [event["message"] for event in await events_of(cluster, "NodeAvoided")]
    assert len(said) == (0 if prunes else 1) and all("node gpu-7 is avoided until" in each for each in said)


async def test_a_job_that_is_recreated_under_its_name_halts_no_kind(cluster: LocalApi) -> None:
    seam, old = Seam(cluster), []

    async def replace_job(request: Request) -> None:
        if request[:2] == ("patch", "paddlejobs/status") and not old:
            old.append(await cluster.get(JOBS, "default", "demo"))
            await cluster.delete(JOBS, "default", "demo")
        elif request[:2] == ("get", "paddlejobs") and len(old) == 1:
            old.append(await cluster.create(JOBS, build_job()))

    seam.before = replace_job
    async with running(seam):
        await cluster.create(JOBS, build_job())
        pods = await until(lambda: have_pods(cluster, 4))
    assert {pod["metadata"]["ownerReferences"][0]["uid"] for pod in pods.values()} == {old[1]["metadata"]["uid"]}
    assert await events_of(cluster, "StatusDropped") == []


async def test_a_job_that_was_halted_loses_the_annotation_though_nothing_is_to_be_recorded(cluster: LocalApi) -> None:
    async with running(cluster):
        await cluster.create(JOBS, build_job())
        await start_gang(cluster, await until(lambda: have_pods(cluster, 4)))
        await until(lambda: in_phase(cluster, "Running"))
        await cluster.patch(JOBS, "default", "demo", {"metadata": {"annotations": {HALTED_ANNOTATION: "halted"}}})
        await until(lambda: _says_nothing(cluster))


async def _says_nothing(api: LocalApi) -> bool:
    return HALTED_ANNOTATION not in annotations_of(await api.get(JOBS, "default", "demo"))


async def test_a_job_of_a_halted_kind_loses_the_legacy_finalizer(cluster: LocalApi) -> None:
    """No other program removes paddle-operator's finalizer: the deletion of the CRD would hang."""
    seam = Seam(cluster)
    seam.answers = lambda request, answer: {**answer, "status": {}} if "status" in answer else answer
    async with running(seam):
        await cluster.create(JOBS, build_job())
        await until(lambda: events_of(cluster, "StatusDropped"))
        left = build_job("left")
        left["metadata"]["finalizers"] = ["finalizers.paddlepaddle.org", "example.org/theirs"]
        await cluster.create(JOBS, left)
        await until(lambda: _has_finalizers(cluster, "left", ["example.org/theirs"]))
    assert (await cluster.list(PODS)).items == []


async def _has_finalizers(api: LocalApi, name: str, finalizers: list[str]) -> bool:
    return (await api.get(JOBS, "default", name))["metadata"].get("finalizers", []) == finalizers


@pytest.mark.parametrize("error", [BadRequest, Forbidden, Invalid])
async def test_a_finalizer_that_may_not_be_removed_delays_no_job(cluster: LocalApi, error: type[ApiError]) -> None:
    seam, job = Seam(cluster), build_job()
    job["metadata"]["finalizers"] = ["finalizers.paddlepaddle.org"]

    async def refuse(request: Request) -> None:
        if request[:2] == ("patch", "paddlejobs"):
            raise error("not so")

    seam.before = refuse
    async with running(seam):
        await cluster.create(JOBS, job)
        await until(lambda: have_pods(cluster, 4))
        (event,) = await until(lambda: events_of(cluster, "FinalizerStays"))
    assert "not so" in event["message"]


async def test_a_pod_with_an_invalid_port_annotation_stops_no_job(cluster: LocalApi) -> None:
    theirs = {"apiVersion": "v1", "kind": "Pod",
              "metadata": {"name": "theirs", "namespace": "default", "annotations": {PORT_ANNOTATION: "²"}},
              "spec": {"containers": [{"name": "c", "image": "x"}]}}  # fmt: skip
    await cluster.create(PODS, theirs)
    async with running(cluster):
        await cluster.create(JOBS, build_job())
        await until(lambda: have_pods(cluster, 4))


async def test_an_exception_in_one_reconcile_is_reported_and_stops_no_other_job(
    cluster: LocalApi, caplog: pytest.LogCaptureFixture
) -> None:
    seam = Seam(cluster)

    def break_one(request: Request, answer: Manifest) -> Manifest:
        if request == ("get", "paddlejobs", "broken"):
            raise ZeroDivisionError("a bug")
        return answer

    seam.answers = break_one
    async with running(seam):
        await cluster.create(JOBS, build_job("broken"))
        await cluster.create(JOBS, build_job())
        await until(lambda: have_pods(cluster, 4))
        (event, *_) = await until(lambda: events_of(cluster, "OperatorFailed"))
    assert event["involvedObject"]["name"] == "broken"
    assert "default/broken" in caplog.text


async def test_a_pod_that_is_refused_is_reported_and_tried_again(cluster: LocalApi) -> None:
    seam, refused = Seam(cluster), []

    async def quota(request: Request) -> None:
        if request == ("create", "pods", "demo-worker-1") and len(refused) < 2:
            refused.append(request)
            raise Forbidden("exceeded quota: pods")

    seam.before = quota
    async with running(seam):
        await cluster.create(JOBS, build_job())
        await until(lambda: have_pods(cluster, 4))
        (event,) = await until(lambda: events_of(cluster, "ActionFailed"))
    assert event["message"] == "cannot create Pod demo-worker-1: exceeded quota: pods"


async def test_a_job_in_a_terminating_namespace_is_tried_once_without_an_event(cluster: LocalApi) -> None:
    seam, going = Seam(cluster), FieldCause("metadata.namespace", "it is being terminated", NAMESPACE_TERMINATING)

    async def refuse(request: Request) -> None:
        if request[0] == "create" and request[1] != "events":
            raise Forbidden("unable to create new content", causes=[going])

    seam.before = refuse
    async with running(seam):
        await cluster.create(JOBS, build_job())
        await until(lambda: _asked(seam, ("create", "pods", "demo-ps-0")))
        await settled(seam, 1.0)
        assert not await events_of(cluster, "ActionFailed")
    asked = Counter(request for request in seam.requests if request[:2] == ("create", "pods"))
    assert set(asked.values()) == {1}


async def test_other_failures_in_a_terminating_namespace_are_reported_and_tried_again(cluster: LocalApi) -> None:
    seam, going = Seam(cluster), FieldCause("metadata.namespace", "it is being terminated", NAMESPACE_TERMINATING)

    async def refuse(request: Request) -> None:
        if request[:2] == ("create", "pods"):
            raise Forbidden("unable to create new content", causes=[going])
        if request == ("create", "services", "demo-ps-0"):
            raise InternalError("etcd is slow")

    seam.before = refuse
    async with running(seam, settings=Settings()):
        await cluster.create(JOBS, build_job(intranet="Service"))
        await until(lambda: _asked_twice(seam, ("create", "services", "demo-ps-0")))
        (event,) = await until(lambda: events_of(cluster, "ActionFailed"))
    assert event["message"] == "cannot create Service demo-ps-0: etcd is slow"


async def _asked_twice(seam: Seam, request: Request) -> bool:
    return seam.requests.count(request) > 1


async def test_a_pod_whose_deletion_gets_a_conflict_is_deleted_in_the_end(cluster: LocalApi) -> None:
    """All of them at once, so no event of the job starts another reconcile."""
    seam = Seam(cluster)
    refused: list[Request] = []

    async def refuse(request: Request) -> None:
        if request[0] == "delete" and request not in refused:
            refused.append(request)
            raise Conflict("the object has been modified")

    seam.before = refuse
    async with running(seam):
        await cluster.create(JOBS, build_job(ps=0, worker=1, cleanPodPolicy="Always"))
        pods = await until(lambda: have_pods(cluster, 1))
        await start_gang(cluster, pods)
        await set_phase(cluster, "demo-worker-0", "Succeeded")
        await until(lambda: have_no_pods(cluster))
        assert not await events_of(cluster, "ActionFailed"), "it is nobody's business"
    assert ("delete", "pods", "demo-worker-0") in refused


async def test_the_children_of_a_deleted_job_are_collected_and_its_name_can_be_used_again(cluster: LocalApi) -> None:
    async with running(cluster):
        await cluster.create(JOBS, build_job())
        first = await until(lambda: have_pods(cluster, 4))
        await cluster.delete(JOBS, "default", "demo")
        await cluster.create(JOBS, build_job())
        second = await until(lambda: _other_pods(cluster, first))
    assert set(second) == RANKS


async def _other_pods(api: LocalApi, before: dict[str, Manifest]) -> dict[str, Manifest]:
    now = await have_pods(api, 4)
    fresh = {pod["metadata"]["uid"] for pod in now.values()} - {pod["metadata"]["uid"] for pod in before.values()}
    return now if len(fresh) == 4 else {}


@pytest.mark.parametrize("users", [False, True])
async def test_a_gang_gets_one_pod_group_or_uses_the_one_of_the_user(cluster: LocalApi, users: bool) -> None:
    mine = {"apiVersion": POD_GROUPS.api_version, "kind": "PodGroup",
            "metadata": {"name": "demo", "namespace": "default"}, "spec": {"minMember": 1}}  # fmt: skip
    await install_pod_groups(cluster)
    if users:
        await cluster.create(POD_GROUPS, mine)
    async with running(cluster, settings=Settings(pod_groups=POD_GROUPS, shared_network=True)):
        await cluster.create(JOBS, build_job())
        await until(lambda: have_pods(cluster, 4))
        group = await cluster.get(POD_GROUPS, "default", "demo")
    assert group["spec"]["minMember"] == (1 if users else 4)


async def test_jobs_that_exist_before_the_operator_starts_are_served(cluster: LocalApi) -> None:
    await cluster.create(JOBS, build_job())
    async with running(cluster):
        await until(lambda: have_pods(cluster, 4))


async def test_a_kind_that_is_served_later_is_followed_then(tmp_path: Path) -> None:
    api = await LocalApi.open(tmp_path)
    async with running(api):
        await install_jobs(api)
        await api.create(JOBS, build_job())
        await until(lambda: have_pods(api, 4))
    await api.close()


def remains(uid: str) -> Manifest:
    """A Service with the first worker's name, controlled by a job of this name and UID."""
    owner = {"apiVersion": "batch.paddlepaddle.org/v1", "kind": "PaddleJob", "name": "demo", "uid": uid}
    metadata = {"name": "demo-worker-0", "namespace": "default", "ownerReferences": [{**owner, "controller": True}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"clusterIP": "None"}}


async def test_an_operator_that_is_late_by_a_whole_job_removes_nothing_of_the_next_one(cluster: LocalApi) -> None:
    """It has read the deleted job, and then observes objects of the next job of that name."""
    seam, reads = Seam(cluster), 0

    def answer(request: Request, manifest: Manifest) -> Manifest:
        nonlocal reads
        if request[:2] != ("get", "paddlejobs"):
            return manifest
        reads += 1
        uid = manifest["metadata"]["uid"] if reads % 2 else "next"
        return {**manifest, "metadata": {**manifest["metadata"], "uid": uid}}

    seam.answers = answer
    seam.told = lambda resource, event: (
        resource != SERVICES or event.type == "ADDED"
    )  # collected here, as nobody owns it
    async with running(seam):
        await cluster.create(SERVICES, remains("next"))
        await cluster.create(JOBS, build_job())
        await until(lambda: _read_twice(seam))
        await settled(seam)
    assert ("delete", "services", "demo-worker-0") not in seam.requests


async def _read_twice(seam: Seam) -> bool:
    return seam.requests.count(("get", "paddlejobs", "demo")) >= 2
