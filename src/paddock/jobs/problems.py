"""What is wrong with a manifest, as values: a `Problem` for each mistake, and the refusal that carries them all.

Where problems come from is `jobs.apis` and `jobs.preflight`; how they are put into words, `jobs.text`.
"""

from __future__ import annotations

from dataclasses import dataclass

from paddock.jobs.phrases import Phrase


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a manifest, at a field path (`spec.worker.replicas`). `message` is English, `said` the same in
    every language. `line` and `column`, from 1, are joined where the text is known; `about_key` says that the name of
    the field is meant there and not its value."""

    path: str
    message: str
    found: str = ""
    allowed: str = ""
    suggestion: str = ""
    severity: str = "error"
    line: int | None = None
    column: int | None = None
    about_key: bool = False
    said: Phrase | None = None


class InvalidJob(Exception):
    """The manifest is the user's mistake: no retry will mend it. Every problem at once, each with its path."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(f"{problem.path}: {problem.message}" for problem in problems))
        self.problems = problems
