"""Reports on manifest files: reads the files, checks them by `preflight`, builds the lines. Needs no cluster."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from paddock.jobs.reading.commands import is_script
from paddock.preflight import Document, check_together, format_problem, read_bytes
from paddock.preflight.datasets import check_document
from paddock.preflight.old_flags import check_script
from paddock.words.formats import format_of
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import Phrase, counted, phrase, render
from paddock.words.problems import Problem
from paddock.words.sentences import told

LARGEST = 8 * 2**20
"""Bytes of a manifest file: more is a wrong file (a checkpoint, a log)."""


@dataclass(frozen=True, slots=True)
class Report:
    """One file: its documents, and its problems in the order of its lines."""

    file: str
    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]
    launches: int | None = None
    """Commands that start PaddlePaddle's launcher, of a shell script; None for manifests."""

    @property
    def wrong(self) -> bool:
        return any(problem.severity == "error" for problem in self.problems)


def fetch_report(file: str) -> Report:
    """The report on a file, also if it cannot be read."""
    shown = "stdin" if file == "-" else file
    try:
        data = read_file(file)
    except OSError as error:
        why = phrase("cannot be read: {why}", why=explain_unreadable(error))
        return Report(shown, (), (told("", why),))
    if len(data) > LARGEST:
        return Report(shown, (), (told("", phrase("larger than {most} MiB: this is no manifest", most=LARGEST >> 20)),))
    return build_script_report(shown, data) or build_report(shown, data)


def build_script_report(file: str, data: bytes) -> Report | None:
    """The report on a shell script; None for a file that is none."""
    text = data.decode("utf-8", "replace")
    if not is_script(file, text) or "\0" in text:
        return None
    read = check_script(text)
    return Report(file, (), read.problems, read.launches)


def read_file(file: str) -> bytes:
    """At most one byte more than `LARGEST`; `-` is standard input. Raises OSError."""
    if file == "-":
        return sys.stdin.buffer.read(LARGEST + 1)
    with Path(file).open("rb") as stream:
        return stream.read(LARGEST + 1)


def build_report(file: str, data: bytes) -> Report:
    documents = read_bytes(data)
    together = [problem for problem in check_together(documents) if problem is not None]
    problems = [problem for document in documents for problem in check_document(document)]
    ordered = sorted((*problems, *together), key=lambda each: (each.line or 0, each.column or 0))
    return Report(file, documents, tuple(ordered))


def build_lines(reports: Sequence[Report], language: str) -> list[str]:
    """`FILE:LINE:COLUMN: PATH: sentence` for each problem, and a line for each correct file."""
    lines = []
    for report in reports:
        lines += [format_problem(problem, report.file, language) for problem in report.problems]
        if not report.wrong:
            lines.append(_summarize(report, language))
    severities = Counter(problem.severity for report in reports for problem in report.problems)
    wrong, warnings = severities["error"], severities["warning"]
    problems = counted("{count} problem", "{count} problems", count=wrong)
    if wrong and warnings:
        said = counted("{problems}, {count} warning", "{problems}, {count} warnings", problems=problems, count=warnings)
        lines.append(render(said, language))
    elif wrong > 1:
        lines.append(render(problems, language))
    return lines


def _summarize(report: Report, language: str) -> str:
    if report.launches is not None:
        return f"{report.file}: {render(_summarize_script(report.launches, len(report.problems)), language)}"
    kinds = Counter(str(document.manifest.get("kind")) for document in report.documents)
    each = (
        render(counted("{count} {kind}", "{count} {kind}s", count=count, kind=kind), language)
        for kind, count in kinds.items()
    )
    found = format_of(language).comma.join(each)
    said = phrase("{kinds}, no problems", kinds=found)
    if report.problems:
        said = counted("{kinds}, {count} warning", "{kinds}, {count} warnings", kinds=found, count=len(report.problems))
    return f"{report.file}: {render(said, language)}"


def _summarize_script(launches: int, warnings: int) -> Phrase:
    if not launches:
        return phrase("a shell script in which no command starts paddle.distributed.launch; nothing else is checked")
    found = counted("{count} launch command", "{count} launch commands", count=launches)
    if not warnings:
        return phrase("{found}, no problems", found=found)
    return counted("{found}, {count} warning", "{found}, {count} warnings", found=found, count=warnings)
