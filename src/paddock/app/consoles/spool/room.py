"""Room for the logs that are copied: one has a bound, all together have one, and who gives way is decided here. Pure.

A log counts as long as any of it is on the disk, with the files beside it. It belongs to that reader of those who have
looked at it who takes least, all logs at which they have looked counted. Where all together take more than there is
room for, the reader who has most gives way; what belongs to readers who have left gives way before that of anybody who
is here. So a reader who takes less than an equal share of the room never loses a line, whatever others' programs print.

Of a reader, logs that have ended go first, the oldest before others: a pod that has printed its last leaves a log that
nobody may ever read, and there is no limit to how many do. They are removed. The largest of the others is cut, which is
not its end: where there is room again, copying goes on from the last line that is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

Log = TypeVar("Log", bound=Hashable)

MOST = 2**30
MOST_EACH = 64 * 2**20
"""Bytes. A kubelet keeps 50 MiB of a container's log by default (containerLogMaxSize times containerLogMaxFiles)."""
BESIDE = 32 * 2**10
"""Bytes that a log without a line takes: two directories and up to five files of a block of 4 KiB or less."""
_STEPS = 64
"""Logs give way by so much of the bound of one, that not every line of another begins it again."""
_FREE = 16
"""The part of all room that has to be free before copying goes on."""


@dataclass(frozen=True, slots=True)
class Held:
    """What the room knows of one log."""

    readers: frozenset[str]
    """Who have looked at it."""
    size: int
    """Its bytes."""
    beside: int = 0
    """Bytes of what goes with it alone."""
    copied: bool = True
    """It is being copied, so it cannot be removed."""
    ended: bool = False
    """Nothing more will come."""

    @property
    def free(self) -> int:
        """Bytes that can give way."""
        return self.size + (0 if self.copied else self.beside)


def choose_yielding(held: Mapping[Log, Held], present: Collection[str]) -> list[Log]:
    """The logs of who gives way, of whoever is here or has left, in this order. Pure."""
    of = {log: each.readers.intersection(present) for log, each in held.items() if each.free}
    looked: Counter[str] = Counter()
    for log, readers in of.items():
        looked.update(dict.fromkeys(readers, held[log].free))
    owners = {log: min(readers, key=lambda each: (looked[each], each), default="") for log, readers in of.items()}
    taken: Counter[str] = Counter()
    for log, owner in owners.items():
        taken[owner] += held[log].free
    yielding = "" if taken[""] else max(taken, key=lambda reader: taken[reader], default="")
    return sorted((log for log, owner in owners.items() if owner == yielding), key=lambda log: _order(held[log]))


def _order(held: Held) -> tuple[bool, bool, int]:
    """The order in which logs go: those that have ended, as they ended, with lines first, then without; of others the
    largest first."""
    return not held.ended, not held.size, 0 if held.ended else -held.size


class Room(Generic[Log]):
    """`most`: bytes of all logs; `most_each`: of one. `beside`: of the files beside each."""

    def __init__(self, most: int = MOST, most_each: int = MOST_EACH, beside: int = 0) -> None:
        self.most, self.most_each, self.beside = most, most_each, beside
        self.step = max(1, most_each // _STEPS)
        self._held: dict[Log, Held] = {}
        self._taken = 0
        self._present: Counter[str] = Counter()
        self._payable: tuple[int, int] | None = None

    def enter(self, reader: str) -> None:
        self._present[reader] += 1
        self._payable = None

    def leave(self, reader: str) -> None:
        self._present[reader] -= 1
        self._present += Counter()  # without those that are zero
        self._payable = None

    def hold(self, log: Log, reader: str, size: int, more: int = 0) -> None:
        """A log that is being copied from now on. `more`: bytes beside it that others have not."""
        before = self._held.get(log)
        readers = before.readers if before else frozenset[str]()
        self._put(log, Held(readers | {reader}, size, self.beside + more))

    def stop(self, log: Log, size: int, *, ended: bool = False) -> None:
        """It is not being copied any more; the last that has ended is the last to go."""
        self._put(log, replace(self._held[log], size=size, copied=False, ended=ended))
        self._payable = None

    def share(self, log: Log, reader: str) -> None:
        """Another reader looks at it, if it is held."""
        held = self._held.get(log)
        if held is not None and reader not in held.readers:
            self._held[log] = replace(held, readers=held.readers | {reader})
            self._payable = None

    def resize(self, log: Log, size: int) -> None:
        """Notes the new size of a log that is held."""
        held = self._held[log]
        self._held[log] = replace(held, size=size)
        self._taken += size - held.size

    def drop(self, log: Log) -> None:
        if held := self._held.pop(log, None):
            self._taken -= held.size + held.beside
            self._payable = None

    def _put(self, log: Log, held: Held) -> None:
        self.drop(log)
        self._held[log] = held
        self._taken += held.size + held.beside

    @property
    def taken(self) -> int:
        """Bytes of all."""
        return self._taken

    @property
    def logs(self) -> list[Log]:
        """The logs that are held."""
        return list(self._held)

    def has_left(self, size: int) -> bool:
        """Whether a log of this size may grow."""
        return size < self.most_each

    def may_go_on(self, size: int) -> bool:
        """Whether a log that has given way may be copied on from this size: not if another would be cut for it."""
        if not self.has_left(size + 2 * self.step):
            return False
        wanted = self._taken + self.most // _FREE - self.most
        return wanted <= 0 or wanted <= self._measure_payable()

    def _measure_payable(self) -> int:
        """Bytes of logs that have ended and give way next. Looked up once while about as much is taken."""
        about = self._taken // self.step
        if self._payable is None or self._payable[0] != about:
            found = (self._held[log] for log in choose_yielding(self._held, self._present))
            self._payable = about, sum(each.free for each in found if each.ended)
        return self._payable[1]

    def find_yielding(self) -> list[tuple[Log, int | None]]:
        """The logs that give way now, each with the bytes that it may keep; None for one that goes with all that is
        beside it. Asked again after that, until none is left: there is room."""
        return list(self._give_way(self._taken - self.most + self.step)) if self._taken > self.most else []

    def _give_way(self, wanted: int) -> Iterator[tuple[Log, int | None]]:
        for log in choose_yielding(self._held, self._present):
            held = self._held[log]
            if held.size and not held.ended:
                yield log, max(0, held.size - wanted)
                return
            yield log, 0 if held.size else None
            wanted -= held.size or held.beside
            if wanted <= 0:
                return
