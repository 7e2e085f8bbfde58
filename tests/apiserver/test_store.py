"""The store: acknowledged writes survive a kill, a failed write is isolated, and a full disk is a clear error."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.apiserver.storage.changelog import plan_compaction
from paddock.apiserver.storage.records import Change
from paddock.apiserver.storage.store import RESTART_GAP, Store
from paddock.apiserver.storage.transaction import Transaction
from paddock.kube.errors import Expired, InternalError, Unavailable
from paddock.kube.meta import Manifest
from support.waiting import until

KEY = "/configmaps"


def _object(name: str, uid: str = "", data: str = "") -> Manifest:
    meta = {"name": name, "namespace": "default", "uid": uid or f"uid-{name}"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"d": data}}


async def _put(store: Store, name: str, data: str = "") -> int:
    def action(tx: Transaction) -> int:
        return tx.put(KEY, _object(name, data=data), tx.get(KEY, "default", name)).rv

    return await store.write(action)


async def _delete(store: Store, name: str) -> int:
    def action(tx: Transaction) -> int:
        found = tx.get(KEY, "default", name)
        assert found is not None
        return tx.delete(found).rv

    return await store.write(action)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "store.sqlite", kept_changes=20)
    opened.open()
    yield opened
    opened.close()


AFTER = {
    "within the namespace": (("default", "b"), ["c", "d"]),
    "at its last name": (("default", "d"), []),
    "in a namespace before": (("another", "z"), ["a", "b", "c", "d"]),
    "in a namespace behind": (("kube-system", "a"), []),
}


@pytest.mark.parametrize(("after", "names"), AFTER.values(), ids=AFTER)
async def test_a_read_goes_on_after_a_key(store: Store, after: tuple[str, str], names: list[str]) -> None:
    await asyncio.gather(*(_put(store, name) for name in "dbca"))
    assert [each.name for each in store.select(KEY, "default", after=after)] == names
    assert [each.name for each in store.select(KEY, after=after)] == names


@pytest.mark.parametrize("namespace", ["", "default"])
@pytest.mark.parametrize("after", [None, ("default", "b")])
async def test_a_read_takes_its_order_from_the_index(
    store: Store, namespace: str, after: tuple[str, str] | None
) -> None:
    """Each piece of a list sorted all objects behind it, with their bytes: 18 of 3 MiB took six times as long."""
    asked: list[str] = []
    store.db.set_trace_callback(asked.append)
    list(store.select(KEY, namespace, after=after))
    store.db.set_trace_callback(None)
    (statement,) = asked
    plan = store.db.execute(f"explain query plan {statement}").fetchall()
    assert "SEARCH" in plan[0][3] and "USING INDEX objects_key" in plan[0][3]
    assert [step for step in plan if "TEMP B-TREE" in step[3]] == []


async def test_writes_of_one_turn_share_a_commit_and_are_published_in_order(store: Store) -> None:
    groups: list[list[Change]] = []
    store.listen(groups.append)
    numbers = await asyncio.gather(*(_put(store, f"c{i}") for i in range(50)))
    assert numbers == sorted(set(numbers))
    assert len(groups) == 1
    assert [change.rv for change in groups[0]] == numbers
    assert store.revision == numbers[-1]


async def test_a_failed_write_rolls_back_only_itself(store: Store) -> None:
    told: list[Change] = []
    store.listen(told.extend)

    def bad(tx: Transaction) -> None:
        tx.put(KEY, _object("bad"), None)
        raise LookupError("of this write")

    results = await asyncio.gather(_put(store, "a"), store.write(bad), _put(store, "b"), return_exceptions=True)
    assert isinstance(results[1], LookupError)
    assert [stored.name for stored in store.select(KEY)] == ["a", "b"]
    assert [change.name for change in told] == ["a", "b"]


async def test_a_write_sees_what_was_written_before_it_in_the_same_turn(store: Store) -> None:
    def seen(tx: Transaction) -> bool:
        return tx.get(KEY, "default", "a") is not None

    assert (await asyncio.gather(_put(store, "a"), store.write(seen)))[1] is True


async def test_a_listener_that_fails_stops_neither_the_writers_nor_the_other_listeners(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    def bad(changes: list[Change]) -> None:
        raise LookupError("of this listener")

    told: list[Change] = []
    store.listen(bad)
    store.listen(told.extend)
    await asyncio.wait_for(asyncio.gather(_put(store, "a"), _put(store, "b")), 60)
    assert [change.name for change in told] == ["a", "b"]
    assert "a listener of the store failed" in caplog.text


async def test_a_write_that_raises_stop_iteration_is_an_error_like_others(store: Store) -> None:
    def bad(tx: Transaction) -> None:
        next(iter(()))

    results = await asyncio.wait_for(asyncio.gather(store.write(bad), _put(store, "a"), return_exceptions=True), 60)
    assert isinstance(results[0], InternalError)
    assert [stored.name for stored in store.select(KEY)] == ["a"]


async def test_a_cancelled_write_does_not_stop_the_others(store: Store) -> None:
    abandoned = asyncio.ensure_future(_put(store, "a"))
    kept = asyncio.ensure_future(_put(store, "b"))
    await asyncio.sleep(0)
    abandoned.cancel()
    assert await kept > 0


async def test_the_changelog_has_the_later_changes_with_their_previous_states(store: Store) -> None:
    start = store.revision
    await _put(store, "a", "1")
    second = await _put(store, "a", "2")
    await _delete(store, "a")
    changes = list(store.changes_since(KEY, start))
    assert [change.type for change in changes] == ["ADDED", "MODIFIED", "DELETED"]
    assert changes[1].previous_object is not None
    assert changes[1].previous_object["data"] == {"d": "1"}
    assert changes[2].object["metadata"]["resourceVersion"] == str(changes[2].rv)
    assert [change.type for change in store.changes_since(KEY, second)] == ["DELETED"]


async def test_the_changelog_is_compacted_and_older_versions_are_expired(store: Store) -> None:
    start = store.revision
    for position in range(60):
        await _put(store, f"c{position % 5}", str(position))
    await until(lambda: store.changelog.compacted > start)
    with pytest.raises(Expired):
        store.changes_since(KEY, start)
    assert 20 <= len(list(store.changes_since(KEY, store.changelog.compacted))) <= 40
    assert len(list(store.select(KEY))) == 5


CUTS: dict[str, tuple[list[int], int, int, tuple[int, int, int]]] = {
    # bytes of the oldest changes, excess changes, excess bytes, the compaction
    "too many changes": ([10] * 9, 4, 0, (4, 4, 40)),
    "too many bytes": ([10] * 9, 0, 35, (4, 4, 40)),
    "both": ([10] * 9, 2, 35, (4, 4, 40)),
    "no more than there are": ([10] * 3, 9, 900, (3, 3, 30)),
    "a batch is large enough": ([5 * 2**20] * 9, 9, 45 * 2**20, (2, 2, 10 * 2**20)),
}


@pytest.mark.parametrize("case", CUTS)
def test_how_far_the_changelog_is_compacted(case: str) -> None:
    lengths, count, size, cut = CUTS[case]
    assert plan_compaction(enumerate(lengths, 1), count, size) == cut


@pytest.mark.slow
async def test_large_changes_are_compacted_by_bytes_and_the_file_shrinks(tmp_path: Path) -> None:
    megabyte = 2**20
    store = Store(tmp_path / "s", kept_bytes=4 * megabyte)
    store.open()
    start = store.revision

    def size() -> int:
        return int(store.db.execute("pragma page_count").fetchone()[0]) * 8_192

    names = [f"c{position}" for position in range(12)]
    await asyncio.gather(*(_put(store, name, "x" * 2 * megabyte) for name in names))
    await asyncio.gather(*(_delete(store, name) for name in names))
    assert size() > 40 * megabyte
    await until(lambda: sum(len(change.body) for change in _kept(store)) <= 4 * megabyte)
    with pytest.raises(Expired):
        store.changes_since(KEY, start)
    await until(lambda: size() < 16 * megabyte)
    store.close()
    store.open()
    assert _kept(store)
    store.close()


def _kept(store: Store) -> list[Change]:
    return list(store.changes_since(KEY, store.changelog.compacted))


async def test_a_restart_keeps_all_objects_and_never_reuses_a_version(tmp_path: Path) -> None:
    first = Store(tmp_path / "s")
    first.open()
    number = await _put(first, "a")
    first.close()
    second = Store(tmp_path / "s")
    second.open()
    assert [stored.name for stored in second.select(KEY)] == ["a"]
    assert second.revision == number + RESTART_GAP
    assert [change.name for change in second.changes_since(KEY, number - 1)] == ["a"]
    assert await _put(second, "b") > number + RESTART_GAP
    second.close()


async def test_a_full_disk_is_a_clear_error_and_writes_work_again_after_it(store: Store) -> None:
    await _put(store, "before")
    told: list[Change] = []
    store.listen(told.extend)
    (pages,) = store.db.execute("pragma page_count").fetchone()
    store.db.execute(f"pragma max_page_count={pages}")
    results = await asyncio.gather(*(_put(store, f"big{i}", "x" * 50_000) for i in range(4)), return_exceptions=True)
    assert all(isinstance(result, Unavailable) for result in results)
    assert "full" in str(results[0])
    assert str(store.path) in str(results[0])
    assert told == []
    assert [stored.name for stored in store.select(KEY)] == ["before"]
    store.db.execute("pragma max_page_count=1000000")
    await _put(store, "after", "x" * 50_000)
    assert [stored.name for stored in store.select(KEY)] == ["after", "before"]


async def test_a_read_only_store_is_a_clear_error(store: Store) -> None:
    store.db.execute("pragma query_only=1")
    with pytest.raises(Unavailable, match="cannot be written"):
        await _put(store, "a")
    store.db.execute("pragma query_only=0")
    await _put(store, "a")


def test_a_file_that_is_not_a_store_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.write_bytes(b"this is not a database, " * 100)
    with pytest.raises(InternalError, match=r"damaged.*move it away"):
        Store(path).open()


def test_a_store_of_another_format_is_refused(tmp_path: Path) -> None:
    first = Store(tmp_path / "s")
    first.open()
    first.db.execute("pragma user_version=99")
    first.close()
    with pytest.raises(InternalError, match="another version of Paddock"):
        Store(tmp_path / "s").open()


def test_one_process_at_a_time_serves_a_store(tmp_path: Path, store: Store) -> None:
    imports = "from pathlib import Path; from paddock.apiserver.storage.store import Store"
    script = f"{imports}; Store(Path({str(store.path)!r})).open()"
    second = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=180)
    assert second.returncode != 0
    assert "in use by another process" in second.stderr


async def test_a_closed_store_refuses_writes(tmp_path: Path) -> None:
    store = Store(tmp_path / "s")
    store.open()
    store.close()
    with pytest.raises(Unavailable):
        await _put(store, "a")


_WRITER = """
import asyncio, sys
from pathlib import Path
from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.meta import CONFIG_MAPS

async def write(api, lane):
    n = 0
    while True:
        made = await api.create(CONFIG_MAPS, {"metadata": {"name": f"c-{lane}-{n}"}}, namespace="default")
        sys.stdout.write(f"{made['metadata']['name']} {made['metadata']['resourceVersion']}\\n")
        n += 1

async def main():
    api = await LocalApi.open(Path(sys.argv[1]))
    await asyncio.gather(*(write(api, lane) for lane in range(16)))

sys.stdout.reconfigure(line_buffering=True)
asyncio.run(main())
"""


@pytest.mark.parametrize("acknowledged", [1, 500])
def test_a_kill_loses_no_acknowledged_write(tmp_path: Path, acknowledged: int) -> None:
    child = subprocess.Popen([sys.executable, "-c", _WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    lines = [child.stdout.readline() for _ in range(acknowledged)]
    os.kill(child.pid, signal.SIGKILL)
    lines += child.stdout.readlines()
    child.wait()
    child.stdout.close()
    told = [line.split() for line in lines if line.endswith("\n")]
    store = Store(tmp_path / "store.sqlite")
    store.open()
    stored = {found.name: found.rv for found in store.select(KEY, "default")}
    logged = {change.name: change.rv for change in store.changes_since(KEY, store.changelog.compacted)}
    assert len(told) >= acknowledged
    assert {name: int(rv) for name, rv in told}.items() <= stored.items()
    assert logged.items() <= stored.items()
    assert store.revision > max(stored.values())
    assert store.db.execute("pragma integrity_check").fetchone() == ("ok",)
    store.close()
