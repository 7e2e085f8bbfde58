"""A store that was damaged or emptied: one object is set aside, and an empty file is no new cluster."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from apiserver.embedded import Follower, Http, config_map, is_gone
from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.apiserver.storage.damage import find_damage
from paddock.apiserver.storage.mark import mark_path
from paddock.kube.errors import Expired, InternalError, NotFound
from paddock.kube.meta import CONFIG_MAPS, Manifest
from support.waiting import until

PATH = "/api/v1/namespaces/default/configmaps"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}


@asynccontextmanager
async def _opened(directory: Path) -> AsyncIterator[LocalApi]:
    api = await LocalApi.open(directory)
    try:
        yield api
    finally:
        await api.close()


async def _make(directory: Path, *names: str) -> dict[str, Manifest]:
    async with _opened(directory) as api:
        return {name: await api.create(CONFIG_MAPS, config_map(name, namespace="default")) for name in names}


def _change(directory: Path, statement: str, *values: object) -> int:
    db = sqlite3.connect(directory / "store.sqlite")
    with db:
        count = db.execute(statement, values).rowcount
    db.close()
    return count


def _read(directory: Path, statement: str) -> list[tuple[object, ...]]:
    db = sqlite3.connect(directory / "store.sqlite")
    rows = db.execute(statement).fetchall()
    db.close()
    return rows


DAMAGES: dict[str, tuple[str, str]] = {
    "no JSON": ("body=x'7b7d7d'", "not JSON"),
    "half an object": ("body=substr(body, 1, length(body) - 5)", "not JSON"),
    "no UTF-8": ("body=substr(body, 1, 60) || x'ff' || substr(body, 62)", "not JSON"),
    "a name that is no UTF-8": ("name=cast(x'6fff' as text)", "another object"),
    "nothing": ("body=x''", "not JSON"),
    "zeros": ("body=zeroblob(100)", "not JSON"),
    "a text": ("body='gone'", "not JSON"),
    "a number": ("body=5", "no text"),
    "a list": ("body=cast('[]' as blob)", "not an object"),
    "a status that is a text": ("body=cast(json_set(body, '$.status', 'x') as blob)", "its status is no mapping"),
    "labels that are a number": (
        "body=cast(json_set(body, '$.metadata.labels', 5) as blob)",
        "its metadata.labels is no mapping",
    ),
    "no metadata": ("body=cast('{\"metadata\": 5}' as blob)", "not an object"),
    "another name": ("name='other'", "another object"),
    "another version": ("rv=1", "another object"),
    "no UID": ("uid=cast('x' as blob)", "another type"),
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_row_is_set_aside_and_harms_no_other(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    await _make(tmp_path, "a", "b", "c")
    change, why = DAMAGES[damage]
    assert _change(tmp_path, f"update objects set {change} where resource='/configmaps' and name='b'") == 1
    damaged = _read(tmp_path, "select cast(body as blob) from objects where resource='/configmaps' order by rowid")[1]
    with caplog.at_level(logging.ERROR):
        async with _opened(tmp_path) as api:
            server = Server(api, tmp_path)
            await server.start()
            http = Http(server)
            for path in (PATH, f"{PATH}?labelSelector=!x", f"{PATH}?limit=2", "/api/v1/configmaps"):
                status, body, _ = await http.ask("GET", path)
                assert (status, [each["metadata"]["name"] for each in body["items"]]) == (200, ["a", "c"]), path
            status, body, _ = await http.ask("GET", PATH, headers=TABLE)
            assert (status, [row["cells"][0] for row in body["rows"]]) == (200, ["a", "c"])
            assert (await http.ask("GET", f"{PATH}/b"))[0] == 404
            told = (await http.ask("GET", "/paddock/status"))[1]
            name = {"another name": "other", "a name that is no UTF-8": "o?"}.get(damage, "b")
            assert [(one["object"], one["replaced"]) for one in told["damaged"]] == [
                (f"configmaps default/{name}", False)
            ]
            assert why in told["damaged"][0]["why"] and told["store"] == str(tmp_path / "store.sqlite")
            assert b"paddock_store_damaged_objects 1.0" in (await http.ask("GET", "/metrics"))[1]
            if name != "o?":
                assert await api.create(CONFIG_MAPS, config_map(name, namespace="default"))
                assert (await http.ask("GET", "/paddock/status"))[1]["damaged"][0]["replaced"]
            await http.session.close()
            await server.stop()
    assert f"configmaps default/{name} is damaged" in caplog.text
    caplog.clear()
    async with _opened(tmp_path) as api:
        assert len(api.objects.store.damaged) == 1
        assert len((await api.list(CONFIG_MAPS, "default")).items) == 2 + (name != "o?")
    assert "damaged" not in caplog.text, "it is told once"
    assert _read(tmp_path, "select cast(body as blob) from damaged") == [damaged]


async def test_watches_list_again_when_an_object_was_set_aside(tmp_path: Path) -> None:
    made = await _make(tmp_path, "a", "b")
    version = int(made["b"]["metadata"]["resourceVersion"])
    _change(tmp_path, "update objects set body=x'00' where name='b'")
    async with _opened(tmp_path) as api:
        store = api.objects.store
        for known in (version, version + 999):
            with pytest.raises(Expired):
                store.changes_since("/configmaps", known)
        assert list(store.changes_since("/configmaps", store.revision)) == []
        follower = Follower(api, CONFIG_MAPS, "default")
        assert await follower.until_synced() == ["a"]
        await follower.close()


async def test_a_damaged_history_is_dropped_and_all_objects_stay(tmp_path: Path) -> None:
    made = await _make(tmp_path, "a", "b")
    assert _change(tmp_path, "update changes set body=x'ff' where name='a'") == 1
    async with _opened(tmp_path) as api:
        assert len((await api.list(CONFIG_MAPS, "default")).items) == 2
        assert api.objects.store.damaged == []
        with pytest.raises(Expired):
            api.objects.store.changes_since("/configmaps", int(made["b"]["metadata"]["resourceVersion"]))


async def test_what_a_damaged_object_owns_is_not_deleted(tmp_path: Path) -> None:
    async with _opened(tmp_path) as api:
        owner = await api.create(CONFIG_MAPS, config_map("owner", namespace="default"))
        gone = await api.create(CONFIG_MAPS, config_map("gone", namespace="default"))
        await api.create(CONFIG_MAPS, config_map("kept", (owner,), namespace="default"))
        await api.create(CONFIG_MAPS, config_map("orphan", (gone,), namespace="default"))
    _change(tmp_path, "update objects set body=x'00' where name='owner'")
    _change(tmp_path, "delete from objects where name='gone'")
    async with _opened(tmp_path) as api:
        await until(lambda: is_gone(api, CONFIG_MAPS, "orphan"))
        assert await api.get(CONFIG_MAPS, "default", "kept")
        with pytest.raises(NotFound):
            await api.get(CONFIG_MAPS, "default", "owner")


def test_a_whole_row_has_no_damage() -> None:
    body = b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"u","resourceVersion":"7"}}'
    assert find_damage(("/nodes", "", "n", "u", 7, "v1", body)) == ""
    assert find_damage(("/nodes", "", "n", "u", 7, "v2", body))
    assert find_damage(("/nodes", "", "n", "u", 7, "v1", body.replace(b"Node", b"")))
    assert find_damage(("/nodes", "", "n", "u", 7, "v1", b"[" * 100_000))


# An emptied store


def _truncate(store: Path) -> None:
    os.truncate(store, 0)


def _replace_by_a_new_database(store: Path) -> None:
    store.unlink()
    sqlite3.connect(store).executescript("pragma user_version=0; create table x(y); drop table x;")


def _drop_all_tables(store: Path) -> None:
    db = sqlite3.connect(store)
    for (name,) in db.execute("select name from sqlite_master where type='table'").fetchall():
        db.execute(f"drop table {name}")
    db.commit()
    db.close()


def _delete_all_rows(store: Path) -> None:
    db = sqlite3.connect(store)
    for table in ("objects", "changes", "meta", "owners"):
        db.execute(f"delete from {table}")
    db.commit()
    db.close()


def _drop_one_table(store: Path) -> None:
    db = sqlite3.connect(store)
    db.execute("drop table objects")
    db.commit()
    db.close()


EMPTIED: dict[str, tuple[Callable[[Path], None], str]] = {
    "truncated": (_truncate, "is empty, and the cluster"),
    "another database": (_replace_by_a_new_database, "without tables"),
    "no tables": (_drop_all_tables, "without tables"),
    "no rows": (_delete_all_rows, "without content"),
    "a table is missing": (_drop_one_table, "without the table objects"),
}


@pytest.mark.parametrize("case", EMPTIED)
async def test_an_emptied_store_is_no_new_cluster(tmp_path: Path, case: str) -> None:
    await _make(tmp_path, "a")
    empty, said = EMPTIED[case]
    store = tmp_path / "store.sqlite"
    empty(store)
    found = store.read_bytes()
    for _ in range(2):
        with pytest.raises(InternalError) as refused:
            await LocalApi.open(tmp_path)
        assert said in refused.value.message and "from a backup" in refused.value.message
        assert store.read_bytes() == found, "what is left of it is not touched"
    if case == "a table is missing":
        return
    # What the sentence advises.
    assert f"`rm {mark_path(store)}`" in refused.value.message
    mark_path(store).unlink()
    async with _opened(tmp_path) as api:
        assert (await api.list(CONFIG_MAPS, "default")).items == []
    await _make(tmp_path, "b")


async def test_a_write_ahead_log_beside_an_emptied_store_stays(tmp_path: Path) -> None:
    await _make(tmp_path, "a")
    store = tmp_path / "store.sqlite"
    _truncate(store)
    wal = tmp_path / "store.sqlite-wal"
    wal.write_bytes(b"the last writes")
    with pytest.raises(InternalError):
        await LocalApi.open(tmp_path)
    assert wal.read_bytes() == b"the last writes"


async def test_a_store_that_was_never_written_and_one_that_was_moved_away_are_new(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = tmp_path / "store.sqlite"
    store.touch()  # a start that was killed
    await _make(tmp_path, "a")
    store.rename(tmp_path / "away")
    async with _opened(tmp_path) as api:
        assert (await api.list(CONFIG_MAPS, "default")).items == []
    assert "this is a new cluster" in caplog.text


async def test_a_store_of_an_older_version_gets_its_mark(tmp_path: Path) -> None:
    await _make(tmp_path, "a")
    mark = mark_path(tmp_path / "store.sqlite")
    assert mark.stat().st_mode & 0o777 == 0o600
    mark.unlink()
    async with _opened(tmp_path) as api:
        assert mark.exists() and await api.get(CONFIG_MAPS, "default", "a")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"uid": 1}'])
async def test_a_mark_that_cannot_be_read_is_a_mark(tmp_path: Path, content: bytes) -> None:
    await _make(tmp_path, "a")
    mark_path(tmp_path / "store.sqlite").write_bytes(content)
    _truncate(tmp_path / "store.sqlite")
    with pytest.raises(InternalError, match="a cluster was in it"):
        await LocalApi.open(tmp_path)


async def test_the_database_of_another_program_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    sqlite3.connect(store).executescript("create table songs(title); insert into songs values('x');")
    before = store.read_bytes()
    with pytest.raises(InternalError, match=r"another program \(with the table songs\)"):
        await LocalApi.open(tmp_path)
    assert store.read_bytes() == before
