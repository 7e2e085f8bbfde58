"""What other machines answered: values, as `doctor.probes` finds them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from paddock.doctor.host.endpoints import Endpoint

PATIENCE = 2
"""Seconds for which a name, a connection or an answer is waited for."""


class Answer(StrEnum):
    """What came of one connection by TCP."""

    OPEN = "open"
    CLOSED_AT_ONCE = "closed at once"
    """It was accepted, and ended by the other side within a third of a second, before anything was said."""
    MUTE = "mute"
    """It was accepted, and a request of HTTP was not answered in time."""
    REFUSED = "refused"
    NO_ROUTE = "no route"
    SILENT = "silent"
    """Nothing came back in time."""
    FAILED = "failed"
    """Another error of this machine; `said` has it."""

    @property
    def is_from_there(self) -> bool:
        """Whether the other machine itself answered."""
        return self in (Answer.OPEN, Answer.CLOSED_AT_ONCE, Answer.MUTE, Answer.REFUSED)


@dataclass(frozen=True, slots=True)
class Probe:
    """An attempt to connect to a port."""

    port: int
    answer: Answer
    milliseconds: int = 0
    """How long the answer of the network took."""
    said: str = ""
    """The error of FAILED."""
    segment: int = 0
    """Bytes of data in the largest packet of an open connection, which both sides have agreed on; 0 if it is not
    known."""


@dataclass(frozen=True, slots=True)
class Path:
    """The packets that pass on the way to a machine."""

    passes: int  # the largest packet that arrived, in bytes with its IP header
    vanishes: int = 0  # the smallest that never did, without a word from the network; 0 if all arrived


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock of another machine."""

    offset: float  # seconds that it is ahead of this one
    uncertainty: float  # seconds, either way
    source: str  # `HTTP` or `NTP`


@dataclass(frozen=True, slots=True)
class Peer:
    """Another machine, as it is seen from here."""

    endpoint: Endpoint
    address: str = ""
    """What its name stands for here; empty if it stands for nothing."""
    lookup: int = 0
    """Milliseconds that the lookup of the name took."""
    is_found: bool = True
    """False if no answer to the lookup came in time."""
    source: str = ""
    """The address of this machine by which it is reached."""
    probes: tuple[Probe, ...] = ()
    """One for the port that was asked for, or one for each of several ports if none was."""
    path: Path | None = None
    clock: Clock | None = None
