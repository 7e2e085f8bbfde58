"""The problems of a manifest, as values: a `Problem` for each mistake, and the exception with all of them.

`jobs.apis` and `preflight` find problems; `words.sentences` builds their sentences.
"""

from __future__ import annotations

from dataclasses import dataclass

from paddock.kube.validation.field_errors import Code
from paddock.words.phrases import Phrase


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem, at a field path."""

    path: str
    """`spec.worker.replicas`."""
    message: str
    """In English."""
    found: str = ""
    allowed: str = ""
    suggestion: str = ""
    severity: str = "error"
    line: int | None = None
    """From 1, if the text is known: of the field's name if `about_key`, else of its value."""
    column: int | None = None
    """As `line`."""
    about_key: bool = False
    said: Phrase | None = None
    """For every language."""
    code: Code = Code.INVALID
    """The broken rule; code compares it, never a sentence."""
    lacks: str = ""
    """The path of the missing value, if that is not `path`."""

    @property
    def missing(self) -> str:
        """The path of the missing value; empty for another problem."""
        return self.path if self.code is Code.REQUIRED else self.lacks


class InvalidJob(Exception):
    """The manifest is invalid, and a retry does not help. It has every problem, each with its path, warnings included;
    its text has the errors, for which the manifest is refused."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        self.errors = tuple(each for each in problems if each.severity == "error")
        super().__init__("; ".join(f"{each.path}: {each.message}" for each in self.errors))
