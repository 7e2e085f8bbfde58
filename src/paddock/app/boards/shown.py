"""A run with what lies in its directories, for a board."""

from __future__ import annotations

from pathlib import Path

from paddock.app.boards.files import find_event_files
from paddock.app.boards.plan import Place, ShownRun
from paddock.app.outputs import RunDirectory
from paddock.history.records import RunRecord
from paddock.jobs.variables import read_own_directory


def read_shown(name: str, record: RunRecord | None, found: RunDirectory) -> ShownRun:
    """`name`: of the job; `record`: of the run, None where nothing is kept of it."""
    label = f"{name}:{record.run}" if record else name
    places = [Place(found.path, tuple(find_event_files(found.path)), whole=True)]
    shared = list_shared(record, found)
    places += [Place(each, tuple(find_event_files(each)), whole=False) for each in shared]
    return ShownRun(label, found.started, record.ended if record else None, tuple(places))


def list_shared(record: RunRecord | None, found: RunDirectory) -> list[Path]:
    """The directories in which other runs may write too: the one that its programs are told by their manifest, and the
    one in which the run was started."""
    named = (read_own_directory(record.spec) if record else "", found.directory or (record.directory if record else ""))
    return [Path(each) for each in dict.fromkeys(named) if each and Path(each).is_dir() and Path(each) != found.path]
