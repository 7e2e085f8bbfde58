"""A console on a directory: jobs that somebody wrote down, and logs as a node leaves them; no cluster."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from history.test_logs import write_log
from paddock.app.consoles.logs import LocalLogs
from paddock.app.consoles.outputs import LocalOutputs
from paddock.app.consoles.runs import LocalRuns
from paddock.app.consoles.spool.files import read_left_out
from paddock.app.consoles.used.recorded import LocalMetrics
from paddock.app.history import History
from paddock.app.home import Home
from paddock.console.backend import Backend, Boards, Sparks
from paddock.console.server import Console
from paddock.history.record_shelf import RecordShelf
from paddock.history.records import RunRecord, write_record
from paddock.jobs.apis.registry import KINDS
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, T
from paddock.kube.meta import (
    DATASETS,
    EVENTS,
    LEASES,
    POD_GROUPS,
    PODS,
    SERVICES,
    Manifest,
    Resource,
    labels_of,
    namespace_of,
)
from paddock.kube.selectors import match_fields, match_labels
from support.readers import Reader, reading

PADDLE = next(each for each in KINDS if each.api_version == "batch.paddlepaddle.org/v1")


class Written(Api):
    """An API of these objects, which never change."""

    def __init__(self, objects: Mapping[Resource, Sequence[Manifest]]) -> None:
        self._objects = objects

    async def send(self, call: Call[T]) -> T:
        raise AssertionError(f"a page of logs asks for nothing: {call}")

    async def follow(
        self, resource: Resource, namespace: str = "", labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        for each in self._objects.get(resource, ()):
            if (
                namespace in ("", namespace_of(each))
                and match_labels(labels)(labels_of(each))
                and match_fields(fields)(each)
            ):
                yield Event("ADDED", each)
        yield Event("SYNCED", {})
        await asyncio.Event().wait()


def sort_objects(objects: Sequence[Manifest]) -> Mapping[Resource, Sequence[Manifest]]:
    """By their kinds."""
    kinds = (*KINDS, PODS, EVENTS, SERVICES, POD_GROUPS, LEASES, DATASETS)
    known = {(each.api_version, each.kind): each for each in kinds}
    found: dict[Resource, list[Manifest]] = {}
    for each in objects:
        found.setdefault(known[each.get("apiVersion", PADDLE.api_version), each.get("kind", PADDLE.kind)], []).append(
            each
        )
    return found


@dataclass(frozen=True, slots=True)
class Served:
    """`url`: where it listens; `session` has signed in; `sign_in`: a link that signs in once."""

    url: str
    session: Reader
    sign_in: str


@asynccontextmanager
async def serve_console(
    directory: Path,
    objects: Sequence[Manifest] = (),
    sparks: Sparks | None = None,
    port: int = 0,
    *,
    outputs: bool = True,
    boards: Boards | None = None,
    reach: str = "",
    silent_since: float | None = None,
    **options: Any,
) -> AsyncIterator[Served]:
    """The console of the home in `directory`, with these objects; PaddleJobs need no `kind`. `options`: of it.
    `silent_since`: since when its API has not answered."""
    history, records = History(Home(directory, directory)), RecordShelf(directory / "history")
    logs = LocalLogs(history, read_left_out=read_left_out, records=records)
    runs = LocalRuns(history, logs, records)
    metrics = LocalMetrics(logs)
    api = Written(sort_objects(objects))
    known = (lambda _: sparks) if sparks else None
    backend = Backend(
        "test", True, lambda _: api, logs=lambda _: logs, metrics=lambda _: metrics, sparks=known, runs=lambda _: runs,
        outputs=LocalOutputs(Home(directory, directory)) if outputs else None,
        boards=boards,
        options=reach,
        silent_since=lambda _: silent_since,
    )  # fmt: skip
    console = Console(backend, b"k" * 32, **options)
    runner = web.AppRunner(console.application, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, reuse_address=True).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        async with reading(url) as session:
            await session.enter(console.make_link(time.time()))
            yield Served(url, session, url + console.make_link(time.time()))
    finally:
        await console.close()
        await runner.cleanup()


def keep_log(
    directory: Path, rank: str, text: str, *, attempt: int = 0, when: float = 1000.0, uid: str = "one"
) -> Path:
    """The log of a rank of the PaddleJob `demo`."""
    pod = f"demo-{rank}"
    return write_log(
        Home(directory, directory).node, pod, f"{pod}-{attempt}", job=uid, attempt=attempt, text=text, when=when
    )


def keep_run(directory: Path, **known: Any) -> None:
    """The record of the run that `keep_log` belongs to."""
    record = RunRecord(PADDLE.api_version, "PaddleJob", "default", "demo", "one", 1, 100.0, **known)
    home = Home(directory, directory)
    write_record(home.history, record)
