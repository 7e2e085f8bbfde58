"""`Datasets` over the embedded API: what it asks of a supplier, and what kubectl shows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.datasets import library
from paddock.datasets.crd import build_crd
from paddock.datasets.definition import Definition
from paddock.datasets.fetching import Fault, Progress
from paddock.datasets.library import Datasets
from paddock.datasets.request_shares import OF_ONE, SharedRequests
from paddock.datasets.states import Failed, Fetching, Ready, State, Unfetched
from paddock.datasets.supplier import Report
from paddock.kube.api import Api
from paddock.kube.datasets import FINALIZER
from paddock.kube.errors import ApiError, BadRequest, Invalid, NotFound
from paddock.kube.meta import CRDS, DATASETS, NAMESPACES, PODS, Manifest
from support.operator_seam import Request, Seam
from support.waiting import rest, until

URI = "https://example.com/words.txt"
PROGRESS = Progress(phase="fetching", done=3_200_000_000, total=7_800_000_000, files=0, all_files=1)


def dataset(name: str = "words", uri: str = URI, **spec: Any) -> Manifest:
    return {
        "apiVersion": DATASETS.api_version,
        "kind": DATASETS.kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"source": {"uri": uri}} | spec,
    }


def pod(claim: str) -> Manifest:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": claim}}
    spec = {"containers": [{"name": "main", "image": "busybox"}], "volumes": [volume]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "reader", "namespace": "default"}, "spec": spec}


class Start(Protocol):
    """Runs a controller. `seen`: the API as it sees it."""

    def __call__(self, supplier: FakeSupplier, seen: Api = ...) -> None: ...


@dataclass
class FakeSupplier:
    """Says what the test wants. `ends`: of one fetch after the other; None waits until it is cancelled."""

    ends: list[State | None] = field(default_factory=lambda: [Ready(size=10, files=1)])
    there: State = field(default_factory=Unfetched)
    on_the_way: State | None = None
    relook_seconds: float | None = None
    status_seconds: float = 0.0
    fetched: list[Definition] = field(default_factory=list)
    cancelled: int = 0
    removed: list[str] = field(default_factory=list)
    remains: bool = False
    standing: int = 0
    """So many times `stands` says that it does."""
    asked: int = 0

    async def look(self, dataset: Definition, status: Mapping[str, Any]) -> State:
        return self.there

    async def stands(self, dataset: Definition) -> bool:
        self.asked += 1
        return self.standing > self.asked

    async def fetch(self, dataset: Definition, report: Report) -> State:
        self.fetched.append(dataset)
        if self.on_the_way is not None:
            report(self.on_the_way)
        end = self.ends.pop(0) if len(self.ends) > 1 else self.ends[0]
        if end is not None:
            return end
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        raise AssertionError

    async def remove(self, dataset: Definition) -> None:
        self.removed.append(dataset.key.name)

    async def prune(self, dataset: Definition) -> None:
        self.remains = False

    def has_remains(self, dataset: Definition) -> bool:
        return self.remains


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[LocalApi]:
    opened = await LocalApi.open(tmp_path / "api")
    await opened.create(CRDS, build_crd(), strict=True)
    yield opened
    await opened.close()


@pytest.fixture
async def run(api: LocalApi) -> AsyncIterator[Start]:
    tasks = []

    def start(supplier: FakeSupplier, seen: Api = api) -> None:
        tasks.append(asyncio.create_task(Datasets(seen, supplier).run()))

    yield start
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def status(api: LocalApi, holds: Callable[[Manifest], bool], name: str = "words") -> Manifest:
    async with asyncio.timeout(180):
        async for event in api.follow(DATASETS):
            if event.object and event.object["metadata"]["name"] == name:
                found: Manifest = event.object.get("status") or {}
                if holds(found):
                    return found
    raise AssertionError


def phase(wanted: str) -> Callable[[Manifest], bool]:
    return lambda found: found.get("phase") == wanted


async def test_a_dataset_is_fetched_as_soon_as_it_is_there_and_its_status_tells_it(api: LocalApi, run: Start) -> None:
    supplier = FakeSupplier(on_the_way=Fetching(PROGRESS), ends=[Ready(size=7_800_000_000, files=1, revision="abc")])
    run(supplier)
    await api.create(DATASETS, dataset())
    found = await status(api, phase("Ready"))
    assert found == {
        "phase": "Ready",
        "progress": 100,
        "message": "7.8 GB in 1 file",
        "observedGeneration": 1,
        "bytesDone": 7_800_000_000,
        "bytesTotal": 7_800_000_000,
        "files": 1,
        "filesTotal": 1,
        "revision": "abc",
        "round": 0,
        "claim": "dataset-words",
    }
    assert len(supplier.fetched) == 1


async def test_the_progress_is_in_the_status(api: LocalApi, run: Start) -> None:
    run(FakeSupplier(on_the_way=Fetching(PROGRESS), ends=[None]))
    await api.create(DATASETS, dataset())
    found = await status(api, phase("Fetching"))
    assert (found["progress"], found["message"]) == (41, "fetching, 41 %, 3.2 of 7.8 GB")


async def test_what_is_there_is_not_fetched_again(api: LocalApi, run: Start) -> None:
    supplier = FakeSupplier(there=Ready(size=1, files=1))
    run(supplier)
    await api.create(DATASETS, dataset())
    await status(api, phase("Ready"))
    assert not supplier.fetched


@pytest.mark.parametrize("fault", [Fault.NETWORK, Fault.MACHINE])
async def test_a_failure_that_may_pass_is_tried_again_by_itself(
    api: LocalApi, run: Start, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "RETRY_SECONDS", dict.fromkeys(library.RETRY_SECONDS, (0.01,)))
    supplier = FakeSupplier(ends=[Failed("it was cut", fault), Failed("it was cut", fault), Ready(size=1, files=1)])
    run(supplier)
    await api.create(DATASETS, dataset())
    await status(api, phase("Ready"))
    assert len(supplier.fetched) == 3


async def test_a_failure_of_the_source_stays_until_the_object_changes(
    api: LocalApi, run: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "RETRY_SECONDS", dict.fromkeys(library.RETRY_SECONDS, (0.01,)))
    supplier = FakeSupplier(ends=[Failed("the checksum is wrong", Fault.SOURCE), Ready(size=1, files=1)])
    run(supplier)
    await api.create(DATASETS, dataset())
    found = await status(api, phase("Failed"))
    assert (found["fault"], found["retries"], found["message"]) == ("source", False, "the checksum is wrong")
    await asyncio.sleep(0.1)
    assert len(supplier.fetched) == 1
    await api.patch(DATASETS, "default", "words", {"spec": {"source": {"sha256": "0" * 64}}})
    found = await status(api, phase("Ready"))
    assert found["observedGeneration"] == 2


async def test_a_new_round_ends_what_is_fetched_and_fetches_again(api: LocalApi, run: Start) -> None:
    supplier = FakeSupplier(ends=[None, Ready(size=1, files=1)])
    run(supplier)
    await api.create(DATASETS, dataset())
    await until(lambda: len(supplier.fetched) == 1)
    await api.patch(DATASETS, "default", "words", {"spec": {"round": 1}})
    found = await status(api, phase("Ready"))
    assert (supplier.cancelled, [each.round for each in supplier.fetched], found["round"]) == (1, [0, 1], 1)


async def test_a_dataset_that_is_deleted_while_it_is_fetched_ends_its_fetch_and_goes(api: LocalApi, run: Start) -> None:
    supplier = FakeSupplier(ends=[None])
    run(supplier)
    await api.create(DATASETS, dataset())
    await until(lambda: len(supplier.fetched) == 1)
    await api.delete(DATASETS, "default", "words")
    async with asyncio.timeout(180):
        while True:
            try:
                await api.get(DATASETS, "default", "words")
            except NotFound:
                break
            await asyncio.sleep(0.01)
    assert (supplier.cancelled, supplier.removed) == (1, ["words"])


async def test_a_deleted_dataset_stays_while_a_pod_mounts_it(api: LocalApi, run: Start) -> None:
    supplier = FakeSupplier()
    run(supplier)
    await api.create(DATASETS, dataset())
    await status(api, phase("Ready"))
    await api.create(PODS, pod("dataset-words"))
    await api.delete(DATASETS, "default", "words")
    found = await status(api, lambda it: "reader" in str(it.get("message")))
    assert found["message"] == "deleted when no pod mounts it any more: reader"
    assert found["phase"] == "Ready"
    assert not supplier.removed
    await api.patch(PODS, "default", "reader", {"status": {"phase": "Succeeded"}}, subresource="status")
    await until(lambda: supplier.removed == ["words"])


async def test_others_finalizers_stay(api: LocalApi, run: Start) -> None:
    made = dataset()
    made["metadata"]["finalizers"] = ["example.com/mine"]
    run(FakeSupplier())
    await api.create(DATASETS, made)
    await status(api, phase("Ready"))
    stored = await api.get(DATASETS, "default", "words")
    assert stored["metadata"]["finalizers"] == ["example.com/mine", FINALIZER]
    await api.delete(DATASETS, "default", "words")
    async with asyncio.timeout(180):
        while stored["metadata"]["finalizers"] != ["example.com/mine"]:
            stored = await api.get(DATASETS, "default", "words")
            await asyncio.sleep(0.01)


async def test_an_address_that_cannot_be_read_is_a_sentence_with_its_field(api: LocalApi, run: Start) -> None:
    supplier = FakeSupplier()
    run(supplier)
    await api.create(DATASETS, dataset(uri="oss://bucket/prefix"))
    found = await status(api, phase("Failed"))
    assert found["message"].startswith('spec.source.uri: found "oss://": write s3://bucket/prefix and the endpoint')
    assert not supplier.fetched


async def test_a_supplier_that_breaks_harms_no_other_dataset(
    api: LocalApi, run: Start, caplog: pytest.LogCaptureFixture
) -> None:
    class Breaking(FakeSupplier):
        async def fetch(self, dataset: Definition, report: Report) -> State:
            if dataset.key.name == "broken":
                raise ZeroDivisionError("a bug")
            return await super().fetch(dataset, report)

    run(Breaking())
    await api.create(DATASETS, dataset("broken"))
    await api.create(DATASETS, dataset("words"))
    await status(api, phase("Ready"))
    found = await status(api, phase("Failed"), "broken")
    assert found["message"] == "fetching failed, by a fault of Paddock: ZeroDivisionError: a bug"


async def test_an_address_that_cannot_be_read_in_place_of_another_is_told(api: LocalApi, run: Start) -> None:
    run(FakeSupplier())
    await api.create(DATASETS, dataset(uri="oss://bucket/prefix"))
    await status(api, phase("Failed"))
    await api.patch(DATASETS, "default", "words", {"spec": {"source": {"uri": "ssh://host/x.git"}}})
    found = await status(api, lambda it: it.get("observedGeneration") == 2)
    assert 'found "ssh://"' in found["message"]


async def test_what_was_fetched_is_removed_also_where_the_address_cannot_be_read_any_more(
    api: LocalApi, run: Start
) -> None:
    supplier = FakeSupplier()
    run(supplier)
    await api.create(DATASETS, dataset())
    await status(api, phase("Ready"))
    await api.patch(DATASETS, "default", "words", {"spec": {"source": {"uri": "oss://bucket/prefix"}}})
    await status(api, phase("Failed"))
    await api.delete(DATASETS, "default", "words")
    await until(lambda: supplier.removed == ["words"])


async def test_a_controller_that_starts_anew_leaves_what_is_ready_as_it_is(api: LocalApi, run: Start) -> None:
    """Also of a dataset at which it has not looked yet, while it writes the status of another."""

    class Slow(FakeSupplier):
        async def look(self, dataset: Definition, status: Mapping[str, Any]) -> State:
            if dataset.key.name == "words":
                await asyncio.Event().wait()
            return Unfetched()

    await api.create(DATASETS, dataset())
    await api.patch(DATASETS, "default", "words", {"status": {"phase": "Ready"}}, subresource="status")
    run(Slow())
    for name in ("other", "third"):
        await api.create(DATASETS, dataset(name))
        await status(api, phase("Ready"), name)
    assert (await api.get(DATASETS, "default", "words"))["status"]["phase"] == "Ready"


async def test_a_status_that_is_refused_is_not_written_again_at_once(api: LocalApi, run: Start) -> None:
    seam, tried = Seam(api), asyncio.Event()

    async def refuse(request: Request) -> None:
        if request == ("patch", "datasets/status", "words"):
            tried.set()
            raise ApiError("the server is at its limit")

    seam.before = refuse
    run(FakeSupplier(), seam)
    await api.create(DATASETS, dataset())
    await asyncio.wait_for(tried.wait(), 180)
    await api.create(DATASETS, dataset("other"))
    await status(api, phase("Ready"), "other")
    await api.create(DATASETS, dataset("third"))
    await status(api, phase("Ready"), "third")
    assert seam.requests.count(("patch", "datasets/status", "words")) == 1


async def test_statuses_that_are_not_taken_for_long_hold_no_other_namespace(api: LocalApi, run: Start) -> None:
    await api.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    seam, held = Seam(api), []

    async def hold(request: Request) -> None:
        if request[:2] == ("patch", f"{DATASETS.plural}/status") and request[2].startswith("slow"):
            held.append(request[2])
            await asyncio.Event().wait()

    seam.before = hold
    run(FakeSupplier(), SharedRequests(seam))
    for number in range(20):
        await api.create(DATASETS, dataset(f"slow-{number}"))
    await until(lambda: len(held) == OF_ONE)
    mine = dataset()
    await api.create(DATASETS, {**mine, "metadata": mine["metadata"] | {"namespace": "other"}})
    await status(api, phase("Ready"))
    assert len(held) == OF_ONE


async def test_a_status_that_the_definition_refuses_is_not_sent_again_at_once_and_another_one_is(
    api: LocalApi, run: Start, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "_API_SECONDS", 0.0)  # what is to be sent again is sent at the next look
    seam, sent = Seam(api), ("patch", "datasets/status", "words")

    async def refuse(request: Request) -> None:
        if request == sent:
            raise Invalid("status.files: must be an integer")

    seam.before = refuse
    run(FakeSupplier(), seam)
    await api.create(DATASETS, dataset())
    await until(lambda: sent in seam.requests)
    for name in ("second", "third", "fourth"):  # each takes one look or more
        await api.create(DATASETS, dataset(name))
        await status(api, phase("Ready"), name)
    assert seam.requests.count(sent) == 1
    assert len([line for line in caplog.messages if "status.files: must be an integer; again in 300 s" in line]) == 1
    seam.before = None
    await api.patch(DATASETS, "default", "words", {"spec": {"round": 1}})
    assert (await status(api, phase("Ready")))["round"] == 1


async def test_a_status_that_was_refused_is_sent_again_later_as_the_definition_may_be_a_newer_one_by_then(
    api: LocalApi, run: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "_REFUSED_SECONDS", 0.5)
    seam, sent = Seam(api), ("patch", "datasets/status", "words")

    async def refuse_once(request: Request) -> None:
        if request == sent and seam.requests.count(sent) == 1:
            raise BadRequest("unknown field status.files")

    seam.before = refuse_once
    run(FakeSupplier(), seam)
    await api.create(DATASETS, dataset())
    assert (await status(api, phase("Ready")))["files"] == 1
    assert seam.requests.count(sent) == 2


async def test_another_status_does_not_wait_as_long_as_one_that_was_refused(
    api: LocalApi, run: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "_API_SECONDS", 0.2)
    seam, sent = Seam(api), ("patch", "datasets/status", "words")
    answers: list[ApiError] = [Invalid("status.message: is not for you"), ApiError("the server is at its limit")]

    async def refuse(request: Request) -> None:
        if request == sent and answers:
            raise answers.pop(0)

    seam.before = refuse
    run(FakeSupplier([Failed("first", Fault.SOURCE), Failed("second", Fault.SOURCE)]), seam)
    await api.create(DATASETS, dataset())
    await until(lambda: len(answers) == 1)
    await api.patch(DATASETS, "default", "words", {"spec": {"round": 1}})
    assert (await status(api, phase("Failed")))["message"] == "second"


@pytest.mark.parametrize(
    ("end", "field", "value"),
    [
        (Ready(size=2**64, files=-1), "bytesTotal", 2**63 - 1),
        (Ready(size=2**64, files=-1), "files", 0),
        (Ready(size=1, files=1, revision="x" * 2**20), "revision", f"{'x' * 4096}…"),
        (Failed("x" * 2**20, Fault.SOURCE), "message", f"{'x' * 4096}…"),
    ],
)
async def test_whatever_a_pod_reports_the_status_is_one_that_the_definition_takes(
    api: LocalApi, run: Start, end: State, field: str, value: object
) -> None:
    """The pod may be one that somebody else has made in place of Paddock's."""
    run(FakeSupplier(ends=[end]))
    await api.create(DATASETS, dataset())
    told = await status(api, lambda found: found.get("phase") in ("Ready", "Failed"))
    assert told[field] == value


async def test_a_change_during_the_write_of_a_status_is_written_after_it(api: LocalApi, run: Start) -> None:
    seam, writing, go_on, held = Seam(api), asyncio.Event(), asyncio.Event(), []

    async def hold(request: Request) -> None:
        if request[:2] == ("patch", f"{DATASETS.plural}/status"):
            held.append(request)
            writing.set()
            await go_on.wait()

    seam.before = hold
    fetching = FakeSupplier(on_the_way=Fetching(PROGRESS), ends=[None])
    run(fetching, seam)
    await api.create(DATASETS, dataset())
    await writing.wait()
    fetching.ends = [Ready(size=10, files=1)]
    await api.patch(DATASETS, "default", "words", {"spec": {"round": 1}})
    await until(lambda: len(fetching.fetched) == 2)
    await rest(lambda: len(held), 0.3)
    assert len(held) == 1, "one at a time: the older may arrive last"
    go_on.set()
    await status(api, phase("Ready"))


async def test_a_dataset_that_stands_is_not_looked_at_again(api: LocalApi, run: Start) -> None:
    looks = list[int]()

    class Counting(FakeSupplier):
        async def look(self, dataset: Definition, status: Mapping[str, Any]) -> State:
            looks.append(self.asked)
            return self.there

    supplier = Counting(there=Ready(size=1, files=1), relook_seconds=0.001, standing=20)
    run(supplier)
    await api.create(DATASETS, dataset())
    await until(lambda: len(looks) > 1)
    assert looks[:2] == [0, 20]


async def test_pods_are_listed_only_where_something_may_be_removed(api: LocalApi, run: Start) -> None:
    seam, looks = Seam(api), 0

    class Counting(FakeSupplier):
        async def look(self, dataset: Definition, status: Mapping[str, Any]) -> State:
            nonlocal looks
            looks += 1
            return self.there

    supplier = Counting(there=Ready(size=1, files=1), relook_seconds=0.01, remains=True)
    run(supplier, seam)
    await api.create(DATASETS, dataset())
    await until(lambda: looks > 5)
    assert not supplier.remains
    assert [request for request in seam.requests if request[1] == "pods"] == [("list", "pods", "")]


async def test_at_rest_nothing_is_written(api: LocalApi, run: Start) -> None:
    run(FakeSupplier())
    await api.create(DATASETS, dataset())
    await status(api, phase("Ready"))

    async def version() -> str:
        return str((await api.get(DATASETS, "default", "words"))["metadata"]["resourceVersion"])

    await rest(version, 0.3)
    before = await version()
    await asyncio.sleep(0.5)  # a span in which nothing may happen
    assert await version() == before


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"source": {}}, "spec.source.uri"),
        ({"source": {"uri": "no address"}}, "spec.source.uri"),
        ({"source": {"uri": URI, "sha256": "123"}}, "spec.source.sha256"),
        ({"source": {"uri": URI}, "round": -1}, "spec.round"),
        ({"source": {"uri": URI, "endpoint": "oss"}}, "spec.source.endpoint"),
    ],
)
async def test_the_api_refuses_what_can_have_no_meaning(api: LocalApi, spec: Manifest, field: str) -> None:
    made = dataset()
    made["spec"] = spec
    with pytest.raises(Invalid, match=field.replace(".", r"\.")):
        await api.create(DATASETS, made)
