"""The selection of ranks by --role and --rank, and of their last lines by --tail."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from paddock.cli.cluster.errors import UserError
from paddock.cli.output.language import localized
from paddock.jobs.model import Rank
from paddock.words.phrases import Phrase, phrase

_RANGES = re.compile(r"[0-9]{1,9}(-[0-9]{1,9})?(,[0-9]{1,9}(-[0-9]{1,9})?)*")


@dataclass(frozen=True, slots=True)
class Ranges:
    """Indices of ranks: `0,3-5`."""

    text: str
    parts: tuple[tuple[int, int], ...]

    def __contains__(self, index: int) -> bool:
        return any(first <= index <= last for first, last in self.parts)


def read_ranges(text: str) -> Ranges | None:
    """`0`, `0,3-5`; None for a text of another form, or a range that ends before it begins."""
    plain = text.replace(" ", "")
    if not _RANGES.fullmatch(plain):
        return None
    ends = [part.partition("-") for part in plain.split(",")]
    parts = tuple((int(first), int(last or first)) for first, _, last in ends)
    return None if any(first > last for first, last in parts) else Ranges(plain, parts)


class RanksType(click.ParamType[Ranges]):
    """The value of --rank."""

    name = "ranks"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Ranges:
        if isinstance(value, Ranges):
            return value
        found = read_ranges(str(value))
        if found is None:
            said = phrase("{text} names no ranks: a number, or numbers and ranges such as 0,3-5", text=repr(value))
            self.fail(localized(said), parameter, context)
        return found


@dataclass(frozen=True, slots=True)
class Selection:
    """The part of a job's output that is printed."""

    ranks: tuple[Rank, ...]
    tail: int | None
    """Number of last lines, None for all."""

    def shows(self, rank: Rank) -> bool:
        return rank in self.ranks


def choose_ranks(job: str, ranks: Sequence[Rank], role: str, wanted: Ranges | None, tail: int | None) -> Selection:
    """The ranks that match --role and --rank. Raises `UserError` if none does."""
    chosen = tuple(rank for rank in ranks if role in ("", rank.role) and (wanted is None or rank.index in wanted))
    if not chosen:
        asked = "-".join(filter(None, (role, "" if wanted is None else wanted.text)))
        known = ", ".join(map(str, ranks[:8])) + (", …" if len(ranks) > 8 else "")
        there: Phrase | str = known or phrase("none")
        raise UserError(phrase("{job} has no rank {wanted}; it has {known}", job=job, wanted=asked, known=there))
    return Selection(chosen, tail)
