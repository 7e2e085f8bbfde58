"""`LocalSupplier` over the embedded API: what it removes, and what it leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.datasets import states
from paddock.datasets.definition import Definition, read_definition
from paddock.datasets.directories import Directory, Record, build_key
from paddock.datasets.fetching import Failed, Fault, Fetched, Progress, Request
from paddock.datasets.local import LocalSupplier
from paddock.datasets.places import Attempt
from paddock.datasets.states import Ready, State
from paddock.datasets.volumes import owner_of
from paddock.kube.errors import NotFound
from paddock.kube.meta import CLAIMS, Manifest


def define(uri: str) -> Definition:
    metadata = {"name": "words", "namespace": "default", "uid": "u1"}
    return read_definition({"metadata": metadata, "spec": {"source": {"uri": uri}}})


def claim(*owners: Manifest) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "dataset-words", "namespace": "default", "ownerReferences": list(owners)},
        "spec": {"accessModes": ["ReadOnlyMany"], "resources": {"requests": {"storage": "1"}}},
    }


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[LocalApi]:
    opened = await LocalApi.open(tmp_path / "api")
    yield opened
    await opened.close()


async def test_the_claim_of_a_dataset_goes_with_it(api: LocalApi, tmp_path: Path) -> None:
    dataset = define("https://host.example/words.txt")
    await api.create(CLAIMS, claim(owner_of(dataset)))
    await LocalSupplier(api, tmp_path / "datasets").remove(dataset)
    with pytest.raises(NotFound):
        await api.get(CLAIMS, "default", "dataset-words")


async def test_a_claim_of_somebody_else_that_has_its_name_stays(api: LocalApi, tmp_path: Path) -> None:
    await api.create(CLAIMS, claim())
    await LocalSupplier(api, tmp_path / "datasets").remove(define("https://host.example/words.txt"))
    assert await api.get(CLAIMS, "default", "dataset-words")


async def test_files_of_an_earlier_source_go_also_where_the_last_one_is_not_copied(
    api: LocalApi, tmp_path: Path
) -> None:
    before, root = define("https://host.example/words.txt"), tmp_path / "datasets"
    place = Directory(root, before.uid, build_key(before))
    (place.prepare() / "words.txt").write_text("words")
    place.publish(Record(5, 1))
    own = tmp_path / "own"
    own.mkdir()
    await LocalSupplier(api, root).remove(define(f"file://{own}"))
    assert not list(root.iterdir())
    assert own.is_dir()


class Sources:
    """Children that go by the name of the file: those of `dead-…` hear of no answer, and others have all."""

    def __init__(self) -> None:
        self.running: set[str] = set()
        self.most = 0
        self.starts: list[str] = []

    async def run(
        self, request: Request, environ: Mapping[str, str], log: Path, tell: Callable[[Progress], None]
    ) -> Fetched | Failed:
        name = request.uri.rpartition("/")[2]
        self.starts.append(name)
        self.running.add(name)
        self.most = max(self.most, len(self.running))
        try:
            if not name.startswith("dead"):
                return Fetched(size=5, files=1)
            tell(Progress(phase="retrying", reason="host.example answers 503"))
            await asyncio.Event().wait()
            raise AssertionError
        finally:
            self.running.discard(name)


def define_of(name: str) -> Definition:
    metadata = {"name": name, "namespace": "default", "uid": name}
    return read_definition({"metadata": metadata, "spec": {"source": {"uri": f"https://host.example/{name}"}}})


class Fetches(LocalSupplier):
    """Nothing binds claims here."""

    async def _offer(self, dataset: Definition, directory: str, size: int) -> None:
        return


async def test_sources_that_do_not_answer_keep_no_place_from_those_that_do(api: LocalApi, tmp_path: Path) -> None:
    sources, waits = Sources(), list[float]()

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await asyncio.sleep(0)

    supplier = Fetches(api, tmp_path, child=sources.run, at_once=2, stuck_seconds=0.05, sleep=sleep)
    said: list[State] = []
    async with asyncio.timeout(180):
        dead = [asyncio.create_task(supplier.fetch(define_of(f"dead-{n}"), said.append)) for n in range(3)]
        good = await asyncio.gather(*(supplier.fetch(define_of(f"good-{n}"), said.append) for n in range(3)))
        assert all(isinstance(each, Ready) for each in good)
        ends = await asyncio.wait(dead, return_when=asyncio.FIRST_COMPLETED)
    for each in dead:
        each.cancel()
    await asyncio.gather(*dead, return_exceptions=True)
    assert sources.most == 2
    failed = next(iter(ends[0])).result()
    assert failed == states.Failed("host.example answers 503; tried 6 times without getting further", Fault.NETWORK)
    assert waits[:1] == [4.0]
    assert max(waits) == 30.0


async def test_a_source_that_does_not_answer_keeps_its_place_while_nobody_wants_it(
    api: LocalApi, tmp_path: Path
) -> None:
    sources = Sources()
    supplier = Fetches(api, tmp_path, child=sources.run, at_once=1, stuck_seconds=0.01)
    fetching = asyncio.create_task(supplier.fetch(define_of("dead"), lambda state: None))
    await asyncio.wait([fetching], timeout=0.3)
    assert sources.starts == ["dead"]
    assert sources.running
    fetching.cancel()
    await asyncio.gather(fetching, return_exceptions=True)
    assert not sources.running


def test_a_pause_without_more_bytes_counts_and_one_with_more_begins_anew() -> None:
    attempt = Attempt(2.0)
    attempt.hear(Progress(phase="retrying", done=5), 0.0)
    assert not attempt.is_stuck(1.9)
    assert attempt.is_stuck(2.0)
    assert [attempt.pause() for _ in range(2)] == [4.0, 8.0]
    assert not attempt.is_stuck(9.0), "a new child has not tried yet"
    attempt.hear(Progress(phase="fetching", done=6), 10.0)
    assert attempt.pause() == 4.0
