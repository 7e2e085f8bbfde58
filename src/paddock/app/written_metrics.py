"""What the ranks of a run wrote to PADDOCK_METRICS, read from the run's directory of outputs (`app.outputs`).

Programs can put anything in the place of the file: a directory, a link, a FIFO, ten gigabytes. It is opened as the logs
are, without following a link, and of it `A_LOOK` bytes are read at once, so nobody waits for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from paddock.app.home import Home
from paddock.jobs.model import Rank
from paddock.jobs.names import METRICS_DIRECTORY, metrics_file, output_name
from paddock.logs.metric_lines import A_LOOK, MetricLines, Piece, Place, begin_look, explain_metric_file
from paddock.logs.printed_lines import Latest
from paddock.logs.progress import Progress
from paddock.node.runtime.pod_files import open_regular
from paddock.words.phrases import Phrase, phrase


@dataclass(frozen=True, slots=True)
class Written:
    """What one rank wrote in one attempt."""

    progress: Progress | None = None
    """The last number of each name; None without any."""
    problem: Phrase | None = None
    """Why something was not read; None where all was, or there is no file."""
    latest: Latest = field(default_factory=Latest, compare=False)
    """The same numbers, with the places at which they were written."""


def find_file(home: Home, namespace: str, job: str, uid: str, rank: str, attempt: int) -> Path:
    """Where a rank (`worker-0`) of this run writes; it need not be there."""
    return home.outputs / namespace / output_name(job, uid) / METRICS_DIRECTORY / metrics_file(rank, attempt)


def read_written(path: Path) -> Written:
    """The end of the file. Never raises for what a program has put there."""
    lines = MetricLines()
    try:
        with _open(path) as file:
            start = max(0, os.fstat(file).st_size - A_LOOK)
            data = os.pread(file, A_LOOK, start)
            if start and os.pread(file, 1, start - 1) != b"\n":
                lines.skip()
    except FileNotFoundError:
        return Written()
    except OSError:
        return Written(problem=phrase("it is no regular file that can be read"))
    latest = Latest()
    for each in (*lines.feed(data), *lines.end()):
        latest.take(each)
    return Written(latest.progress, lines.problem, latest)


def read_run(outputs: Path, ranks: Iterable[Rank], attempt: int) -> dict[Rank, Written]:
    """Of the ranks that have written something in this attempt. `outputs`: the run's directory of outputs."""
    found = {rank: read_written(outputs / METRICS_DIRECTORY / metrics_file(str(rank), attempt)) for rank in ranks}
    return {rank: each for rank, each in found.items() if each != Written()}


def explain_unread(written: Mapping[Rank, Written]) -> Phrase | None:
    """What the first rank wrote that was not read; None where all was."""
    wrong = ((rank, each.problem) for rank, each in sorted(written.items()))
    return next((explain_metric_file(str(rank), why) for rank, why in wrong if why is not None), None)


def read_on(path: Path, last: Place, most: int) -> Piece:
    """What was added since the last look: its last `most` bytes, `anew` where what lies before them is passed by.
    Blocks, and raises nothing."""
    try:
        with _open(path) as file:
            seen = os.fstat(file)
            start, anew = begin_look(last, seen.st_ino, seen.st_size)
            begin = max(start, seen.st_size - most)
            data = os.pread(file, most, begin)
    except OSError:
        return Piece(b"", last)
    return Piece(data, Place(begin + len(data), seen.st_ino), anew or begin > start)


def build_reader(path: Path) -> Callable[[Place], Piece]:
    """Reads what was added since the last look, at most `A_LOOK` bytes; empty where there is none. Blocks."""
    return partial(_read_from, path)


def _read_from(path: Path, last: Place) -> Piece:
    try:
        with _open(path) as file:
            seen = os.fstat(file)
            start, anew = begin_look(last, seen.st_ino, seen.st_size)
            data = os.pread(file, A_LOOK, start)
    except OSError:
        return Piece(b"", last)
    return Piece(data, Place(start + len(data), seen.st_ino), anew)


@contextmanager
def _open(path: Path) -> Iterator[int]:
    """The file without following a link in its last two parts: both are the program's."""
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        file = open_regular(Path(f"/proc/self/fd/{directory}") / path.name)
        try:
            yield file
        finally:
            os.close(file)
    finally:
        os.close(directory)
