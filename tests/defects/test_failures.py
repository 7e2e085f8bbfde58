"""Failures were not explained, failed jobs continued, and finished jobs started again.

12  test_a_refused_pod_has_an_event_with_kind_name_and_reason_and_is_tried_again
13  test_a_refused_pod_has_an_event_with_kind_name_and_reason_and_is_tried_again
15  test_a_job_whose_servers_never_return_completes_when_its_workers_have
16  test_survivors_of_a_failed_job_hold_no_device_and_no_pod_is_created_for_it
17  test_a_pod_of_a_finished_job_that_is_drained_does_not_train_again
18  test_a_rank_that_was_moved_makes_a_gang_with_the_new_addresses
18  test_edited_replicas_make_a_gang_that_knows_its_size
26  test_a_job_that_is_being_deleted_gets_no_new_pods
27  test_a_job_can_be_deleted_when_no_operator_runs
27  test_a_job_with_paddle_operators_finalizer_loses_it_at_its_first_reconcile
32  test_a_worker_that_crashes_repeatedly_fails_the_job_at_the_limit
33  test_nothing_is_run_in_a_pod_but_what_the_user_wrote
"""

from __future__ import annotations

import pytest

from defects.users_jobs import pod_of, read
from paddock.jobs.model import Settings
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import EVENTS, PODS, Manifest, uid_of
from paddock.operator.readings import Readings
from paddock.operator.release import FINALIZER
from support.operator_seam import (
    JOBS,
    Request,
    Seam,
    build_job,
    find_config_map,
    have_pods,
    pods_of,
    running,
    set_phase,
    settled,
    status_of,
)
from support.waiting import until
from support.worlds import World

RANKS = ["demo-ps-0", "demo-ps-1", "demo-worker-0", "demo-worker-1"]


async def start_gang(world: World, base: int = 2, count: int = 4) -> dict[str, Manifest]:
    """All pods there, each with an address, and running. Their UIDs are the gang's."""
    pods = await until(lambda: have_pods(world.api, count, namespace=world.namespace))
    for number, pod in enumerate(sorted(pods), base):
        await set_phase(world.api, pod, "Running", address=f"10.98.0.{number}", namespace=world.namespace)
    await until(lambda: in_phase(world, "Running"))
    return dict(pods)


async def in_phase(world: World, phase: str) -> Manifest | None:
    status = await status_of(world.api, namespace=world.namespace)
    return status if status.get("phase") == phase else None


async def test_a_refused_pod_has_an_event_with_kind_name_and_reason_and_is_tried_again(world: World) -> None:
    """12, 13: the event said "create failed  demo-worker-1", and nothing happened for hours.

    Refused four times, so no event of another pod starts the last reconcile."""
    seam, refused = Seam(world.api, world.namespace), []

    async def quota(request: Request) -> None:
        if request == ("create", "pods", "demo-worker-1") and len(refused) < 4:
            refused.append(request)
            raise Forbidden("exceeded quota: team, requested: pods=1")

    seam.before = quota
    async with running(seam, Settings(status_wait=0)):
        await world.api.create(JOBS, build_job(namespace=world.namespace))
        await until(lambda: have_pods(world.api, 4, namespace=world.namespace))
        said = await until(lambda: _events(world, "ActionFailed"))
    assert len(refused) == 4
    assert any(all(word in text for word in ("Pod demo-worker-1", "exceeded quota: team")) for text in said)


async def _events(world: World, reason: str) -> list[str]:
    found = (await world.api.list(EVENTS, world.namespace)).items
    return [str(event["message"]) for event in found if event["reason"] == reason]


async def test_a_job_whose_servers_never_return_completes_when_its_workers_have(world: World) -> None:
    """15: `run_server` has no end, and the job had none either. `Completed PS 2/2 0/2`, as the documents print it."""
    async with running(world.api, Settings(status_wait=0)):
        await world.api.create(JOBS, build_job(namespace=world.namespace, cleanPodPolicy="Never"))
        await start_gang(world)
        for worker in ("demo-worker-0", "demo-worker-1"):
            await set_phase(world.api, worker, "Succeeded", namespace=world.namespace)
        status = await until(lambda: in_phase(world, "Completed"))
    assert (status["mode"], status["ps"]["ready"], status["worker"]["ready"]) == ("PS", "2/2", "0/2")


@pytest.mark.parametrize("policy", [None, "Never", "OnCompletion"])
async def test_survivors_of_a_failed_job_hold_no_device_and_no_pod_is_created_for_it(
    world: World, policy: str | None
) -> None:
    """16: they continued to train, and missing pods were still created."""
    seam = Seam(world.api, world.namespace)
    spec = {"cleanPodPolicy": policy} if policy else {}
    async with running(seam, Settings(status_wait=0)):
        await world.api.create(JOBS, build_job(namespace=world.namespace, **spec))
        await start_gang(world)
        await set_phase(world.api, "demo-worker-1", "Failed", code=1, namespace=world.namespace)
        await until(lambda: in_phase(world, "Failed"))
        failed_at = len(seam.requests)
        await until(lambda: _only(world, {"demo-worker-1"}))
        await settled(seam)
    assert [request for request in seam.requests[failed_at:] if request[:2] == ("create", "pods")] == []


async def _only(world: World, names: set[str]) -> bool:
    return set(await pods_of(world.api, namespace=world.namespace)) == names


async def test_a_pod_of_a_finished_job_that_is_drained_does_not_train_again(world: World) -> None:
    """17: it came back under its name, and trained, while the job said Completed."""
    seam = Seam(world.api, world.namespace)
    async with running(seam, Settings(status_wait=0)):
        await world.api.create(JOBS, build_job(namespace=world.namespace, cleanPodPolicy="Never"))
        await start_gang(world)
        for worker in ("demo-worker-0", "demo-worker-1"):
            await set_phase(world.api, worker, "Succeeded", namespace=world.namespace)
        await until(lambda: in_phase(world, "Completed"))
        await world.api.delete(PODS, world.namespace, "demo-worker-0", grace=0)
        await world.api.delete(PODS, world.namespace, "demo-ps-0", grace=0)
        await settled(seam, 0.5)
        assert await _only(world, {"demo-ps-1", "demo-worker-1"})


async def test_a_rank_that_was_moved_makes_a_gang_with_the_new_addresses(world: World) -> None:
    """18: the others went on with the address of a pod that was gone."""
    async with running(world.api, Settings(status_wait=0)):
        await world.api.create(JOBS, build_job(namespace=world.namespace))
        before = await start_gang(world)
        await world.api.delete(PODS, world.namespace, "demo-ps-0", grace=0)
        await until(lambda: _new_gang(world, before, 4))
        await start_gang(world, base=20)
        endpoints = await until(lambda: _endpoints(world, 1))
    assert endpoints["PADDLE_PSERVERS_IP_PORT_LIST"] == "10.98.0.20:36000,10.98.0.21:36000"
    assert endpoints["PADDLE_TRAINERS"] == "10.98.0.22,10.98.0.23"
    status = await status_of(world.api, namespace=world.namespace)
    assert (status["attempt"], status["restarts"]) == (1, 0)


async def test_edited_replicas_make_a_gang_that_knows_its_size(world: World) -> None:
    """18: PADDLE_TRAINERS_NUM stayed as it was."""
    async with running(world.api, Settings(status_wait=0)):
        await world.api.create(JOBS, build_job(namespace=world.namespace))
        before = await start_gang(world)
        await world.api.patch(JOBS, world.namespace, "demo", {"spec": {"worker": {"replicas": 3}}})
        await until(lambda: _new_gang(world, before, 5))
        await start_gang(world, base=20, count=5)
        endpoints = await until(lambda: _endpoints(world, 1))
    assert (endpoints["PADDLE_TRAINERS_NUM"], endpoints["PADDLE_TRAINERS"].count(",")) == ("3", 2)


async def _new_gang(world: World, before: dict[str, Manifest], count: int) -> bool:
    now = await have_pods(world.api, count, namespace=world.namespace)
    return bool(now) and {uid_of(pod) for pod in now.values()}.isdisjoint(uid_of(pod) for pod in before.values())


async def _endpoints(world: World, attempt: int) -> dict[str, str]:
    return dict((await find_config_map(world.api, world.namespace, attempt)).get("data") or {})


async def test_a_job_that_is_being_deleted_gets_no_new_pods(world: World) -> None:
    """26: the reconcile that removed the finalizer continued, and created pods for a deleted job."""
    seam = Seam(world.api, world.namespace)
    job = build_job(namespace=world.namespace)
    job["metadata"]["finalizers"] = ["example.org/held"]
    async with running(seam, Settings(status_wait=0)):
        await world.api.create(JOBS, job)
        await start_gang(world)
        await world.api.delete(JOBS, world.namespace, "demo")
        await until(lambda: in_phase(world, "Terminating"))
        told_at = len(seam.requests)
        await world.api.delete(PODS, world.namespace, "demo-worker-0", grace=0)
        await settled(seam, 0.5)
        made = [request for request in seam.requests[told_at:] if request[0] == "create" and request[1] != "events"]
        await world.api.patch(JOBS, world.namespace, "demo", {"metadata": {"finalizers": None}})
    assert made == []


async def test_a_job_can_be_deleted_when_no_operator_runs(world: World) -> None:
    """27: a finalizer that did nothing kept jobs, namespaces and the definition Terminating for ever."""
    async with running(world.api, Settings(status_wait=0)):
        await world.api.create(JOBS, build_job(namespace=world.namespace))
        await until(lambda: have_pods(world.api, 4, namespace=world.namespace))
    assert "finalizers" not in (await world.api.get(JOBS, world.namespace, "demo"))["metadata"]
    await world.api.delete(JOBS, world.namespace, "demo")
    await until(lambda: _gone(world))


async def test_a_job_with_paddle_operators_finalizer_loses_it_at_its_first_reconcile(world: World) -> None:
    """27: of jobs that were there before; a finalizer of somebody else stays."""
    job = build_job(namespace=world.namespace)
    job["metadata"]["finalizers"] = ["example.org/held", FINALIZER]
    await world.api.create(JOBS, job)
    async with running(world.api, Settings(status_wait=0)):
        await until(lambda: _held_by(world, ["example.org/held"]))
        await world.api.patch(JOBS, world.namespace, "demo", {"metadata": {"finalizers": None}})
    await world.api.delete(JOBS, world.namespace, "demo")
    await until(lambda: _gone(world))


async def _held_by(world: World, finalizers: list[str]) -> bool:
    return (await world.api.get(JOBS, world.namespace, "demo"))["metadata"].get("finalizers") == finalizers


async def _gone(world: World) -> bool:
    try:
        await world.api.get(JOBS, world.namespace, "demo")
    except NotFound:
        return True
    return False


async def test_a_worker_that_crashes_repeatedly_fails_the_job_at_the_limit(world: World) -> None:
    """32: it crashed for ever, and the job was Starting."""
    job, now = build_job(ps=0, namespace=world.namespace, runPolicy={"backoffLimit": 1}), [1_000.0]
    job["spec"]["worker"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    async with running(world.api, Settings(status_wait=0), readings=Readings(lambda: now[0])):
        await world.api.create(JOBS, job)
        before = await start_gang(world, count=2)
        await set_phase(world.api, "demo-worker-0", "Failed", code=1, namespace=world.namespace)
        await until(lambda: in_phase(world, "Restarting"))
        now[0] += 600  # past the backoff; the edit is what wakes it
        await world.api.patch(JOBS, world.namespace, "demo", {"metadata": {"annotations": {"an": "edit"}}})
        await until(lambda: _new_gang(world, before, 2))
        await start_gang(world, count=2)
        await set_phase(world.api, "demo-worker-0", "Failed", code=1, namespace=world.namespace)
        status = await until(lambda: in_phase(world, "Failed"))
    assert (status["cause"]["reason"], status["restarts"], status["attempt"]) == ("BackoffLimitExceeded", 1, 1)


@pytest.mark.parametrize("network", ["PodIP", "Service", "Host"])
def test_nothing_is_run_in_a_pod_but_what_the_user_wrote(network: str) -> None:
    """33: an init container from a public registry, without limits, with 0.01 bytes of memory."""
    spec = pod_of(read(intranet=network, withGloo=1), "ps-0")["spec"]
    assert [each["image"] for each in spec["containers"]] == ["paddle:test"]
    assert not spec.get("initContainers")
