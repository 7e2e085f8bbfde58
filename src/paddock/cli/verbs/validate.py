"""paddock validate

`submission.reading` finds the problems, `cli.submit.manifest_files` reads the files. No cluster is started or read;
what only a cluster knows is in `paddock explain --why-not`. Without --context what a laptop does not honour is told.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from paddock.cli.cluster.context_flags import is_chosen
from paddock.cli.cluster.options import namespace_option
from paddock.cli.output.language import readers_language
from paddock.cli.output.streams import print_answer, write_json
from paddock.cli.submit.manifest_files import fetch_reading
from paddock.cli.submit.report import build_lines
from paddock.cli.verb import Verb
from paddock.submission.local_only import with_local_warnings
from paddock.submission.reading import Reading
from paddock.words.phrases import render


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

    Exit code: 0 nothing is wrong (warnings are allowed), 1 something is.
    """
    language = readers_language()
    readings = [fetch_reading(file, namespace) for file in files]
    if is_chosen(click.get_current_context()):
        from paddock.cli.submit.dry_run import check_readings

        readings = check_readings(readings)
    else:
        readings = [with_local_warnings(reading, os.getuid()) for reading in readings]
    if output == "json":
        print_answer(write_json(build_json(readings, language), indent=2))
    elif lines := list(build_lines(readings, language)):
        print_answer("\n".join(lines))
    return int(any(reading.wrong for reading in readings))


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
