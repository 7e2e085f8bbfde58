"""Which jobs of a list are shown, in which order, and how many there are of each phase. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from paddock.jobs.model import Phase
from paddock.kube.meta import Resource
from paddock.views.jobs import JobRow
from paddock.views.phases import CANCELLED

Listed = tuple[Resource, JobRow]
_Item = TypeVar("_Item")

ORDER: tuple[str, ...] = (
    Phase.FAILED,
    Phase.INVALID,
    Phase.RESTARTING,
    Phase.PENDING,
    Phase.STARTING,
    Phase.RUNNING,
    Phase.TERMINATING,
    Phase.SUSPENDED,
    CANCELLED,
    Phase.COMPLETED,
)
"""Trouble first; what has ended well comes last."""
_PLACES: Mapping[str, int] = {phase: place for place, phase in enumerate(ORDER)}


@dataclass(frozen=True, slots=True)
class Filter:
    """What a reader wants to see; an empty value is all."""

    phase: str = ""  # as the list shows it
    kind: str = ""  # of the API, `PyTorchJob`
    namespace: str = ""
    text: str = ""  # in `NAMESPACE/NAME`, in any case

    def matches(self, listed: Listed, *, any_phase: bool = False) -> bool:
        resource, row = listed
        return (
            (any_phase or self.phase in ("", row.state))
            and self.kind in ("", resource.kind)
            and self.namespace in ("", row.namespace)
            and (not self.text or self.text.lower() in f"{row.namespace}/{row.name}".lower())
        )


def order_jobs(found: Iterable[Listed]) -> list[Listed]:
    """The jobs by trouble, then the newest first."""
    return sorted(found, key=lambda each: (_PLACES.get(each[1].state, 0), -(each[1].created or 0.0), each[1].name))


def count_phases(found: Iterable[Listed]) -> list[tuple[str, int]]:
    """(state, number of jobs) for each state that there is, in the order of the list."""
    counts = Counter(row.state for _, row in found)
    return [(str(state), counts[state]) for state in ORDER if state in counts]


@dataclass(frozen=True, slots=True)
class Part:
    """One page of a long table."""

    page: int  # counts from 1
    pages: int  # at least 1
    begin: int  # as of a slice
    end: int  # as of a slice


def choose_part(wanted: str, total: int, size: int = 100) -> Part:
    """The page that an address asks for; the nearest one that exists."""
    pages = max(1, -(-total // size))
    page = min(max(1, int(wanted)), pages) if wanted.isdecimal() and len(wanted) < 9 else 1
    return Part(page, pages, (page - 1) * size, min(page * size, total))


def cut_part(items: Sequence[_Item], part: Part) -> Sequence[_Item]:
    return items[part.begin : part.end]
