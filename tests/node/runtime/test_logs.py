"""Reading pod logs, and removing orphaned ones."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.cluster import Options, pod, shell
from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.errors import BadRequest
from paddock.kube.log_marks import write_mark
from paddock.kube.meta import CONFIG_MAPS, Manifest, owner_reference
from paddock.node.runtime import log_news
from paddock.node.runtime.logs import NodeLogs, find_tail, remove_orphaned_logs, write_owner
from paddock.node.runtime.records import log_directory

Make = Callable[[Path], None]
POD = pod(shell("true"))
POD["metadata"]["uid"] = "u"


@pytest.fixture
def logs(tmp_path: Path) -> NodeLogs:
    directory = log_directory(tmp_path, "default", "p", "u") / "main"
    directory.mkdir(parents=True)
    (directory / "0.log").write_text("before\n")
    (directory / "1.log").write_text("one\ntwo\nthree\n")
    return NodeLogs(tmp_path)


async def read(logs: NodeLogs, **options: object) -> str:
    return b"".join([chunk async for chunk in logs.read(POD, Options(**options))]).decode()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "one\ntwo\nthree\n"),
        ({"tail_lines": 2}, "two\nthree\n"),
        ({"tail_lines": 0}, ""),
        ({"tail_lines": 99}, "one\ntwo\nthree\n"),
        ({"limit_bytes": 5}, "one\nt"),
        ({"previous": True}, "before\n"),
        ({"since_seconds": 60}, "one\ntwo\nthree\n"),
        ({"follow": True}, "one\ntwo\nthree\n"),
    ],
)
async def test_log_options(logs: NodeLogs, options: dict[str, object], text: str) -> None:
    assert await read(logs, **options) == text


@pytest.mark.parametrize(
    ("since", "tail", "text"),
    [
        (3000, None, "one\ntwo\nthree\n"),
        (1500, None, "two\nthree\n"),
        (1500, 1, "three\n"),
        (1500, 99, "two\nthree\n"),
        (500, None, "three\n"),
        (500, 2, "three\n"),
        (30, None, ""),
    ],
)
async def test_since_goes_by_the_marks(logs: NodeLogs, tmp_path: Path, since: int, tail: int | None, text: str) -> None:
    """The second line was begun 2,000 seconds ago, and ended 1,000 seconds ago. `since` is far from each time."""
    now, path = time.time(), log_directory(tmp_path, "default", "p", "u") / "main/1.log"
    marks = ((6, now - 2000), (8, now - 1000), (14, now - 100))
    path.with_suffix(".times").write_bytes(b"".join(write_mark(*each) for each in marks))
    os.utime(path, (now - 100, now - 100))
    assert await read(logs, since_seconds=since, tail_lines=tail) == text


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "00:01:40 one\n00:03:20 two\n00:03:20 three\n"),
        ({"tail_lines": 1}, "00:03:20 three\n"),
        ({"limit_bytes": 36}, "00:01:40 one\n1"),
        ({"previous": True}, "00:01:40 before\n"),
        ({"follow": True, "tail_lines": 2}, "00:03:20 two\n00:03:20 three\n"),
    ],
)
async def test_lines_have_times_by_the_marks(
    logs: NodeLogs, tmp_path: Path, options: dict[str, object], text: str
) -> None:
    """The bytes that are asked for are those of what is sent, as a kubelet counts them."""
    directory = log_directory(tmp_path, "default", "p", "u") / "main"
    (directory / "1.times").write_bytes(write_mark(4, 100.0) + write_mark(8, 200.0))
    os.utime(directory / "0.log", (100, 100))
    os.utime(directory / "1.log", (200, 200))
    said = await read(logs, timestamps=True, **options)
    assert said.replace("1970-01-01T", "").replace(".000000000Z", "") == text


async def test_lines_without_marks_have_the_time_of_the_last_write(logs: NodeLogs, tmp_path: Path) -> None:
    os.utime(log_directory(tmp_path, "default", "p", "u") / "main/1.log", (100, 100))
    assert [line.split()[0] for line in (await read(logs, timestamps=True)).splitlines()] == [
        "1970-01-01T00:01:40.000000000Z"
    ] * 3


@pytest.mark.parametrize("data", [b"", b"torn", write_mark(99, 5.0)])
async def test_a_log_whose_lines_nobody_timed_is_read_whole(logs: NodeLogs, tmp_path: Path, data: bytes) -> None:
    (log_directory(tmp_path, "default", "p", "u") / "main/1.times").write_bytes(data)
    assert await read(logs, since_seconds=60) == "one\ntwo\nthree\n"


async def test_who_follows_hears_of_the_end_at_once(logs: NodeLogs, tmp_path: Path) -> None:
    running = [True]
    followed = NodeLogs(tmp_path, lambda *_: running[0], poll=3600)
    stream = followed.read(POD, Options(follow=True))
    assert await anext(stream) == b"one\ntwo\nthree\n"
    rest = asyncio.ensure_future(anext(stream, None))
    await asyncio.sleep(0)  # it waits
    running[0] = False
    followed.look()
    assert await rest is None


async def test_who_follows_is_woken_by_what_another_process_prints(logs: NodeLogs, tmp_path: Path) -> None:
    followed = NodeLogs(tmp_path, lambda *_: True, poll=3600)
    streams = [followed.read(POD, Options(follow=True, tail_lines=0)) for _ in range(3)]
    firsts = [asyncio.ensure_future(anext(stream)) for stream in streams]
    await asyncio.sleep(0)  # they wait
    log = log_directory(tmp_path, "default", "p", "u") / "main" / "1.log"
    for line in ("four", "five"):
        await _print(log, line)
        assert await asyncio.gather(*firsts) == [f"{line}\n".encode()] * 3
        firsts = [asyncio.ensure_future(anext(stream)) for stream in streams]
        await asyncio.sleep(0)
    # One that leaves takes the news from no other.
    firsts[0].cancel()
    await asyncio.gather(firsts[0], return_exceptions=True)
    await _print(log, "six")
    assert await asyncio.gather(*firsts[1:]) == [b"six\n"] * 2
    for stream in streams:
        await stream.aclose()  # type: ignore[attr-defined]


async def _print(log: Path, line: str) -> None:
    shell = await asyncio.create_subprocess_exec("sh", "-c", f"echo {line} >>{log}")
    await shell.wait()


async def test_where_nobody_tells_a_follower_looks_by_itself(
    logs: NodeLogs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_news.sys, "platform", "other")
    followed = NodeLogs(tmp_path, lambda *_: True, poll=0.001)
    stream = followed.read(POD, Options(follow=True, tail_lines=0))
    first = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    await _print(log_directory(tmp_path, "default", "p", "u") / "main" / "1.log", "four")
    assert await first == b"four\n"
    await stream.aclose()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"container": "other"}, 'container "other" in pod "p" is waiting to start: ContainerCreating'),
        ({"container": "other", "previous": True}, 'previous terminated container "other" in pod "p" not found'),
    ],
)
async def test_unavailable_logs_are_explained(logs: NodeLogs, options: dict[str, object], sentence: str) -> None:
    with pytest.raises(BadRequest, match=sentence):
        await read(logs, **options)


@given(st.binary(max_size=400).map(lambda data: data.replace(b"\x00", b"\n")), st.integers(0, 9), st.integers(1, 20))
def test_the_tail_is_the_last_lines(data: bytes, lines: int, block: int) -> None:
    pieces = [piece for piece in data.replace(b"\n", b"\n\0").split(b"\0") if piece]
    file = os.memfd_create("log")
    try:
        os.write(file, data)
        found = asyncio.run(find_tail(file, len(data), lines, block))
        assert data[found:] == b"".join(pieces[max(0, len(pieces) - lines) :])
    finally:
        os.close(file)


async def test_while_the_tail_of_a_huge_line_is_searched_others_go_on(tmp_path: Path) -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    with (tmp_path / "log").open("w+b") as file:
        file.truncate(2**28)
        other = asyncio.create_task(count())
        assert await find_tail(file.fileno(), 2**28, 10) == 0
        other.cancel()
    assert turns > 1000


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/etc/passwd")])
async def test_what_a_pod_put_in_place_of_its_log_is_not_read(logs: NodeLogs, tmp_path: Path, make: Make) -> None:
    path = log_directory(tmp_path, "default", "p", "u") / "main/1.log"
    path.unlink()
    make(path)
    with pytest.raises(BadRequest, match=r"1\.log cannot be read: not a regular file"):
        await read(logs)


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[LocalApi]:
    api = await LocalApi.open(tmp_path / "api")
    yield api
    await api.close()


def keep_log(directory: Path, uid: str, owner: Manifest | None) -> Path:
    owners = {"ownerReferences": [owner_reference(owner)]} if owner else {}
    made = {**POD, "metadata": {**POD["metadata"], "uid": uid, **owners}}
    path = log_directory(directory, "default", "p", uid)
    (path / "main").mkdir(parents=True)
    write_owner(directory, made)
    return path


async def test_logs_are_kept_as_long_as_their_owner_exists(api: LocalApi, tmp_path: Path) -> None:
    owner = await api.create(
        CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "o", "namespace": "default"}}
    )
    owned, alone, living = keep_log(tmp_path, "1", owner), keep_log(tmp_path, "2", None), keep_log(tmp_path, "3", None)
    assert await remove_orphaned_logs(api, tmp_path, {"3"}) == 1
    assert [path.exists() for path in (owned, alone, living)] == [True, False, True]
    await api.delete(CONFIG_MAPS, "default", "o")
    assert await remove_orphaned_logs(api, tmp_path, {"3"}) == 1
    assert not owned.exists()


async def test_logs_that_somebody_else_keeps_are_never_removed(api: LocalApi, tmp_path: Path) -> None:
    gone: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "o", "namespace": "d", "uid": "x"}}
    kept, half = keep_log(tmp_path, "1", gone), keep_log(tmp_path, "2", gone)
    (half / ".owner.json").write_bytes(b'{"api_version":"v1"')
    asked: list[tuple[str, str]] = []

    def keeps(api_version: str, kind: str) -> bool:
        asked.append((api_version, kind))
        return True

    assert await remove_orphaned_logs(api, tmp_path, set(), keeps) == 1
    assert (kept.exists(), half.exists(), asked) == (True, False, [("v1", "ConfigMap")])


def test_what_a_reader_needs_of_a_pod_that_is_gone_stands_beside_its_log(tmp_path: Path) -> None:
    annotations = {"kubectl.kubernetes.io/default-container": "main"}
    owners = [{"apiVersion": "g/v1", "kind": "K", "name": "o", "uid": "x", "controller": True}]
    made = {"metadata": {**POD["metadata"], "uid": "1", "labels": {"a": "b"}, "annotations": annotations,
                         "ownerReferences": owners}}  # fmt: skip
    write_owner(tmp_path, made)
    (path,) = log_directory(tmp_path, "default", "p", "1").iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text()) == {
        "api_version": "g/v1", "kind": "K", "namespace": "default", "name": "o", "uid": "x", "pod": "p",
        "container": "main", "labels": {"a": "b"},
    }  # fmt: skip
