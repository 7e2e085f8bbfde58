"""What the local cluster's jobs wrote, for its console: directories as they are now, nothing beyond them.

Programs of jobs write there while it is read: a name may become a link, a file may vanish, grow or shrink. So each path
is walked from the run's directory by descriptors (`node.runtime.pod_files`), and what was looked at is what is read.
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from paddock.app.consoles.packed_outputs import pack_file, pack_name, pack_text
from paddock.app.home import Home
from paddock.app.outputs import RunDirectory, has_outputs, read_runs
from paddock.console.backend import EntryKind, OutputEntry, OutputList, OutputRun, Unshown
from paddock.console.outputs.paths import join
from paddock.history.records import RunRecord, find_runs, is_file_name
from paddock.jobs.names import METRICS_DIRECTORY
from paddock.jobs.variables import read_own_directory
from paddock.kube.meta import Resource
from paddock.node.runtime.pod_files import LeadsOut, open_beneath, open_regular
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import phrase

MOST_NAMES = 100_000
"""That are looked at in one directory, and that one archive has."""
MOST_SORTED = 20_000
"""Names of a directory that is sorted by what is known of each file, or by the numbers in its names: beyond, by the
characters of its names, which takes a tenth of a second for a hundred thousand."""
_NUMBERS = re.compile("[0-9]+")
_listing = threading.Semaphore(2)
"""Large directories that are read at once: the console shares the threads and the processors of the cluster."""


class LocalOutputs:
    """One reader's, as a laptop has one."""

    def __init__(self, home: Home) -> None:
        self._home = home

    async def find(self, resource: Resource, namespace: str, name: str, uid: str) -> Sequence[OutputRun]:
        return await asyncio.to_thread(self._find, resource, namespace, name, uid)

    def list(self, run: OutputRun, path: str, order: str, begin: int, most: int) -> OutputList | None:
        with _explaining(path), _opened(run, path) as found:
            if not stat.S_ISDIR(os.fstat(found).st_mode):
                return None
            with _reading_directory(found) as directory, _listing:
                return _list(directory, order, begin, most, _leave_out(path))

    def open(self, run: OutputRun, path: str) -> int:
        with _explaining(path), _opened(run, path) as found:
            if not stat.S_ISREG(os.fstat(found).st_mode):
                said = phrase("{path} is no file and no directory, and is not opened", path=repr(path))
                raise Unshown(said)
            # Through /proc, so that it is the file that was looked at.
            return os.open(f"/proc/self/fd/{found}", os.O_RDONLY | os.O_CLOEXEC)

    def pack(self, run: OutputRun, path: str) -> Iterator[bytes]:
        left, waiting = MOST_NAMES, [path]
        while waiting and left >= 0:
            directory = waiting.pop()
            try:
                opened = _open_directory(run, directory)
            except OSError:  # it went meanwhile, or became a link out of the directory
                continue
            try:
                names, below, whole = _split_names(opened, _leave_out(directory))
                waiting += [join(directory, each) for each in reversed(below)]
                left -= len(names) + len(below) + (not whole)
                for name in names[: max(0, len(names) + min(left, 0))]:
                    yield from _pack_one(opened, name, pack_name(join(directory, name), path))
            finally:
                os.close(opened)
        if left < 0:
            yield from pack_text("LEFT-OUT.txt", f"There are more than {MOST_NAMES} names: the others are left out.\n")
        yield bytes(1024)  # the end of an archive

    def _find(self, resource: Resource, namespace: str, name: str, uid: str) -> Sequence[OutputRun]:
        if not (is_file_name(namespace) and is_file_name(name)):
            return ()
        records = find_runs(self._home.history, namespace, name)
        others = [each for each in records if not _is_of(each, resource)]
        directories = [
            each for each in read_runs(self._home.outputs, namespace, name)
            if (uid and each.belongs_to(uid)) or not any(each.belongs_to(other.uid) for other in others)
        ]  # fmt: skip
        own = [each for each in records if _is_of(each, resource)]
        return [_show_run(each, own) for each in reversed(directories)]


def _is_of(run: RunRecord, resource: Resource) -> bool:
    return (run.api_version, run.kind) == (resource.api_version, resource.kind)


def _show_run(found: RunDirectory, records: Sequence[RunRecord]) -> OutputRun:
    """As `paddock outputs` has it: the directory that the job's programs were told by their manifest goes first."""
    record = next((each for each in records if found.belongs_to(each.uid)), None)
    own = read_own_directory(record.spec) if record else ""
    path = Path(own).resolve() if own and Path(own).is_dir() else found.path
    return OutputRun(found.mark, record.run if record else None, found.started, str(path), has_outputs(path))


@contextmanager
def _explaining(path: str) -> Iterator[None]:
    try:
        yield
    except LeadsOut:
        said = phrase(
            "{path} leads out of the directory of the outputs, by a link: it is not followed", path=repr(path)
        )
        raise Unshown(said) from None
    except OSError as error:
        why = explain_unreadable(error)
        raise Unshown(phrase("{path} cannot be read: {why}", path=repr(path or "."), why=why)) from None


@contextmanager
def _opened(run: OutputRun, path: str) -> Iterator[int]:
    """A descriptor (O_PATH) of what is at `path`. Raises OSError."""
    # No link in place of the run's directory: a program that runs without a sandbox may have put one there.
    root = os.open(run.path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = open_beneath(Path(f"/proc/self/fd/{root}"), path)
    finally:
        os.close(root)
    try:
        yield found
    finally:
        os.close(found)


def _open_directory(run: OutputRun, path: str) -> int:
    """A descriptor for reading a directory, which the caller closes. Raises OSError."""
    with _opened(run, path) as found:
        return os.open(f"/proc/self/fd/{found}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _pack_one(directory: int, name: str, member: str) -> Iterator[bytes]:
    """Nothing of what is no file any more. Raises OSError where the file cannot be read to its end."""
    try:
        file = open_regular(Path(f"/proc/self/fd/{directory}/{name}"))
    except OSError:
        return
    yield from pack_file(file, member)


@contextmanager
def _reading_directory(found: int) -> Iterator[int]:
    directory = os.open(f"/proc/self/fd/{found}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield directory
    finally:
        os.close(directory)


def _leave_out(path: str) -> str:
    """A name that is none of the program's own, in the directory at `path`: what it wrote to PADDOCK_METRICS is read
    for the charts (`app.outputs.is_no_result`)."""
    return "" if path else METRICS_DIRECTORY


def _list(directory: int, order: str, begin: int, most: int, without: str) -> OutputList:
    entries, whole = _scan(directory, without)
    key = order.removeprefix("-")
    if key not in ("size", "changed") or len(entries) > MOST_SORTED:
        key, order = "name", "-name" if order == "-name" else "name"
    read = {entry.name: _read_entry(directory, entry) for entry in entries} if key != "name" else {}
    down = order.startswith("-")
    if key == "name":
        natural = len(entries) <= MOST_SORTED
        entries.sort(key=lambda entry: _sort_name(entry.name) if natural else entry.name, reverse=down)
    else:
        entries.sort(key=lambda entry: _sort_fact(read[entry.name], key), reverse=down)
    entries.sort(key=lambda entry: not entry.is_dir(follow_symlinks=False))
    shown = entries[begin : begin + most]
    return OutputList(tuple(read.get(each.name) or _read_entry(directory, each) for each in shown),
                      len(entries), whole, order)  # fmt: skip


def _scan(directory: int, without: str) -> tuple[list[os.DirEntry[str]], bool]:
    found = list[os.DirEntry[str]]()
    with os.scandir(directory) as entries:
        for entry in entries:
            if len(found) == MOST_NAMES:
                return found, False
            if entry.name != without:
                found.append(entry)
    return found, True


def _sort_name(name: str) -> str:
    """`step-9` before `step-10`."""
    return _NUMBERS.sub(lambda found: found[0].zfill(20), name)


def _sort_fact(entry: OutputEntry, key: str) -> float:
    return (entry.size if key == "size" else entry.modified) or 0.0


def _read_entry(directory: int, entry: os.DirEntry[str]) -> OutputEntry:
    """What is known of it now: it may have gone since the directory was read."""
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return OutputEntry(entry.name, EntryKind.OTHER)
    if stat.S_ISLNK(status.st_mode):
        target = ""
        with suppress(OSError):
            target = os.readlink(entry.name, dir_fd=directory)
        return OutputEntry(entry.name, EntryKind.LINK, None, status.st_mtime, target)
    if stat.S_ISDIR(status.st_mode):
        return OutputEntry(entry.name, EntryKind.DIRECTORY, None, status.st_mtime)
    if stat.S_ISREG(status.st_mode):
        return OutputEntry(entry.name, EntryKind.FILE, status.st_size, status.st_mtime)
    return OutputEntry(entry.name, EntryKind.OTHER, None, status.st_mtime)


def _split_names(directory: int, without: str) -> tuple[list[str], list[str], bool]:
    """Files and directories, each sorted, neither links nor anything else; and whether these are all."""
    entries, whole = _scan(directory, without)
    entries.sort(key=lambda entry: entry.name)
    files = [each.name for each in entries if each.is_file(follow_symlinks=False)]
    return files, [each.name for each in entries if each.is_dir(follow_symlinks=False)], whole
