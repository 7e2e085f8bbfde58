"""What doctor has found, as text and as a document. Pure but for `print_text`.

    PaddleJob default/demo: looked at 1 pod, 1 log with 60 lines
      cause: waiting for room for 1 of 2 pods: no node has enough GPUs free
    wrong: worker-0, line 34                          waits-for-nodes-that-nobody-starts
      the launcher waits for 2 nodes, and the job has 1 pods that train
      why: it waits without a limit: nobody starts the others
      do:  leave --nnodes out of the command, or ask for 2 replicas
        paddock get jobs demo -o yaml

The command stands on a line of its own and is never broken, so that it can be copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.padding import Padding

from paddock.cli.output.terminal import styled
from paddock.doctor.findings import Finding, Severity
from paddock.words.phrases import Phrase, phrase, render

_COLOURS = {Severity.WRONG: "bold red", Severity.RISK: "bold yellow"}
_WORDS = {Severity.WRONG: phrase("wrong"), Severity.RISK: phrase("risk")}


@dataclass(frozen=True, slots=True)
class Subject:
    """What was looked at."""

    name: str
    """`PaddleJob default/demo`, a file, this machine."""
    findings: tuple[Finding, ...]
    looked: Phrase
    """What was looked at, in numbers."""
    unknown: Phrase | None = None
    """Why it could not be looked at, None where it was."""
    cause: Phrase | None = None
    """Why a job failed or does not run."""
    hint: Phrase | None = None
    """Where else to look if nothing was found."""


def build_document(subjects: Sequence[Subject], language: str) -> dict[str, Any]:
    """The findings for programs. `what`, `why`, `mend` and `looked` are in the reader's language; all else is not
    translated."""
    return {
        "healthy": not any(each.findings for each in subjects),
        "subjects": [
            {
                "subject": each.name,
                "looked": render(each.looked, language),
                "cause": render(each.cause, language) if each.cause else "",
                "unknown": render(each.unknown, language) if each.unknown else "",
                "hint": render(each.hint, language) if each.hint and not each.findings else "",
                "findings": [_build_finding(finding, language) for finding in each.findings],
            }
            for each in subjects
        ],
    }


def _build_finding(finding: Finding, language: str) -> dict[str, str]:
    return {
        "check": finding.check,
        "severity": str(finding.severity),
        "where": render(finding.where),
        "what": render(finding.what, language),
        "why": render(finding.why, language),
        "mend": render(finding.mend, language),
        "command": finding.command,
    }


def print_text(console: Console, subjects: Sequence[Subject], language: str) -> None:
    for number, subject in enumerate(subjects):
        if number:
            console.print()
        if subject.unknown is not None:
            said = phrase("{name}: not looked at: {why}", name=subject.name, why=subject.unknown)
            console.print(render(said, language))
            continue
        if not subject.findings:
            said = phrase("{name}: nothing found; looked at {looked}", name=subject.name, looked=subject.looked)
            console.print(render(said, language))
            _print_cause(console, subject, language)
            if subject.hint is not None:
                console.print(f"  {render(subject.hint, language)}")
            continue
        said = phrase("{name}: looked at {looked}", name=subject.name, looked=subject.looked)
        console.print(render(said, language))
        _print_cause(console, subject, language)
        for finding in subject.findings:
            _print_finding(console, finding, language)


def _print_cause(console: Console, subject: Subject, language: str) -> None:
    if subject.cause is not None:
        _print_indented(console, render(phrase("cause: {why}", why=subject.cause), language))


def _print_finding(console: Console, finding: Finding, language: str) -> None:
    head = styled(render(_WORDS[finding.severity], language), _COLOURS[finding.severity])
    console.print(head + styled(f" {render(finding.where, language)}  ") + styled(f"({finding.check})", "dim"))
    for said in (
        finding.what,
        phrase("why: {why}", why=finding.why),
        phrase("do: {mend}", mend=finding.mend),
    ):
        _print_indented(console, render(said, language))
    if finding.command:
        console.print(styled(f"    {finding.command}", "cyan"), soft_wrap=True)


def _print_indented(console: Console, text: str) -> None:
    """Broken between words on a terminal, on one line in a pipe, where a program reads it."""
    if console.is_terminal:
        console.print(Padding(styled(text), (0, 0, 0, 2)), soft_wrap=False)
    else:
        console.print(f"  {text}")
