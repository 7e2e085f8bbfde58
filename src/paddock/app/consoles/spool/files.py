"""The files of the logs that were copied from one cluster: as a node writes them, so that what reads a home reads them.

    <home>/clusters/KEY/lock                                     held by the process that copies
    <home>/clusters/KEY/history/NAMESPACE/NAME/UID.json          the runs (`history.records`)
    <home>/clusters/KEY/node/pods/NAMESPACE_POD_UID/…            the logs, each pod's once (`kube.pod_logs`)
                                      …/CONTAINER/0.log  .times  .at

`.at` says how far a log is copied; what stands behind that in the log, after a crash, is copied again. How much room
the logs have is decided in `room`. A log that has ended and gave way is there without a line, so that its page can say
so and nobody copies it again, as long as there is room for that.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec

from paddock.app.consoles.spool.room import BESIDE, Room
from paddock.app.consoles.spool.timed_lines import TimedLines
from paddock.app.history import History
from paddock.app.home import Home, Lock
from paddock.console.backend import LeftOut
from paddock.history.records import RunRecord, find_runs, is_file_name, next_run, write_record
from paddock.kube.log_marks import MARK_BYTES, SUFFIX, Marks, read_marks, write_mark
from paddock.kube.meta import Manifest
from paddock.kube.pod_logs import (
    LARGEST_OWNER,
    OWNER_FILE,
    LogOwner,
    find_directory,
    name_main_container,
    read_directory,
)
from paddock.kube.times import Moment, format_time
from paddock.node.runtime.logs import write_owner
from paddock.node.runtime.pod_files import open_for_writing, open_regular, remove_tree

_SAVE_SECONDS = 1.0
_MOST_GAPS = 20

_log = logging.getLogger(__name__)


def place_of_cluster(home: Home, server: str) -> Home:
    """Where the logs of the cluster with this address are kept, for all contexts that lead to it."""
    key = hashlib.sha256(server.rstrip("/").encode()).hexdigest()[:16]
    return Home(home.root / "clusters" / key, home.cache)


class Point(msgspec.Struct, frozen=True, array_like=True):
    """The end of a line, from which copying can go on: as in `TimedLines`."""

    size: int = 0
    last: int = 0
    repeats: int = 0


class Progress(msgspec.Struct):
    """How far a log is copied."""

    size: int = 0
    """Bytes that are copied."""
    last: int = 0
    """As in `TimedLines`, of these bytes."""
    repeats: int = 0
    """As in `TimedLines`, of these bytes."""
    plain: bool = False
    """The cluster tells no times."""
    restarts: int = 0
    """Of the container."""
    ended: bool = False
    """Nothing more will come."""
    full: bool = False
    """There was no room for the rest until now."""
    points: list[Point] = []
    """Where it may be cut."""
    gaps: list[tuple[Moment, Moment]] = []
    """Between which times lines were lost, as the cluster did not have them any more when they were read; the last
    ones, in seconds since the epoch."""
    missed: tuple[Moment, Moment] | None = None
    """The pod was gone before its log was read to its end: the time of the last line that is here (0 where there is
    none), and when that was noticed. Whether it printed anything in between is not known."""


class CopiedLog:
    """One pod's log while it is copied. Raises OSError. `clock`: for logs whose lines have no times. `grown`: called
    when it has grown, and may make it `full`. `step`: bytes between two points."""

    def __init__(
        self,
        path: Path,
        clock: Callable[[], Moment] = time.time,
        grown: Callable[[CopiedLog], None] = lambda _: None,
        step: int = 2**20,
    ) -> None:
        self.path, self._clock, self._grown, self._step = path, clock, grown, step
        self.at = read_progress(path)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._log = open_for_writing(path, os.O_APPEND)
        self._times = open_for_writing(path.with_suffix(SUFFIX), os.O_APPEND)
        self._saved = 0.0
        self._stood, self.at.full = self.at.full, False
        self.begin()

    def begin(self) -> None:
        """A stream begins: what the last one left of a line that was torn is taken back."""
        size = os.fstat(self._log).st_size
        if size < self.at.size:  # somebody cut it: all of it is copied anew
            self.at = Progress(restarts=self.at.restarts)
        os.ftruncate(self._log, self.at.size)
        self._cut_marks()
        self._lines = TimedLines(self.at.size, self.at.last, self.at.repeats)
        self._skip = self.at.size

    @property
    def since(self) -> str:
        """The time from which on the API is asked; empty for all."""
        return format_time(self.at.last / 1e9) if self.at.last and not self.at.plain else ""

    def write(self, chunk: bytes) -> None:
        """What a stream brought. Where there is no room nothing more is written (`Progress.full`)."""
        if self.at.full:
            return
        text, marks = self._read_plain(chunk) if self.at.plain else self._lines.feed(chunk)
        self._add(text, marks)
        self._note()
        self._grown(self)
        if time.monotonic() - self._saved >= _SAVE_SECONDS:
            self.save()

    def end(self) -> None:
        """Nothing more will come: what stands behind the last newline is a line too."""
        if not self.at.plain:
            self._add(*self._lines.end())
        self._lines.whole = self._lines.size
        self.at.ended = True
        self.save()

    def end_container(self) -> None:
        """The same of a container that was started again: what the next one prints begins a line."""
        self._add(*self._lines.end())
        if self._lines.whole < self._lines.size:
            self._add(b"\n", [])
            self._lines.size += 1
        self._lines.whole = self._lines.size
        self.save()

    def miss(self) -> None:
        """The same of a pod that is gone before its log was read to its end: what it printed last is not known."""
        last = self.at.last / 1e9 or (os.fstat(self._log).st_mtime if self.at.size else 0.0)
        self.at.missed = (last, self._clock())
        self.end()

    def doubt(self) -> None:
        """The next stream may not begin with the last line that is here, as a kubelet keeps the end of a log alone:
        then lines are missing between the two."""
        self._stood = bool(self.at.last)

    @property
    def size(self) -> int:
        """Bytes written."""
        return self._lines.size

    @property
    def taken(self) -> int:
        """The same with those of the marks: a program may print less in a line than a mark takes."""
        return self._lines.size + self._marks

    def cut(self, most: int) -> None:
        """Gives way: keeps whole lines of at most so many bytes, with their marks, and is full."""
        points, marks = self.at.points, self._read_marks().offsets
        while points and points[-1].size + MARK_BYTES * bisect_right(marks, points[-1].size) > most:
            points.pop()
        plain = Point(max(0, most - self._marks))
        kept = plain if self.at.plain else points[-1] if points else Point()
        self.at.size, self.at.last, self.at.repeats = kept.size, kept.last, kept.repeats
        self.at.full = True
        self.begin()
        self.save()

    def _note(self) -> None:
        lines, points = self._lines, self.at.points
        if lines.whole - (points[-1].size if points else 0) >= self._step:
            points.append(Point(lines.whole, lines.last, lines.repeats))
        if self._stood and lines.gap is not None:
            self.at.gaps = [*self.at.gaps, lines.gap][-_MOST_GAPS:]
        # Only the first lines tell: those of a container that was started again do not begin with the last one either.
        self._stood = self._stood and lines.whole == self.at.size

    def save(self) -> None:
        self._saved = time.monotonic()
        lines = self._lines
        self.at.size, self.at.last, self.at.repeats = lines.whole, lines.last, lines.repeats
        fresh = self.path.with_suffix(".at.new")
        with os.fdopen(open_for_writing(fresh, os.O_TRUNC), "wb") as file:
            file.write(msgspec.json.encode(self.at))
        fresh.replace(self.path.with_suffix(".at"))

    def close(self) -> None:
        os.close(self._log)
        os.close(self._times)

    def _read_plain(self, chunk: bytes) -> tuple[bytes, list[tuple[int, Moment]]]:
        """Lines of a cluster that tells no times: the stream begins at the first byte, and lines come when they
        come."""
        fresh = chunk[self._skip :]
        self._skip = max(0, self._skip - len(chunk))
        if not fresh:
            return b"", []
        self._lines.size += len(fresh)
        self._lines.whole = self._lines.size
        return fresh, [(self._lines.size, self._clock())]

    def _add(self, text: bytes, marks: list[tuple[int, Moment]]) -> None:
        view = memoryview(text)
        while view:
            view = view[os.write(self._log, view) :]
        if marks:
            self._marks += os.write(self._times, b"".join(write_mark(*mark) for mark in marks))

    def _read_last_mark(self, size: int) -> int:
        """The place of the last mark of a file of `size` bytes: it grows with them, so all others are before it."""
        if not size:
            return 0
        with os.fdopen(open_regular(self.path.with_suffix(SUFFIX)), "rb") as file:
            file.seek(size - MARK_BYTES)
            return read_marks(file.read(MARK_BYTES)).offsets[-1]

    def _read_marks(self) -> Marks:
        with os.fdopen(open_regular(self.path.with_suffix(SUFFIX)), "rb") as file:
            return read_marks(file.read())

    def _cut_marks(self) -> None:
        size = os.fstat(self._times).st_size
        if size % MARK_BYTES == 0 and self._read_last_mark(size) <= self.at.size:
            self._marks = size
            return
        marks = self._read_marks()
        kept = [pair for pair in zip(marks.offsets, marks.times, strict=True) if pair[0] <= self.at.size]
        os.ftruncate(self._times, 0)
        self._marks = MARK_BYTES * len(kept)
        os.write(self._times, b"".join(write_mark(*mark) for mark in kept))


def read_progress(path: Path) -> Progress:
    """How far the copy of a log is; an empty `Progress` for a log that is no copy."""
    try:
        with os.fdopen(open_regular(path.with_suffix(".at")), "rb") as file:
            return msgspec.json.decode(file.read(2**16), type=Progress)
    except (OSError, msgspec.MsgspecError):
        return Progress()


def read_left_out(path: Path) -> LeftOut | None:
    """What a copy lacks, for who reads it; None if it lacks nothing. `path`: of the log."""
    at = read_progress(path)
    if not (at.full or at.gaps or at.missed):
        return None
    pod = read_directory(path.parents[1].name).pod
    removed = at.ended and at.full and not at.size
    return LeftOut(pod, path.parent.name, at.size if at.full else None, tuple(at.gaps), removed, at.missed)


def _owner_of(path: Path) -> Path:
    """The file beside a log that says whose pod it is of."""
    return path.parents[1] / OWNER_FILE


def _measure(path: Path) -> int:
    """Bytes of a file; 0 if there is none."""
    try:
        return path.lstat().st_size
    except OSError:
        return 0


class ClusterSpool:
    """What one process copies from one cluster, for all who look. `home`: of `place_of_cluster`. `room`: for all logs,
    those that have ended too; how long these are kept where there is room says `history.retention`."""

    def __init__(self, home: Home, room: Room[Path] | None = None) -> None:
        self.room = room or Room[Path](beside=BESIDE)
        self.home = home
        self.history = History(home)
        self.records = threading.Lock()
        """Held by a thread from reading a run's record to writing it: readers note the same runs."""
        self._lock = Lock(home)
        self._holds = False
        self._copied: dict[Path, CopiedLog] = {}
        self._ended: set[Path] = set()
        self._told: set[str] = set()

    def acquire(self) -> bool:
        """Whether this process copies, and no other that has a console of this cluster open. Raises OSError."""
        if not self._holds:
            for each in (
                self.home.root.parent,
                self.home.root,
                self.home.history,
                self.home.node,
                self.home.pod_logs,
            ):
                each.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._holds = self._lock.acquire()
            if self._holds:
                self._hold_former()
        return self._holds

    def _hold_former(self) -> None:
        """What a former process has copied takes room too, and is nobody's: the oldest goes first."""
        found = [(path.lstat(), path) for path in self.home.pod_logs.glob("*/*/0.log")]
        for seen, path in sorted(found, key=lambda each: (each[0].st_mtime, each[1])):
            size = seen.st_size + _measure(path.with_suffix(SUFFIX))
            self.room.hold(path, "", size, _measure(_owner_of(path)))
            self.room.stop(path, size, ended=read_progress(path).ended)
        self._make_room()

    def release(self) -> None:
        self._lock.release()
        self._holds = False

    def path_of(self, pod: Manifest) -> Path:
        """Raises ValueError for names that lead elsewhere: a server that gives such is no Kubernetes."""
        directory, container = find_directory(pod), name_main_container(pod)
        parts = (directory.namespace, directory.pod, directory.uid, container)
        if not all(map(is_file_name, parts)):
            raise ValueError(f"{'/'.join(parts)} cannot be the name of a file")
        return self.home.pod_logs / directory.log(container)

    def is_copied(self, pod: Manifest, reader: str = "") -> bool:
        """Whether its log is being copied, or is there to its end, or there is no room for more of it now. What there
        is of it is this reader's too from now on."""
        path = self.path_of(pod)
        if reader:
            self.room.share(path, reader)
        if path in self._copied or path in self._ended:
            return True
        at = read_progress(path)
        if at.ended:
            self._ended.add(path)
        return at.ended or (at.full and not self.room.may_go_on(at.size))

    def is_held(self, path: Path) -> bool:
        """Whether this log is being copied now."""
        return path in self._copied

    def miss(self, path: Path) -> None:
        """`CopiedLog.miss` of a log that is not being copied. Raises OSError."""
        log = CopiedLog(path)
        try:
            log.miss()
            self.room.hold(path, "", log.taken, _measure(_owner_of(path)))
            self.room.stop(path, log.taken, ended=True)
        finally:
            log.close()

    def begin(self, pod: Manifest, reader: str = "") -> CopiedLog:
        """The copy of a pod's log for this reader, from where it was left. Raises OSError."""
        path = self.path_of(pod)
        write_owner(self.home.node, pod)
        log = self._copied[path] = CopiedLog(path, grown=self._grow, step=self.room.step)
        self.room.hold(path, reader, log.taken, _measure(_owner_of(path)))
        return log

    def _grow(self, log: CopiedLog) -> None:
        self.room.resize(log.path, log.taken)
        if not self.room.has_left(log.size):
            log.at.full = True
        self._make_room()

    def _make_room(self) -> None:
        while found := self.room.find_yielding():
            for path, kept in found:
                if (copied := self._copied.get(path)) is not None:
                    copied.cut(kept or 0)
                    self.room.resize(path, copied.taken)
                elif kept is None or not path.exists():
                    self._remove(path)
                else:
                    self._cut(path, kept)

    def forget_pruned(self) -> None:
        """What `prune.tidy` has removed takes no room."""
        for path in self.room.logs:
            if path not in self._copied and not path.exists():
                self._forget(path)

    def forget(self, pods: Collection[Path]) -> None:
        """The same of the directories of these pods alone, of which it is known that they were removed."""
        for path in self.room.logs:
            if path.parents[1] in pods and path not in self._copied:
                self._forget(path)

    def _forget(self, path: Path) -> None:
        self.room.drop(path)
        self._ended.discard(path)

    def _cut(self, path: Path, most: int) -> None:
        """Cuts a log that nobody copies. What cannot be cut takes no room any more, as else nothing could be copied."""
        try:
            log = CopiedLog(path)
            try:
                log.cut(most)
                self.room.resize(path, log.taken)
            finally:
                log.close()
            if log.at.ended:
                self._tell_removed(path)
        except OSError as error:
            _log.warning("the copied log %s is not cut: %s", path, error)
            self.room.drop(path)

    def _remove(self, path: Path) -> None:
        """With all that is beside it. Of a log that was removed, what it took is free."""
        self.room.drop(path)
        self._tell_removed(path)
        remove_tree(path.parent)
        pod = path.parents[1]
        with suppress(OSError):
            if not any(each.is_dir() for each in pod.iterdir()):  # a log of another container
                remove_tree(pod)

    def _tell_removed(self, path: Path) -> None:
        """The record of its run says so, once."""
        try:
            with os.fdopen(open_regular(_owner_of(path)), "rb") as file:
                owner = msgspec.json.decode(file.read(LARGEST_OWNER), type=LogOwner)
            if owner.uid in self._told:
                return
            with self.records:
                record = self.find_record(owner.namespace, owner.name, owner.uid)
                if record is not None and not record.logs_pruned:
                    write_record(self.home.history, replace(record, logs_pruned=True))
            self._told.add(owner.uid)
        except (OSError, ValueError) as error:
            _log.info("no record says that %s was removed: %s", path, error)

    def finish(self, log: CopiedLog) -> None:
        self._copied.pop(log.path, None)
        self.room.stop(log.path, log.taken, ended=log.at.ended)
        log.close()

    def find_record(self, namespace: str, name: str, uid: str) -> RunRecord | None:
        return next((run for run in find_runs(self.home.history, namespace, name) if run.uid == uid), None)

    def keep(self, record: RunRecord) -> RunRecord:
        """Writes the record of a run; a new one gets its number (`run` 0). Raises OSError."""
        if not record.run:
            runs = find_runs(self.home.history, record.namespace, record.name)
            record = replace(record, run=next_run(runs, record.identity))
        write_record(self.home.history, record)
        return record
