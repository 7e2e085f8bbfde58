"""The log files of runs: where the node has written them, of which run, attempt and rank they are.

Where a log lies says `kube.pod_logs`; the node writes it there (`node.runtime.logs`), with its owner, so it is found
without the API and after the pod is gone. Here files are found and weighed; who reads one opens it with
`node.runtime.pod_files.open_regular`, as a program can put a link in its place. What rank a pod is stands in labels
that only `paddock.jobs` knows: `ReadLocation` is passed in.
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from paddock.kube.pod_logs import LARGEST_OWNER, OWNER_FILE, LogOwner, begin_names, list_beginnings, read_directory
from paddock.kube.times import Moment

_CLOCK_SECONDS = 86400.0
"""A directory may seem so much older than its job, as the clock was set back between: one that ran in another time zone
until the network was there."""


@dataclass(frozen=True, slots=True)
class LogLocation:
    """Which rank of which attempt a pod is."""

    role: str
    index: int
    attempt: int


ReadLocation = Callable[[Mapping[str, str], str], LogLocation | None]
"""A pod's labels and its name -> its place; None for a pod that is no rank."""


@dataclass(frozen=True, slots=True)
class PodLogs:
    """The directory of one pod's logs."""

    directory: Path
    owner: LogOwner
    place: LogLocation | None
    started: Moment
    """When its first container was started."""

    @property
    def pod(self) -> str:
        return self.owner.pod or read_directory(self.directory.name).pod


@dataclass(frozen=True, slots=True)
class LogFile:
    """What one rank printed in one attempt."""

    path: Path
    pod: str
    place: LogLocation
    modified: Moment
    """When it printed last."""
    size: int

    @property
    def rank(self) -> str:
        return f"{self.place.role}-{self.place.index}"

    @property
    def uid(self) -> str:
        """The UID of its pod."""
        return read_directory(self.path.parents[1].name).uid


def find_pod_logs(directory: Path, read_place: ReadLocation) -> Iterator[PodLogs]:
    """The directories of all pods that had a controller."""
    for path in _list(directory):
        if (logs := read_pod_logs(path, read_place)) is not None:
            yield logs


def group_logs(directory: Path, read_place: ReadLocation) -> dict[str, list[PodLogs]]:
    """The directories of all pods by the UID of their controller, for who weighs all of them."""
    found: dict[str, list[PodLogs]] = {}
    for each in find_pod_logs(directory, read_place):
        found.setdefault(each.owner.uid, []).append(each)
    return found


class PodDirectories:
    """The directories of the pods of some runs among those of all. They are listed once, when the first run is asked
    for. Whose each is stands in a file, and it is read once, of those alone that may be of such a run: a pod's name
    begins with its job's, and its directory is not older than its job. So the logs of the last run are found among
    those of ten thousand without a look into each."""

    def __init__(self, directory: Path, read_place: ReadLocation) -> None:
        self._directory, self._read_place = directory, read_place
        self._beginning: dict[str, list[Path]] | None = None
        """By `list_beginnings`."""
        self._unread: dict[str, list[tuple[Moment, Path]]] = {}
        """Those of a name that was asked for, by their time, the newest last."""
        self._read: set[Path] = set()
        self._found: dict[str, list[PodLogs]] = {}
        """By the UID of their controller."""

    def find(self, namespace: str, name: str, uid: str, created: Moment = -math.inf) -> list[PodLogs]:
        """Those of the job with this UID, by the names of the directories. `created`: when it was, if that is known."""
        begins = begin_names(namespace, name)
        if begins not in self._unread:
            self._unread[begins] = _sort_by_time(self._list().get(begins, ()))
        unread = self._unread[begins]
        while unread and unread[-1][0] >= created - _CLOCK_SECONDS:
            self._look_into(unread.pop()[1])
        return sorted(self._found.get(uid, ()), key=lambda each: each.directory)

    def _list(self) -> dict[str, list[Path]]:
        if self._beginning is None:
            self._beginning = {}
            for path in _list(self._directory):
                for begins in list_beginnings(path.name):
                    self._beginning.setdefault(begins, []).append(path)
        return self._beginning

    def _look_into(self, path: Path) -> None:
        if path not in self._read:
            self._read.add(path)
            if (logs := read_pod_logs(path, self._read_place)) is not None:
                self._found.setdefault(logs.owner.uid, []).append(logs)


def _list(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except OSError:
        return []


def _sort_by_time(paths: Iterable[Path]) -> list[tuple[Moment, Path]]:
    found: list[tuple[Moment, Path]] = []
    for path in paths:
        with suppress(OSError):  # it was pruned meanwhile
            found.append((path.lstat().st_mtime, path))
    return sorted(found)


def read_pod_logs(path: Path, read_place: ReadLocation) -> PodLogs | None:
    """The directory of one pod's logs; None for what has no owner that can be read."""
    try:
        content, written = _read_small(path / OWNER_FILE)
        owner = msgspec.json.decode(content, type=LogOwner)
    except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    bare = PodLogs(path, owner, None, written)
    return PodLogs(path, owner, read_place(owner.labels, bare.pod), written)


def _read_small(path: Path) -> tuple[bytes, Moment]:
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(file, "rb") as reader:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(0, "not a regular file")
        return reader.read(LARGEST_OWNER), found.st_mtime


def find_log_files(pods: Iterable[PodLogs], uid: str) -> list[LogFile]:
    """The log of each rank in each attempt of the run with this UID, by attempt, role and index. Of a pod that was
    started again under its name in the same attempt (a lost node), the newest."""
    newest: dict[LogLocation, LogFile] = {}
    for each in pods:
        if each.owner.uid != uid or each.place is None:
            continue
        file = _find_file(each, each.place)
        if file is not None and (file.place not in newest or newest[file.place].modified <= file.modified):
            newest[file.place] = file
    return sorted(newest.values(), key=lambda file: (file.place.attempt, file.place.role, file.place.index))


def find_pod_log(directory: Path, read_place: ReadLocation) -> LogFile | None:
    """The log of the one pod whose directory this is; None if it has none, or is the pod of no rank."""
    pod = read_pod_logs(directory, read_place)
    return _find_file(pod, pod.place) if pod is not None and pod.place is not None else None


def _find_file(pod: PodLogs, place: LogLocation) -> LogFile | None:
    """The log of the container that trains; of a pod that does not name it, the one that was written last."""
    found = [
        LogFile(path, pod.pod, place, seen.st_mtime, seen.st_size)
        for path in _list_logs(pod.directory)
        if (seen := _look(path)) is not None
    ]
    named = [file for file in found if file.path.parent.name == pod.owner.container]
    return max(named or found, key=lambda file: (file.modified, file.path.stem), default=None)


def find_of_container(file: LogFile, container: str) -> LogFile | None:
    """The last log of another container of the same pod; None where none is kept."""
    found = [path for path in _list_logs(file.path.parents[1]) if path.parent.name == container]
    path = max(found, key=lambda each: int(each.stem), default=None)
    seen = None if path is None else _look(path)
    return None if path is None or seen is None else replace(file, path=path, modified=seen.st_mtime, size=seen.st_size)


def list_containers(file: LogFile) -> list[str]:
    """The containers of its pod whose logs are kept."""
    return sorted({path.parent.name for path in _list_logs(file.path.parents[1])})


def _list_logs(directory: Path) -> list[Path]:
    try:
        return sorted(path for path in directory.glob("*/*.log") if path.stem.isdecimal())
    except OSError:
        return []


def _look(path: Path) -> os.stat_result | None:
    try:
        seen = path.lstat()
    except OSError:
        return None
    return seen if stat.S_ISREG(seen.st_mode) else None


def measure(pod: PodLogs) -> int:
    """Bytes of a pod's logs on the disk, and of what the node noted beside them."""
    try:
        files = list(pod.directory.glob("*/*"))
    except OSError:
        return 0
    return sum(seen.st_blocks * 512 for path in files if (seen := _look(path)) is not None)
