"""Who holds a place of a server, who has waited too long, and who gives way when all places are taken. Pure.

A connection whose request is being answered keeps its place: a watch, a followed log, a page. All others wait for
their client. When there is no place left for a new one, that one goes of whose client nothing has been heard for the
longest time: among those of the owner of addresses (`addresses`) who has most that wait, if these are more than a
sixteenth of all places, and among all otherwise. So who has a few is not singled out by one who has many addresses.

Why not a bound for each owner: on a laptop all clients have 127.0.0.1, and behind a proxy or a Service they have the
proxy's. The order by time does what it would do: a connection is new for the milliseconds that a handshake and a head
take, and who wants to keep others out by half requests must open as many as there are places within these.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Generic, TypeVar

from paddock.serving.addresses import name_owner

Holder = TypeVar("Holder")
_CROWD = 16
"""The share of all places that makes an owner the one whose connections give way."""


class Phase(IntEnum):
    """What a connection waits for. HEAD: the rest of a handshake or of a request's head. BODY: more of a body. IDLE:
    the next request. STALLED: that its client reads. ANSWERED: for nothing; its request is being worked on."""

    HEAD = 1
    BODY = 2
    IDLE = 3
    STALLED = 4
    ANSWERED = 5


class Places(Generic[Holder]):
    """`most`: connections. `seconds`: that a phase may last; one that is not named may last for ever. Times are any
    clock's that only grows."""

    def __init__(self, most: int, seconds: Mapping[Phase, float]) -> None:
        self._most, self._seconds = most, seconds
        # Dictionaries keep their order, and who changes comes last: the first of each has waited longest.
        self._since: dict[Phase, dict[Holder, float]] = {phase: {} for phase in Phase}
        self._held: dict[Holder, tuple[str, Phase]] = {}  # with the owner of the address
        self._waiting: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._held)

    @property
    def full(self) -> bool:
        return len(self._held) >= self._most

    def take(self, who: Holder, address: str, now: float) -> None:
        """A new connection, which waits for its head."""
        self._put(who, name_owner(address), Phase.HEAD, now)

    def move(self, who: Holder, phase: Phase, now: float) -> None:
        """`who` waits for this from now on. One that has given way is not taken back."""
        if (held := self._held.get(who)) is not None:
            self._take_out(who, *held)
            self._put(who, held[0], phase, now)

    def leave(self, who: Holder) -> None:
        if (held := self._held.pop(who, None)) is not None:
            self._take_out(who, *held)

    def list_in(self, phase: Phase) -> list[Holder]:
        return list(self._since[phase])

    def find_late(self, now: float) -> list[Holder]:
        """The holders whose phase has lasted too long."""
        return [
            who
            for phase, seconds in self._seconds.items()
            for who, since in self._since[phase].items()
            if since + seconds <= now
        ]

    def find_next_end(self) -> float | None:
        """When the next one will be late; None while nobody can be."""
        firsts = ((next(iter(self._since[phase].values()), None), seconds) for phase, seconds in self._seconds.items())
        return min((since + seconds for since, seconds in firsts if since is not None), default=None)

    def find_yielding(self) -> Holder | None:
        """The holder that gives way to a new connection; None if every request is being answered."""
        if not self._waiting:
            return None
        most = max(self._waiting.values())
        fewest = most if most > self._most // _CROWD else 1
        queues = (self._since[phase].items() for phase in Phase if phase is not Phase.ANSWERED)
        firsts = (
            next(((since, who) for who, since in queue if self._waiting[self._held[who][0]] >= fewest), None)
            for queue in queues
        )
        return min((first for first in firsts if first is not None), key=lambda first: first[0])[1]

    def _put(self, who: Holder, owner: str, phase: Phase, now: float) -> None:
        self._held[who] = (owner, phase)
        self._since[phase][who] = now
        if phase is not Phase.ANSWERED:
            self._waiting[owner] = self._waiting.get(owner, 0) + 1

    def _take_out(self, who: Holder, owner: str, phase: Phase) -> None:
        del self._since[phase][who]
        if phase is Phase.ANSWERED:
            return
        left = self._waiting[owner] - 1
        if left:
            self._waiting[owner] = left
        else:
            del self._waiting[owner]
