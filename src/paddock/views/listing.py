"""Which jobs of a list are shown, in which order, and how many there are of each phase. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TypeVar

from paddock.jobs.model import Phase
from paddock.kube.meta import Resource
from paddock.kube.times import Moment
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
FRESH_SECONDS = 86_400.0
"""For which a job that has failed stands first. An older failure is among what has ended, as its reader knows it."""


@dataclass(frozen=True, slots=True)
class Filter:
    """What a reader wants to see; an empty value is all."""

    phase: str = ""  # as the list shows it
    kind: str = ""  # of the API, `PyTorchJob`
    namespace: str = ""
    text: str = ""  # in `NAMESPACE/NAME`, its description, labels (`team=ads`) or owner, in any case

    def matches(self, listed: Listed, *, any_phase: bool = False) -> bool:
        resource, row = listed
        return (
            (any_phase or self.phase in ("", row.state))
            and self.kind in ("", resource.kind)
            and self.namespace in ("", row.namespace)
            and (not self.text or self.text.lower() in row.searched)
        )


def order_jobs(found: Iterable[Listed], now: Moment = 0.0) -> list[Listed]:
    """The jobs by trouble, then the newest first. `now`: failures of more than a day before it are no trouble."""
    return sorted(
        found, key=lambda each: (_find_place(each[1], now), -(each[1].created or 0.0), each[1].name, each[1].namespace)
    )


def _find_place(row: JobRow, now: Moment) -> int:
    return len(ORDER) - 1 if is_old_failure(row, now) else _PLACES.get(row.state, 0)


def is_old_failure(row: JobRow, now: Moment) -> bool:
    """Whether the job failed more than `FRESH_SECONDS` ago, as far as is known; a cancelled one is among them."""
    return row.phase is Phase.FAILED and row.finished is not None and now - row.finished > FRESH_SECONDS


def count_trouble(found: Iterable[Listed], now: Moment) -> tuple[int, int]:
    """(jobs that have failed lately or cannot begin, jobs that run)."""
    rows = [row for _, row in found]
    bad = (Phase.FAILED, Phase.INVALID)
    return (
        sum(row.state in bad and not is_old_failure(row, now) for row in rows),
        sum(row.state in (Phase.RUNNING, Phase.RESTARTING) for row in rows),
    )


def measure_duration(row: JobRow, now: Moment) -> float | None:
    """Seconds from when all ranks ran for the first time to the end of the job, or until now; None before."""
    return None if row.started is None else max(0.0, (row.finished or now) - row.started)


@dataclass(frozen=True, slots=True)
class Order:
    """In which order a reader wants to see jobs: by one column. Jobs without a value in it come last, either way."""

    key: str = ""  # of `SORTS`; empty for trouble first
    falling: bool = False

    def __str__(self) -> str:
        """As addresses have it: `name`, `-created`."""
        return f"-{self.key}" if self.falling else self.key

    def turn(self, key: str) -> Order:
        """The order that a click on the head of this column asks for."""
        return Order(key, not self.falling if key == self.key else key in _FALLING_FIRST)


SORTS = ("name", "state", "created", "duration", "progress", "loss", "owner")
_FALLING_FIRST = ("created", "duration", "progress")
"""Of these a reader wants the largest first: `created` begins with the newest."""


def read_order(text: str) -> Order:
    """`-created` -> falling by `created`; trouble first for what names no column."""
    key = text.removeprefix("-")
    return Order(key, text.startswith("-")) if key in SORTS else Order()


def sort_jobs(
    found: Iterable[Listed], order: Order, now: Moment, losses: Mapping[str, float] | None = None
) -> list[Listed]:
    """`losses`: by the job's UID, where they are known better than from its status."""
    by_trouble = order_jobs(found, now)
    if not order.key:
        return by_trouble
    read = _read_key(order.key, now, losses or {})
    values = [(read(each[1]), each) for each in by_trouble]
    known = sorted((pair for pair in values if pair[0] is not None), key=itemgetter(0), reverse=order.falling)
    return [each for _, each in known] + [each for value, each in values if value is None]


def _read_key(key: str, now: Moment, losses: Mapping[str, float]) -> Callable[[JobRow], float | str | None]:
    """A function: the value of a row by which jobs are sorted."""
    read: Mapping[str, Callable[[JobRow], float | str | None]] = {
        "name": lambda row: row.name.lower(),
        "state": lambda row: _PLACES.get(row.state, 0),
        "created": lambda row: row.created,
        "duration": lambda row: measure_duration(row, now),
        "progress": lambda row: row.progress.percent if row.progress else None,
        "loss": lambda row: losses.get(row.uid, row.progress.metrics.get("loss") if row.progress else None),
        "owner": lambda row: row.owner.lower() or None,
    }
    return read[key]


COLUMNS = ("ready", "duration", "age", "created", "resources", "owner")
"""Those that a reader may leave out; a list always has name, state, cause, and progress where one is known."""
_SHOWN = ("ready", "duration", "age")


def read_columns(text: str) -> tuple[str, ...]:
    """`name,ready,owner` -> the columns beside the name, in the order of the list; `name` says that one was chosen,
    where none is left. Empty: those of a reader who has not chosen."""
    wanted = text.split(",") if text else _SHOWN
    return tuple(each for each in COLUMNS if each in wanted)


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
