"""What a line says that its process waits for: a store, a server, a peer, a name. Pure.

Libraries say it once, or again and again, and go on as soon as it is there. Said again and again it is no progress.
Sources: PaddlePaddle 2.6 to 3.3 (`tcp_utils.cc`, `gen_comm_id_helper.cc`, `fleet/launch_utils.py`, the launcher's
`controllers/master.py`), PyTorch 2.13 (`TCPStore`'s `socket.cpp`, `distributed_c10d.py`), NCCL 2.21 (`socket.cc`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from paddock.logs.chatter import match_chatter
from paddock.words.phrases import Phrase, phrase


class Awaited(StrEnum):
    """What is waited for."""

    STORE = "store"
    """The store of the ranks, which rank 0 serves at the address."""
    SERVERS = "servers"
    """Endpoints that are to listen before training begins."""
    PEER = "peer"
    """A rank that hands out the id of a group, or that a group connects to."""
    NAME = "name"
    """The address of a host's name."""
    MASTER = "master"
    """PaddlePaddle's master, where its launchers meet."""
    LAUNCHERS = "launchers"
    """The launchers of the other nodes."""
    RANKS = "ranks"
    """The other ranks of a group, which are to come to a store that is there."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What one line waits for."""

    awaited: Awaited
    target: str = ""
    """`10.0.0.1:6070`, several separated by `, `; empty where the line does not say it."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Lines of one kind at the end of a log, with nothing of the program's own between or after them."""

    waiting: Waiting
    count: int = 1
    """Times that it was said."""
    line: int = 0
    """The number of the first line."""
    text: str = ""
    """The last line."""

    @property
    def is_long(self) -> bool:
        """Whether it was said more often than where all goes well."""
        return self.count >= OFTEN


OFTEN = 3
"""A peer that starts some seconds later is waited for once or twice."""

_FORMS: tuple[tuple[Awaited, str, re.Pattern[str]], ...] = tuple(
    (awaited, word, re.compile(form))
    for awaited, word, form in (
        (
            Awaited.STORE, "Retry to connect",
            r"Retry to connect to (?P<target>\S+) while the server is not yet listening",
        ),
        (
            Awaited.STORE, "[c10d]",
            r"\[c10d\] The client socket has failed to connect to \[?(?P<host>[^\]\s,()]+)\]?:(?P<port>\d+)",
        ),
        (
            Awaited.NAME, "[c10d]",
            r"\[c10d\] The IPv[46] network addresses of \((?P<host>[^\s,()]+), (?P<port>\d+)\) cannot be retrieved",
        ),
        (Awaited.SERVERS, "not ready endpoints", r"not ready endpoints:\[(?P<list>[^\]]*)\]"),
        (Awaited.SERVERS, "server not ready", r"server not ready, wait \d+ sec to retry"),
        (
            Awaited.PEER, "connect addr=",
            r"connect addr=(?P<target>\S+) failed \d+ times with reason: .+ retry after",
        ),
        (
            Awaited.PEER, "NCCL",
            r"NCCL (?:INFO|WARN) .*[Cc]all to connect to (?P<host>[\w.:-]+?)<(?P<port>\d+)> (?:failed|returned).*retry",
        ),
        (Awaited.PEER, "NCCL", r"NCCL (?:INFO|WARN) .*[Cc]all to connect returned .*retrying"),
        (Awaited.LAUNCHERS, "Waiting peer", r"LAUNCH INFO .*Waiting peer (?:start|ready)"),
        (Awaited.MASTER, "master not ready", r"LAUNCH WARNING .*master not ready"),
        (
            Awaited.RANKS, "store based barrier",
            r"[Ww]aiting in store based barrier to initialize process group for ",
        ),
    )
)  # fmt: skip
_WORDS = tuple(dict.fromkeys(word for _, word, _ in _FORMS))
_LONGEST = 2_000


def may_wait(text: str) -> bool:
    """Whether a line of the text may say that it waits: most lines do not."""
    return any(word in text for word in _WORDS)


def read_waiting(line: str) -> Waiting | None:
    """What the line waits for; None for any other line."""
    if not may_wait(line) or len(line) > _LONGEST:
        return None
    for awaited, word, form in _FORMS:
        if word in line and (found := form.search(line)):
            return Waiting(awaited, _read_target(found.groupdict()))
    return None


def only_waits(text: bytes) -> bool:
    """Whether all lines say that the process waits, or say nothing."""
    lines = [line for line in text.decode("utf-8", "replace").splitlines() if line.strip()]
    return bool(lines) and all(read_waiting(line) is not None for line in lines)


def _read_target(parts: dict[str, str]) -> str:
    if "host" in parts:
        return f"{parts['host']}:{parts['port']}"
    if "list" in parts:
        return ", ".join(each.strip(" '\"") for each in parts["list"].split(",") if each.strip())
    return parts.get("target", "")


class WaitingLines:
    """The lines of one log, in order. `waits`: what it waits for at its end; None where it goes on, or never waited."""

    def __init__(self) -> None:
        self.waits: Waits | None = None

    def feed(self, line: str, number: int = 0) -> Waits | None:
        """What is waited for where this line says it; None for another line."""
        found = read_waiting(line)
        if found is None:
            if self.waits is not None and line.strip() and match_chatter(line) is None:
                self.waits = None
            return None
        if self.waits is not None and _is_same(self.waits.waiting, found):
            # Of two lines for one wait the second has the address.
            again = self.waits.count + bool(found.target or not self.waits.waiting.target)
            known = found if found.target else self.waits.waiting
            self.waits = replace(self.waits, waiting=known, count=again, text=line)
        else:
            self.waits = Waits(found, 1, number, line)
        return self.waits

    def pass_by(self, lines: Iterable[str]) -> None:
        """Lines of which none waits."""
        if self.waits is not None and any(line.strip() and match_chatter(line) is None for line in lines):
            self.waits = None


def _is_same(before: Waiting, now: Waiting) -> bool:
    return before.awaited is now.awaited and (before.target == now.target or not (before.target and now.target))


def find_waits(lines: Iterable[str]) -> Waits | None:
    """What a log waits for at its end, said often enough to be told; None otherwise."""
    read = WaitingLines()
    for number, line in enumerate(lines, 1):
        read.feed(line, number)
    return read.waits if read.waits is not None and read.waits.is_long else None


def explain_waiting(waiting: Waiting, rank: str = "", target: str = "") -> Phrase:
    """`waits for worker-1, which is to serve the store at 10.0.0.1:6070`. `rank`: who serves the target, where that is
    known; `target`: how to name it, else as the line does."""
    at = target or waiting.target or "?"
    if rank:
        return _OF_RANK[waiting.awaited](rank, at)
    return _OF_ADDRESS[waiting.awaited](at)


_OF_ADDRESS: Mapping[Awaited, Callable[[str], Phrase]] = {
    Awaited.STORE: lambda at: phrase("waits for the store of the ranks at {at}, where nobody listens", at=at),
    Awaited.SERVERS: lambda at: phrase("waits for {at}, where nobody listens yet", at=at),
    Awaited.PEER: lambda at: phrase("waits for a peer at {at}, which does not answer", at=at),
    Awaited.NAME: lambda at: phrase("waits for a host whose name has no address here: {at}", at=at),
    Awaited.MASTER: lambda _: phrase("waits for the master of the launchers, which does not answer"),
    Awaited.LAUNCHERS: lambda _: phrase("waits for the launchers of the other nodes"),
    Awaited.RANKS: lambda _: phrase("waits for the other ranks of its group: the store is there, and not all came"),
}
_OF_RANK: Mapping[Awaited, Callable[[str, str], Phrase]] = {
    Awaited.STORE: lambda rank, at: phrase("waits for {rank}, which is to serve the store at {at}", rank=rank, at=at),
    Awaited.SERVERS: lambda rank, at: phrase("waits for {rank}, which does not listen at {at} yet", rank=rank, at=at),
    Awaited.PEER: lambda rank, at: phrase("waits for {rank}, which does not answer at {at}", rank=rank, at=at),
    Awaited.NAME: lambda rank, at: phrase("waits for {rank}, whose name has no address here: {at}", rank=rank, at=at),
    Awaited.MASTER: lambda rank, at: phrase("waits for {rank}, which is to serve the master at {at}", rank=rank, at=at),
    Awaited.LAUNCHERS: lambda rank, _: phrase("waits for the launcher of {rank}", rank=rank),
    Awaited.RANKS: lambda rank, _: phrase("waits for {rank}, which has not come to its group", rank=rank),
}
