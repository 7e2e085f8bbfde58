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
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from paddock.kube.pod_logs import LARGEST_OWNER, OWNER_FILE, LogOwner, begin_names, read_directory
from paddock.kube.times import Moment


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


def find_pod_logs(directory: Path, read_place: ReadLocation, namespace: str = "", name: str = "") -> Iterator[PodLogs]:
    """The directories of all pods that had a controller, or of those in a namespace whose name begins with `name`."""
    begins = begin_names(namespace, name) if namespace else ""
    try:
        found = sorted(path for path in directory.iterdir() if path.name.startswith(begins))
    except OSError:
        return
    for path in found:
        if (logs := _read_pod(path, read_place)) is not None:
            yield logs


def group_logs(
    directory: Path, read_place: ReadLocation, names: Collection[tuple[str, str]] = (), deadline: float = math.inf
) -> dict[str, list[PodLogs]]:
    """The directories of pods by the UID of their controller, in one pass however many runs are asked for. `names`:
    namespaces and names of jobs; one alone is looked up by its name. Incomplete after `deadline` (`time.monotonic`)."""
    narrow = next(iter(names)) if len(set(names)) == 1 else ("", "")
    found: dict[str, list[PodLogs]] = {}
    for each in find_pod_logs(directory, read_place, *narrow):
        if time.monotonic() > deadline:
            break
        found.setdefault(each.owner.uid, []).append(each)
    return found


def _read_pod(path: Path, read_place: ReadLocation) -> PodLogs | None:
    """None for what has no owner that can be read."""
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
    pod = _read_pod(directory, read_place)
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
