"""Datasets on this machine: each in a directory of its own, filled by a child process. I/O.

The child (`datasets.children`) has the user's rights and variables, as `paddock run` itself has. It ends with this
process, and the next one goes on with what is there.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from paddock.datasets.children import run_child
from paddock.datasets.definition import Definition, build_request
from paddock.datasets.directories import Directory, Record, build_key
from paddock.datasets.fetch.failures import explain_os_error
from paddock.datasets.fetching import Failed as ReportedFailure
from paddock.datasets.fetching import Fault, Fetched, Progress, Request
from paddock.datasets.places import STUCK_SECONDS, Attempt, Places, run_until_stuck
from paddock.datasets.sources import SECRET_KEYS, Kind
from paddock.datasets.states import Failed, Fetching, Ready, State, Unfetched
from paddock.datasets.supplier import Report
from paddock.datasets.volumes import build_claim, build_volume, is_bound_to, volume_name
from paddock.kube.api import Api
from paddock.kube.errors import AlreadyExists, Conflict, NotFound
from paddock.kube.meta import CLAIMS, SECRETS, VOLUMES, Manifest, is_controlled_by, is_deleting, uid_of
from paddock.kube.times import Moment, format_time
from paddock.words.phrases import Phrase, phrase

AT_ONCE = 8
"""Datasets that are fetched at the same time; others wait, so that a disk and a network serve few of them well."""

_BIND_SECONDS = 30.0

Surroundings = Callable[[Kind, Callable[[str], None]], Awaitable[Mapping[str, str]]]
"""The variables that the child of a kind of source needs, as the interpreter that has a hub's library. It may take
minutes, and says what it does. Raises `CannotPrepare`."""

Child = Callable[
    [Request, Mapping[str, str], Path, Callable[[Progress], None]], Coroutine[None, None, Fetched | ReportedFailure]
]
"""`datasets.children.run_child`, or what takes its place."""


class CannotPrepare(Exception):
    """What a child process needs cannot be had. `message` is one sentence, in English, as the API stores it."""

    def __init__(self, message: Phrase | str, fault: Fault) -> None:
        self.message, self.fault = str(message), fault
        super().__init__(self.message)


async def _no_surroundings(kind: Kind, tell: Callable[[str], None]) -> Mapping[str, str]:
    return {}


class LocalSupplier:
    """Satisfies `datasets.supplier.Supplier`. `root`: the directory of all datasets. `stuck_seconds`: after which a
    source that brings nothing gives its place to another dataset."""

    relook_seconds: float | None = 20.0
    status_seconds = 0.5

    def __init__(
        self,
        api: Api,
        root: Path,
        *,
        environ: Mapping[str, str] | None = None,
        surroundings: Surroundings = _no_surroundings,
        clock: Callable[[], Moment] = time.time,
        child: Child = run_child,
        at_once: int = AT_ONCE,
        stuck_seconds: float = STUCK_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._api = api
        self._root = root
        self._environ = dict(os.environ if environ is None else environ)
        self._surroundings = surroundings
        self._clock = clock
        self._child = child
        self._places = Places(at_once)
        self._stuck_seconds = stuck_seconds
        self._sleep = sleep

    async def look(self, dataset: Definition, status: Mapping[str, Any]) -> State:
        try:
            return await self._look(dataset)
        except CannotPrepare as problem:
            return Failed(problem.message, problem.fault)

    async def stands(self, dataset: Definition) -> bool:
        """Never known: a look is as cheap."""
        return False

    async def _look(self, dataset: Definition) -> State:
        match dataset.source.kind:
            case Kind.DIRECTORY:
                return await self._look_at_directory(dataset)
            case Kind.CLAIM:
                return await self._look_at_claim(dataset)
        directory = self._directory(dataset)
        record = directory.read()
        if record is None:
            return Unfetched()
        await self._offer(dataset, str(directory.final), record.size)
        return _build_ready(directory, record)

    async def fetch(self, dataset: Definition, report: Report) -> State:
        if not dataset.source.copied:
            return await self.look(dataset, {})
        attempt = Attempt(self._stuck_seconds)
        while (end := await self._fetch_in_place(dataset, attempt, report)) is None:
            pause = attempt.pause()
            if isinstance(pause, ReportedFailure):
                return Failed(pause.message, pause.fault)
            await self._sleep(pause)
        return end

    async def _fetch_in_place(self, dataset: Definition, attempt: Attempt, report: Report) -> State | None:
        """None where its place is given to another dataset, as its source brings nothing."""
        if self._places.are_taken:
            waiting = phrase(
                "waiting for other datasets: {count} are fetched at the same time", count=self._places.count
            )
            report(Fetching(attempt.progress, str(waiting)))
        async with self._places.hold():
            try:
                return await self._fetch(dataset, attempt, report)
            except CannotPrepare as problem:
                return Failed(problem.message, problem.fault)
            except OSError as error:
                failure = explain_os_error(error, str(self._root))
                return Failed(failure.message, failure.fault)

    async def remove(self, dataset: Definition) -> None:
        # A claim has its owner's end; a volume belongs to no namespace, so nothing else removes it.
        with suppress(NotFound):
            await self._api.delete(VOLUMES, "", volume_name(dataset))
        with suppress(NotFound, Conflict):
            claim = await self._api.get(CLAIMS, dataset.key.namespace, dataset.claim)
            if is_controlled_by(claim, dataset.uid):
                await self._api.delete(CLAIMS, dataset.key.namespace, dataset.claim, uid=uid_of(claim))
        # Also of a source that is not copied: one before it may have been.
        await asyncio.to_thread(self._directory(dataset).remove)

    async def prune(self, dataset: Definition) -> None:
        """Removes the rounds before the one that is shown. Only while no pod mounts the dataset."""
        await asyncio.to_thread(self._directory(dataset).prune)

    def has_remains(self, dataset: Definition) -> bool:
        return dataset.source.copied and not self._directory(dataset).is_pruned

    def _directory(self, dataset: Definition) -> Directory:
        return Directory(self._root, dataset.uid, build_key(dataset))

    async def _look_at_directory(self, dataset: Definition) -> State:
        place = Path(dataset.source.place)
        if problem := await asyncio.to_thread(_explain_directory, place):
            return Failed(problem, Fault.MACHINE)
        await self._offer(dataset, str(place), 1)
        return Ready(path=str(place))

    async def _look_at_claim(self, dataset: Definition) -> State:
        namespace = dataset.key.namespace
        try:
            claim = await self._api.get(CLAIMS, namespace, dataset.claim)
        except NotFound:
            there = ", ".join(
                sorted(each["metadata"]["name"] for each in (await self._api.list(CLAIMS, namespace)).items)
            )
            return Failed(str(_explain_no_claim(dataset.claim, namespace, there)), Fault.MACHINE)
        if (claim.get("status") or {}).get("phase") != "Bound":
            said = phrase('PersistentVolumeClaim "{name}" is not bound to a volume yet', name=dataset.claim)
            return Failed(str(said), Fault.MACHINE)
        return Ready()

    async def _offer(self, dataset: Definition, directory: str, size: int) -> None:
        """The volume and the claim, by which pods mount the directory. Returns when the claim is bound to it: a pod
        that starts then has these files, not those of the round before. Raises `CannotPrepare`."""
        found = await self._find_claim(dataset)
        if found is not None and not is_controlled_by(found, dataset.uid) and not is_deleting(found):
            said = phrase(
                'PersistentVolumeClaim "{name}" is there already and belongs to somebody else: delete it, or give the '
                "dataset another name",
                name=dataset.claim,
            )
            raise CannotPrepare(said, Fault.MACHINE)
        if found is not None and not is_deleting(found) and is_bound_to(found, directory):
            return
        await self._ensure_volume(dataset, build_volume(dataset, directory, size))
        with suppress(AlreadyExists):
            await self._api.create(CLAIMS, build_claim(dataset, size))
        await self._wait_until_bound(dataset, directory)

    async def _find_claim(self, dataset: Definition) -> Manifest | None:
        try:
            return await self._api.get(CLAIMS, dataset.key.namespace, dataset.claim)
        except NotFound:
            return None

    async def _wait_until_bound(self, dataset: Definition, directory: str) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_BIND_SECONDS):
                async for event in self._api.follow(
                    CLAIMS, dataset.key.namespace, fields=f"metadata.name={dataset.claim}"
                ):
                    if is_bound_to(event.object, directory):
                        return
        said = phrase(
            'PersistentVolumeClaim "{name}" is not bound after {seconds} s',
            name=dataset.claim, seconds=f"{_BIND_SECONDS:.0f}",
        )  # fmt: skip
        raise CannotPrepare(said, Fault.MACHINE)

    async def _ensure_volume(self, dataset: Definition, volume: Manifest) -> None:
        try:
            await self._api.create(VOLUMES, volume)
        except AlreadyExists:
            found = await self._api.get(VOLUMES, "", volume_name(dataset))
            if (found["spec"].get("hostPath") or {}).get("path") != volume["spec"]["hostPath"]["path"]:
                patch = {"spec": {"hostPath": volume["spec"]["hostPath"]}}
                await self._api.patch(VOLUMES, "", volume_name(dataset), patch)

    async def _fetch(self, dataset: Definition, attempt: Attempt, report: Report) -> State | None:
        directory = self._directory(dataset)
        await asyncio.to_thread(directory.prepare)
        request = build_request(dataset, str(directory.target), await self._read_secret(dataset))
        kind = dataset.source.kind
        variables = await self._surroundings(kind, lambda said: report(Fetching(waiting=said)))
        report(Fetching(attempt.progress))
        run = partial(self._child, request, {**self._environ, **variables}, directory.log)
        end = await run_until_stuck(self._places, attempt, lambda it: report(Fetching(it)), run)
        if end is None:
            return None
        if not isinstance(end, Fetched):
            return Failed(end.message, end.fault)
        finished = format_time(self._clock())
        record = Record(end.size, end.files, end.revision, finished, end.length_unknown, end.tags_differ)
        await asyncio.to_thread(directory.publish, record)
        await self._offer(dataset, str(directory.final), record.size)
        return _build_ready(directory, record)

    async def _read_secret(self, dataset: Definition) -> dict[str, str]:
        if not dataset.secret:
            return {}
        namespace, name = dataset.key.namespace, dataset.secret
        try:
            secret = await self._api.get(SECRETS, namespace, name)
        except NotFound:
            said = phrase(
                'there is no Secret "{name}" in {where}, which spec.source.secretName names',
                name=name, where=phrase("namespace {name}", name=namespace),
            )  # fmt: skip
            raise CannotPrepare(said, Fault.MACHINE) from None
        keys = SECRET_KEYS.get(dataset.source.kind, ())
        found = {key: value for key, value in (secret.get("data") or {}).items() if key in keys}
        if not found:
            said = phrase(
                'Secret "{name}" has none of the keys that this source reads: {keys}', name=name, keys=", ".join(keys)
            )
            raise CannotPrepare(said, Fault.MACHINE)
        try:
            return {key: base64.b64decode(value).decode() for key, value in found.items()}
        except (binascii.Error, UnicodeDecodeError):
            said = phrase('Secret "{name}" has a value that is no text', name=name)
            raise CannotPrepare(said, Fault.MACHINE) from None


def _explain_no_claim(name: str, namespace: str, there: str) -> Phrase:
    where = phrase("namespace {name}", name=namespace)
    if not there:
        return phrase('there is no PersistentVolumeClaim "{name}" in {where}, which has none', name=name, where=where)
    return phrase(
        'there is no PersistentVolumeClaim "{name}" in {where}, which has {names}', name=name, where=where, names=there
    )


def _build_ready(directory: Directory, record: Record) -> Ready:
    return Ready(
        path=str(directory.final),
        size=record.size,
        files=record.files,
        revision=record.revision,
        finished=record.finished,
        length_unknown=record.length_unknown,
        tags_differ=record.tags_differ,
    )


def _explain_directory(place: Path) -> str:
    if not place.is_dir():
        return str(phrase("there is no directory {path} on this machine", path=str(place)))
    if os.access(place, os.R_OK | os.X_OK):
        return ""
    return str(phrase("the directory {path} cannot be read by user {number}", path=str(place), number=os.getuid()))
