"""The keeper of a history, with a real API and the files of a node that are written by hand."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from history.test_logs import write_log
from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.history import KEPT, read_log_metrics
from paddock.app.kinds import apply_crds, build_crds
from paddock.history.keeper import Files, Keeper, read_all_metrics
from paddock.history.package_sets import write_set
from paddock.history.records import RunRecord, find_runs, path_of, write_record
from paddock.history.retention import Limits
from paddock.history.surroundings import Surroundings
from paddock.jobs.apis.registry import KINDS
from paddock.kube.meta import Manifest, uid_of
from paddock.node.runtime.pod_files import remove_tree
from support.waiting import until

RESOURCE = next(iter(KINDS))


class World:
    """One home: an API, a directory of records and one of logs, and a clock that a test sets."""

    def __init__(self, api: LocalApi, directory: Path) -> None:
        self.api, self.node, self.records = api, directory / "node", directory / "history"
        self.now = 1_000_000_000.0
        self.limits = Limits()
        self.pruned: list[RunRecord] = []

    def keeper(self) -> Keeper:
        files = Files(self.records, self.node / "pods", read_log_metrics, remove_tree)
        return Keeper(self.api, KEPT, files, limits=lambda: self.limits, on_prune=self.pruned.append,
                      clock=lambda: self.now)  # fmt: skip

    @contextlib.asynccontextmanager
    async def keeping(self) -> AsyncIterator[Keeper]:
        keeper = self.keeper()
        task = asyncio.create_task(keeper.run())
        try:
            yield keeper
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def create(self, name: str = "demo", replicas: int = 1) -> Manifest:
        container = {"name": "paddle", "image": "busybox", "command": ["true"]}
        role = {"replicas": replicas, "template": {"spec": {"containers": [container]}}}
        identity: dict[str, Any] = {"apiVersion": RESOURCE.api_version, "kind": RESOURCE.kind}
        metadata = {"name": name, "namespace": "default"}
        return await self.api.create(RESOURCE, {**identity, "metadata": metadata, "spec": {"worker": role}})

    async def set_phase(self, phase: str, name: str = "demo", **status: Any) -> None:
        await self.api.patch(RESOURCE, "default", name, {"status": {"phase": phase, **status}}, subresource="status")

    def runs(self, name: str = "demo") -> list[RunRecord]:
        return find_runs(self.records, "default", name)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    api = await LocalApi.open(tmp_path / "api")
    await apply_crds(api, build_crds())
    yield World(api, tmp_path)
    await api.close()


async def test_each_life_of_a_name_is_a_run(world: World) -> None:
    async with world.keeping():
        for replicas in (1, 2):
            await world.create(replicas=replicas)
            await world.set_phase("Completed", completionTime="2001-09-09T01:46:50Z")
            await until(lambda: world.runs() and world.runs()[-1].finished)
            await world.api.delete(RESOURCE, "default", "demo")
            await until(lambda: world.runs()[-1].deleted)
        first, second = world.runs()
    assert [each.run for each in (first, second)] == [1, 2]
    assert (first.outcome, first.ended, first.spec["worker"]["replicas"]) == ("Completed", 1_000_000_010.0, 1)
    assert second.spec["worker"]["replicas"] == 2


async def test_a_job_that_is_created_and_deleted_at_once_has_a_record(world: World) -> None:
    async with world.keeping():
        for _ in range(5):
            await world.create()
            await world.api.delete(RESOURCE, "default", "demo")
        await until(lambda: len(world.runs()) == 5 and all(each.deleted for each in world.runs()))
    assert [each.outcome for each in world.runs()] == ["Stopped"] * 5


async def test_what_happened_while_no_keeper_looked_is_recorded_later(world: World) -> None:
    async with world.keeping():
        await world.create("stays")
        await world.create("goes")
        await until(lambda: world.runs("stays") and world.runs("goes"))
    await world.set_phase("Failed", "stays")
    await world.api.delete(RESOURCE, "default", "goes")
    gone = uid_of(await world.create("forgotten"))
    await world.api.delete(RESOURCE, "default", "forgotten")
    write_log(world.node, "forgotten-worker-0", "p", job=gone)
    async with world.keeping():
        await until(lambda: world.runs("stays")[0].finished and world.runs("goes")[0].deleted)
        await until(lambda: len(world.runs()) == 1)
    assert world.runs("stays")[0].outcome == "Failed"
    (adopted,) = world.runs()  # the owner beside the log says `demo`
    assert (adopted.uid, adopted.outcome, adopted.run) == (gone, "Stopped", 1)


async def test_metrics_are_read_when_a_run_is_over_and_again_after_its_grace_period(world: World) -> None:
    async with world.keeping():
        uid = uid_of(await world.create())
        write_log(world.node, "demo-worker-0", "p", job=uid, text="Epoch 1, Loss: 0.5\n")
        await world.api.delete(RESOURCE, "default", "demo")
        await until(lambda: world.runs() and world.runs()[0].deleted)
        assert world.runs()[0].metrics == {}
        world.now += 2
        await until(lambda: world.runs()[0].metrics == {"worker-0": {"epoch": 1, "loss": 0.5}})
        write_log(world.node, "demo-worker-0", "p", job=uid, text="Epoch 1, Loss: 0.5\nEpoch 2, Loss: nan\nbye")
    assert world.runs()[0].metrics == {"worker-0": {"epoch": 2, "loss": "nan"}}, "read when the keeper ends, too"


class Counting(type(Path())):  # type: ignore[misc]
    """A directory that counts how often it is listed."""

    listed = 0

    def iterdir(self) -> Any:
        type(self).listed += 1
        return super().iterdir()


def test_many_runs_are_read_in_one_pass(tmp_path: Path) -> None:
    Counting.listed = 0
    files = Files(tmp_path, Counting(tmp_path / "pods"), read_log_metrics, remove_tree)
    records = [RunRecord(RESOURCE.api_version, RESOURCE.kind, "default", f"n{uid}", uid, 1, 0.0) for uid in "abc"]
    for each in records:
        write_log(tmp_path, f"{each.name}-worker-0", each.uid, job=each.uid, text=f"Epoch {ord(each.uid)}, Loss: 0.5\n")
    found = read_all_metrics(files, KEPT.read_place, records)
    assert found == {uid: {"worker-0": {"epoch": ord(uid), "loss": 0.5}} for uid in "abc"}
    assert Counting.listed == 1
    assert read_all_metrics(files, KEPT.read_place, records, deadline=0.0) == {}


async def test_metrics_that_a_killed_keeper_had_not_read_are_read_by_the_next(world: World) -> None:
    write_log(world.node, "demo-worker-0", "p", job="u", text="Epoch 1, Loss: 0.5\n")
    end = world.now - 1
    ended = RunRecord(RESOURCE.api_version, RESOURCE.kind, "default", "demo", "u", 1, end, ended=end, deleted=end)
    write_record(world.records, ended)
    async with world.keeping():
        await until(lambda: world.runs()[0].settled)
        assert world.runs()[0].metrics == {"worker-0": {"epoch": 1, "loss": 0.5}}


async def test_what_is_pruned_goes_with_its_logs_and_what_else_belongs_to_it(world: World) -> None:
    async with world.keeping() as keeper:
        for number in range(3):
            uid = uid_of(await world.create())
            write_log(world.node, "demo-worker-0", f"p{number}", job=uid)
            await world.api.delete(RESOURCE, "default", "demo")
            await until(lambda count=number: len([each for each in world.runs() if each.deleted]) > count)
            world.now += 10
        world.limits = Limits(seconds=25.0)
        await keeper.tidy()  # or the keeper itself, whose time has come too
    assert [each.run for each in world.runs()] == [2, 3]
    assert [each.run for each in world.pruned] == [1]
    assert len(list((world.node / "pods").iterdir())) == 2


async def test_of_a_names_newest_run_the_logs_go_and_the_record_says_so(world: World) -> None:
    async with world.keeping() as keeper:
        uid = uid_of(await world.create())
        write_log(world.node, "demo-worker-0", "p", job=uid, text="Epoch 1, Loss: 0.5\n")
        await world.api.delete(RESOURCE, "default", "demo")
        await until(lambda: world.runs() and world.runs()[0].deleted)
        world.now += 60
        await until(lambda: world.runs()[0].metrics)
        world.limits = Limits(seconds=10.0)
        await keeper.tidy()
        (run,) = world.runs()
        assert run.logs_pruned and run.metrics == {"worker-0": {"epoch": 1, "loss": 0.5}}
        assert list((world.node / "pods").iterdir()) == []
        world.now += 91 * 86400
        await keeper.tidy()
    assert world.runs() == []


async def test_an_error_of_the_hook_keeps_no_run(world: World) -> None:
    def fail(record: RunRecord) -> None:
        raise RuntimeError(record.name)

    world.pruned = type("Failing", (list,), {"append": lambda self, record: fail(record)})()
    async with world.keeping() as keeper:
        for _ in range(2):
            await world.create()
            await world.api.delete(RESOURCE, "default", "demo")
        await until(lambda: len([each for each in world.runs() if each.deleted]) == 2)
        world.now += 10
        world.limits = Limits(seconds=1.0)
        await keeper.tidy()
    assert [each.run for each in world.runs()] == [2]


async def test_damaged_and_foreign_records_are_left_alone(world: World, caplog: pytest.LogCaptureFixture) -> None:
    place = world.records / "default" / "demo"
    place.mkdir(parents=True)
    (place / "bad.json").write_text("{")
    os.mkfifo(place / "pipe.json")
    async with world.keeping() as keeper:
        await world.create()
        await until(world.runs)
        await keeper.tidy()
    assert [each.run for each in world.runs()] == [1]
    assert (place / "bad.json").read_text() == "{"
    assert "bad.json is not the record of a run and is left alone" in caplog.text


async def test_a_damaged_record_is_set_aside_before_its_place_is_written(world: World) -> None:
    uid = uid_of(await world.create())
    place = world.records / "default" / "demo"
    place.mkdir(parents=True)
    (place / f"{uid}.json").write_text("{")
    write_log(world.node, "demo-worker-0", "p", job="adopted")
    (place / "adopted.json").write_text("[")
    async with world.keeping():
        await until(lambda: len(world.runs()) == 2)
    assert {each.uid for each in world.runs()} == {uid, "adopted"}
    assert (place / f"{uid}.json.damaged").read_text() == "{"
    assert (place / "adopted.json.damaged").read_text() == "["


async def test_a_keeper_that_runs_again_waits_for_the_first_lists_and_keeps_what_is_unwritten(world: World) -> None:
    class Refusing:
        """An API whose watches wait for `open`."""

        def __init__(self, api: LocalApi) -> None:
            self.api, self.open = api, asyncio.Event()
            self.open.set()

        async def follow(self, resource: Any) -> AsyncIterator[Any]:
            await self.open.wait()
            async for event in self.api.follow(resource):
                yield event

    api: Any = Refusing(world.api)
    files = Files(world.records, world.node / "pods", read_log_metrics, remove_tree)
    keeper = Keeper(api, KEPT, files, clock=lambda: world.now)

    @contextlib.asynccontextmanager
    async def running() -> AsyncIterator[None]:
        task = asyncio.create_task(keeper.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async with running():
        await world.create("first")
        await until(lambda: world.runs("first"))
        path = path_of(world.records, world.runs("first")[0])
        before = path.read_bytes()
        path.with_suffix(".new").mkdir()  # in the way of the next write
        await world.set_phase("Completed", "first")
        await world.create("second")
        await until(lambda: world.runs("second"))
    assert path.read_bytes() == before
    write_log(world.node, "live-worker-0", "p", job=uid_of(await world.create("live")))
    api.open.clear()
    path.with_suffix(".new").rmdir()
    async with running():
        await until(lambda: world.runs("first")[0].finished)
        for _ in range(20):  # a survey would be one turn of a thread
            await asyncio.to_thread(list, (world.node / "pods").iterdir())
        assert world.runs("demo") == [], "no live job is adopted before the first lists"
        api.open.set()
        await until(lambda: world.runs("live"))
    assert [each.over for each in world.runs("live")] == [False]


async def test_a_record_that_could_not_be_written_is_written_later(world: World) -> None:
    world.records.write_text("in the way")
    async with world.keeping():
        await world.create()
        await asyncio.sleep(0)
        await world.set_phase("Running")
        world.records.unlink()
        await world.set_phase("Completed")
        await until(lambda: world.runs() and world.runs()[0].finished)
    assert world.runs()[0].run == 1


async def test_an_idle_keeper_writes_nothing(world: World) -> None:
    async with world.keeping():
        await world.create()
        await until(world.runs)
        path = path_of(world.records, world.runs()[0])
        before = path.stat()
        await world.set_phase("", conditions=[])
        await world.create("other")
        await until(lambda: world.runs("other"))
        assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


async def test_what_a_run_began_with_is_in_its_record_whenever_it_is_told(world: World) -> None:
    first, later = Surroundings({"worker": "a" * 32}), Surroundings({"worker": "b" * 32, "ps": "c" * 32}, {})
    uid, keeper = uid_of(await world.create()), world.keeper()
    keeper.note(uid, first)  # before the keeper has seen the job
    task = asyncio.create_task(keeper.run())
    try:
        await until(lambda: world.runs() and world.runs()[0].surroundings == first)
        await world.set_phase("Completed", completionTime="2001-09-09T01:46:50Z")
        await until(lambda: world.runs()[0].finished)
        keeper.note(uid, later)
        keeper.note("nobody", later)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    (run,) = world.runs()
    assert run.finished and run.surroundings == Surroundings({"worker": "a" * 32, "ps": "c" * 32}, {})


async def test_sets_of_packages_go_with_the_last_record_that_names_them(world: World) -> None:
    async with world.keeping() as keeper:
        sets = [write_set(world.records, {"torch": version}) for version in ("2.5", "2.6")]
        for number, digest in enumerate(sets):
            uid = uid_of(await world.create())
            await until(lambda count=number: len(world.runs()) > count)
            keeper.note(uid, Surroundings({"worker": digest}))
            await world.api.delete(RESOURCE, "default", "demo")
            await until(lambda count=number: len([each for each in world.runs() if each.deleted]) > count)
            world.now += 10
            os.utime(world.records / ".packages" / f"{digest}.json", (0, 0))
        await keeper.tidy()
        assert len(list((world.records / ".packages").iterdir())) == 2
        world.limits = Limits(seconds=15.0)
        await keeper.tidy()
    assert [each.stem for each in (world.records / ".packages").iterdir()] == sets[1:]
