"""Does the action of a probe or a hook, and says what came of it. No decision is here.

Texts are those of kubelet's pkg/probe as far as they are told to users. A command runs by `RunInContainer`, which
`run_by_streams` makes of whoever serves `kubectl exec`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

import aiohttp

from paddock.kube.errors import ApiError
from paddock.kube.meta import Manifest
from paddock.kube.pod_streams import Session, StreamRequest
from paddock.node.kubelet.actions import Action, Exec, HttpGet, Impossible, Sleep, TcpConnect
from paddock.words.phrases import phrase

_MOST_OUTPUT = 10 * 1024
_REDIRECTS = 10


class NotDone(Exception):
    """The action could not be tried; that says nothing of the container."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended, and the end of what it wrote, both outputs together."""

    code: int
    output: str = ""


RunInContainer = Callable[[Manifest, str, tuple[str, ...]], Awaitable[Ran]]
"""Runs a command in a container of a pod that runs, by the pod, the name and the words. What is cancelled is ended.
Raises `NotDone`."""


async def run_nothing(pod: Manifest, container: str, command: tuple[str, ...]) -> Ran:
    """Where nobody can enter a container."""
    raise NotDone(str(phrase("no command can be run in a container here")))


StartProgram = Callable[[Manifest, StreamRequest], Awaitable[Session]]
"""As `PodStreams.exec`."""


def run_by_streams(find_exec: Callable[[], StartProgram]) -> RunInContainer:
    """By a program of exec. `find_exec` is asked each time."""

    async def run(pod: Manifest, container: str, command: tuple[str, ...]) -> Ran:
        try:
            session = await find_exec()(pod, StreamRequest(container, command))
        except (ApiError, OSError) as error:
            raise NotDone(str(error)) from error
        try:
            output = await _read_output(session)
            ended = await session.wait()
        finally:
            # Of a probe that is cancelled too: what still runs must end.
            await asyncio.shield(session.close())
        return Ran(ended.code, ended.message or output)

    return run


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an action."""

    good: bool
    """The probe has passed, the hook is done."""
    text: str = ""
    """What an event says of it."""


async def perform(
    action: Action, pod: Manifest, container: str, run: RunInContainer, seconds: float | None, *, judges: bool
) -> Outcome:
    """Does the action, for `seconds` at most. Raises `NotDone`. `judges`: by the status of an answer over HTTP too, as
    a probe does and a hook does not."""
    try:
        async with asyncio.timeout(seconds):
            return await _perform(action, pod, container, run, judges)
    except TimeoutError:
        return Outcome(False, _explain_timeout(action, seconds or 0))


async def _perform(action: Action, pod: Manifest, container: str, run: RunInContainer, judges: bool) -> Outcome:
    match action:
        case Exec():
            ran = await run(pod, container, action.command)
            text = ran.output.strip() or f"command {_join(action.command)} ended with exit code {ran.code}"
            return Outcome(ran.code == 0, text)
        case HttpGet():
            return await _get(action, judges)
        case TcpConnect():
            return await _connect(action)
        case Sleep():
            await asyncio.sleep(action.seconds)
            return Outcome(True)
        case Impossible():
            raise NotDone(action.why)


async def _connect(action: TcpConnect) -> Outcome:
    try:
        _, writer = await asyncio.open_connection(action.host, action.port)
    except OSError as error:
        return Outcome(False, f"dial tcp {action.host}:{action.port}: {_explain_connect(error)}")
    except (ValueError, OverflowError) as error:  # no name that DNS could have, no number of a port
        return Outcome(False, f"dial tcp {action.host}:{action.port}: {error}")
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return Outcome(True)


async def _get(action: HttpGet, judges: bool) -> Outcome:
    url = action.url
    try:
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=False, force_close=True), auto_decompress=False
        ) as client:
            for _ in range(_REDIRECTS):
                async with client.get(url, headers=list(action.headers), allow_redirects=False) as answer:
                    status, place = answer.status, answer.headers.get("Location")
                    await answer.content.read(_MOST_OUTPUT)
                if not judges or not (300 <= status < 400 and place):
                    break
                following = urljoin(url, place)
                # To another host no probe follows: that something answers is enough (kubelet's RedirectChecker).
                if urlsplit(following).hostname != urlsplit(url).hostname:
                    break
                url = following
            else:
                return Outcome(False, f'Get "{action.url}": stopped after {_REDIRECTS} redirects')
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return Outcome(False, f'Get "{action.url}": {_explain_http(error)}')
    good = not judges or 200 <= status < 400
    return Outcome(good, "" if good else f"HTTP probe failed with statuscode: {status}")


async def _read_output(session: Session) -> str:
    kept = b""
    while (piece := await session.read()) is not None:
        kept = (kept + piece[1])[:_MOST_OUTPUT]
    return kept.decode(errors="replace")


def _explain_http(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"dial tcp {error.host}:{error.port}: {_explain_connect(error.os_error)}"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "EOF"
    return str(error) or type(error).__name__


def _explain_connect(error: OSError) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "connect: connection refused"
    return "connection reset by peer" if isinstance(error, ConnectionResetError) else error.strerror or str(error)


def _explain_timeout(action: Action, seconds: float) -> str:
    match action:
        case Exec():
            return f"command timed out: {_join(action.command)} timed out after {seconds:g}s"
        case HttpGet():
            return f'Get "{action.url}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
        case TcpConnect():
            return f"dial tcp {action.host}:{action.port}: i/o timeout"
    return f"timed out after {seconds:g}s"


def _join(command: tuple[str, ...]) -> str:
    return f'"{" ".join(command)}"'
