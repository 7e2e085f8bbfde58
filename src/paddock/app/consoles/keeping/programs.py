"""What is kept, for programs: each request has its reader's token, with which the API is asked what they may see.

A reader is remembered for a minute, so that the logs of a thousand ranks need not a thousand reviews. The token is in
this process's memory for three minutes at most: the second is for requests that go on, and the third is the longest
until those that are over are looked for.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from paddock.app.consoles.keeping.rights import Sight
from paddock.app.consoles.rights import ReviewedRights, build_client
from paddock.app.consoles.spool.files import read_left_out
from paddock.app.history import History, read_place
from paddock.client.client import Client
from paddock.client.identity import is_token
from paddock.client.kubeconfig import Config
from paddock.client.own_name import fetch_user
from paddock.history.answers import KeptFile
from paddock.history.logs import PodDirectories, PodLogs, find_log_files, read_pod_logs
from paddock.history.record_shelf import RecordShelf
from paddock.history.records import RunRecord, is_file_name
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.labels import ATTEMPT_LABEL, INDEX_LABEL, ROLE_LABEL
from paddock.kube.errors import Forbidden, Unauthorized
from paddock.kube.log_marks import SUFFIX
from paddock.kube.meta import PODS
from paddock.node.runtime.pod_files import open_regular

KNOWN_SECONDS = 60.0
MOST_KNOWN = 64
"""Readers that are remembered; the one who came first is forgotten first."""
_LAST_SECONDS = 60.0
"""For which the connection of a forgotten one stays, for a request that goes on."""
_LABELS = (ROLE_LABEL, INDEX_LABEL, ATTEMPT_LABEL)


@dataclass(slots=True)
class _Known:
    client: Client
    reader: KeptReader
    until: float


class KeptReader:
    """A `console.backend.KeptReader`. `history`: of what is kept."""

    def __init__(self, history: History, records: RecordShelf, sight: Sight) -> None:
        self._history, self._records, self._sight = history, records, sight

    async def list_runs(self, namespace: str, name: str, most: int) -> tuple[Sequence[RunRecord], int]:
        found, _ = await asyncio.to_thread(self._records.read, namespace, name)
        shown = await self._sight.choose(found)
        if not shown and not await self._sight.may_see_some(
            namespace
        ):  # whatever is kept: its names are none of theirs
            plurals = ", ".join(f"{kind.plural}.{kind.group}" for kind in KINDS)
            raise Forbidden(f"you may not see the jobs of {namespace} (get one of {plurals})")
        return shown[-most:], max(0, len(shown) - most)

    async def list_logs(self, namespace: str, name: str, uid: str, most: int) -> tuple[Sequence[KeptFile], int]:
        await self._check_logs(namespace)
        found, _ = await asyncio.to_thread(self._records.read, namespace, name)
        runs = await self._sight.choose(run for run in found if uid in ("", run.uid))
        files = await asyncio.to_thread(self._list_files, runs, most)
        return files[:most], max(0, len(files) - most)

    async def _check_logs(self, namespace: str) -> None:
        if not await self._sight.may_read_logs(namespace):
            raise Forbidden(f"you may not read the logs of pods in {namespace} (get {PODS.plural}/log)")

    def _list_files(self, runs: Sequence[RunRecord], most: int) -> list[KeptFile]:
        """Of the newest runs first, so that what is left out are the oldest."""
        directories, files = PodDirectories(self._history.home.pod_logs, read_place), list[KeptFile]()
        for run in reversed(runs):
            if len(files) > most:
                break
            pods = directories.find(run.namespace, run.name, run.uid, run.created)
            files += describe_files(pods, run.uid)
        return files

    async def open(self, namespace: str, directory: str, file: str) -> int | None:
        """`file`: `CONTAINER/NAME`."""
        container, _, name = file.partition("/")
        if not all(map(is_file_name, (container, name))) or not name.endswith((".log", SUFFIX)):
            return None
        if "/" in directory or not directory.startswith(f"{namespace}_"):  # no namespace has `_` in its name
            return None
        await self._check_logs(namespace)
        path = self._history.home.pod_logs / directory
        found = await asyncio.to_thread(self._find_run, path)
        if found is None or not await self._sight.choose([found]):
            return None
        try:
            return open_regular(path / container / name)
        except OSError:
            return None

    def _find_run(self, path: Path) -> RunRecord | None:
        pod = read_pod_logs(path, read_place)
        if pod is None:
            return None
        runs, _ = self._records.read(pod.owner.namespace, pod.owner.name)
        return next((run for run in runs if run.uid == pod.owner.uid), None)


def describe_files(pods: Iterable[PodLogs], uid: str) -> list[KeptFile]:
    """The log of each rank in each attempt of a run. Blocks."""
    by_path = {pod.directory: pod for pod in pods}
    found = []
    for log in find_log_files(by_path.values(), uid):
        pod, lacks = by_path[log.path.parents[1]], read_left_out(log.path)
        labels = {label: value for label, value in pod.owner.labels.items() if label in _LABELS}
        found.append(
            KeptFile(
                pod.directory.name, log.path.parent.name, log.path.name, log.size, log.modified,
                replace(pod.owner, labels=labels),
                lacks.stopped if lacks else None, lacks.gaps if lacks else (), lacks.missed if lacks else None,
            )
        )  # fmt: skip
    return found


class Programs:
    """A `console.backend.KeptForPrograms`. `server`: without a credential; `clock`: seconds that only grow.
    `records`: the shelf of others who read them too."""

    def __init__(
        self,
        server: Config,
        history: History,
        clock: Callable[[], float] = time.monotonic,
        records: RecordShelf | None = None,
    ) -> None:
        self._server, self._history, self._clock = server, history, clock
        self._records = records or RecordShelf(history.home.history)
        self._known: dict[str, _Known] = {}
        self._retired: list[tuple[float, Client]] = []

    def find(self, token: str) -> KeptReader | None:
        known = self._known.get(_digest(token))
        return known.reader if known is not None and self._clock() < known.until else None

    async def run(self) -> None:
        """Forgets readers, also where nobody asks any more, until cancelled."""
        while True:
            await asyncio.sleep(KNOWN_SECONDS)
            await self.forget()

    async def enter(self, token: str) -> KeptReader:
        await self.forget()
        if not is_token(token):
            raise Unauthorized("a token has no spaces, and no letters but ASCII's")
        client = build_client(replace(self._server, token=token))
        await client.__aenter__()
        try:
            await fetch_user(client)
        except BaseException:
            await client.__aexit__()
            raise
        reader = KeptReader(self._history, self._records, Sight(ReviewedRights(client, self._clock)))
        digest = _digest(token)
        if digest in self._known:  # another request of theirs was as quick
            self._retire(digest)
        self._known[digest] = _Known(client, reader, self._clock() + KNOWN_SECONDS)
        return reader

    async def forget(self) -> None:
        """Those whose minute is over, whoever asks: what the API says of a token is never older."""
        now = self._clock()
        for digest in [digest for digest, each in self._known.items() if each.until <= now]:
            self._retire(digest)
        while len(self._known) >= MOST_KNOWN:
            self._retire(next(iter(self._known)))
        over = [client for at, client in self._retired if at <= now]
        self._retired = [(at, client) for at, client in self._retired if at > now]
        for client in over:
            await client.__aexit__()

    def _retire(self, digest: str) -> None:
        self._retired.append((self._clock() + _LAST_SECONDS, self._known.pop(digest).client))

    async def close(self) -> None:
        for digest in list(self._known):
            self._retire(digest)
        clients, self._retired = [client for _, client in self._retired], []
        for client in clients:
            await client.__aexit__()


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
