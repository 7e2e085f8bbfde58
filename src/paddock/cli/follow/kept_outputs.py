"""The runs of a job that have a directory of outputs, and why there is none of the run that was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from paddock.app.home import Home
from paddock.app.outputs import RunDirectory, WrittenFiles, read_jobs, read_runs
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.output.local_paths import format_path
from paddock.kube.nearness import nearest
from paddock.kube.quantities import format_bytes
from paddock.words.phrases import NOTHING, Names, Phrase, counted, phrase

if TYPE_CHECKING:
    from paddock.history.records import RunRecord


def find_outputs(place: Home, namespace: str, word: str, number: int | None) -> tuple[RunRecord | None, RunDirectory]:
    """A run of the job that `word` names (`train`, `paddlejob/train`), as `choose_run` chooses it. Raises `UserError`
    for a job of which nothing is kept."""
    from paddock.history.records import find_runs  # late: the end of a run explains what it wrote, and reads no record

    name = word.rpartition("/")[2]
    records = find_runs(place.history, namespace, name)
    directories = read_runs(place.outputs, namespace, name)
    if not records and not directories:
        raise UserError(explain_unknown(name, namespace, read_jobs(place.outputs, namespace)))
    return choose_run(records, directories, number, name)


def choose_run(
    records: Sequence[RunRecord], directories: Sequence[RunDirectory], number: int | None, name: str
) -> tuple[RunRecord | None, RunDirectory]:
    """The run that was asked for, its record and its directory; without a number the last that has a directory. Raises
    `UserError` for a run that is not known, `Failed` for one that has none. Pure."""
    if number is None:
        if not directories:
            raise Failed(phrase("{job} has no outputs: none of its programs has been started", job=name))
        found = directories[-1]
        return next((each for each in records if found.belongs_to(each.uid)), None), found
    record = next((each for each in reversed(records) if each.run == number), None)
    if record is None:
        raise UserError(explain_unknown_run(number, name, [each.run for each in records]))
    for each in directories:
        if each.belongs_to(record.uid):
            return record, each
    said = phrase("run {run} of {job} has no outputs: none of its programs was started", run=number, job=name)
    raise Failed(said)


def explain_written(directory: str, found: WrittenFiles | None) -> Phrase | None:
    """`4 files (14 MiB) were written in ~/cifar/checkpoints while it ran`, and how each run keeps its own; None where
    nothing was. `found`: None where that is not known. Pure."""
    if found is None:
        return phrase(
            "whether it wrote files in {directory} is not known: too many are there to look at",
            directory=format_path(directory),
        )
    if not found.size.files:
        return None
    return counted(
        "{count} file ({size}) was written in {directory} while it ran, and the next run may overwrite it: what a "
        "program writes to the directory in PADDOCK_OUTPUT_DIR is kept for each run",
        "{count} files ({size}) were written in {directory} while it ran, and the next run may overwrite them: what a "
        "program writes to the directory in PADDOCK_OUTPUT_DIR is kept for each run",
        count=found.size.files, size=format_bytes(found.size.bytes), directory=format_path(str(found.directory)),
    )  # fmt: skip


def explain_unknown(name: str, namespace: str, known: list[str]) -> Phrase:
    near = nearest(name, known)
    hint = phrase("; did you mean {name}?", name=repr(near)) if near else NOTHING
    return phrase(
        "no run of {name} in namespace {namespace} is kept here{hint}", name=repr(name), namespace=namespace, hint=hint
    )


def explain_unknown_run(number: int, name: str, known: list[int]) -> Phrase:
    if not known:
        return phrase("the runs of {job} have no numbers here: leave --run out", job=name)
    runs = Names(tuple(map(str, known)), most=8)
    return phrase(
        "{job} has no run {run}; kept are {runs}: `{command}` lists them",
        job=name, run=number, runs=runs, command=f"paddock history {name}",
    )  # fmt: skip
