"""Who failed first. Peers die within a second of each other and API times have whole seconds, so a table decides:

    LOST     deleted, evicted, its node gone: not the program's fault
    MEMORY   out of memory
    SIGNAL   killed by a signal
    ERROR    an exit code of its own, or a server that ended early
    ECHO     what follows from a peer's end: Paddle's launcher after gloo's abort (250), what was sent SIGTERM (143,
             and 15 from Paddle's launcher), its worker killed after an earlier failure (247), torch's complaint that
             a peer closed the connection

then the earliest finish, then the lowest rank. Sources: runs of PaddlePaddle 3.3.1 and PyTorch 2.13.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from paddock.jobs.model import Exit, Pod, Rank


class Kind(IntEnum):
    """In rank order: a lower one is the likelier root cause."""

    LOST = 0
    MEMORY = 1
    SIGNAL = 2
    ERROR = 3
    ECHO = 4


LOST_REASONS = frozenset({
    "Lost", "NodeLost", "NodeShutdown", "Shutdown", "Terminated", "Evicted", "Preempted", "Preempting",
    "PreemptionByScheduler", "DeletionByTaintManager", "EvictionByEvictionAPI", "DeletionByPodGC",
    "TerminationByKubelet", "NodeAffinity", "UnexpectedAdmissionError", "OutOfcpu", "OutOfmemory", "OutOfpods",
})  # fmt: skip
"""Kubernetes' reasons of pods that the node or the cluster ended, and the embedded node's `Lost`."""

DELETED = "Deleted"
"""`Death.why` of a pod that somebody deleted, and nobody says why."""

ECHO_CODES = frozenset({250, 15, 143})
_AFTER_A_PEER = 247
_ECHO_MESSAGES = ("Connection closed by peer", "Connection reset by peer")
_NEVER = 2**62
_NOT_STARTED = frozenset({"StartError", "ContainerCannotRun"})
"""The kubelet's reasons of a container whose program could not be started: its message is all there is."""
_LONGEST_MESSAGE = 300


@dataclass(frozen=True, slots=True)
class Death:
    """How one rank ended, or went. `why`: the reason of a LOST one, `Deleted` where somebody deleted the pod.
    `message`: why its program was not started; None of one that was."""

    rank: Rank
    kind: Kind
    code: int | None = None
    finished: int = _NEVER
    why: str = ""
    server: bool = False
    message: str | None = None


def read_deaths(
    pods: Sequence[Pod], early: Collection[Pod], missing: Collection[Rank], *, whole: bool
) -> tuple[Death, ...]:
    """Every end that an unfinished attempt should not have seen.

    `early`: servers that ended too soon, with any code. `missing`: ranks whose pods were there and are gone. `whole`:
    the gang was complete, so that a pod being deleted is missed; before that it is simply made again.
    """
    deaths = [Death(rank, Kind.LOST, why=DELETED) for rank in missing]
    for pod in pods:
        failed = pod.ended and (pod in early or pod.phase.value == "Failed")
        if pod.deleting and (failed or (whole and not pod.ended)):
            deaths.append(Death(pod.rank, Kind.LOST, why=pod.disrupted or DELETED))
        elif failed:
            deaths.append(_death(pod, server=pod in early))
    return tuple(_as_echo(death, deaths) for death in deaths)


def find_root_cause(deaths: Collection[Death]) -> tuple[Death, ...]:
    """The first death, and those that cannot be told from it (same kind, same second), by rank. Empty for none."""
    ranked = sorted(deaths, key=lambda death: (death.kind, death.finished, death.rank))
    return tuple(death for death in ranked if (death.kind, death.finished) == (ranked[0].kind, ranked[0].finished))


def _death(pod: Pod, *, server: bool) -> Death:
    end = pod.exit or Exit(-1)
    finished = _NEVER if end.finished is None else int(end.finished)
    kind = _kind(end)
    why, message = end.reason if kind is Kind.LOST else "", _read_message(end)
    return Death(pod.rank, kind, end.code, finished, why, server, message)


def _read_message(end: Exit) -> str | None:
    if end.reason not in _NOT_STARTED or not end.message.strip():
        return None
    message = " ".join(end.message.split())
    return message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}…"


def _kind(end: Exit) -> Kind:
    if end.reason in LOST_REASONS:
        return Kind.LOST
    if end.reason == "OOMKilled":
        return Kind.MEMORY
    if end.code in ECHO_CODES or any(phrase in end.message for phrase in _ECHO_MESSAGES):
        return Kind.ECHO
    if end.signal is not None or end.code == _AFTER_A_PEER:
        return Kind.SIGNAL
    return Kind.ERROR


def _as_echo(death: Death, deaths: Collection[Death]) -> Death:
    """247 is a killed trainer, the root cause itself unless a peer ended before it of its own accord."""
    if death.code != _AFTER_A_PEER or death.kind is not Kind.SIGNAL:
        return death
    after = any(peer.finished < death.finished for peer in deaths if peer.kind < Kind.ECHO)
    return replace(death, kind=Kind.ECHO) if after else death
