"""The selection of ranks by --role and --rank, and of their last lines by --tail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paddock.cli.cluster.errors import UserError
from paddock.jobs.model import Rank
from paddock.jobs.text.phrases import Phrase, phrase


@dataclass(frozen=True, slots=True)
class Selection:
    """The part of a job's output that is printed. `tail`: number of last lines, None for all."""

    ranks: tuple[Rank, ...]
    tail: int | None

    @property
    def raw(self) -> bool:
        """The lines of a single rank are printed without its name."""
        return len(self.ranks) == 1

    def shows(self, rank: Rank) -> bool:
        return rank in self.ranks


def choose_ranks(job: str, ranks: Sequence[Rank], role: str, index: int | None, tail: int | None) -> Selection:
    """The ranks that match --role and --rank. Raises `UserError` if none does."""
    chosen = tuple(rank for rank in ranks if role in ("", rank.role) and index in (None, rank.index))
    if not chosen:
        wanted = "-".join(filter(None, (role, "" if index is None else str(index))))
        known = ", ".join(map(str, ranks[:8])) + (", …" if len(ranks) > 8 else "")
        there: Phrase | str = known or phrase("none")
        raise UserError(phrase("{job} has no rank {wanted}; it has {known}", job=job, wanted=wanted, known=there))
    return Selection(chosen, tail)
