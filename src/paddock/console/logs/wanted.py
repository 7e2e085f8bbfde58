"""What is searched for in logs: a text or a regular expression, a level, or both. Pure."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

from paddock.console.logs.levels import HINTS, LEVELS
from paddock.history.log_index import Hints
from paddock.words.phrases import Phrase, phrase

LONGEST = 500


class WrongPattern(Exception):
    """The text is no pattern that can be searched for; `said` says why."""

    def __init__(self, said: Phrase) -> None:
        super().__init__(str(said))
        self.said = said


@dataclass(frozen=True, slots=True)
class Wanted:
    """What lines a reader looks for."""

    text: str = ""  # one in small letters is found in capitals as well
    regex: bool = False  # the text is a regular expression, of Python
    level: str = ""  # of `levels.LEVELS`, or empty

    def __bool__(self) -> bool:
        return bool(self.text or self.level in LEVELS)

    @property
    def is_linear(self) -> bool:
        """Whether the search takes no longer than the log is long, whatever somebody typed."""
        return not (self.regex and self.text)

    @property
    def hints(self) -> Hints | None:
        """Where lines that match may be; None for a regular expression, of which nothing is known."""
        if self.text and not self.regex:
            folds = self.text == self.text.lower()
            whole = self.text.encode("utf-8", "replace")
            return Hints((whole.lower() if folds else whole,), folds)
        return Hints(HINTS[self.level]) if self.level in HINTS and not self.text else None

    def compile(self) -> re.Pattern[bytes]:
        """Raises `WrongPattern`."""
        if len(self.text) > LONGEST:
            raise WrongPattern(phrase("the text to be found has {count} characters, more than {most}", count=len(self.text), most=LONGEST))  # fmt: skip  # noqa: E501
        text = self.text if self.regex else re.escape(self.text)
        flags = re.IGNORECASE if self.text == self.text.lower() else re.NOFLAG
        whole = text.encode("utf-8", "replace")
        if level := LEVELS.get(self.level):
            whole = rb"^(?=.*?(?:" + level + rb"))" + (rb"(?=.*?(?:" + whole + rb"))" if whole else b"")
            flags = flags if self.text else re.NOFLAG
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return re.compile(whole, flags)
        except (re.error, OverflowError, RecursionError) as wrong:
            raise WrongPattern(phrase("{text} is no regular expression: {why}", text=repr(self.text), why=str(wrong)))  # noqa: B904  # fmt: skip
