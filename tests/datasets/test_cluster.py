"""Datasets on a cluster: the claim and the Job come to be, are followed to their end, and go with the object.

The API is the embedded one, with Jobs of a stand-in; the test is the Job controller and the kubelet
(`support.fetch_jobs`). tests/kubernetes/test_datasets.py has the real ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.datasets.claims import build_claim
from paddock.datasets.cluster import POLL_SECONDS, ClusterSupplier, slow_down
from paddock.datasets.definition import Definition, read_definition
from paddock.datasets.fetch_jobs import FetchPod
from paddock.datasets.fetching import Failed as ReportedFailure
from paddock.datasets.fetching import Fault, Fetched, Progress
from paddock.datasets.library import Datasets
from paddock.datasets.request_shares import SharedRequests
from paddock.datasets.states import Failed, Fetching, Ready, State, Unfetched
from paddock.kube.calls import Call, List, Listing, T
from paddock.kube.errors import ApiError, BadRequest, Forbidden, Invalid, NotFound
from paddock.kube.meta import BATCH_JOBS, CLAIMS, DATASETS, NAMESPACES, PODS, Key, Manifest, name_of, uid_of
from support.fetch_jobs import Cluster, WithBatchJobs, build_dataset, install
from support.rights import Asked
from support.waiting import until

NAMESPACE = "team"
URI = "https://host.example/words.tar"
AT_ONCE = 0.01
"""Seconds between two looks."""
HALF = Progress(phase="fetching", done=41, total=100, files=1, all_files=3)
ALL = Fetched(size=100, files=3, revision="etag")


class Api(WithBatchJobs):
    """`refuses`: how a create of this plural is answered."""

    def __init__(self, api: LocalApi) -> None:
        super().__init__(api)
        self.refuses: dict[str, ApiError] = {}
        self.asked: list[str] = []

    async def send(self, call: Call[T]) -> T:
        """As over HTTP, of a list no more than is to be kept of it."""
        answer: Any = await super().send(call)
        if isinstance(call, List) and call.keep:
            answer = Listing([call.keep(each) for each in answer.items], answer.resource_version)
        return cast("T", answer)

    @asynccontextmanager
    async def asking(self, asked: Asked) -> AsyncIterator[None]:
        self.asked.append(str(asked))
        if asked.verb == "create" and asked.plural in self.refuses:
            raise self.refuses[asked.plural]
        yield


class Scene:
    """A cluster and a supplier; `told` are the states of the last fetch."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.cluster = Cluster(api, NAMESPACE)
        self.supplier = ClusterSupplier(
            SharedRequests(api), self.cluster.read_log, FetchPod("paddock:1"), poll_seconds=AT_ONCE
        )
        self.told: list[State] = []

    async def create(self, name: str = "words", uri: str = URI, **spec: Any) -> Definition:
        manifest = build_dataset(name, NAMESPACE, uri, **spec)
        return read_definition(await self.api.create(DATASETS, manifest))

    async def edit(self, dataset: Definition, **spec: Any) -> Definition:
        return read_definition(await self.api.patch(DATASETS, *dataset.key, {"spec": spec}))

    def fetch(self, dataset: Definition) -> asyncio.Task[State]:
        self.told = []

        async def run() -> State:
            return await self.supplier.fetch(dataset, self.told.append)

        return asyncio.create_task(run())

    async def is_told(self, said: str) -> None:
        """Waits until this is the last that is said."""

        async def last() -> bool:
            return bool(self.told) and said in str(getattr(self.told[-1], "waiting", self.told[-1]))

        try:
            await until(last)
        except TimeoutError:
            pytest.fail(f"{said!r} is not said, but {self.told[-1:]}")

    async def shows(self, state: State) -> None:
        async def last() -> bool:
            return self.told[-1:] == [state]

        await until(last)

    async def fill(self, fetching: asyncio.Task[State], but: str = "") -> Manifest:
        """The Job's pod fetches all; the Job that did it."""
        job = await self.cluster.job(but)
        pod = await self.cluster.start_pod(job)
        await self.cluster.end_pod(pod, 0, ALL)
        await self.cluster.end_job(job, "Complete", completionTime="2026-01-01T00:01:00Z")
        assert await asyncio.wait_for(fetching, 180) == Ready(
            size=100, files=3, revision="etag", finished="2026-01-01T00:01:00Z"
        )
        return job


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    local = await LocalApi.open(tmp_path)
    try:
        await install(local)
        await local.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        yield Scene(Api(local))
    finally:
        await local.close()


async def cancel(task: asyncio.Task[State]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_dataset_is_fetched_by_one_job_into_one_claim_and_its_progress_is_told(scene: Scene) -> None:
    dataset = await scene.create()
    assert await scene.supplier.look(dataset, {}) == Unfetched()
    fetching = scene.fetch(dataset)
    job = await scene.cluster.job()
    name = name_of(job)
    await scene.shows(Fetching(Progress(phase="starting"), job=name))
    pod = await scene.cluster.start_pod(job)
    scene.cluster.say(pod, HALF)
    await scene.shows(Fetching(HALF, job=name))
    scene.cluster.logs[pod].append(b"a library says something\n")
    assert await scene.supplier.look(dataset, {}) == Fetching(HALF, job=name), "after a restart of the controller"
    await scene.cluster.end_pod(pod, 0, ALL)
    await scene.cluster.end_job(job, "Complete", completionTime="2026-01-01T00:01:00Z")
    ready = Ready(size=100, files=3, revision="etag", finished="2026-01-01T00:01:00Z")
    assert await asyncio.wait_for(fetching, 180) == ready
    assert await scene.supplier.look(dataset, {}) == ready
    assert (len(await scene.cluster.jobs()), name_of(await scene.cluster.claim())) == (1, "dataset-words")


async def test_no_source_is_told_a_token_of_paddock(scene: Scene) -> None:
    token = "paddle-manager-sa-token-x7k2p"
    dataset = await scene.create(secretName=token)
    scene.supplier = ClusterSupplier(
        scene.api, scene.cluster.read_log, FetchPod("paddock:1"), own_accounts={Key(NAMESPACE, "paddle-manager-sa")}
    )
    said = Failed(
        f'spec.source.secretName: found "{token}", a token of paddle-manager-sa, the service account of Paddock '
        "itself in namespace team, which is sent to no source; any other Secret is allowed",
        Fault.SOURCE,
    )
    assert await scene.supplier.look(dataset, {}) == said
    assert await scene.fetch(dataset) == said
    assert (await scene.cluster.jobs(), (await scene.api.list(CLAIMS, NAMESPACE)).items) == ([], [])


async def test_a_look_at_a_pod_that_fetches_is_five_requests_with_that_for_its_log(scene: Scene) -> None:
    dataset, before = await scene.create(), list[int]()
    running = asyncio.create_task(scene.supplier.fetch(dataset, lambda _: before.append(len(scene.api.asked))))
    pod = await scene.cluster.start_pod(await scene.cluster.job())
    scene.cluster.say(pod, HALF)
    begun = len(before)

    async def has_looked() -> bool:
        return len(before) > begun + 5

    await until(has_looked)
    assert scene.api.asked[before[-2] : before[-1]] == [
        "get persistentvolumeclaims dataset-words", "list jobs", "list pods", "list pods",
    ]  # fmt: skip
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_whether_the_claims_of_a_namespace_are_there_still_is_one_request_for_all_its_datasets(
    scene: Scene,
) -> None:
    ready = [await scene.create(name) for name in ("one", "two")]
    for dataset in ready:
        await scene.api.create(CLAIMS, build_claim(dataset))
    supplier = ClusterSupplier(scene.api, scene.cluster.read_log, FetchPod("paddock:1"), relook_seconds=3600)
    scene.api.asked.clear()
    assert [await supplier.stands(dataset) for dataset in ready * 3] == [True] * 6
    assert scene.api.asked == ["list persistentvolumeclaims"]


async def test_a_dataset_whose_claim_is_gone_does_not_stand(scene: Scene) -> None:
    one, two, own = [await scene.create(name) for name in ("one", "two", "own")]
    await scene.api.create(CLAIMS, build_claim(one))
    await scene.api.create(CLAIMS, build_claim(two))
    foreign = build_claim(own)
    foreign["metadata"]["ownerReferences"] = []
    await scene.api.create(CLAIMS, foreign)
    supplier = ClusterSupplier(scene.api, scene.cluster.read_log, FetchPod("paddock:1"), relook_seconds=0)
    assert [await supplier.stands(each) for each in (one, two, own)] == [True, True, False]
    await scene.api.patch(CLAIMS, NAMESPACE, one.claim, {"status": {"phase": "Lost"}}, subresource="status")
    await scene.api.delete(CLAIMS, NAMESPACE, two.claim)
    assert [await supplier.stands(each) for each in (one, two)] == [False, False]


@pytest.mark.parametrize(
    ("own", "namespaces", "same", "times"),
    [
        (1, 1, 0, 1), (8, 1, 0, 1), (16, 1, 0, 2), (1, 1, 30, 1), (1, 1, 60, 2), (1, 1, 10_000, 8), (16, 1, 60, 4),
        (8, 2, 0, 2), (1, 2, 0, 1), (1, 8, 0, 1), (1, 16, 0, 2),
    ],
)  # fmt: skip
def test_many_datasets_and_those_that_wait_for_long_are_looked_at_less_often(
    own: int, namespaces: int, same: int, times: float
) -> None:
    assert slow_down(own, namespaces, same) == times


@pytest.mark.parametrize("followed", [(1, 800), (1, 1, 4000), (3, 5, 7, 9, 200)])
def test_who_follows_few_is_not_slowed_down_by_who_follows_many_and_all_make_twenty_requests_a_second(
    followed: tuple[int, ...],
) -> None:
    times = [slow_down(own, len(followed), 0) for own in followed]
    assert times[0] < 2
    assert sum(5 * own / (POLL_SECONDS * each) for own, each in zip(followed, times, strict=True)) <= 20.0 + 1e-9


async def test_the_end_is_known_from_the_log_if_the_child_kept_no_message_and_without_both_too(scene: Scene) -> None:
    dataset = await scene.create()
    fetching = scene.fetch(dataset)
    job = await scene.cluster.job()
    pod = await scene.cluster.start_pod(job)
    scene.cluster.say(pod, ALL)
    await scene.cluster.end_pod(pod, 0)
    assert await asyncio.wait_for(fetching, 180) == Ready(
        size=100, files=3, revision="etag", finished="2026-01-01T00:01:00Z"
    )
    del scene.cluster.logs[pod]
    await scene.cluster.end_job(job, "Complete", completionTime="2026-01-01T00:01:00Z")
    assert await scene.supplier.look(dataset, {}) == Ready(finished="2026-01-01T00:01:00Z")


async def test_two_controllers_at_once_make_one_job(scene: Scene) -> None:
    dataset = await scene.create()
    first, second = scene.fetch(dataset), scene.fetch(dataset)
    job = await scene.fill(first)
    assert isinstance(await asyncio.wait_for(second, 180), Ready)
    assert [name_of(each) for each in await scene.cluster.jobs()] == [name_of(job)]


async def test_a_cancelled_fetch_leaves_the_job_and_the_next_goes_on_with_it(scene: Scene) -> None:
    dataset = await scene.create()
    fetching = scene.fetch(dataset)
    job = await scene.cluster.job()
    pod = await scene.cluster.start_pod(job)
    await cancel(fetching)
    scene.cluster.say(pod, HALF)
    fetching = scene.fetch(dataset)
    await scene.shows(Fetching(HALF, job=name_of(job)))
    await scene.cluster.end_pod(pod, 0, ALL)
    assert isinstance(await asyncio.wait_for(fetching, 180), Ready)
    assert [uid_of(each) for each in await scene.cluster.jobs()] == [uid_of(job)]


async def test_a_pod_that_is_killed_is_followed_by_another_and_the_progress_stays(scene: Scene) -> None:
    dataset = await scene.create()
    fetching = scene.fetch(dataset)
    job = await scene.cluster.job()
    first = await scene.cluster.start_pod(job)
    scene.cluster.say(first, HALF)
    await scene.shows(Fetching(HALF, job=name_of(job)))
    await scene.cluster.end_pod(first, 137, reason="OOMKilled")
    lost = "its pod was lost, and another one goes on: it used more memory than its limit"
    await scene.shows(Fetching(HALF, waiting=lost, job=name_of(job)))
    await scene.fill(fetching)


async def test_a_job_that_gives_up_is_a_failure_that_is_tried_again_by_a_new_job(scene: Scene) -> None:
    dataset = await scene.create()
    fetching = scene.fetch(dataset)
    job = await scene.cluster.job()
    pod = await scene.cluster.start_pod(job)
    await scene.cluster.end_pod(pod, 137, reason="OOMKilled")
    await scene.cluster.end_job(job, "Failed", failed=11)
    failed = Failed(
        "the pod that fetches was ended before its work was done, 11 times; the last one: it used more memory than its "
        "limit", Fault.MACHINE)  # fmt: skip
    assert await asyncio.wait_for(fetching, 180) == failed
    assert await scene.supplier.look(dataset, {}) == failed
    again = scene.fetch(dataset)

    async def is_new() -> bool:
        return [uid_of(each) for each in await scene.cluster.jobs()] not in ([], [uid_of(job)])

    await until(is_new)
    await scene.fill(again)


@pytest.mark.parametrize("old", [False, True], ids=["Kubernetes 1.26", "a server that drops podFailurePolicy"])
async def test_a_failure_of_the_source_ends_it_and_no_job_loops(scene: Scene, old: bool) -> None:
    scene.api.drops_failure_policy = old
    refused = ReportedFailure(message="found 404", fault=Fault.SOURCE)
    dataset = await scene.create()
    fetching = scene.fetch(dataset)
    job = await scene.cluster.job()
    pod = await scene.cluster.start_pod(job)
    await scene.cluster.end_pod(pod, 1, refused)
    assert await asyncio.wait_for(fetching, 180) == Failed("found 404", Fault.SOURCE)
    if old:
        assert await scene.cluster.jobs() == [], "it would make another pod"
        return
    await scene.cluster.end_job(job, "Failed")
    assert await asyncio.wait_for(scene.fetch(dataset), 180) == Failed("found 404", Fault.SOURCE)
    assert [uid_of(each) for each in await scene.cluster.jobs()] == [uid_of(job)], "a new leader fetches nothing again"
    later = await scene.edit(dataset, round=1)
    await scene.fill(scene.fetch(later), but=name_of(job))


async def test_a_failure_of_the_network_is_tried_again_by_the_controller_alone(scene: Scene) -> None:
    dataset = await scene.create()
    fetching = scene.fetch(dataset)
    job = await scene.cluster.job()
    pod = await scene.cluster.start_pod(job)
    await scene.cluster.end_pod(pod, 1, ReportedFailure(message="no answer", fault=Fault.NETWORK))
    assert await asyncio.wait_for(fetching, 180) == Failed("no answer", Fault.NETWORK)
    again = scene.fetch(dataset)

    async def is_new() -> bool:
        return [uid_of(each) for each in await scene.cluster.jobs()] not in ([], [uid_of(job)])

    await until(is_new)
    await cancel(again)


async def test_another_round_waits_until_the_pod_of_the_one_before_is_gone(scene: Scene) -> None:
    """Two that write into one directory would spoil it."""
    dataset = await scene.create()
    fetching = scene.fetch(dataset)
    first = await scene.cluster.job()
    pod = await scene.cluster.start_pod(first)
    await cancel(fetching)
    fetching = scene.fetch(await scene.edit(dataset, round=1))
    await scene.is_told("the pod that fetched what was wanted before is being ended")
    assert await scene.cluster.jobs() == []
    await scene.api.delete(PODS, NAMESPACE, pod, grace=0)
    second = await scene.fill(fetching, but=name_of(first))
    assert name_of(second) != name_of(first)


async def test_what_keeps_the_pod_from_starting_is_told(scene: Scene) -> None:
    fetching = scene.fetch(await scene.create())
    job = await scene.cluster.job()
    await scene.cluster.warn(job, "FailedCreate", "pods is forbidden: exceeded quota: pods")
    await scene.is_told("its pod cannot be made: pods is forbidden: exceeded quota: pods")
    pod = await scene.cluster.make_pod(job)
    claim = await scene.cluster.claim()
    await scene.cluster.warn(claim, "ProvisioningFailed", 'storageclass "nas" not found')
    await scene.is_told('the claim dataset-words has no volume yet: storageclass "nas" not found')
    await scene.cluster.bind_claim("dataset-words")
    await scene.is_told("its pod is starting")
    condition = {"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available"}
    await scene.cluster.set_pod(pod, "Pending", {}, [condition])
    await scene.is_told("its pod has no place: 0/1 nodes are available")
    await scene.cluster.set_pod(pod, "Pending", {"waiting": {"reason": "ErrImagePull", "message": "no such image"}})
    await scene.is_told("its pod cannot start: no such image")
    await cancel(fetching)


async def test_a_claim_of_a_class_that_waits_for_a_pod_is_not_complained_about(scene: Scene) -> None:
    fetching = scene.fetch(await scene.create())
    job = await scene.cluster.job()
    claim = await scene.cluster.claim()
    await scene.cluster.warn(claim, "WaitForFirstConsumer", "waiting for first consumer", kind="Normal")
    await scene.cluster.make_pod(job)
    await scene.is_told("its pod is starting")
    await cancel(fetching)


async def test_a_claim_of_somebody_else_is_left_alone(scene: Scene) -> None:
    theirs = {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
              "metadata": {"name": "dataset-words", "namespace": NAMESPACE},
              "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}  # fmt: skip
    await scene.api.create(CLAIMS, theirs)
    dataset = await scene.create()
    end = await asyncio.wait_for(scene.fetch(dataset), 180)
    assert isinstance(end, Failed)
    assert (end.fault, "was not made for this dataset" in end.message) == (Fault.SOURCE, True)
    await scene.supplier.remove(dataset)
    assert name_of(await scene.cluster.claim()) == "dataset-words"
    assert await scene.cluster.jobs() == []


async def test_a_claim_that_was_deleted_and_made_again_is_filled_again(scene: Scene) -> None:
    dataset = await scene.create()
    first = await scene.fill(scene.fetch(dataset))
    await scene.api.delete(CLAIMS, NAMESPACE, "dataset-words")
    assert await scene.supplier.look(dataset, {}) == Unfetched()
    fetching = scene.fetch(dataset)

    async def is_new() -> bool:
        return [uid_of(each) for each in await scene.cluster.jobs()] not in ([], [uid_of(first)])

    await until(is_new)
    await scene.fill(fetching)


async def test_the_job_may_be_deleted_when_all_is_there(scene: Scene) -> None:
    dataset = await scene.create()
    job = await scene.fill(scene.fetch(dataset))
    await scene.api.delete(BATCH_JOBS, NAMESPACE, name_of(job))
    recorded = {"phase": "Ready", "round": 0, "observedGeneration": dataset.generation, "bytesTotal": 100,
                "filesTotal": 3, "revision": "etag", "finishedAt": "2026-01-01T00:01:00Z"}  # fmt: skip
    assert await scene.supplier.look(dataset, recorded) == Ready(
        size=100, files=3, revision="etag", finished="2026-01-01T00:01:00Z"
    )
    assert await scene.supplier.look(dataset, recorded | {"observedGeneration": 0}) == Unfetched()


@pytest.mark.parametrize(
    ("answer", "end"),
    [
        (Invalid("spec.accessModes: Unsupported value"),
         Failed("the cluster does not take spec.storage: spec.accessModes: Unsupported value", Fault.SOURCE)),
        (BadRequest("quantities must match"),
         Failed("the cluster does not take spec.storage: quantities must match", Fault.SOURCE)),
        (Forbidden("exceeded quota: storage"),
         Failed("the cluster refuses it: exceeded quota: storage", Fault.MACHINE)),
    ],
)  # fmt: skip
async def test_a_claim_that_the_cluster_refuses_is_told(scene: Scene, answer: ApiError, end: Failed) -> None:
    scene.api.refuses["persistentvolumeclaims"] = answer
    dataset = await scene.create()
    assert await asyncio.wait_for(scene.fetch(dataset), 180) == end
    scene.api.refuses.clear()
    await scene.fill(scene.fetch(dataset))


async def test_a_source_that_no_cluster_can_fetch_makes_nothing(scene: Scene) -> None:
    dataset = await scene.create(uri="file:///data/words")
    for end in (await scene.supplier.look(dataset, {}), await scene.fetch(dataset)):
        assert isinstance(end, Failed)
        assert end.fault is Fault.SOURCE
    assert (await scene.api.list(CLAIMS, NAMESPACE)).items == []


async def test_a_claim_of_the_user_is_ready_when_it_is_bound(scene: Scene) -> None:
    dataset = await scene.create(uri="claim://photos")
    assert await asyncio.wait_for(scene.fetch(dataset), 180) == Failed(
        'there is no claim "photos" in namespace team, and no other', Fault.MACHINE
    )
    spec = {"accessModes": ["ReadOnlyMany"], "resources": {"requests": {"storage": "1Gi"}}}
    metadata = {"name": "photos", "namespace": NAMESPACE}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}
    photos = await scene.api.create(CLAIMS, claim)
    assert await scene.supplier.look(dataset, {}) == Unfetched("the claim photos has no volume yet")
    fetching = scene.fetch(dataset)
    await scene.is_told("the claim photos has no volume yet")
    await scene.cluster.warn(photos, "FailedBinding", "no persistent volumes available for this claim")
    await scene.is_told("the claim photos has no volume yet: no persistent volumes available for this claim")
    await scene.cluster.bind_claim("photos")
    assert await asyncio.wait_for(fetching, 180) == Ready()
    await scene.supplier.remove(dataset)
    assert name_of(await scene.cluster.claim()) == "photos", "it is the user's"


async def test_all_that_was_made_is_removed_also_while_it_is_fetched(scene: Scene) -> None:
    dataset = await scene.create()
    fetching = scene.fetch(dataset)
    await scene.cluster.job()
    await cancel(fetching)
    for _ in range(2):
        await scene.supplier.remove(dataset)
    assert await scene.cluster.jobs() == []
    assert (await scene.api.list(CLAIMS, NAMESPACE)).items == []


async def test_the_controller_shows_it_all_in_the_objects_status_and_a_deleted_object_goes(scene: Scene) -> None:
    """With `datasets.library`, as the operator runs it."""
    dataset = await scene.create()
    scene.supplier.status_seconds = AT_ONCE
    running = asyncio.create_task(Datasets(scene.api, scene.supplier, namespaces=(NAMESPACE,)).run())

    async def has(**wanted: Any) -> bool:
        status = (await scene.api.get(DATASETS, *dataset.key)).get("status") or {}
        return all(status.get(name) == value for name, value in wanted.items())

    job = await scene.cluster.job()
    pod = await scene.cluster.start_pod(job)
    scene.cluster.say(pod, HALF)
    await until(lambda: has(phase="Fetching", progress=41, fetchedBy=name_of(job)))
    await scene.api.delete(DATASETS, *dataset.key)

    async def is_gone() -> bool:
        try:
            await scene.api.get(DATASETS, *dataset.key)
        except NotFound:
            return True
        return False

    await until(is_gone)  # though its own pod still mounts the claim
    assert await scene.cluster.jobs() == []
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
