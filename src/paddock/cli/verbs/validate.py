"""paddock validate

`preflight` finds the problems, `cli.submit.report` reads the files. No cluster is started or read; what only a
cluster knows is in `paddock explain --why-not`.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from paddock.cli.cluster.context_flags import is_chosen
from paddock.cli.cluster.options import namespace_option
from paddock.cli.output.language import readers_language
from paddock.cli.output.streams import print_answer, write_json
from paddock.cli.submit.report import Report, build_lines, fetch_report
from paddock.cli.verb import Verb
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
    reports = [fetch_report(file) for file in files]
    if is_chosen(click.get_current_context()):
        from paddock.cli.submit.dry_run import check_reports

        reports = check_reports(reports, namespace)
    if output == "json":
        print_answer(write_json(build_json(reports, language), indent=2))
    elif lines := list(build_lines(reports, language)):
        print_answer("\n".join(lines))
    return int(any(report.wrong for report in reports))


def build_json(reports: Sequence[Report], language: str) -> dict[str, object]:
    """For editors and CI. `message` is in the reader's language; all other fields do not depend on it."""
    return {
        "valid": not any(report.wrong for report in reports),
        "problems": [
            {
                "file": report.file,
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
            for report in reports
            for problem in report.problems
        ],
    }
