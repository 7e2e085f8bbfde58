"""A recorded place, served inside this process: the embedded API on a port of loopback, its home in a directory.

It is served without TLS (`without_tls`). There is no operator, no scheduler and no kubelet: nothing changes by itself,
and the clock of API, command line and console stands still at the moment of the record. What a command asks of the API
is noted in `Served.requests`.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from paddock.apiserver.http.certificates import Certificates
from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.apiserver.storage.records import Stored
from paddock.apiserver.storage.transaction import Transaction
from paddock.app.consoles.local import build_backend
from paddock.app.home import Home, Lock, Running, write_running
from paddock.app.kinds import apply_crds, build_crds, create_user_roles
from paddock.app.local import build_settings
from paddock.build import BUILD
from paddock.console.server import Console
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call
from paddock.kube.meta import Manifest, Resource
from paddock.node.runtime.logs import NodeLogs
from paddock.serving.loop import run
from support.readers import Reader, reading

T = TypeVar("T")
Objects = Sequence[tuple[str, Manifest]]
"""Each with its storage key."""
Write = Callable[[LocalApi, Home], Awaitable[None]]
PLACES = Path(__file__).with_name("places")
HOME, DIRECTORY = "@HOME@", "@DIRECTORY@"
"""How a record writes the home and the directory of its files."""
_JOBS = re.compile(r"/namespaces/([^/]+)/\w+jobs$")
_VERSION = re.compile(r"(resourceVersion[\"']?[=:] ?[\"']?)\d+")
_UID = re.compile(r"(?:\b|(?<=%3D))[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b")


@dataclass(frozen=True, slots=True)
class Record:
    """What lay in a place at the moment `now`."""

    objects: Objects
    files: list[Mapping[str, Any]]
    """`path` below the home, `time` of the last write, `text` or `base64`."""
    now: float


def read_record(name: str, home: Path) -> Record:
    """The record with `home` in the place of its home."""

    def read(kind: str) -> list[Any]:
        text = (PLACES / name / f"{kind}.jsonl").read_text().replace(HOME, str(home))
        return [json.loads(line) for line in text.replace(DIRECTORY, "/home/ada/jobs").splitlines()]

    return Record([(each["resource"], each["object"]) for each in read("objects")], read("files"), read("now")[0])


@dataclass(slots=True)
class Served:
    """A place that answers. `away`: by namespace, what is there once somebody creates a job in it, as `paddock run`
    does: its job as it ended, with its pods and events."""

    home: Home
    record: Record
    api: LocalApi
    loop: asyncio.AbstractEventLoop
    requests: list[str]
    away: dict[str, Objects]
    _visit: AsyncExitStack | None = None
    _reader: Reader | None = None

    def call(self, work: Awaitable[T]) -> T:
        """The result of a coroutine of the API's own thread."""

        async def run() -> T:
            return await work

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(60)

    async def enter(self) -> Reader:
        """Signed in to a console that begins to look with the first page after `leave`: it asks for what it shows."""
        if self._reader is None:
            backend = build_backend(
                Noted(self.api, self.requests), self.home, "4 cores", build_settings(self.home.outputs)
            )
            console = Console(backend, b"k" * 32, clock=time.time)
            self._visit = AsyncExitStack()
            self._visit.push_async_callback(console.close)
            server = await self._visit.enter_async_context(TestServer(console.application))
            self._reader = await self._visit.enter_async_context(reading(server.make_url("/").origin()))
            await self._reader.enter(console.make_link(time.time()))
        return self._reader

    async def leave(self) -> None:
        """Closes the console."""
        visit, self._visit, self._reader = self._visit, None, None
        if visit is not None:
            await visit.aclose()

    @contextmanager
    def emptied(self, namespace: str) -> Iterator[None]:
        """What the record has in a namespace comes with the creation of a job there."""
        there = [each for each in self.record.objects if each[1]["metadata"].get("namespace") == namespace]
        self.call(_take(self.api, there))
        self.away[namespace] = there
        try:
            yield
        finally:
            self.away.pop(namespace, None)
            self.call(_put(self.api, there))

    def take_requests(self) -> list[str]:
        """Those since the last call, each once, in an order of their own: two at once have none."""
        found, self.requests[:] = sorted(set(self.requests)), []
        return found


@contextmanager
def stopped_clock(now: float) -> Iterator[None]:
    """`time.time` of this process says `now`; what waits goes by another clock."""
    kept = time.time
    time.time = lambda: now
    try:
        yield
    finally:
        time.time = kept


@contextmanager
def serve(root: Path, record: Record, write: Write | None = None) -> Iterator[Served]:
    """Serves a record from the home `root`, in a thread; `write` adds to it."""
    home = Home(root, root.parent / "cache")
    root.mkdir(parents=True, mode=0o700)
    write_files(record, root)
    lock = Lock(home)
    assert lock.acquire()
    lock.write_pid()
    opened: Future[Served] = Future()
    stop = threading.Event()
    with stopped_clock(record.now):
        thread = threading.Thread(target=lambda: run(_serve(home, record, write, opened, stop)), daemon=True)
        thread.start()
        try:
            yield opened.result(60)
        finally:
            stop.set()
            thread.join(60)
            lock.release()


def write_files(record: Record, root: Path) -> None:
    for each in record.files:
        path = root / each["path"]
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_bytes(each["text"].encode() if "text" in each else base64.b64decode(each["base64"]))
        os.utime(path, (each["time"], each["time"]))


async def _serve(
    home: Home, record: Record, write: Write | None, opened: Future[Served], stop: threading.Event
) -> None:
    try:
        async with _open(home, record) as served:
            if write is not None:
                await write(served.api, home)
            opened.set_result(served)
            await asyncio.to_thread(stop.wait)
    except BaseException as error:
        if not opened.done():
            opened.set_exception(error)
        raise


@asynccontextmanager
async def _open(home: Home, record: Record) -> AsyncIterator[Served]:
    api = await LocalApi.open(home.api, clock=time.time)
    server = Server(api, home.api, logs=NodeLogs(home.node))
    crds = build_crds()
    await apply_crds(api, crds)
    await create_user_roles(api)
    put(api, record.objects)
    requests: list[str] = []
    away: dict[str, Objects] = {}
    server.application.middlewares.insert(0, _note(api, requests, away))
    with without_tls(home):
        await server.start()
    write_running(home, Running(os.getpid(), server.url, record.now - 3600, BUILD, "4 cores", "bubblewrap"))
    served = Served(home, record, api, asyncio.get_running_loop(), requests, away)
    try:
        yield served
    finally:
        await served.leave()
        await server.stop()
        await api.close()


@contextmanager
def without_tls(home: Home) -> Iterator[None]:
    """What is started within speaks HTTP, and the kubeconfig says so. OpenSSL goes by the real clock, and the server's
    certificate, made by the stopped one, would be void a year after the record."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Certificates, "context", lambda *asked: None)
        yield
    home.kubeconfig.write_text(home.kubeconfig.read_text().replace("https://", "http://"))


class Noted(Api):
    """An API that notes what it is asked for."""

    def __init__(self, api: Api, requests: list[str]) -> None:
        self._api, self._requests = api, requests

    async def send(self, call: Call[T]) -> T:
        self._requests.append(mask_uids(describe_call(call)))
        return await self._api.send(call)

    async def follow(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        self._requests.append(f"Follow {resource.plural} {namespace} {labels} {fields}".rstrip())
        async for each in self._api.follow(resource, namespace, labels=labels, fields=fields):
            yield each


def describe_call(call: Call[Any]) -> str:
    """`List pods default paddock.dev/job=a`."""
    names = ("namespace", "name", "subresource", "labels", "fields")
    told = [str(getattr(call, name)) for name in names if getattr(call, name, "")]
    return " ".join([type(call).__name__, call.resource.plural, *told])


def put(api: LocalApi, objects: Objects) -> None:
    """Writes the objects as they are recorded, over those of their names."""

    def action(tx: Transaction) -> None:
        for key, each in objects:
            tx.put(key, each, _find(tx, key, each))

    api.objects.store.write_now(action)


async def _put(api: LocalApi, objects: Objects) -> None:
    put(api, objects)


async def _take(api: LocalApi, objects: Objects) -> None:
    def action(tx: Transaction) -> None:
        for key, each in objects:
            if (stored := _find(tx, key, each)) is not None:
                tx.delete(stored)

    api.objects.store.write_now(action)


def _find(tx: Transaction, key: str, each: Manifest) -> Stored | None:
    meta = each["metadata"]
    return tx.get(key, meta.get("namespace") or "", meta["name"])


def _note(api: LocalApi, requests: list[str], away: dict[str, Objects]) -> Callable[..., Awaitable[web.StreamResponse]]:
    @web.middleware
    async def note(request: web.Request, handler: Callable[..., Awaitable[web.StreamResponse]]) -> web.StreamResponse:
        requests.append(mask_uids(f"{request.method} {request.path_qs}"))
        job = _JOBS.search(request.path)
        if request.method == "POST" and job and job[1] in away and "dryRun" not in request.query:
            objects = away.pop(job[1])
            put(api, objects)
            return web.json_response(_find_job(objects, (await request.json())["metadata"]["name"]), status=201)
        return await handler(request)

    return note


def _find_job(objects: Objects, name: str) -> Manifest:
    return next(each for _, each in objects if each["kind"].endswith("Job") and each["metadata"]["name"] == name)


def mask_uids(text: str) -> str:
    """`text` without UIDs and versions of objects."""
    return _UID.sub("UID", _VERSION.sub(r"\1N", text))
