"""Documents as they are sent to this machine, what stands against one, and what was changed of them. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from paddock.submission.documents import Checked
from paddock.words.phrases import Phrase


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A job that would find its script, or the directory that it starts in, nowhere."""

    each: Checked
    why: Phrase


@dataclass(frozen=True, slots=True)
class Prepared:
    """What `app.submitted.prepare` makes of the documents of one text."""

    checked: tuple[Checked, ...]
    """As they are sent, in their order."""
    refused: tuple[Unplaced, ...] = ()
    told: tuple[Phrase, ...] = ()
    """What was changed of them."""
