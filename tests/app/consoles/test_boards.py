"""Boards of the console: how they begin, who gets in, and that nothing of them is left. Their server is one of the
test's own, on a Unix socket as theirs is; tests/app/boards has the real programs."""

from __future__ import annotations

import asyncio
import errno
import html
import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from paddock.app.boards.plan import Plan
from paddock.app.boards.process import BoardEnded
from paddock.app.boards.proxy import Access
from paddock.app.boards.tools import Tool
from paddock.app.consoles.boards import MOST, LocalBoards
from paddock.app.home import Home
from paddock.console.backend import Board, BoardPhase, OutputRun, Unshown
from paddock.environments.failures import BuildFailed
from support.consoles import PADDLE, Served, serve_console
from support.waiting import until
from support.written import build_written_job

UID = "0a1b2c3d-4444"
JOB = "/jobs/default/paddlejobs.batch.paddlepaddle.org/demo"
KEY = (PADDLE, "default", "demo")


class Source:
    """A board's server, in this process. `problem`: why it has no sandbox; `prints`: what it does before it ends."""

    problem = ""

    def __init__(self, directory: Path, access: Access, ends: str = "") -> None:
        self.socket = directory / access.mark
        self._ends = ends
        self._runner: web.AppRunner | None = None
        self.stopping, self.stops, self.is_stopped = asyncio.Event(), asyncio.Event(), False
        self.stops.set()

    async def start(self) -> None:
        if self._ends:
            raise BoardEnded(self._ends)
        application = web.Application()
        application.router.add_get("/{path:.*}", self._answer)
        self._runner = web.AppRunner(application)
        await self._runner.setup()
        await web.UnixSite(self._runner, str(self.socket)).start()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        return web.Response(text="the board")

    async def wait(self) -> str:
        await asyncio.Event().wait()
        raise AssertionError

    async def stop(self) -> None:
        self.stopping.set()
        await self.stops.wait()
        self.is_stopped = True
        if self._runner is not None:
            await self._runner.cleanup()
        self.socket.unlink(missing_ok=True)


class World:
    """`directory`: a home with the outputs of one run, and in it an event file of TensorBoard."""

    def __init__(self, directory: Path) -> None:
        self.home, self.now, self.ends = Home(directory, directory), [1000.0], ""
        self.out = self.home.outputs / "default" / "demo-0a1b2c3d"
        self.out.mkdir(parents=True)
        (self.out / "events.out.tfevents.1700000100.host.7.0").write_bytes(b"x")
        self.run = OutputRun("0a1b2c3d", None, 0.0, str(self.out))
        self.sources = list[Source]()
        self.installing = asyncio.Event()
        self.installing.set()
        self.boards = LocalBoards(self.home, lambda: self.now[0], build=self._build, start=self._start, idle=1800.0)

    async def _build(self, home: Home, tool: Tool, report: Callable[..., None]) -> Path:
        await self.installing.wait()
        if self.ends == "install":
            raise BuildFailed("no network <b>")
        return Path("/nowhere")

    def _start(self, plan: Plan, environment: Path, access: Access, language: str) -> Source:
        assert list(plan.directories.values()) == [self.out]
        self.sources.append(Source(self.home.outputs.parent, access, self.ends))
        return self.sources[-1]

    async def begin(self, run: OutputRun | None = None, tool: str = "tensorboard") -> Board:
        return await self.boards.begin(run or self.run, *KEY, tool, "en")

    async def wait(self, id: str, phase: BoardPhase) -> Board:
        await until(lambda: self.look(id).phase is phase)
        return self.look(id)

    def look(self, id: str) -> Board:
        found = self.boards.look(id)
        assert found is not None
        return found

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[Served]:
        job = build_written_job(phase="Running")
        job["metadata"]["uid"] = UID
        async with serve_console(self.home.outputs.parent, [job], boards=self.boards) as served:
            yield served


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    yield made
    await made.boards.close()


async def test_one_click_begins_a_board_and_its_link_lets_in_once(world: World) -> None:
    async with world.serve() as served:
        async with served.session.get(f"{JOB}/outputs") as answer:
            page = await answer.text()
        assert "Open TensorBoard" in page and "Open VisualDL" not in page and "1 file" in page
        sent = {"run": "0a1b2c3d", "tool": "tensorboard"}
        async with served.session.post(f"{JOB}/boards", data=sent, headers=HERE, allow_redirects=False) as answer:
            assert answer.status == 303
            where = answer.following
        (board,) = world.boards.list(*KEY)
        assert where == f"{JOB}/boards/{board.id}?go=1"
        await world.wait(board.id, BoardPhase.OPEN)
        async with served.session.get(where) as answer:
            assert f'id="goes" data-address="{JOB}/boards/{board.id}/open"' in await answer.text()
        async with served.session.get(f"{JOB}/boards/{board.id}") as answer:
            assert "data-address" not in await answer.text(), "a look at the page alone opens nothing"
        async with served.session.get(f"{JOB}/boards/{board.id}/open", allow_redirects=False) as answer:
            link = URL(answer.headers["Location"], encoded=True)
        assert link.host is not None and re.fullmatch(r"board-[0-9a-f]{8}\.localhost", link.host)
        assert await read_board(link) == "the board"
        assert await enter(link) == 401, "the link was used"
        async with served.session.get(f"{JOB}/boards/{board.id}/open", allow_redirects=False) as answer:
            assert await read_board(URL(answer.headers["Location"], encoded=True)) == "the board", "another click"


HERE = {"Sec-Fetch-Site": "same-origin"}


async def enter(link: URL, **headers: str) -> int:
    async with aiohttp.ClientSession() as client:
        given = {"Host": f"{link.host}:{link.port}", **headers}
        async with client.get(link.with_host("127.0.0.1"), headers=given, allow_redirects=False) as answer:
            return answer.status


async def read_board(link: URL) -> str:
    """As a browser that comes from the console, which is another site."""
    host = {"Host": f"{link.host}:{link.port}"}
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as client:
        here = link.with_host("127.0.0.1")
        asked = client.get(here, headers={**host, "Sec-Fetch-Site": "cross-site"}, allow_redirects=False)
        async with asked as answer:
            assert answer.status == 200 and "Location" not in answer.headers, "no strict cookie goes with a redirect"
            place = answer.headers["Refresh"].removeprefix("0; url=")
            cookie = answer.headers["Set-Cookie"]
            assert "SameSite=Strict" in cookie and "HttpOnly" in cookie
        page = here.with_path(place, encoded=True)
        async with client.get(page, headers=host, allow_redirects=False) as answer:
            assert answer.status == 401, "the path alone lets nobody in"
        async with client.get(page, headers={**host, "Cookie": cookie.partition(";")[0]}) as answer:
            return await answer.text()


async def test_a_second_click_opens_the_board_that_is_there(world: World) -> None:
    world.installing.clear()
    first, second = await asyncio.gather(world.begin(), world.begin())
    assert first.id == second.id
    world.installing.set()
    await world.wait(first.id, BoardPhase.OPEN)
    assert (await world.begin()).id == first.id


async def test_no_more_than_four_are_open_and_an_ended_one_makes_room(world: World) -> None:
    for number in range(MOST + 1):
        made = world.home.outputs / "default" / f"demo-{number:08x}"
        made.mkdir()
        (made / "events.out.tfevents.1700000100.host.7.0").write_bytes(b"x")
    world.installing.clear()
    runs = [OutputRun(f"{number:08x}", None, 0.0, "") for number in range(MOST + 1)]
    begun = [await world.begin(run) for run in runs[:MOST]]
    with pytest.raises(Unshown, match="4 boards are open"):
        await world.begin(runs[MOST])
    await world.boards.end(begun[0].id)
    assert world.look(begun[0].id).phase is BoardPhase.ENDED
    await world.begin(runs[MOST])


async def test_a_second_click_on_end_leaves_no_server_behind(world: World) -> None:
    board = await world.begin()
    await world.wait(board.id, BoardPhase.OPEN)
    source, begun = world.sources[0], world.sources[0].stopping
    source.stops.clear()
    first = asyncio.create_task(world.boards.end(board.id))
    await begun.wait()
    second = asyncio.create_task(world.boards.end(board.id))
    await asyncio.sleep(0)
    source.stops.set()
    await asyncio.gather(first, second)
    assert source.is_stopped and world.look(board.id).phase is BoardPhase.ENDED


@pytest.mark.parametrize(
    ("tool", "mark"), [("visualdl", "0a1b2c3d"), ("bash", "0a1b2c3d"), ("tensorboard", "ffffffff")]
)
async def test_there_is_no_board_of_what_is_not_there(world: World, tool: str, mark: str) -> None:
    with pytest.raises(Unshown, match="nothing to draw"):
        await world.begin(OutputRun(mark, None, 0.0, ""), tool)


async def test_a_board_that_fails_to_start_shows_its_last_lines_as_text(world: World) -> None:
    world.ends = "ImportError: <script>no</script>"
    board = await world.begin()
    await world.wait(board.id, BoardPhase.ENDED)
    async with world.serve() as served, served.session.get(f"{JOB}/boards/{board.id}") as answer:
        page = await answer.text()
    assert "has ended by itself; it printed last:" in page
    assert "ImportError: <script>no" not in page and "ImportError: <script>no</script>" in html.unescape(page)
    world.ends = "install"
    board = await world.begin()
    ended = await world.wait(board.id, BoardPhase.ENDED)
    assert str(ended.said) == "TensorBoard could not be installed: no network <b>"


async def test_a_board_on_a_full_disk_says_so(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> Path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(world.boards, "_build", fail)
    ended = await world.wait((await world.begin()).id, BoardPhase.ENDED)
    assert str(ended.said) == "it cannot be started: No space left on device"


async def test_a_board_at_which_nobody_looks_ends(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paddock.app.boards.serve._LOOK_SECONDS", 0.01)
    board = await world.begin()
    await world.wait(board.id, BoardPhase.OPEN)
    world.now[0] += 1799.0
    assert world.look(board.id).phase is BoardPhase.OPEN
    world.now[0] += 2.0
    ended = await world.wait(board.id, BoardPhase.ENDED)
    assert "nobody has looked for 30 min" in str(ended.said)


async def test_the_end_of_the_console_leaves_no_board(world: World) -> None:
    board = await world.begin()
    opened = await world.wait(board.id, BoardPhase.OPEN)
    async with world.serve():
        pass
    assert world.look(board.id).phase is BoardPhase.ENDED
    with pytest.raises(OSError):
        await asyncio.open_connection("127.0.0.1", opened.port)
    assert not [each for each in world.home.outputs.parent.iterdir() if each.is_socket()]


async def test_another_jobs_page_shows_and_ends_none_of_it(world: World) -> None:
    board = await world.begin()
    await world.wait(board.id, BoardPhase.OPEN)
    other = JOB.replace("demo", "other")
    async with world.serve() as served:
        for part in ("", "/open"):
            async with served.session.get(f"{other}/boards/{board.id}{part}", allow_redirects=False) as answer:
                assert answer.status == 404
        async with served.session.post(f"{other}/boards/{board.id}/end", headers=HERE, allow_redirects=False) as answer:
            assert answer.status == 303
    assert world.boards.look(board.id) is not None


async def test_another_site_can_begin_and_end_none(world: World) -> None:
    async with world.serve() as served:
        sent = {"run": "0a1b2c3d", "tool": "tensorboard"}
        for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://elsewhere.example"}):
            async with served.session.post(f"{JOB}/boards", data=sent, headers=headers) as answer:
                assert answer.status == 403
        assert not world.boards.list(*KEY)


async def test_who_looks_at_a_board_keeps_the_cluster_up(world: World) -> None:
    board = await world.begin()
    await world.wait(board.id, BoardPhase.OPEN)
    world.now[0] = 5000.0
    assert world.boards.last_request < 5000.0
    assert await enter(URL(world.boards.make_link(board.id), encoded=True)) == 303
    assert world.boards.last_request == 5000.0
