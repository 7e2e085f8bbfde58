"""paddock validate

`submission.reading` finds the problems, `cli.submit.manifest_files` reads the files. No cluster is started or read;
what only a cluster knows is in `paddock explain --why-not`. Without --context what a laptop does not honour is told.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from paddock.app.home import read_home
from paddock.cli.cluster.context_flags import is_chosen, is_typed
from paddock.cli.cluster.errors import Failed, explain_error
from paddock.cli.cluster.options import namespace_option
from paddock.cli.output.language import localized, readers_language
from paddock.cli.output.streams import print_answer, print_line, write_json
from paddock.cli.submit.manifest_files import fetch_reading
from paddock.cli.submit.mount_paths import find_unmountable
from paddock.cli.submit.report import build_lines
from paddock.cli.verb import Verb
from paddock.kube.errors import ApiError
from paddock.submission.local_only import with_local_warnings
from paddock.submission.reading import Reading
from paddock.words.phrases import phrase, render


@click.command(name="validate", cls=Verb)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "output", type=click.Choice(["text", "json"]), default="text", help="How to print it.")
@namespace_option
def command(files: tuple[str, ...], output: str, namespace: str) -> int:
    """Find every mistake in manifests, at once and without a cluster. `-` reads standard input. With --context what is
    right is shown to that cluster as well, which creates nothing (a dry run). In a shell script it reads the commands
    of PaddlePaddle's launcher.

    \b
    paddock validate job.yaml
    paddock validate job.yaml --context prod
    paddock validate run.sh
    helm template chart | paddock validate -

    Exit code: 0 nothing is wrong (warnings are allowed), 1 something is, or the cluster of --context cannot be asked.
    """
    language = readers_language()
    readings = [fetch_reading(file, namespace) for file in files]
    context = click.get_current_context()
    unasked: ApiError | Failed | None = None
    if is_chosen(context):
        readings, unasked = ask_cluster(readings)
    else:
        home = read_home(os.environ)
        readings = [
            with_local_warnings(reading, os.getuid(), find_unmountable(reading.placed, home)) for reading in readings
        ]
    if output == "json":
        print_answer(write_json(build_json(readings, language), indent=2))
    elif lines := list(build_lines(readings, language)):
        print_answer("\n".join(lines))
    if unasked is not None and is_typed(context):
        raise unasked
    if unasked is not None and (explained := explain_error(unasked)) is not None:
        said = phrase("the cluster that PADDOCK_CONTEXT names was not asked: {why}", why=explained.message)
        print_line(localized(said), to=sys.stderr)
    return int(any(reading.wrong for reading in readings))


def ask_cluster(readings: list[Reading]) -> tuple[list[Reading], ApiError | Failed | None]:
    """The readings with what the cluster finds, and why it could not be asked: what is wrong with the files is told all
    the same."""
    from paddock.cli.submit.dry_run import check_readings

    try:
        return check_readings(readings), None
    except (ApiError, Failed) as error:
        return readings, error


def build_json(readings: Sequence[Reading], language: str) -> dict[str, object]:
    """The readings for editors and CI. `message` is in the reader's language; all other fields do not depend on it."""
    return {
        "valid": not any(reading.wrong for reading in readings),
        "problems": [
            {
                "file": reading.file,
                "line": problem.line,
                "column": problem.column,
                "path": problem.path,
                "rule": problem.code,
                "severity": problem.severity,
                "message": render(problem.said or problem.message, language),
                "found": problem.found,
                "allowed": problem.allowed,
                "suggestion": problem.suggestion,
            }
            for reading in readings
            for problem in reading.problems
        ],
    }
