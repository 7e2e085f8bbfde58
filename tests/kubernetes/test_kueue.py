"""Jobs in a queue, in both worlds: a hand-written controller plays Kueue (`support.kueue`), tests play the kubelet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from paddock.jobs.labels import KUEUE_ANNOTATION
from paddock.jobs.model import Job, Settings
from paddock.jobs.queued import COUNT_ANNOTATION, GROUP_LABEL
from paddock.kube.errors import Conflict, NotFound
from paddock.kube.meta import PODS, Manifest, annotations_of, is_deleting, labels_of, name_of, uid_of
from paddock.views.stored import read_stored
from paddock.views.workloads import explain_workload, find_workload
from paddock.words.phrases import render
from support.kubeflow_jobs import FIELDS, build_job, kind_of, say
from support.kueue import JOB, QUEUE, WORKLOAD, Flavor, Kueue, playing
from support.kueue_pods import Webhook
from support.operator_seam import Seam, running, settled
from support.waiting import until
from support.worlds import World

pytestmark = pytest.mark.slow

KIND = "PyTorchJob"
HELD = "kueue.x-k8s.io/managed"


class Place:
    """The jobs of the namespace, their pods, and Kueue."""

    def __init__(self, world: World, seam: Seam, kueue: Kueue) -> None:
        self.world, self.seam, self.kueue = world, seam, kueue

    async def job(self, name: str = "demo") -> Manifest:
        return await self.world.api.get(kind_of(KIND), self.world.namespace, name)

    async def status(self, name: str = "demo") -> Manifest:
        return (await self.job(name)).get("status") or {}

    async def patch(self, spec: Manifest, name: str = "demo") -> None:
        await self.world.api.patch(kind_of(KIND), self.world.namespace, name, {"spec": spec})

    async def pods(self, name: str = "demo", *, leaving: bool = False) -> list[Manifest]:
        found = (await self.world.api.list(PODS, self.world.namespace, labels=f"{JOB}={name}")).items
        return [pod for pod in found if leaving or not is_deleting(pod)]

    async def has(self, count: int, name: str = "demo") -> list[Manifest]:
        found: list[Manifest] = []

        async def there() -> bool:
            found[:] = await self.pods(name)
            return len(found) == count

        await until(there)
        return found

    async def run(self, count: int, name: str = "demo") -> list[Manifest]:
        found = await self.has(count, name)
        for pod in found:
            await say(self.world, name_of(pod), "Running", container="pytorch")
        await until(lambda: self.is_("Running", name))
        return found

    async def is_(self, state: str, name: str = "demo") -> bool:
        conditions = (await self.status(name)).get("conditions") or ()
        return any((each["type"], each["status"]) == (state, "True") for each in conditions)

    async def waits(self, name: str) -> bool:
        cause = (await self.status(name)).get("cause") or {}
        return (cause.get("reason"), cause.get("args")) == ("WaitingForQueue", {"queue": "team"})

    async def told(self, name: str) -> str:
        """What `paddock explain` says of the Workload."""
        stored = read_stored(kind_of(KIND), await self.job(name))
        job: Job | None = stored.job
        assert job is not None
        workloads = (await self.world.api.list(WORKLOAD, self.world.namespace)).items
        return render(explain_workload(find_workload(job, stored.status, workloads)), "en")


@asynccontextmanager
async def placed(world: World, **options: Any) -> AsyncIterator[Place]:
    seam = Seam(world.api, world.namespace)
    async with (
        running(seam, Settings(status_wait=0.2), namespaces=(world.namespace,)),
        playing(Kueue(world.api, world.namespace, **options)) as kueue,
    ):
        yield Place(world, seam, kueue)


def injected(pod: Manifest) -> tuple[Any, ...]:
    spec = pod["spec"]
    tolerated = [each["value"] for each in spec.get("tolerations") or () if each.get("key") == "flavor"]
    return ((spec.get("nodeSelector") or {}).get("flavor"), tolerated, labels_of(pod).get("kueue.x-k8s.io/podset"))


async def test_a_queue_lets_jobs_in_one_after_the_other_and_pods_have_what_it_injects(world: World) -> None:
    async with placed(world) as place:
        await place.kueue.submit(build_job(KIND, world, "first", Master=1, Worker=1))
        pods = await place.run(2, "first")
        assert {str(injected(pod)) for pod in pods} == {str(("spot", ["spot"], "worker"))}
        await place.kueue.submit(build_job(KIND, world, "second", Master=1, Worker=1))
        await until(lambda: place.waits("second"))
        said = "Kueue says in its Workload job-second: WaitingForQuota: insufficient unused quota for cpu"

        async def is_told() -> bool:
            return await place.told("second") == said

        await until(is_told)
        assert not await place.pods("second")
        assert "first" in place.kueue.ready, "PodsReady is Running"
        for pod in pods:
            await say(world, name_of(pod), "Succeeded", container="pytorch")
        await place.run(2, "second")
        assert place.kueue.released == [("first", 0)]


async def test_an_evicted_job_is_active_until_its_pods_are_gone_and_only_then_its_quota_is_free(world: World) -> None:
    """v1.9 says at once that none is active, and quota is given away while old pods hold their devices."""
    async with placed(world) as place:
        await place.kueue.submit(build_job(KIND, world, Worker=2))
        before = await place.run(2)
        for pod in before:  # for a kubelet that is still busy with the pod
            held = {"metadata": {"finalizers": ["test.dev/busy"]}}
            await world.api.patch(PODS, world.namespace, name_of(pod), held)
        place.kueue.flavor = Flavor("reserved")
        await place.kueue.evict("demo")

        async def are_leaving() -> bool:
            return all(is_deleting(pod) for pod in await place.pods(leaving=True))

        await until(are_leaving)
        await until(lambda: place.waits("demo"))
        await settled(place.seam)
        counts = (await place.status())["replicaStatuses"]["Worker"]
        assert counts.get("active") == 2 and not place.kueue.released
        for pod in before:
            await world.api.patch(PODS, world.namespace, name_of(pod), {"metadata": {"finalizers": None}})
        after = await place.run(2)
        assert place.kueue.released == [("demo", 0)]
        assert {uid_of(pod) for pod in before}.isdisjoint(uid_of(pod) for pod in after)
        assert {injected(pod)[0] for pod in after} == {"reserved"}, "as of the resume, and nothing of the time before"
        assert all(injected(pod)[1] == ["reserved"] for pod in after)


async def test_a_template_that_is_edited_while_a_gang_runs_restarts_nothing_and_the_next_has_it(world: World) -> None:
    async with placed(world) as place:
        await place.kueue.submit(build_job(KIND, world, Worker=2))
        before = await place.run(2)
        edited = {"template": {"metadata": {"labels": {"edited": "yes"}}}}
        await place.patch({FIELDS[KIND]: {"Worker": edited}})
        await settled(place.seam)
        assert {uid_of(pod) for pod in await place.pods()} == {uid_of(pod) for pod in before}
        place.kueue.quota = 0
        await place.kueue.evict("demo")
        await place.has(0)
        again = {"template": {"metadata": {"labels": {"edited": "again"}}}}
        await place.patch({FIELDS[KIND]: {"Worker": again}})
        place.kueue.quota = 2
        after = await place.run(2)
        assert {labels_of(pod)["edited"] for pod in after} == {"again"}


async def test_a_workload_that_is_deleted_under_its_job_stops_it_and_it_comes_back(world: World) -> None:
    async with placed(world) as place:
        await place.kueue.submit(build_job(KIND, world, Worker=2))
        before = await place.run(2)
        await world.api.delete(WORKLOAD, world.namespace, "job-demo")

        async def is_new() -> bool:
            now = await place.pods()
            return len(now) == 2 and {uid_of(pod) for pod in before}.isdisjoint(uid_of(pod) for pod in now)

        await until(is_new)
        await place.run(2)
        assert place.kueue.released == [("demo", 0)]
        assert (await place.status())["attempt"] == 2, "each admission is one"
        assert not (await place.status()).get("restarts")


async def test_a_job_that_is_stopped_and_started_fifty_times_in_a_second_has_the_pods_of_the_last_start(
    world: World,
) -> None:
    """Nobody else plays Kueue here: the patches come as fast as the API takes them."""
    seam = Seam(world.api, world.namespace)
    kueue = Kueue(world.api, world.namespace)
    place = Place(world, seam, kueue)
    async with running(seam, Settings(status_wait=0.2), namespaces=(world.namespace,)):
        await kueue.submit(build_job(KIND, world, Worker=2))
        await until(lambda: place.waits("demo"))
        for number in range(50):
            template = Flavor(f"f-{number}").inject() if number % 2 else {"spec": {"nodeSelector": {"flavor": None}}}
            roles = {"Worker": {"template": template}}
            await place.patch({"runPolicy": {"suspend": not number % 2}, FIELDS[KIND]: roles})
        await settled(seam)
        # Starts that nobody saw between two looks are not told from an edit of templates: a gang is of one start, and
        # the next one of the last. Kueue itself waits until no pod is active.
        assert len({injected(pod)[0] for pod in await place.run(2)}) == 1
        await place.patch({"runPolicy": {"suspend": True}})
        await until(lambda: place.waits("demo"))
        await place.has(0)  # the status is written before the pods are deleted
        await place.patch({"runPolicy": {"suspend": False}})
        pods = await place.run(2)
        assert {injected(pod)[0] for pod in pods} == {"f-49"}
        assert len(await place.pods(leaving=True)) == 2
        assert (await place.status()).get("restarts", 0) == 0


async def test_the_pods_of_each_attempt_are_a_group_that_needs_no_integration_of_the_kind(world: World) -> None:
    """Kueue keeps the pods of a group, by a finalizer, until all of them have ended or go."""
    seam = Seam(world.api, world.namespace)
    place = Place(world, seam, Kueue(world.api, world.namespace))
    job = build_job(KIND, world, Worker=2, policy={"backoffLimit": 2})
    job["metadata"] |= {"labels": {QUEUE: "team"}, "annotations": {KUEUE_ANNOTATION: "Pods"}}

    async def keep() -> None:
        """The part of Kueue that has the finalizer."""
        while True:
            pods = await place.pods(leaving=True)
            groups: dict[str, list[Manifest]] = {}
            for pod in pods:
                groups.setdefault(labels_of(pod)[GROUP_LABEL], []).append(pod)
            for members in groups.values():
                over = all(is_deleting(pod) or pod["status"].get("phase") in ("Succeeded", "Failed") for pod in members)
                for pod in members:
                    finalizers = pod["metadata"].get("finalizers") or []
                    wanted = [] if over else [HELD]
                    if finalizers != wanted and not (is_deleting(pod) and wanted):
                        patch = {"metadata": {"finalizers": wanted or None, "uid": uid_of(pod)}}
                        try:
                            await world.api.patch(PODS, world.namespace, name_of(pod), patch)
                        except (NotFound, Conflict):
                            continue
            await asyncio.sleep(0.02)

    async with running(Webhook(seam), Settings(status_wait=0.2), namespaces=(world.namespace,)):
        task = asyncio.create_task(keep())
        try:
            await world.api.create(kind_of(KIND), job)
            first = await place.run(2)
            await say(world, name_of(first[0]), "Failed", 137, container="pytorch")

            async def is_new() -> bool:
                now = await place.pods()
                return len(now) == 2 and {uid_of(pod) for pod in first}.isdisjoint(uid_of(pod) for pod in now)

            await until(is_new)
            second = await place.run(2)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        groups = [{labels_of(pod)[GROUP_LABEL] for pod in gang} for gang in (first, second)]
        assert [len(each) for each in groups] == [1, 1] and groups[0] != groups[1]
        for pod in (*first, *second):
            assert labels_of(pod)[QUEUE] == "team" and annotations_of(pod)[COUNT_ANNOTATION] == "2"
        for pod in await place.pods(leaving=True):
            await world.api.patch(PODS, world.namespace, name_of(pod), {"metadata": {"finalizers": None}})
