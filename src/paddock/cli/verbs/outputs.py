"""paddock outputs"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from paddock.app.outputs import RunDirectory, list_files, read_jobs, read_runs
from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.cluster.session import home
from paddock.cli.output.language import localized
from paddock.cli.output.streams import print_line, write_json
from paddock.cli.output.terminal import print_table, stderr, stdout
from paddock.cli.verb import Verb
from paddock.history.records import RunRecord, find_runs
from paddock.kube.nearness import nearest
from paddock.kube.quantities import format_bytes
from paddock.views.outputs import read_own_directory
from paddock.words.phrases import NOTHING, Names, Phrase, counted, phrase


@click.command(name="outputs", cls=Verb)
@click.argument("job", metavar="JOB", shell_complete=complete_jobs)
@click.option("--run", "number", type=click.IntRange(min=1), metavar="N", help="Of this run, not of the last one.")
@click.option("-l", "--list", "lists", is_flag=True, help="List its files with their sizes.")
@click.option("-o", "output", type=click.Choice(["path", "json"]), default="path", help="How to print it.")
@click.option("-n", "--namespace", default="default", metavar="NAME", help="The namespace (default: default).")
def command(job: str, number: int | None, lists: bool, output: str, namespace: str) -> None:
    """Print the directory with what a job has written, of its last run or of any that is kept.

    \b
    cd "$(paddock outputs train)"
    paddock outputs train -l
    paddock outputs train --run 3

    A program of a job writes its results to the directory in PADDOCK_OUTPUT_DIR, and what a later run may resume from
    to the one in PADDOCK_CHECKPOINT_DIR. Each run of a job has its own. They are kept as long as the run is in
    `paddock history` and for 30 days after their last change, and those of a job's last run for ever. Works while the
    cluster is down.
    """
    place, name = home(), job.rpartition("/")[2]
    records = find_runs(place.history, namespace, name)
    directories = read_runs(place.outputs, namespace, name)
    if not records and not directories:
        raise UserError(explain_unknown(name, namespace, read_jobs(place.outputs, namespace)))
    record, found = choose_run(records, directories, number, name)
    path, run = found.path, None if record is None else record.run
    own = read_own_directory(record.spec) if record else ""
    if own and Path(own).is_dir():
        path = Path(own)
    files = list_files(path)
    if output == "json":
        print_line(write_json(build_answer(namespace, name, run, found, path, files), indent=2))
    elif lists:
        print_table(stdout(), ("SIZE", "FILE"), [(format_bytes(size), file) for file, size in files], cut=False)
    else:
        print_line(str(path))
    if output != "json":
        stderr().print(localized(summarize(run, files)))


def choose_run(
    records: list[RunRecord], directories: list[RunDirectory], number: int | None, name: str
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


def summarize(run: int | None, files: list[tuple[str, int]]) -> Phrase:
    """`run 3: 4 files, 14 MiB`"""
    said = counted(
        "{count} file, {size}",
        "{count} files, {size}",
        count=len(files),
        size=format_bytes(sum(size for _, size in files)),
    )
    if not files:
        said = phrase("nothing is in it: a program writes its results to the directory in PADDOCK_OUTPUT_DIR")
    return said if run is None else phrase("run {run}: {what}", run=run, what=said)


def build_answer(
    namespace: str, name: str, run: int | None, found: RunDirectory, path: Path, files: list[tuple[str, int]]
) -> dict[str, Any]:
    return {
        "namespace": namespace,
        "job": name,
        "run": run,
        "path": str(path),
        "checkpoints": str(found.checkpoints),
        "bytes": sum(size for _, size in files),
        "files": [{"path": file, "bytes": size} for file, size in files],
    }
