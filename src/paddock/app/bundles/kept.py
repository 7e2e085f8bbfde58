"""The history of a bundle: as `app.history.History` of a home, without a file."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from paddock.app.bundles.contents import Bundle, LogEntry, packages_path
from paddock.history.logs import LogFile, LogLocation
from paddock.history.records import Damaged, RunRecord
from paddock.history.surroundings import Packages
from paddock.kube.log_marks import Marks
from paddock.kube.meta import Manifest, uid_of


@dataclass(frozen=True, slots=True)
class BundledHistory:
    """What a bundle has of the runs of its job's name, and of the logs that the machine had kept in files."""

    bundle: Bundle

    def read(self, namespace: str = "", name: str = "") -> tuple[list[RunRecord], list[Damaged]]:
        runs = [run for run in self.bundle.runs if namespace in ("", run.namespace) and name in ("", run.name)]
        return sorted(runs, key=lambda run: (run.created, run.run)), []

    def find_logs(self, run: RunRecord) -> list[LogFile]:
        return self.find_job_logs(run.namespace, run.name, run.uid)

    def find_job_logs(self, namespace: str, name: str, uid: str) -> list[LogFile]:
        found = [_as_file(each) for each in self._files() if each.job_uid == uid]
        return sorted(found, key=lambda file: (file.place.attempt, file.place.role, file.place.index))

    def find_last_logs(self, namespace: str, name: str, uid: str) -> dict[str, LogFile]:
        return {file.rank: file for file in self.find_job_logs(namespace, name, uid)}

    def find_pod_log(self, pod: Manifest) -> LogFile | None:
        return next((_as_file(each) for each in self._files() if each.pod_uid == uid_of(pod)), None)

    def read_log(self, file: LogFile, start: int = 0, first: int | None = None) -> bytes:
        """`start`: 0, or a negative one that counts from the end. Of a log with a gap what is kept, without it."""
        begin, end = self._read(file)
        return (end or begin)[start:] if start else begin + end

    def read_last_marks(self, file: LogFile) -> Marks:
        entry = self._find(file)
        marks = entry.marks if entry else ()
        return Marks(array("q", [offset for offset, _ in marks]), array("d", [time for _, time in marks]))

    def read_ends(self, file: LogFile, end: int | None, leave_out: Callable[[int], None]) -> Iterator[bytes]:
        """All that is kept, whatever `end` asks for."""
        entry = self._find(file)
        begin, last = self._read(file)
        yield begin
        if entry is not None and entry.left_out is not None:
            leave_out(entry.left_out)
            yield last

    def read_packages(self, digest: str) -> Packages | None:
        found = self.bundle.documents.get(packages_path(digest))
        return {str(name): str(version) for name, version in found.items()} if isinstance(found, dict) else None

    def _files(self) -> Iterator[LogEntry]:
        return (each for each in self.bundle.head.logs if not each.stamped)

    def _find(self, file: LogFile) -> LogEntry | None:
        return next((each for each in self._files() if each.file == str(file.path)), None)

    def _read(self, file: LogFile) -> tuple[bytes, bytes]:
        entry = self._find(file)
        return self.bundle.read_log(entry) if entry is not None else (b"", b"")


def _as_file(entry: LogEntry) -> LogFile:
    place = LogLocation(entry.role, entry.index, entry.attempt)
    return LogFile(Path(entry.file), entry.pod, place, entry.modified, entry.size)
