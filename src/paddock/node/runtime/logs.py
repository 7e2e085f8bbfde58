"""Reads the logs of pods on disk, and removes those whose pod and controller are gone.

A container writes directly into its log file (`node.runtime.records` has the layout), so the log is complete even if
the daemon dies. Lines have no times of their own: `timestamps` (`timed_lines`) and `sinceSeconds` go by the marks
beside the log (`kube.log_marks`), which are half a second apart.

A log outlives its pod as long as the pod's controller exists, and is removed with the pod if there is no controller.
Logs of pods of some kinds of controllers are never removed here: somebody else keeps and prunes them (`Keeps`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import msgspec

from paddock.kube.api import Api
from paddock.kube.errors import ApiError, BadRequest, NotFound
from paddock.kube.log_marks import SUFFIX, MarkReader, find_offset
from paddock.kube.meta import (
    CRDS,
    Manifest,
    Resource,
    annotations_of,
    controller_of,
    labels_of,
    name_of,
    namespace_of,
    uid_of,
)
from paddock.kube.pod_logs import LARGEST_OWNER, MAIN_CONTAINER, OWNER_FILE, LogOwner, read_directory
from paddock.kube.times import Moment
from paddock.node.runtime.log_bounds import read_on
from paddock.node.runtime.log_news import LogNews
from paddock.node.runtime.pod_files import open_for_writing, open_regular, read_start, remove_tree
from paddock.node.runtime.records import log_directory
from paddock.node.runtime.timed_lines import TimedLines
from paddock.words.phrases import phrase

_CHUNK = 65536

_log = logging.getLogger(__name__)


class LogOptions(Protocol):
    """The options of a log request (core/v1 PodLogOptions)."""

    @property
    def container(self) -> str: ...
    @property
    def follow(self) -> bool: ...
    @property
    def previous(self) -> bool: ...
    @property
    def timestamps(self) -> bool: ...
    @property
    def tail_lines(self) -> int | None: ...
    @property
    def since_seconds(self) -> float | None: ...
    @property
    def limit_bytes(self) -> int | None: ...


class NodeLogs:
    """The logs in a node directory. `is_running(uid, container, number)`: whether the run may still write. `poll`:
    seconds between two reads of a followed file where nobody tells that it grows."""

    def __init__(
        self, directory: Path, is_running: Callable[[str, str, int], bool] = lambda *_: False, *, poll: float = 0.1
    ) -> None:
        self._directory = directory
        self._is_running = is_running
        self._poll = poll
        self._news = LogNews()

    def look(self) -> None:
        """A run has ended: whoever follows a log reads it now, so that nobody waits for the end of a log."""
        self._news.tell_all()

    async def read(self, pod: Manifest, options: LogOptions) -> AsyncIterator[bytes]:
        """Yields chunks of the log. `BadRequest` with kubelet's message if there is none."""
        number = self._find_number(pod, options)
        path = self._container_directory(pod, options.container) / f"{number}.log"
        left = options.limit_bytes
        with os.fdopen(_open_log(path), "rb") as file:
            begin = await self._seek(file.fileno(), path, options)
            chunks = self._chunks(file.fileno(), pod, options, number)
            if options.timestamps:
                chunks = _stamp(chunks, file.fileno(), path, begin)
            async for chunk in chunks:
                piece = chunk if left is None else chunk[:left]
                if piece:
                    yield piece
                if left is not None:
                    left -= len(piece)
                    if left <= 0:
                        return

    async def _chunks(self, file: int, pod: Manifest, options: LogOptions, number: int) -> AsyncIterator[bytes]:
        uid = uid_of(pod)
        with self._news.follow(file) as news:
            while True:
                if options.follow:
                    news.arm()  # before the question, else an end during the read would not be heard
                # Asked before the read: the last lines of a run that ends meanwhile are still read.
                running = options.follow and self._is_running(uid, options.container, number)
                while chunk := read_on(file, _CHUNK):
                    yield chunk
                if not running:
                    return
                await news.wait(self._poll)

    async def _seek(self, file: int, path: Path, options: LogOptions) -> int:
        """Moves to the first line that is asked for, and returns its offset."""
        size, begin = os.fstat(file).st_size, 0
        if options.since_seconds is not None:
            begin = await _find_since(file, path, size, time.time() - options.since_seconds)
        if options.tail_lines is not None:
            begin = max(begin, await find_tail(file, size, options.tail_lines))
        return os.lseek(file, begin, os.SEEK_SET)

    def _find_number(self, pod: Manifest, options: LogOptions) -> int:
        directory = self._container_directory(pod, options.container)
        numbers = sorted(int(path.stem) for path in directory.glob("*.log") if path.stem.isdecimal())
        if options.previous:
            if len(numbers) < 2:
                what = f'previous terminated container "{options.container}" in pod "{name_of(pod)}" not found'
                raise BadRequest(what)
            return numbers[-2]
        if not numbers:
            raise BadRequest(explain_no_log(pod, options.container))
        return numbers[-1]

    def _container_directory(self, pod: Manifest, container: str) -> Path:
        return log_directory(self._directory, namespace_of(pod), name_of(pod), uid_of(pod)) / container


async def _find_since(file: int, path: Path, size: int, moment: Moment) -> int:
    """The offset of the first line that ended at `moment` or later; 0 where no marks say when lines were printed."""
    if os.fstat(file).st_mtime < moment:
        return size
    place = await asyncio.to_thread(_read_offset, file, path.with_suffix(SUFFIX), moment)  # it may have many marks
    if not place or place >= size or os.pread(file, 1, place - 1) == b"\n":
        return place
    return await find_tail(file, place, 1)


async def _stamp(chunks: AsyncIterator[bytes], file: int, path: Path, begin: int) -> AsyncIterator[bytes]:
    """The chunks with a time before each line. They are read from `file` one by one."""
    with ExitStack() as stack:
        lines = TimedLines(_open_times(stack, path.with_suffix(SUFFIX), os.fstat(file).st_size, begin))
        async for chunk in chunks:
            offset = os.lseek(file, 0, os.SEEK_CUR) - len(chunk)  # a hole before the chunk was passed over
            yield lines.stamp(chunk, offset, os.fstat(file).st_mtime)


def _open_times(stack: ExitStack, path: Path, size: int, begin: int) -> Callable[[int], Moment | None]:
    """When the bytes of a log from `begin` on were printed; nothing is known where there are no marks."""
    try:
        marks = open_regular(path)
    except OSError:
        return lambda _: None
    stack.callback(os.close, marks)
    return MarkReader(partial(os.pread, marks), os.fstat(marks).st_size, size, begin).time_of


def _read_offset(log: int, path: Path, moment: Moment) -> int:
    try:
        marks = open_regular(path)
    except OSError:
        return 0
    try:
        end = os.fstat(marks).st_size  # before the log, which is never shorter than a mark says
        return find_offset(partial(os.pread, marks), end, os.fstat(log).st_size, moment) or 0
    finally:
        os.close(marks)


async def find_tail(file: int, size: int, lines: int, block_size: int = _CHUNK) -> int:
    """The offset of the last `lines` lines. Reads backwards, so the cost does not grow with the file, but with its
    lines."""
    if lines <= 0:
        return size
    end, found = size, 0
    while end > 0:
        start = max(0, end - block_size)
        block = os.pread(file, end - start, start)
        # The line break at the end of the file ends the last line and begins no other.
        search = len(block) - 1 if end == size and block.endswith(b"\n") else len(block)
        while (search := block.rfind(b"\n", 0, search)) >= 0:
            found += 1
            if found == lines:
                return start + search + 1
        end = start
        # A program may have written gigabytes without a line break, and all others wait meanwhile.
        await asyncio.sleep(0)
    return 0


def _open_log(path: Path) -> int:
    try:
        return open_regular(path)
    except OSError as error:
        raise BadRequest(f"the log {path} cannot be read: {error.strerror}") from error


def explain_no_log(pod: Manifest, container: str) -> str:
    """Kubelet's message for a container that has not been started."""
    status: Mapping[str, Any] = pod.get("status") or {}
    everyone = (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ()))
    found: Mapping[str, Any] = next((item for item in everyone if item.get("name") == container), {})
    waiting = (found.get("state") or {}).get("waiting") or {}
    reason, message = waiting.get("reason") or "ContainerCreating", waiting.get("message")
    detail = f"{reason}: {message}" if message else reason
    said = phrase(
        'container "{name}" in pod "{pod}" is waiting to start: {why}', name=container, pod=name_of(pod), why=detail
    )
    return str(said)


Keeps = Callable[[str, str], bool]
"""The apiVersion and kind of a controller -> whether somebody else removes the logs of its pods."""


def write_owner(directory: Path, pod: Manifest) -> None:
    """Writes the pod's controller beside its logs, for who reads or removes them after the pod is gone."""
    owner = controller_of(pod)
    if owner is None:
        return
    found = LogOwner(
        owner["apiVersion"], owner["kind"], namespace_of(pod), owner["name"], owner["uid"],
        name_of(pod), annotations_of(pod).get(MAIN_CONTAINER, ""), dict(labels_of(pod)),
    )  # fmt: skip
    path = log_directory(directory, namespace_of(pod), name_of(pod), uid_of(pod))
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if (path / OWNER_FILE).exists():  # another container of the pod was started before
        return
    # Written aside and renamed: after a `kill -9` half an owner would let the log be removed.
    fresh = path / f"{OWNER_FILE}.new"
    with os.fdopen(open_for_writing(fresh, os.O_TRUNC), "wb") as file:
        file.write(msgspec.json.encode(found))
    fresh.replace(path / OWNER_FILE)


async def remove_orphaned_logs(
    api: Api, directory: Path, living: Collection[str], keeps: Keeps = lambda *_: False
) -> int:
    """Removes the logs of pods whose controller is gone too, and returns their number. `living`: UIDs of existing pods.

    If the API cannot tell whether a controller exists, its logs stay; so do those that somebody else keeps.
    """
    kept: dict[str, bool] = {}
    removed = 0
    root = directory / "pods"
    for path in sorted(root.iterdir()) if root.is_dir() else ():
        if read_directory(path.name).uid in living:
            continue
        owner = _read_owner(path)
        if owner is not None and keeps(owner.api_version, owner.kind):
            continue
        if owner is not None and owner.uid not in kept:
            kept[owner.uid] = await _exists(api, owner)
        if owner is None or not kept[owner.uid]:
            await asyncio.to_thread(remove_tree, path)
            removed += 1
    return removed


def _read_owner(path: Path) -> LogOwner | None:
    try:
        return msgspec.json.decode(read_start(path / OWNER_FILE, LARGEST_OWNER), type=LogOwner)
    except (OSError, msgspec.MsgspecError):
        return None


async def _exists(api: Api, owner: LogOwner) -> bool:
    group, _, version = owner.api_version.rpartition("/")
    try:
        plural = await _plural(api, group, owner.kind)
        found = await api.get(Resource(group, version, owner.kind, plural), owner.namespace, owner.name)
    except NotFound:
        return False
    except ApiError as error:
        _log.info("whether %s %s is still there cannot be told, so its logs stay: %s", owner.kind, owner.name, error)
        return True
    # A new object of the old name is not the owner.
    return uid_of(found) == owner.uid


async def _plural(api: Api, group: str, kind: str) -> str:
    """The plural of a kind, from its CRD. The built-in kinds that control pods form it with an s."""
    for crd in (await api.list(CRDS)).items if group else ():
        spec = crd.get("spec") or {}
        names = spec.get("names") or {}
        if spec.get("group") == group and names.get("kind") == kind:
            return str(names.get("plural"))
    return f"{kind.lower()}s"
