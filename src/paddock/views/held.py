"""The ranks of a job that are held for a shell since they failed (`kube.held_pods`). Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from paddock.jobs.model import Phase, Rank
from paddock.jobs.objects.observed import read_pod
from paddock.kube.held_pods import read_held
from paddock.kube.meta import Manifest
from paddock.kube.times import Moment
from paddock.views.stored import StoredJob
from paddock.words.phrases import Names, Phrase, phrase

_MOST_NAMES = 8


@dataclass(frozen=True, slots=True)
class HeldRank:
    rank: Rank
    until: Moment
    code: int | None
    """The exit code of its program; None of one that did not run."""


def list_held(stored: StoredJob, pods: Iterable[Manifest], now: Moment) -> list[HeldRank]:
    """By role and number; none of a job that has not failed, or of an earlier attempt."""
    if stored.status.phase is not Phase.FAILED:
        return []
    found = [
        HeldRank(read.rank, until, read.exit.code if read.exit is not None and read.exit.code >= 0 else None)
        for pod in pods
        if (until := read_held(pod)) is not None and until > now
        if (read := read_pod(pod)) is not None and stored.status.holds(read)
    ]
    return sorted(found, key=lambda each: each.rank)


def tell_held(held: list[HeldRank], time: str, word: str, options: str) -> Phrase | None:
    """What is said of them, with the command for the first; None without any. `time`: until when all are;
    `word`, `options`: the job as commands name it."""
    if not held:
        return None
    names = tuple(str(each.rank) for each in held)
    command = f"paddock shell {word}{options} --rank {names[0]}"
    if len(names) == 1:
        return phrase("{rank} is held until {time}: `{command}`", rank=names[0], time=time, command=command)
    if len(names) <= _MOST_NAMES:
        return phrase("{ranks} are held until {time}: `{command}`", ranks=Names(names), time=time, command=command)
    return phrase(
        "{count} ranks are held until {time}, {rank} the first: `{command}`",
        count=len(names), time=time, rank=names[0], command=command,
    )  # fmt: skip
