"""The log file that a local cluster has kept of one rank, for `rank_log`: of this pod, or of this job, by their UIDs,
as a name has had others before. Raises OSError where a program has put something else in the file's place."""

from __future__ import annotations

from paddock.app.history import History
from paddock.app.home import Home
from paddock.cli.follow.kept_runs import read_chunks
from paddock.history.logs import LogFile
from paddock.kube.meta import Manifest
from paddock.views.stored import StoredJob


def read_pod_log(home: Home, pod: Manifest, start: int, first: int | None = None) -> bytes | None:
    """The log of this pod from byte `start`; a negative one counts from its end. None if none is kept. `first`: so many
    bytes, or some more, suffice."""
    return _read(History(home).find_pod_log(pod), start, first)


def read_rank_log(home: Home, job: StoredJob, rank: str, start: int, first: int | None = None) -> bytes | None:
    """The last log of this job's rank, never that of another run; `start` and `first` as in `read_pod_log`."""
    return _read(find_rank_logs(home, job).get(rank), start, first)


def find_rank_logs(home: Home, job: StoredJob) -> dict[str, LogFile]:
    """The last log of each of this job's ranks, by its name."""
    return {file.rank: file for file in History(home).find_job_logs(*job.key, job.uid)}


def read_log(log: LogFile) -> bytes:
    return b"".join(read_chunks(log))


def _read(kept: LogFile | None, start: int, first: int | None) -> bytes | None:
    if kept is None:
        return None
    found = bytearray()
    for chunk in read_chunks(kept, start):
        found += chunk
        if first is not None and len(found) >= first:
            break
    return bytes(found)
