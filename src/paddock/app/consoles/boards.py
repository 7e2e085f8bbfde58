"""The boards that were begun in the local cluster's console: as `paddock board` has them, without a terminal.

Each has a host, a port and secrets of its own (decision 61); a link for it is made when a signed-in reader asks. They
end with the console, which is their parent, after half an hour without a request, or by a button.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from paddock.app.boards.plan import Plan, ShownRun, plan_board
from paddock.app.boards.process import BoardEnded, BoardProcess, Server
from paddock.app.boards.proxy import Access, Proxy
from paddock.app.boards.serve import Source, build_packages, serve_until
from paddock.app.boards.shown import read_shown
from paddock.app.boards.tools import TOOLS, Tool
from paddock.app.home import Home
from paddock.app.outputs import read_runs
from paddock.console.backend import Board, BoardPhase, Drawing, OutputRun, Unshown
from paddock.environments.failures import BuildFailed
from paddock.environments.progress import Progress
from paddock.history.records import find_runs
from paddock.kube.meta import Resource
from paddock.kube.times import Moment
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import Foreign, Phrase, phrase

MOST = 4
"""At once. Each takes some hundred MiB of memory."""
IDLE_SECONDS = 1800.0
_KEPT = 16
"""Boards that have ended and are still told of."""
_FRESH_SECONDS = 10.0
"""How long what was found is found: a working directory may have a hundred thousand files."""
_MOST_ASKED = 64
_log = logging.getLogger(__name__)

Build = Callable[[Home, Tool, Callable[[Progress], None]], Awaitable[Path]]
Start = Callable[[Plan, Path, Access, str], Source]


async def build(home: Home, tool: Tool, report: Callable[[Progress], None]) -> Path:
    """The directory of the program's packages. Raises `BuildFailed`."""
    return Path((await build_packages(home, tool, report)).path)


def start(plan: Plan, environment: Path, access: Access, language: str) -> Source:
    """The server of a board, not yet started."""
    return BoardProcess(Server(plan.tool, environment, plan.directories, access.root, language))


@dataclass(slots=True)
class _Begun:
    """A board, and what it is made of."""

    shown: Board
    access: Access
    proxy: Proxy | None = None
    task: asyncio.Task[None] | None = None
    is_ending: bool = False
    """Its task is cancelled: a second time would cut off the end of its server."""


class LocalBoards:
    """`build` and `start`: how its parts are made."""

    def __init__(
        self,
        home: Home,
        clock: Callable[[], Moment] = time.time,
        *,
        build: Build = build,
        start: Start = start,
        idle: float = IDLE_SECONDS,
    ) -> None:
        self._home, self._clock, self._build, self._start, self._idle = home, clock, build, start, idle
        self._begun: dict[str, _Begun] = {}
        self._drawn: dict[tuple[Resource, str, str, str], tuple[Moment, Sequence[Drawing]]] = {}
        self._last = clock()

    @property
    def last_request(self) -> Moment:
        return max([self._last, *(each.proxy.last_request for each in self._begun.values() if each.proxy is not None)])

    def find(self, run: OutputRun, resource: Resource, namespace: str, name: str) -> Sequence[Drawing]:
        key = (resource, namespace, name, run.mark)
        when, known = self._drawn.get(key, (-_FRESH_SECONDS, ()))
        if self._clock() - when >= _FRESH_SECONDS:
            known = self._find(run, resource, namespace, name)
            if len(self._drawn) >= _MOST_ASKED:
                self._drawn.clear()
            self._drawn[key] = (self._clock(), known)
        return known

    def _find(self, run: OutputRun, resource: Resource, namespace: str, name: str) -> Sequence[Drawing]:
        shown = self._read_shown(run, resource, namespace, name)
        plans = [plan_board([shown], tool) for tool in TOOLS.values()] if shown else []
        return [Drawing(plan.tool.name, plan.tool.title, plan.files) for plan in plans if plan is not None]

    async def begin(
        self, run: OutputRun, resource: Resource, namespace: str, name: str, tool: str, language: str
    ) -> Board:
        self._last = self._clock()
        if known := self._find_open(run, resource, namespace, name, tool):
            return known
        wanted = TOOLS.get(tool)
        shown = await asyncio.to_thread(self._read_shown, run, resource, namespace, name) if wanted else None
        plan = plan_board([shown], wanted) if shown else None
        if plan is None:
            raise Unshown(phrase("there is nothing to draw: no files of TensorBoard or VisualDL are there"))
        # Once more, as another reader may have begun it meanwhile.
        if known := self._find_open(run, resource, namespace, name, tool):
            return known
        if sum(map(_is_on, self._begun.values())) >= MOST:
            raise Unshown(phrase("{most} boards are open, and no more are begun: end one of them", most=MOST))
        board = Board(secrets.token_urlsafe(8), resource, namespace, name, run.mark, tool, plan.tool.title,
                      BoardPhase.INSTALLING, phrase("looking for {tool}", tool=plan.tool.title))  # fmt: skip
        self._forget_oldest()
        begun = self._begun[board.id] = _Begun(board, Access(self._clock()))
        begun.task = asyncio.create_task(self._run(begun, plan, language))
        return board

    def list(self, resource: Resource, namespace: str, name: str) -> Sequence[Board]:
        key = (resource, namespace, name)
        found = [each.shown for each in self._begun.values()]
        return [each for each in reversed(found) if (each.resource, each.namespace, each.job) == key]

    def look(self, id: str) -> Board | None:
        found = self._begun.get(id)
        return found.shown if found else None

    def make_link(self, id: str) -> str:
        found = self._begun.get(id)
        if found is None or found.shown.phase is not BoardPhase.OPEN:
            return ""
        found.access.renew(self._clock())
        return f"http://{found.access.host}:{found.shown.port}{found.access.link}"

    async def end(self, id: str) -> None:
        found = self._begun.get(id)
        if found is None or found.task is None:
            return
        if not found.is_ending:
            found.is_ending = True
            found.task.cancel()
        await asyncio.wait([found.task])

    async def close(self) -> None:
        await asyncio.gather(*map(self.end, list(self._begun)))

    # -- one board

    def _read_shown(self, run: OutputRun, resource: Resource, namespace: str, name: str) -> ShownRun | None:
        """The run with its event files; None where it is not kept any more."""
        directories = read_runs(self._home.outputs, namespace, name)
        found = next((each for each in directories if each.mark == run.mark), None)
        if found is None:
            return None
        records = find_runs(self._home.history, namespace, name)
        kind = (resource.api_version, resource.kind)
        of_kind = [each for each in records if (each.api_version, each.kind) == kind]
        record = next((each for each in of_kind if found.belongs_to(each.uid)), None)
        return read_shown(name, record, found)

    def _find_open(self, run: OutputRun, resource: Resource, namespace: str, name: str, tool: str) -> Board | None:
        found = (each.shown for each in self._begun.values() if _is_on(each))
        key = (resource, namespace, name, run.mark, tool)
        return next(
            (each for each in found if (each.resource, each.namespace, each.job, each.mark, each.tool) == key), None
        )

    def _forget_oldest(self) -> None:
        ended = [id for id, each in self._begun.items() if not _is_on(each)]
        for id in ended[: max(0, len(ended) - _KEPT + 1)]:
            del self._begun[id]

    async def _run(self, begun: _Begun, plan: Plan, language: str) -> None:
        title = plan.tool.title
        try:
            said, printed = await self._serve(begun, plan, language), ""
        except asyncio.CancelledError:
            said, printed = phrase("it was ended"), ""
        except BuildFailed as failed:
            said = phrase("{tool} could not be installed: {why}", tool=title, why=Foreign(failed.message))
            printed = ""
        except BoardEnded as ended:
            said = phrase("the server of {tool} has ended by itself; it printed last:", tool=title)
            printed = str(ended) or "-"
        except OSError as error:
            said, printed = phrase("it cannot be started: {why}", why=explain_unreadable(error)), ""
        except Exception:
            _log.exception("a board failed")
            said, printed = phrase("it failed by a bug of Paddock; the cluster's log has the details"), ""
        begun.shown = replace(begun.shown, phase=BoardPhase.ENDED, said=said, printed=printed, port=0)
        self._last = max(self._last, begun.proxy.last_request if begun.proxy else self._last)
        begun.proxy = None

    async def _serve(self, begun: _Begun, plan: Plan, language: str) -> Phrase:
        """Until it ends: why it does."""
        title = plan.tool.title

        def report(progress: Progress) -> None:
            said = phrase(
                "{tool} is installed, once for all boards: {what}", tool=title, what=Foreign(progress.explain())
            )
            begun.shown = replace(begun.shown, said=said)

        def show(_: Access, port: int, unboxed: str) -> None:
            said = phrase("it is open to whoever is signed in to this console")
            begun.shown = replace(begun.shown, phase=BoardPhase.OPEN, said=said, port=port, unboxed=unboxed)

        environment = await self._build(self._home, plan.tool, report)
        begun.shown = replace(begun.shown, phase=BoardPhase.STARTING, said=phrase("{tool} starts", tool=title))
        source = self._start(plan, environment, begun.access, language)
        begun.proxy = Proxy(begun.access, source.socket, language=language, clock=self._clock, again=_AGAIN)
        never = asyncio.Event()
        await serve_until(never, source, begun.access, begun.proxy, show, idle=self._idle, clock=self._clock)
        return phrase("nobody has looked for {count} min: the board has ended", count=round(self._idle / 60))


def _is_on(begun: _Begun) -> bool:
    return begun.shown.phase is not BoardPhase.ENDED


_AGAIN = phrase("this link lets in once, within five minutes: open the board from the console's page again")
