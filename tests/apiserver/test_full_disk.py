"""A disk of six MiB that is full: what is stored stays readable and can be deleted, and deletions give room back."""

from __future__ import annotations

import errno
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from apiserver.embedded import config_map
from paddock.apiserver.objects.in_process import LocalApi
from paddock.apiserver.storage import room
from paddock.apiserver.storage.failures import explain_failure
from paddock.apiserver.storage.records import storage_key
from paddock.apiserver.storage.room import RESERVE_BYTES, Room, plan_reserve
from paddock.apiserver.storage.store import Store
from paddock.kube.errors import Expired, Unavailable
from paddock.kube.meta import CONFIG_MAPS, name_of
from support.small_disks import fill, small_disk

MIB = 2**20
FULL = "is full (0 B of 6.0 MiB free). Free some space and try again"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", "6m") as found:
        yield found


async def _fill_by_objects(api: LocalApi, prefix: str) -> list[str]:
    names: list[str] = []
    with pytest.raises(Unavailable) as refused:
        while len(names) < 1_000:
            made = config_map(f"{prefix}{len(names)}") | {"data": {"x": "y" * 100_000}}
            names.append(name_of(await api.create(CONFIG_MAPS, made, namespace="default")))
    assert FULL in str(refused.value)
    return names


@pytest.mark.parametrize("fills", [lambda disk: None, fill], ids=["objects", "another program"])
async def test_all_that_fills_a_disk_can_be_deleted_and_makes_room(disk: Path, fills) -> None:  # type: ignore[no-untyped-def]
    api = await LocalApi.open(disk / "api")
    key = storage_key(CONFIG_MAPS)
    for turn in ("a", "b", "c"):
        before = api.objects.store.revision
        names = await _fill_by_objects(api, turn)
        fills(disk)
        for name in names:
            await api.delete(CONFIG_MAPS, "default", name)
        left = {name_of(each) for each in (await api.list(CONFIG_MAPS, "default")).items}
        assert not left & set(names)
        with pytest.raises(Expired):  # whoever was behind lists again
            api.objects.store.changes_since(key, before)
        await api.create(CONFIG_MAPS, config_map(turn), namespace="default")
        (disk / "filling").unlink(missing_ok=True)
    await api.close()
    again = await LocalApi.open(disk / "api")
    assert {"a", "b", "c"} <= {name_of(each) for each in (await again.list(CONFIG_MAPS, "default")).items}
    await again.close()


async def test_what_a_kill_left_on_a_full_disk_is_read_without_another_file(disk: Path) -> None:
    api = await LocalApi.open(disk / "api")
    await api.create(CONFIG_MAPS, config_map("kept"), namespace="default")
    left = disk / "left"
    shutil.copytree(disk / "api", left)  # with SQLite's log, as a kill leaves it
    await api.close()
    fill(disk)
    store = Store(left / "store.sqlite")
    store.open()
    assert store.get(storage_key(CONFIG_MAPS), "default", "kept")
    assert not list(left.glob("*-shm"))
    store.close()


@pytest.mark.parametrize(
    ("name", "full", "said"),
    [
        ("SQLITE_FULL", True, FULL),
        ("SQLITE_IOERR_SHMSIZE", True, FULL),
        ("SQLITE_IOERR_WRITE", False, "Check that the disk works, and that it and your quota on it are not full"),
    ],
)
def test_whatever_sqlite_calls_it_a_full_disk_is_called_full(disk: Path, name: str, full: bool, said: str) -> None:
    if full:
        fill(disk)
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorname = name
    assert said in explain_failure(error, disk / "store.sqlite").message


@pytest.mark.parametrize(
    ("free", "size"),
    [(0, 0), (MIB, 0), (2 * MIB, MIB // 4), (8 * MIB, MIB), (32 * MIB, RESERVE_BYTES), (10**12, RESERVE_BYTES)],
)
def test_a_reserve_takes_an_eighth_of_a_small_disk(free: int, size: int) -> None:
    assert plan_reserve(free) == size


def test_a_reserve_that_became_small_grows_once_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db, kept = sqlite3.connect(":memory:", isolation_level=None), Room(tmp_path / "store.sqlite")

    def look(free: int) -> int:
        monkeypatch.setattr(room, "free_bytes", lambda _: free)
        kept.look(db)
        return kept.reserve.stat().st_size

    assert look(10**9) == RESERVE_BYTES
    kept.release()
    monkeypatch.setattr(room, "free_bytes", lambda _: MIB // 2)
    assert not kept.retake(RESERVE_BYTES), "it has not its size"
    assert [look(free) for free in (0, 4 * MIB, 8 * MIB, 12 * MIB, 10**9)] == [
        MIB // 2, MIB // 2, MIB, MIB, RESERVE_BYTES,
    ]  # fmt: skip
    assert Room(tmp_path / "store.sqlite").release() == RESERVE_BYTES
    db.close()


def test_a_reserve_that_a_users_quota_refuses_is_not_asked_for_after_each_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def refuse(_: int, __: int, size: int) -> None:
        asked.append(size)
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr(room.os, "posix_fallocate", refuse)
    db, kept = sqlite3.connect(":memory:", isolation_level=None), Room(tmp_path / "store.sqlite")
    for _ in range(3):
        kept.look(db)
    assert len(asked) == 1
    assert not kept.reserve.exists()
    db.close()
