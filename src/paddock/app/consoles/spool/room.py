"""Room for the logs that are copied: one has a bound, all together have one, and who gives way is decided here. Pure.

Each log belongs to the reader for whom it is copied. Where all together take more than there is room for, the largest
log of the reader who has most gives way; logs of readers who have left give way before those of anybody who is here. So
a reader who has less than an equal share of the room never loses a line, whatever others' programs print.

What gives way is not over: where there is room again, copying goes on from the last line that is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

Log = TypeVar("Log", bound=Hashable)

MOST = 512 * 2**20
MOST_EACH = 64 * 2**20
"""Bytes. A kubelet keeps 50 MiB of a container's log by default (containerLogMaxSize times containerLogMaxFiles)."""
_STEPS = 64
"""A log gives way by so much of the bound of one, that not every line of another begins it again."""
_FREE = 16
"""The part of all room that has to be free before copying goes on."""


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes of a log that is not copied to its end yet, and for whom it is copied."""

    reader: str
    size: int


def choose_yielding(held: Mapping[Log, Held], present: Collection[str]) -> Log | None:
    """The log that gives way, of whoever is here or has left; None if none has a byte. Pure."""
    taken: Counter[str] = Counter()
    for each in held.values():
        taken[_whose(each, present)] += each.size
    if not sum(taken.values()):
        return None
    yielding = "" if taken[""] else max(taken, key=lambda reader: taken[reader])
    return max((log for log, each in held.items() if _whose(each, present) == yielding), key=lambda log: held[log].size)


def _whose(held: Held, present: Collection[str]) -> str:
    """Empty: of nobody who is here."""
    return held.reader if held.reader in present else ""


class Room(Generic[Log]):
    """`most`: bytes of all logs; `most_each`: of one."""

    def __init__(self, most: int = MOST, most_each: int = MOST_EACH) -> None:
        self.most, self.most_each = most, most_each
        self.step = max(1, most_each // _STEPS)
        self._held: dict[Log, Held] = {}
        self._taken = 0
        self._present: Counter[str] = Counter()

    def enter(self, reader: str) -> None:
        self._present[reader] += 1

    def leave(self, reader: str) -> None:
        self._present[reader] -= 1
        self._present += Counter()  # without those that are zero

    def hold(self, log: Log, reader: str, size: int) -> None:
        self.drop(log)
        self._held[log] = Held(reader, size)
        self._taken += size

    def resize(self, log: Log, size: int) -> None:
        """Of a log that is held."""
        self.hold(log, self._held[log].reader, size)

    def drop(self, log: Log) -> None:
        if held := self._held.pop(log, None):
            self._taken -= held.size

    @property
    def logs(self) -> list[Log]:
        """That are held."""
        return list(self._held)

    def has_left(self, size: int) -> bool:
        """Whether a log of this size may grow."""
        return size < self.most_each

    def may_go_on(self, size: int) -> bool:
        """Whether a log that has given way may be copied on from this size."""
        return self.has_left(size + 2 * self.step) and self._taken + self.most // _FREE <= self.most

    def find_yielding(self) -> tuple[Log, int] | None:
        """The log that gives way now, and the bytes that it may keep; None while there is room."""
        above = self._taken - self.most
        log = choose_yielding(self._held, self._present) if above > 0 else None
        return None if log is None else (log, max(0, self._held[log].size - above - self.step))
