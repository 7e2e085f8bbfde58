"""The executor: batches of pods after a refusal, and which failures count."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import Any

import pytest

from paddock.jobs.actions import Action, Built, Create, Delete, Patch, Recipe
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Job, Settings
from paddock.jobs.objects.pods import RankPod, RankService
from paddock.kube.errors import ApiError, Conflict, Forbidden, Unavailable
from paddock.kube.meta import PODS, SERVICES, Key, Manifest, Resource, annotations_of, uid_of
from paddock.operator.apply import (
    FIRST_BATCH,
    MISSED_SECONDS,
    MOST_NAMED,
    Executor,
    Failure,
    Outcome,
    plan_batches,
    read_refusal,
)
from support.operator_seam import JOBS, Request, Seam, build_job


class NoCache:
    """A cache that keeps nothing."""

    def assume(self, *_: Any) -> None: ...

    def assume_deleting(self, *_: Any) -> None: ...


async def apply_actions(seam: Seam, job: Job, *actions: Action) -> Outcome:
    return await Executor(seam, NoCache(), lambda: 1000.0).apply_actions(job, actions)


async def make_job(seam: Seam, workers: int) -> tuple[Job, list[Action]]:
    """A job, and the creates of a Service and a pod for each rank."""
    manifest = await seam.api.create(JOBS, build_job(ps=0, worker=workers))
    job = KINDS[JOBS].read_job(manifest)
    services = [Create(SERVICES, RankService(job, rank)) for rank in job.ranks()]
    return job, [*services, *(Create(PODS, RankPod(job, rank, 0, None, Settings())) for rank in job.ranks())]


def asked_for(seam: Seam, resource: Resource) -> int:
    return sum(request[:2] == ("create", resource.plural) for request in seam.requests)


@pytest.mark.parametrize("free", [0, FIRST_BATCH, FIRST_BATCH + 3])
async def test_after_a_refusal_no_further_batch_of_pods_is_created(seam: Seam, free: int) -> None:
    job, actions = await make_job(seam, 8 * FIRST_BATCH)
    made = 0

    async def quota(request: Request) -> None:
        nonlocal made
        if request[:2] == ("create", "pods"):
            made += 1
            if made > free:
                raise Forbidden("exceeded quota: pods")

    seam.before = quota
    outcome = await apply_actions(seam, job, *actions)
    assert asked_for(seam, PODS) == (3 * FIRST_BATCH if free >= FIRST_BATCH else FIRST_BATCH)
    assert len(outcome.failures) == asked_for(seam, PODS) - free
    assert asked_for(seam, SERVICES) == job.size, "others are not held up"


async def test_after_a_refusal_no_further_batch_of_services_is_created(seam: Seam) -> None:
    job, actions = await make_job(seam, 8 * FIRST_BATCH)

    async def quota(request: Request) -> None:
        if request[:2] == ("create", "services"):
            raise Forbidden("exceeded quota: services")

    seam.before = quota
    outcome = await apply_actions(seam, job, *actions)
    assert (asked_for(seam, SERVICES), asked_for(seam, PODS)) == (FIRST_BATCH, job.size)
    assert len(outcome.failures) == FIRST_BATCH


async def test_no_pod_is_created_once_the_job_is_not_wanted_any_more(seam: Seam) -> None:
    """A job of 600 pods that Kueue suspends at the 16th gets a few more at most, those whose requests are under way."""
    job, actions = await make_job(seam, 8 * FIRST_BATCH)
    pods = [action for action in actions if action.resource == PODS]
    outcome = await Executor(seam, NoCache(), lambda: 1000.0).apply_actions(
        job, pods, lambda: asked_for(seam, PODS) < FIRST_BATCH
    )
    assert asked_for(seam, PODS) == FIRST_BATCH
    assert outcome.cut
    assert outcome.look_again(60.0) == 0.0


async def test_a_pod_is_built_when_it_is_sent(seam: Seam) -> None:
    built: list[int] = []

    @dataclass(frozen=True)
    class Counted:
        inner: Recipe

        @property
        def key(self) -> Key:
            return self.inner.key

        def build(self) -> Manifest:
            built.append(asked_for(seam, PODS))
            return self.inner.build()

    job, actions = await make_job(seam, 3 * FIRST_BATCH)
    creates = [Create(PODS, Counted(action.recipe)) for action in actions if isinstance(action, Create)]
    pods = [create for create, action in zip(creates, actions, strict=True) if action.resource == PODS]
    await apply_actions(seam, job, *pods)
    assert len(built) == len(pods), "each once"
    assert built[FIRST_BATCH] == FIRST_BATCH, "those of a batch when the one before it is there"


def test_a_refusal_names_so_many_objects_at_most() -> None:
    """The names are recorded in the status of the job, and may have 253 characters each."""
    creates = [Create(PODS, Built({"metadata": {"name": str(number)}})) for number in range(3 * MOST_NAMED)]
    for error in (Forbidden("exceeded quota: pods"), Unavailable("busy")):
        refusal = read_refusal([Failure(create, error) for create in creates])
        assert refusal is not None
        assert len(refusal.objects) == MOST_NAMED


async def test_without_a_refusal_all_pods_are_created(seam: Seam) -> None:
    job, actions = await make_job(seam, 3 * FIRST_BATCH + 1)
    assert await apply_actions(seam, job, *actions) == Outcome()
    assert len((await seam.api.list(PODS)).items) == job.size


async def test_pods_and_services_of_a_small_job_are_created_concurrently(seam: Seam) -> None:
    job, actions = await make_job(seam, FIRST_BATCH)
    together = asyncio.Barrier(len(actions))

    async def meet(_: Request) -> None:
        await together.wait()

    seam.before = meet
    async with asyncio.timeout(180):
        assert await apply_actions(seam, job, *actions) == Outcome()


@pytest.mark.parametrize(
    ("count", "sizes"),
    [(0, []), (1, [1]), (FIRST_BATCH, [FIRST_BATCH]), (FIRST_BATCH + 1, [FIRST_BATCH, 1]),
     (10 * FIRST_BATCH, [FIRST_BATCH, 2 * FIRST_BATCH, 4 * FIRST_BATCH, 3 * FIRST_BATCH])],
)  # fmt: skip
def test_batches_double_and_keep_the_order(count: int, sizes: list[int]) -> None:
    creates = [Create(PODS, Built({"metadata": {"name": str(number)}})) for number in range(count)]
    batches = plan_batches(creates)
    assert [len(batch) for batch in batches] == sizes
    assert [create for batch in batches for create in batch] == creates


@pytest.mark.parametrize("optional", [True, False])
async def test_an_optional_patch_that_is_refused_is_logged_and_is_no_failure(
    seam: Seam, optional: bool, caplog: pytest.LogCaptureFixture
) -> None:
    job, actions = await make_job(seam, 1)
    await apply_actions(seam, job, *actions)

    async def refuse(request: Request) -> None:
        if request[0] == "patch":
            raise Forbidden("no right to patch pods")

    seam.before = refuse
    patch = Patch(PODS, Key("default", "demo-worker-0"), "u", {"metadata": {}}, optional=optional)
    with caplog.at_level(logging.INFO):
        outcome = await apply_actions(seam, job, patch)
    assert [failure.error.message for failure in outcome.failures] == ([] if optional else ["no right to patch pods"])
    assert ("cannot patch Pod demo-worker-0: no right to patch pods" in caplog.text) is optional


@pytest.mark.parametrize(
    ("error", "after"), [(Unavailable("busy"), MISSED_SECONDS), (Forbidden("no right"), 60.0)], ids=["busy", "refused"]
)
async def test_an_optional_patch_is_tried_again_where_it_may_succeed(seam: Seam, error: ApiError, after: float) -> None:
    """The wake of a kubelet: no event follows that would make another reconcile."""
    job, actions = await make_job(seam, 1)
    await apply_actions(seam, job, *actions)

    async def refuse(request: Request) -> None:
        if request[0] == "patch":
            raise error

    seam.before = refuse
    patch = Patch(PODS, Key("default", "demo-worker-0"), "u", {"metadata": {}}, optional=True)
    outcome = await apply_actions(seam, job, patch)
    assert not outcome.failures
    assert outcome.look_again(60.0) == after


@pytest.mark.parametrize("optional", [True, False])
async def test_an_optional_create_that_is_refused_is_logged_and_is_no_failure(
    seam: Seam, optional: bool, caplog: pytest.LogCaptureFixture
) -> None:
    job, actions = await make_job(seam, 1)
    (create,) = [each for each in actions if isinstance(each, Create) and each.resource == PODS]

    async def refuse(request: Request) -> None:
        if request[:2] == ("create", "pods"):
            raise Forbidden("exceeded quota: pods")

    seam.before = refuse
    with caplog.at_level(logging.INFO):
        outcome = await apply_actions(seam, job, replace(create, optional=optional))
    assert [failure.error.message for failure in outcome.failures] == ([] if optional else ["exceeded quota: pods"])
    assert ("cannot create Pod demo-worker-0: exceeded quota: pods" in caplog.text) is optional


async def test_a_patch_that_gets_a_conflict_is_sent_once_more_only(seam: Seam) -> None:
    job, actions = await make_job(seam, 1)
    await apply_actions(seam, job, *actions)
    pod = await seam.api.get(PODS, "default", "demo-worker-0")
    busy = [Conflict("the object has been modified")]

    async def refuse(request: Request) -> None:
        if request[0] == "patch" and busy:
            raise busy.pop()

    seam.before = refuse
    note = {"metadata": {"annotations": {"told": "yes"}}}
    patch = Patch(PODS, Key("default", "demo-worker-0"), uid_of(pod), note)
    assert await apply_actions(seam, job, patch) == Outcome()
    assert annotations_of(await seam.api.get(PODS, "default", "demo-worker-0"))["told"] == "yes"
    for optional in (False, True):
        patch = Patch(PODS, Key("default", "demo-worker-0"), "another's", note, optional=optional)
        assert await apply_actions(seam, job, patch) == Outcome(stale=True)
    assert [request[0] for request in seam.requests].count("patch") == 6


async def test_a_delete_with_409_is_stale_and_one_with_404_is_done(seam: Seam) -> None:
    """409: another object has the name, or another write came at that moment; the answer does not say which."""
    job, actions = await make_job(seam, 1)
    await apply_actions(seam, job, *actions)
    key = Key("default", "demo-worker-0")
    pod = await seam.api.get(PODS, *key)
    assert await apply_actions(seam, job, Delete(PODS, key, "another's")) == Outcome(stale=True)
    assert await apply_actions(seam, job, Delete(PODS, key, uid_of(pod), grace=0)) == Outcome()
    assert await apply_actions(seam, job, Delete(PODS, key, uid_of(pod), grace=0)) == Outcome()
