"""The directories of outputs and checkpoints of the local cluster's jobs, one pair for each run.

    <home>/outputs/<namespace>/<job>-<uid>/              PADDOCK_OUTPUT_DIR, of all ranks and attempts of one run
    <home>/outputs/<namespace>/<job>-<uid>/checkpoint    PADDOCK_CHECKPOINT_DIR
    <home>/outputs/<namespace>/<job>-<uid>/.metrics      with a file for each rank and attempt, PADDOCK_METRICS
    <home>/outputs/<namespace>/<job>-<uid>.json          in which directory the run was started, and when

A run is one job object: its name may be used again, its UID is not. The kubelet makes a run's directories before its
first program starts. A run that asks to resume (`paddock.dev/resume: "true"`) begins with the checkpoints of the newest
earlier run of its name that was started in the same directory and has any: they are moved, as a checkpoint is large
and the run that goes on is their owner now. One that names a run (`"3"`) begins with those of this run, wherever it was
started, and waits where it has none: nobody asks for a certain run to begin with nothing. Any other run begins with an
empty directory. What is there later than that is the run's own, so that a restart finds what the attempt before it
wrote.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.app.home import Home
from paddock.jobs.labels import WORKING_DIRECTORY_ANNOTATION
from paddock.jobs.names import METRICS_DIRECTORY, OUTPUT_VOLUME, output_name
from paddock.jobs.resuming import read_resume
from paddock.kube.meta import Manifest, annotations_of, controller_of
from paddock.kube.times import Moment
from paddock.node.runtime.pod_files import remove_tree
from paddock.words.phrases import Names, Phrase, counted, phrase

if TYPE_CHECKING:
    from paddock.history.records import RunRecord

CHECKPOINTS = "checkpoint"
LOGS = "log"
"""The logs of the ranks' launchers, where ranks share a working directory (`jobs.objects.pods`)."""
KEPT_SECONDS = 30 * 86400.0
"""Outputs are what the run was for: they outlive its logs, whose limit is days or a gibibyte."""
MOST_FILES = 100_000
"""Files that are counted; a directory with more has "at least" these."""
_MOST_SEEN = 20_000
"""Files and directories that `find_written` looks at."""
_SKIPPED = re.compile(r"\.|__pycache__$|node_modules$|.*\.(py|pyc|ipynb|sh|md)$")
_RUN = re.compile(r"(\.?[a-z0-9].*)-[0-9a-f]{8}")
_RANK = re.compile(r"[a-z]+-\d+")
_MOST_NAMED = 8
"""Runs that a sentence names: the last ones."""


@dataclass(frozen=True, slots=True)
class Size:
    files: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """What was made or changed below a working directory while a run went on."""

    directory: Path
    """The deepest that has all of it."""
    size: Size


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """The directory of one run."""

    path: Path
    mark: str
    """The part of the job's UID in its name."""
    directory: str | None
    """Where the run was started; empty if in none, None if it is not known (a run of an earlier version)."""
    started: Moment

    @property
    def checkpoints(self) -> Path:
        return self.path / CHECKPOINTS

    def belongs_to(self, uid: str) -> bool:
        return bool(self.mark) and uid.startswith(self.mark)


def find_resumable(runs: Iterable[RunDirectory], uid: str, directory: str) -> Iterator[RunDirectory]:
    """The runs from which the run `uid`, started in `directory`, may take checkpoints, the best first. Pure."""
    others = (run for run in runs if run.directory == directory and not (uid and run.belongs_to(uid)))
    return iter(sorted(others, key=lambda run: (run.started, run.mark), reverse=True))


def choose_resumed(runs: Iterable[RunDirectory], uid: str, directory: str) -> RunDirectory | None:
    """The run whose checkpoints the run `uid` takes over; None if there are none. `uid`: empty for a run that is not
    created yet."""
    return next((run for run in find_resumable(runs, uid, directory) if any(_walk(run.checkpoints))), None)


def find_numbered(
    runs: Iterable[RunDirectory], records: Iterable[RunRecord], kind: tuple[str, str]
) -> dict[int, RunDirectory]:
    """The runs that have checkpoints, by their numbers, which are counted for each kind. `kind`: its group and kind."""
    of_kind = [each for each in records if each.identity[:2] == kind]
    numbered = ((each.run, run) for run in runs for each in of_kind if run.belongs_to(each.uid))
    return {number: run for number, run in numbered if any(_walk(run.checkpoints))}


def list_numbers(records: Iterable[RunRecord], kind: tuple[str, str]) -> list[int]:
    """The numbers of the runs of this kind (its group and kind) that are kept, in order."""
    return sorted(each.run for each in records if each.identity[:2] == kind)


def explain_unresumable(job: str, number: int, others: Iterable[int], kept: Sequence[int]) -> Phrase:
    """Why a job cannot resume from this run. `others`: the runs that have checkpoints; `kept`: those that are recorded,
    in order. Pure."""
    numbers = sorted(others)
    if number not in kept:
        return _explain_no_run(job, number, numbers, kept)
    why = phrase(
        "run {run} of {job} has no checkpoints: it wrote none, or a later run has taken them over",
        run=number, job=job,
    )  # fmt: skip
    if not numbers:
        return phrase("{problem}; no other run has any", problem=why)
    return counted(
        "{problem}; run {runs} has some: --resume={run}",
        "{problem}; runs {runs} have some: --resume={run}",
        count=len(numbers), problem=why, runs=Names(tuple(map(str, numbers))), run=numbers[-1],
    )  # fmt: skip


def _explain_no_run(job: str, number: int, others: Sequence[int], kept: Sequence[int]) -> Phrase:
    if not kept:
        return phrase("{job} has no run {number}: no run of this name is kept", job=job, number=number)
    numbers = ", ".join(map(str, kept[-_MOST_NAMED:]))
    why = phrase("{job} has no run {number}; kept are {numbers}", job=job, number=number, numbers=numbers)
    if not others:
        return phrase("{problem}; none of them has checkpoints", problem=why)
    return counted(
        "{problem}; run {runs} has checkpoints: --resume={run}",
        "{problem}; runs {runs} have checkpoints: --resume={run}",
        count=len(others), problem=why, runs=Names(tuple(map(str, others))), run=others[-1],
    )  # fmt: skip


def read_runs(root: Path, namespace: str, job: str) -> list[RunDirectory]:
    """The directories of a job's runs, oldest first. `root`: that of all outputs."""
    with suppress(OSError):
        found = [_read_run(path) for path in (root / namespace).iterdir() if read_job_name(path.name) == job]
        return sorted((run for run in found if run), key=lambda run: (run.started, run.mark))
    return []


def read_job_name(directory: str) -> str:
    """The job of which this is the name of a run's directory, after a dot where `_remove` was interrupted; empty for
    what somebody else has put there. Pure."""
    match = _RUN.fullmatch(directory)
    return match[1] if match else ""


def find_run(root: Path, namespace: str, job: str, uid: str) -> RunDirectory | None:
    """The directory of the job with this UID; None if none of its programs was started."""
    return _read_run(root / namespace / output_name(job, uid))


def read_jobs(root: Path, namespace: str) -> list[str]:
    """The names of the jobs that have a directory."""
    with suppress(OSError):
        names = {read_job_name(path.name) for path in (root / namespace).iterdir() if path.is_dir()}
        return sorted(name for name in names if name and not name.startswith("."))
    return []


def _read_run(path: Path) -> RunDirectory | None:
    if not path.is_dir():
        return None
    record: object = {}
    with suppress(OSError, ValueError):
        record = json.loads(_record_of(path).read_text())
    facts = record if isinstance(record, dict) else {}
    started, directory = facts.get("started"), facts.get("directory")
    if not isinstance(started, int | float):
        started = path.stat().st_mtime
    return RunDirectory(path, path.name.rpartition("-")[2], directory if isinstance(directory, str) else None, started)


def _record_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def measure(path: Path) -> Size:
    """The files below a directory, and their bytes. Links are counted as such, never followed."""
    files = total = 0
    for entry in _walk(path):
        with suppress(OSError):
            total += entry.stat(follow_symlinks=False).st_size
        files += 1
        if files == MOST_FILES:
            break
    return Size(files, total)


def list_files(path: Path) -> list[tuple[str, int]]:
    """The files below an output directory, relative to it, with their bytes, sorted; without logs and metrics."""
    found = []
    for entry in _walk(path):
        with suppress(OSError):
            found.append((os.path.relpath(entry.path, path), entry.stat(follow_symlinks=False).st_size))
        if len(found) == MOST_FILES:
            break
    return sorted(each for each in found if not is_no_result(each[0]))


def is_no_result(path: str) -> bool:
    """Whether a path of an output directory is none of a program's results: a log of a rank's launcher, or a file that
    PADDOCK_METRICS names, which is read for what it says (`app.written_metrics`). Pure."""
    parts = Path(path).parts
    if parts[:1] == (METRICS_DIRECTORY,):
        return True
    return len(parts) > 2 and parts[0] == LOGS and _RANK.fullmatch(parts[1]) is not None


def find_written(directory: str, began: Moment, ended: Moment) -> WrittenFiles | None:
    """What was made or changed below the directory in which a run was started, by the times of its files; without what
    is hidden, packages, and sources, which their author may edit meanwhile. None for a tree of which that is not known:
    one with more than `_MOST_SEEN` entries."""
    seen, found, size = 0, [], 0
    for top, directories, files in os.walk(directory):
        seen += len(directories) + len(files)
        if seen > _MOST_SEEN:
            return None
        is_packages = "pyvenv.cfg" in files
        directories[:] = [] if is_packages else [each for each in directories if not _SKIPPED.match(each)]
        for name in [] if is_packages else files:
            with suppress(OSError):
                facts = os.stat(os.path.join(top, name), follow_symlinks=False)  # noqa: PTH116, PTH118 - thousands
                if began <= facts.st_mtime <= ended and not _SKIPPED.match(name):
                    found.append(top)
                    size += facts.st_size
    return WrittenFiles(Path(os.path.commonpath(found) if found else directory), Size(len(found), size))


def has_outputs(path: Path) -> bool:
    """Whether a program has written something into its output directory: any file but logs and metrics."""
    return any(not is_no_result(os.path.relpath(entry.path, path)) for entry in _walk(path))


def _walk(path: Path) -> Iterator[os.DirEntry[str]]:
    """What is no directory below `path`. A directory that cannot be read is taken for empty, and so is `path` itself if
    it is a link: a program may have put it there, to anywhere."""
    waiting = [] if path.is_symlink() else [str(path)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        yield entry
        except OSError:
            continue


def prune_outputs(home: Home, record: RunRecord, clock: Callable[[], Moment] = time.time) -> None:
    """Removes the directories of runs of this name whose records are gone, or go now (`record`). See `may_go`."""
    _prune_name(home, record.namespace, record.name, clock(), going=record.uid)


def tidy_outputs(home: Home, now: Moment) -> None:
    """Removes what `prune_outputs` had to leave: records go after days, and outputs after `KEPT_SECONDS`. Then what an
    interrupted removal has left. What cannot be read or removed stays."""
    with suppress(OSError):
        for namespace in [path for path in home.outputs.iterdir() if path.is_dir()]:
            for name in read_jobs(home.outputs, namespace.name):
                with suppress(OSError):
                    _prune_name(home, namespace.name, name, now)
            for left in [path for path in namespace.iterdir() if read_job_name(path.name).startswith(".")]:
                remove_tree(left)


def _prune_name(home: Home, namespace: str, name: str, now: Moment, *, going: str = "") -> None:
    """`going`: the UID of a run whose record counts no more."""
    from paddock.history.records import find_runs  # late: `paddock run` reads outputs here and no records

    recorded = [each.uid for each in find_runs(home.history, namespace, name) if each.uid != going]
    # The newest run of a name is what people look at, and what the next one resumes from.
    for run in read_runs(home.outputs, namespace, name)[:-1]:
        if not any(map(run.belongs_to, recorded)) and may_go(run, now):
            _remove(run)


def may_go(run: RunDirectory, now: Moment) -> bool:
    """Whether a run's directory goes with its record: it is empty, or nothing in it was written for `KEPT_SECONDS`. One
    of an earlier version, which promised to keep it, stays."""
    newest = max((_written(entry) for entry in _walk(run.path)), default=None)
    return run.directory is not None and (newest is None or now - newest > KEPT_SECONDS)


def _written(entry: os.DirEntry[str]) -> Moment:
    with suppress(OSError):
        return entry.stat(follow_symlinks=False).st_mtime
    return 0.0


def _remove(run: RunDirectory) -> None:
    # By one rename first: a half-removed directory must not be taken for a run to resume from.
    gone = run.path.with_name(f".{run.path.name}")
    run.path.rename(gone)
    _record_of(run.path).unlink(missing_ok=True)
    remove_tree(gone)


class OutputDirectories:
    """Makes the directories of runs. `root`: that of all outputs; `history`: that of the records, which number them."""

    def __init__(self, root: Path, history: Path) -> None:
        self._root, self._history = root, history

    def prepare(self, pod: Manifest, now: Moment) -> None:
        """Makes the directories of the pod's run if they are not there; nothing for the pod of no job. Raises OSError;
        `ContainerWaiting` where it names a run that has no checkpoints.

        Every rank calls it; the first one decides with what the run begins.
        """
        path, owner = find_output_path(pod, self._root), controller_of(pod)
        if path is None or owner is None:
            return
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        checkpoints = path / CHECKPOINTS
        # The record, not the directory, tells that the run has begun: a program may remove its own checkpoints.
        if not _record_of(path).exists() and not os.path.lexists(checkpoints):
            self._begin(pod, path, owner, now)
        for place in (checkpoints, path / METRICS_DIRECTORY):
            with suppress(FileExistsError):  # a link to nowhere is the program's own too
                place.mkdir(mode=0o700)

    def _begin(self, pod: Manifest, path: Path, owner: Mapping[str, object], now: Moment) -> None:
        """Decides with which checkpoints the run begins, once."""
        notes, uid = annotations_of(pod), str(owner.get("uid") or "")
        directory = notes.get(WORKING_DIRECTORY_ANNOTATION, "").rstrip("/")
        number, name = read_resume(notes), str(owner.get("name") or "")
        if number is not None:
            runs = read_runs(self._root, path.parent.name, name)
            found = self._find(runs, path.parent.name, name, owner, number) if number else None
            if (found := found or choose_resumed(runs, uid, directory)) is not None:
                found.checkpoints.rename(path / CHECKPOINTS)
        _write_record(path, directory, now)

    def _find(
        self, runs: list[RunDirectory], namespace: str, job: str, owner: Mapping[str, object], number: int
    ) -> RunDirectory:
        from paddock.history.records import find_runs  # late, as `_prune_name`
        from paddock.node.runtime.container_env import ContainerWaiting

        kind = (str(owner.get("apiVersion") or "").partition("/")[0], str(owner.get("kind") or ""))
        records = [each for each in find_runs(self._history, namespace, job) if each.uid != owner.get("uid")]
        numbered = find_numbered(runs, records, kind)
        if number not in numbered:
            raise ContainerWaiting(explain_unresumable(job, number, numbered, list_numbers(records, kind)))
        return numbered[number]


def _write_record(path: Path, directory: str, now: Moment) -> None:
    record = _record_of(path)
    record.touch(mode=0o600)
    record.write_text(json.dumps({"directory": directory, "started": now}) + "\n")


def find_output_path(pod: Manifest, root: Path) -> Path | None:
    """The output directory that the pod mounts; None if it is not one of a run below `root`. Pure."""
    volumes: Sequence[Manifest] = (pod.get("spec") or {}).get("volumes") or ()
    for volume in volumes:
        path = Path(str((volume.get("hostPath") or {}).get("path") or ""))
        if volume.get("name") == OUTPUT_VOLUME and path.parent.parent == root and path.parent.name not in ("", ".."):
            return path if path.name not in ("", "..") else None
    return None
