"""What `paddock validate` says of files. Pure; `submission.reading` finds the problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from paddock.preflight import format_problem
from paddock.submission.reading import Reading
from paddock.words.formats import format_of
from paddock.words.phrases import Phrase, counted, phrase, render


def build_lines(readings: Sequence[Reading], language: str) -> list[str]:
    """`FILE:LINE:COLUMN: PATH: sentence` for each problem, and a line for each correct file."""
    lines = []
    for reading in readings:
        lines += [format_problem(problem, reading.file, language) for problem in reading.problems]
        if not reading.wrong:
            lines.append(_summarize(reading, language))
    severities = Counter(problem.severity for reading in readings for problem in reading.problems)
    wrong, warnings = severities["error"], severities["warning"]
    problems = counted("{count} problem", "{count} problems", count=wrong)
    if wrong and warnings:
        said = counted("{problems}, {count} warning", "{problems}, {count} warnings", problems=problems, count=warnings)
        lines.append(render(said, language))
    elif wrong > 1:
        lines.append(render(problems, language))
    return lines


def _summarize(reading: Reading, language: str) -> str:
    if reading.launches is not None:
        return f"{reading.file}: {render(_summarize_script(reading.launches, len(reading.problems)), language)}"
    kinds = Counter(str(document.manifest.get("kind")) for document in reading.documents)
    each = (_count_kind(kind, count) for kind, count in kinds.items())
    found = format_of(language).comma.join(render(said, language) for said in each)
    said = phrase("{kinds}, no problems", kinds=found)
    if reading.problems:
        said = counted(
            "{kinds}, {count} warning", "{kinds}, {count} warnings", kinds=found, count=len(reading.problems)
        )
    return f"{reading.file}: {render(said, language)}"


def _count_kind(kind: str, count: int) -> Phrase:
    """`2 PaddleJobs`, `2 PriorityClass objects`."""
    if kind.endswith(("s", "y")):
        return counted("{count} {kind} object", "{count} {kind} objects", count=count, kind=kind)
    return counted("{count} {kind}", "{count} {kind}s", count=count, kind=kind)


def _summarize_script(launches: int, warnings: int) -> Phrase:
    if not launches:
        return phrase("a shell script in which no command of a launcher was read; nothing else is checked")
    found = counted("{count} launch command", "{count} launch commands", count=launches)
    if not warnings:
        return phrase("{found}, no problems", found=found)
    return counted("{found}, {count} warning", "{found}, {count} warnings", found=found, count=warnings)
