"""SIGKILL at about 41 %: another process goes on, at most 1 MiB comes twice, and every byte is right."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import psutil
import pytest
from aiohttp import web

from datasets.fetch.buckets import KEYS, Bucket, Wire, open_wire
from datasets.fetch.calls import read_tree, start
from datasets.fetch.repositories import Repository
from datasets.fetch.web import Server, build_bytes, serve
from paddock.datasets.fetching import Fetched, Progress, Report, Request
from support.programs import need

MEBIBYTE = 1 << 20


def reaches(percent: int):
    def wanted(report: Report) -> bool:
        return isinstance(report, Progress) and report.total > 0 and report.done * 100 >= report.total * percent

    return wanted


async def test_a_file_by_http_goes_on_after_a_kill(tmp_path: Path) -> None:
    data = build_bytes(12 * MEBIBYTE)
    async with serve(Server(data=data, speed=6 * MEBIBYTE, trickles_after=len(data) // 2)) as server:
        request = Request(uri=server.url(), target=str(tmp_path / "t"), sha256=hashlib.sha256(data).hexdigest())
        first = await start(request)
        await first.read_until(reaches(41))
        assert await first.kill() == -9
        sent, server.trickles_after = server.sent, 0
        assert sent < len(data) * 0.7

        code, end = await (await start(request)).end()

    assert (code, end) == (0, Fetched(size=len(data), files=1, fetched=end.fetched, revision='"one"'))
    assert read_tree(tmp_path / "t") == {"words.bin": data}
    assert server.sent - len(data) <= MEBIBYTE
    assert end.fetched <= len(data) - sent + MEBIBYTE


@pytest.mark.slow
async def test_a_bucket_goes_on_after_a_kill(bucket: Bucket, tmp_path: Path) -> None:
    objects = {f"train/{number}": build_bytes(2 * MEBIBYTE, number) for number in range(5)}
    objects |= {f"train/small/{number}": build_bytes(40_000, number) for number in range(50)}
    bucket.put_all(objects)
    size = sum(map(len, objects.values()))
    async with open_wire(Wire(bucket.endpoint, speed=6 * MEBIBYTE, trickles_after=size // 2)) as wire:
        request = Request(uri="s3://words/train", target=str(tmp_path / "t"), endpoint=wire.url, secret=KEYS)
        first = await start(request)
        await first.read_until(reaches(41))
        assert await first.kill() == -9
        assert wire.sent < size * 0.7
        wire.trickles_after = 0

        code, end = await (await start(request)).end()

    assert (code, end) == (0, Fetched(size=size, files=55, fetched=end.fetched))
    assert read_tree(tmp_path / "t") == {key.removeprefix("train/"): data for key, data in objects.items()}
    # The wire also counts listings and headers, of about 400 bytes an object.
    assert wire.sent - size <= MEBIBYTE + 100_000


@pytest.mark.slow
async def test_a_repository_is_fetched_after_a_kill_and_no_git_is_left(tmp_path: Path) -> None:
    """Git begins a fetch anew; here it hangs in its first request until the process is killed."""
    need("git")
    files: dict[str, bytes | str | None] = {f"d/{number}": build_bytes(1000, number) for number in range(20)}
    repository = Repository(tmp_path / "repository")
    repository.commit(files)
    repository.git("update-server-info")
    hangs, asked = asyncio.Event(), asyncio.Event()

    def give(request: web.Request) -> web.Response:
        path = repository.path / ".git" / request.path.removeprefix("/words.git/")
        return web.Response(body=path.read_bytes()) if path.is_file() else web.Response(status=404)

    async def wait(number: int) -> None:
        asked.set()
        await hangs.wait()

    async with serve(Server(check=give, before=wait)) as server:
        request = Request(uri=f"git+{server.url('words.git')}", target=str(tmp_path / "t"))
        first = await start(request)
        await asked.wait()
        children = psutil.Process(first.process.pid).children(recursive=True)
        assert children
        await first.kill()
        _, left = await asyncio.to_thread(psutil.wait_procs, children, 10)
        assert [each for each in left if each.status() != psutil.STATUS_ZOMBIE] == []
        hangs.set()
        code, _ = await (await start(request)).end()
    assert code == 0
    assert read_tree(tmp_path / "t") == files
