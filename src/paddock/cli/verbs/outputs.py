"""paddock outputs"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from paddock.app.outputs import RunDirectory, list_files
from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.session import home
from paddock.cli.follow.kept_outputs import find_outputs
from paddock.cli.output.language import localized
from paddock.cli.output.streams import print_line, write_json
from paddock.cli.output.terminal import print_table, stderr, stdout
from paddock.cli.verb import Verb
from paddock.jobs.variables import read_own_directory
from paddock.kube.quantities import format_bytes
from paddock.words.phrases import Phrase, counted, phrase


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
    name = job.rpartition("/")[2]
    record, found = find_outputs(home(), namespace, job, number)
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
