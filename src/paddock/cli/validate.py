"""paddock validate

What is wrong with manifests is found by `jobs.preflight`; here files are read and lines are printed. Nothing is started
and no cluster is asked, so what only a cluster knows is not here but in `paddock explain --why-not`.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from paddock.cli.context_options import is_chosen, namespace_option
from paddock.cli.language import readers_language
from paddock.cli.verb import Verb
from paddock.jobs.phrases import phrase, render
from paddock.jobs.preflight import Document, check, check_together, format_problem, read_bytes
from paddock.jobs.problems import Problem
from paddock.jobs.text import told

LARGEST = 8 * 2**20
"""Bytes of a manifest file: more is a wrong file (a checkpoint, a log)."""


@dataclass(frozen=True, slots=True)
class Report:
    """One file: its documents, and its problems in the order of its lines."""

    file: str
    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]

    @property
    def wrong(self) -> bool:
        return any(problem.severity == "error" for problem in self.problems)


@click.command(name="validate", cls=Verb)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "output", type=click.Choice(["text", "json"]), default="text", help="How to print it.")
@namespace_option
def command(files: tuple[str, ...], output: str, namespace: str) -> int:
    """Find every mistake in manifests, at once and without a cluster. `-` reads standard input. With --context what is
    right is shown to that cluster as well, which creates nothing (a dry run).

    \b
    paddock validate job.yaml
    paddock validate job.yaml --context prod
    helm template chart | paddock validate -

    Exit code: 0 nothing is wrong (warnings are allowed), 1 something is.
    """
    language = readers_language()
    reports = [fetch_report(file) for file in files]
    if is_chosen(click.get_current_context()):
        from paddock.cli.server_check import check_reports

        reports = check_reports(reports, namespace)
    if output == "json":
        print(json.dumps(build_json(reports, language), indent=2, ensure_ascii=False))
    else:
        for line in build_lines(reports, language):
            print(line)
    return int(any(report.wrong for report in reports))


def fetch_report(file: str) -> Report:
    """What there is to say about a file, also where it cannot be read."""
    shown = "stdin" if file == "-" else file
    try:
        data = _read(file)
    except OSError as error:
        why = phrase("cannot be read: {why}", why=phrase(error.strerror or type(error).__name__))
        return Report(shown, (), (told("", why),))
    if len(data) > LARGEST:
        return Report(shown, (), (told("", phrase("larger than {most} MiB: this is no manifest", most=LARGEST >> 20)),))
    return build_report(shown, data)


def _read(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read(LARGEST + 1)
    with Path(file).open("rb") as stream:
        return stream.read(LARGEST + 1)


def build_report(file: str, data: bytes) -> Report:
    documents = read_bytes(data)
    together = [problem for problem in check_together(documents) if problem is not None]
    problems = [problem for document in documents for problem in check(document)]
    ordered = sorted((*problems, *together), key=lambda each: (each.line or 0, each.column or 0))
    return Report(file, documents, tuple(ordered))


def build_lines(reports: Sequence[Report], language: str) -> list[str]:
    """`FILE:LINE:COLUMN: PATH: sentence` for each problem, and a line for each file that is right."""
    lines = []
    for report in reports:
        lines += [format_problem(problem, report.file, language) for problem in report.problems]
        if not report.wrong:
            lines.append(_praise(report, language))
    wrong = sum(problem.severity == "error" for report in reports for problem in report.problems)
    if wrong > 1:
        lines.append(render(phrase("{count} problems", count=wrong), language))
    return lines


def _praise(report: Report, language: str) -> str:
    kinds = Counter(str(document.manifest.get("kind")) for document in report.documents)
    counted = tuple(
        render(phrase("{count} {kind}" if count == 1 else "{count} {kind}s", count=count, kind=kind), language)
        for kind, count in kinds.items()
    )
    comma = render(", ", language)
    if not report.problems:
        said = phrase("{kinds}, no problems", kinds=comma.join(counted))
    elif len(report.problems) == 1:
        said = phrase("{kinds}, 1 warning", kinds=comma.join(counted))
    else:
        said = phrase("{kinds}, {count} warnings", kinds=comma.join(counted), count=len(report.problems))
    return f"{report.file}: {render(said, language)}"


def build_json(reports: Sequence[Report], language: str) -> dict[str, object]:
    """For editors and CI. `message` is in the reader's language, all else is the same in every one."""
    return {
        "valid": not any(report.wrong for report in reports),
        "problems": [
            {
                "file": report.file,
                "line": problem.line,
                "column": problem.column,
                "path": problem.path,
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
