"""Skipped tests in the summary: one line for each program that this machine lacks, one for each other reason."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Generator, Iterable

import pytest

from support.programs import Lack, title_of


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A report is sent from a worker of xdist to the controller with its attributes, without the exception itself."""
    report = yield
    if call.excinfo is not None and isinstance(lacking := call.excinfo.value, Lack):
        vars(report)["lacks"] = (lacking.program, lacking.why)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in explain_skips(terminalreporter.stats.get("skipped", ())):
        terminalreporter.write_line(line)


def explain_skips(reports: Iterable[pytest.TestReport]) -> list[str]:
    """One line for each program, then one for each other reason; the most tests first."""
    programs: dict[str, list[str]] = defaultdict(list)
    others: dict[str, int] = defaultdict(int)
    for report in reports:
        if program_and_why := getattr(report, "lacks", None) or _read_lack(_read_reason(report)):
            programs[title_of(program_and_why[0])].append(program_and_why[1])
        else:
            others[_read_reason(report)] += 1
    lines = [(len(whys), _explain_lack(program, whys)) for program, whys in programs.items()]
    lines += [(count, f"{_count(count)}: {reason}") for reason, count in others.items()]
    return [f"skipped: {line}" for _, line in sorted(lines, key=lambda each: -each[0])]


def _explain_lack(program: str, whys: list[str]) -> str:
    verb = "needs" if len(whys) == 1 else "need"
    return f"{_count(len(whys))} {verb} {program}, which {', or '.join(dict.fromkeys(whys))}"


def _read_lack(reason: str) -> tuple[str, str] | None:
    """The program, and why, of a mark whose reason reads as that of a `Lack`."""
    found = re.fullmatch(r"needs (.+?), which (.+)", reason, re.DOTALL)
    return (found[1], found[2]) if found else None


def _count(tests: int) -> str:
    return "1 test" if tests == 1 else f"{tests} tests"


def _read_reason(report: pytest.TestReport) -> str:
    """pytest writes a skip as (path, line, "Skipped: reason")."""
    where = report.longrepr
    return where[2].removeprefix("Skipped: ") if isinstance(where, tuple) else str(where)
