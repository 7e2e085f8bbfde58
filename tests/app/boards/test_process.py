"""A board's server as a process: what it is given, and the real programs over real files."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from paddock.app.boards import serve
from paddock.app.boards.plan import Plan
from paddock.app.boards.process import (
    BoardEnded,
    BoardProcess,
    Server,
    build_plain,
    build_sandboxed,
    make_scratch,
    read_pythons,
)
from paddock.app.boards.proxy import Access
from paddock.app.boards.serve import listen, serve_board
from paddock.app.boards.tools import TENSORBOARD, VISUALDL, Tool
from support.loopback import need_ipv6
from support.programs import lack, need

ASKED = {"tensorboard": ("data/plugin/scalars/tags", "loss"), "visualdl": ("api/runs", "train:3")}


def build_server(directory: Path, tool: Tool = TENSORBOARD, environment: Path | None = None) -> Server:
    return Server(tool, environment or directory / "env", {"train:3": directory / "out"}, "/s/place", "en")


def test_a_server_in_bubblewrap_has_no_network_and_only_what_it_shows(tmp_path: Path) -> None:
    words = build_sandboxed(build_server(tmp_path), tmp_path / "scratch", [tmp_path / "python"], "bwrap")
    assert words[:2] == ["bwrap", "--unshare-all"] and "--clearenv" in words and "--share-net" not in words
    bound = [(words[at], words[at + 1]) for at, word in enumerate(words) if word in ("--bind", "--ro-bind")]
    assert [each for each in bound if each[0] == "--bind"] == [("--bind", str(tmp_path / "scratch"))]
    assert {str(tmp_path / each) for each in ("out", "python", "env")} <= {place for _, place in bound}
    assert words[-6:] == ["tensorboard", "/board/run/socket", "/s/place", "fast", "en", "jobs"]


def test_without_a_network_of_its_own_no_data_server_listens(tmp_path: Path) -> None:
    assert build_plain(build_server(tmp_path), tmp_path)[-3:] == ["slow", "en", "jobs"]


@pytest.mark.sandbox
def test_a_server_in_bubblewrap_sees_what_it_shows_and_nothing_else(tmp_path: Path) -> None:
    need("bwrap")
    for name in ("out", "scratch", "env/bin"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "secret").write_text("x")
    (tmp_path / "out/events").write_text("x")
    python = tmp_path / "env/bin/python"
    python.symlink_to(os.path.realpath(sys.executable))
    server = build_server(tmp_path)
    words = build_sandboxed(server, tmp_path / "scratch", read_pythons(tmp_path / "env"), need("bwrap"))
    code = (
        "import os, json, socket, errno\n"
        "def write():\n"
        "    try: open('/board/jobs/train:3/new', 'w')\n"
        "    except OSError as error: return errno.errorcode[error.errno]\n"
        f"print(json.dumps([os.listdir('/board/jobs/train:3'), os.path.exists({str(tmp_path / 'secret')!r}), "
        "sorted(name for _, name in socket.if_nameindex()), write(), sorted(os.environ)]))"
    )
    command = [*words[: words.index("--") + 2], "-I", "-c", code]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if answer.returncode and "bwrap" in answer.stderr:
        lack("bwrap", f"does not work here: {answer.stderr}")
    files, secret, networks, refused, variables = json.loads(answer.stdout)
    assert (files, secret, networks, refused) == (["events"], False, ["lo"], "EROFS")
    assert set(variables) - {"PWD", "LC_CTYPE"} == {"HOME", "TMPDIR", "PATH", "LANG", "PYTHONUNBUFFERED"}


def begin_server(directory: Path, script: str) -> BoardProcess:
    """One whose Python is a script of a shell."""
    (directory / "out").mkdir()
    python = directory / "env/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    return BoardProcess(build_server(directory))


async def test_a_server_that_ends_says_what_it_printed(tmp_path: Path) -> None:
    process = begin_server(tmp_path, "echo ModuleNotFoundError >&2\nexit 1")
    with pytest.raises(BoardEnded, match="ModuleNotFoundError"):
        await process.start()
    assert process.problem
    await process.stop()
    assert not process.socket.parent.exists()


async def test_a_server_that_prints_a_line_without_an_end_goes_on(tmp_path: Path) -> None:
    process = begin_server(
        tmp_path, "head -c 300000 /dev/zero\nhead -c 500000 /dev/zero\necho\necho and goes on\nexit 1"
    )
    with pytest.raises(BoardEnded, match="and goes on"):
        await process.start()
    await process.stop()


def test_the_path_of_a_socket_is_short_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    made = make_scratch()
    assert len(str(made / "socket")) < 107 and made.stat().st_mode & 0o777 == 0o700
    made.rmdir()


def test_a_board_listens_at_both_loopback_addresses_on_one_port() -> None:
    need_ipv6()
    found = listen(0)
    try:
        assert [each.getsockname()[0] for each in found] == ["127.0.0.1", "::1"]
        assert len({each.getsockname()[1] for each in found}) == 1
        found[0].listen()
        with pytest.raises(OSError):
            listen(found[0].getsockname()[1])
    finally:
        for each in found:
            each.close()


@pytest.mark.parametrize("number", [errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT])
def test_where_there_is_no_ipv6_a_board_listens_at_one(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    bind = serve._bind

    def refuse(family: int, host: str, port: int) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(number, os.strerror(number))
        return bind(family, host, port)

    monkeypatch.setattr(serve, "_bind", refuse)
    found = listen(0)
    try:
        assert [each.getsockname()[0] for each in found] == ["127.0.0.1"]
    finally:
        for each in found:
            each.close()


@pytest.mark.slow
@pytest.mark.parametrize("sandboxed", [True, False])
@pytest.mark.parametrize("tool", [TENSORBOARD, VISUALDL], ids=lambda each: each.name)
def test_a_real_board_shows_what_a_real_writer_wrote(
    tool: Tool, sandboxed: bool, written: Callable[[Tool], tuple[Path, Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment, out = written(tool)
    if not sandboxed:
        monkeypatch.setenv("PATH", "/nowhere")
    path, wanted = ASKED[tool.name]
    seen: list[str] = []

    async def look(access: Access, port: int) -> None:
        base = f"http://127.0.0.1:{port}"
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
            async with client.get(base + access.link) as page:
                seen.append(str(page.status))
            for _ in range(120):
                async with client.get(f"{base}{access.root}/{path}") as answer:
                    text = await answer.text()
                if wanted in text:
                    seen.append(wanted)
                    break
                await asyncio.sleep(0.5)

    async def serve() -> None:
        shown: asyncio.Future[tuple[Access, int]] = asyncio.get_running_loop().create_future()
        plan = Plan(tool, {"train:3": out}, 1, 0)
        serving = asyncio.create_task(
            serve_board(plan, environment, "en", lambda access, port, _: shown.set_result((access, port)))
        )
        either: list[asyncio.Future[Any]] = [serving, shown]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if shown.done():
            await look(*shown.result())
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)

    asyncio.run(serve())
    assert seen == ["200", wanted]


def test_no_port_of_a_board_is_left(tmp_path: Path) -> None:
    for each in listen(0):
        address = each.getsockname()
        each.close()
        with socket.socket(each.family) as other:
            other.bind(address)
