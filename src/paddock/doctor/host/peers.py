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
    """`milliseconds`: until the answer of the network; `said`: the error of FAILED. `segment`: bytes of data in the
    largest packet of an open connection, which both sides have agreed on; 0 if it is not known."""

    port: int
    answer: Answer
    milliseconds: int = 0
    said: str = ""
    segment: int = 0


@dataclass(frozen=True, slots=True)
class Path:
    """`passes`: the largest packet that arrived, in bytes with its IP header; `vanishes`: the smallest that never did,
    without a word from the network; 0 if all arrived."""

    passes: int
    vanishes: int = 0


@dataclass(frozen=True, slots=True)
class Clock:
    """`offset`: seconds that the other clock is ahead of this one; `uncertainty`: seconds, either way; `source`: `HTTP`
    or `NTP`."""

    offset: float
    uncertainty: float
    source: str


@dataclass(frozen=True, slots=True)
class Peer:
    """`address`: what its name stands for here; empty if it stands for nothing. `lookup`: milliseconds that this took;
    `is_found`: False if no answer came in time. `source`: the own address by which it is reached. `probes`: one for the
    port that was asked for, or one for each of several ports if none was."""

    endpoint: Endpoint
    address: str = ""
    lookup: int = 0
    is_found: bool = True
    source: str = ""
    probes: tuple[Probe, ...] = ()
    path: Path | None = None
    clock: Clock | None = None
