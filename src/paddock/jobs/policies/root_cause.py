"""Which rank failed first. Peers fail within the same second, and API times have whole seconds, so a table decides:

    LOST     deleted, evicted, or its node is gone: not the program's fault
    MEMORY   out of memory
    SIGNAL   killed by a signal
    ERROR    an exit code of its own, or a server that ended early
    ECHO     what follows from a peer's end: what was sent SIGTERM (143), a complaint that a peer closed the
             connection, the framework's own exit codes for it, a worker killed after an earlier failure

then the earliest finish, then the lowest rank. Sources: runs of PaddlePaddle 3.3.1 and PyTorch 2.13. The exit codes of
a launcher are its framework's (`frameworks.ExitCodes`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from paddock.jobs.frameworks import ExitCodes
from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.jobs.model import Exit, Job, Pod, Rank


class Kind(IntEnum):
    """In order: a lower kind is the likelier root cause."""

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
"""`Death.why` of a pod that was deleted without a reason."""

_TERMINATED = 143  # 128 + SIGTERM, as a shell reports it
_ECHO_MESSAGES = ("Connection closed by peer", "Connection reset by peer")
_NEVER = 2**62
_NOT_STARTED = frozenset({"StartError", "ContainerCannotRun"})
"""The kubelet's reasons of a container whose program could not be started: its message is all there is."""
_LONGEST_MESSAGE = 300


@dataclass(frozen=True, slots=True)
class Death:
    """How one rank ended. `why`: the reason of a LOST rank, `Deleted` where its pod was deleted. `message`: why its
    program was not started; None if it was."""

    rank: Rank
    kind: Kind
    code: int | None = None
    finished: int = _NEVER
    why: str = ""
    server: bool = False
    message: str | None = None


def read_deaths(
    job: Job, pods: Sequence[Pod], early: Collection[Pod], missing: Collection[Rank], *, whole: bool
) -> tuple[Death, ...]:
    """Every rank of an unfinished attempt that ended too early.

    `early`: servers that ended too early, with any code. `missing`: ranks whose pods were there and are gone. `whole`:
    the gang was complete, so a pod that is being deleted counts.
    """
    codes = FRAMEWORKS[job.framework].exit_codes
    deaths = [Death(rank, Kind.LOST, why=DELETED) for rank in missing]
    for pod in pods:
        failed = pod.ended and (pod in early or pod.phase.value == "Failed")
        # Before the gang was complete, a live pod that is being deleted is simply created again.
        if pod.deleting and (failed or (whole and not pod.ended)):
            deaths.append(Death(pod.rank, Kind.LOST, why=pod.disrupted or DELETED))
        elif failed:
            deaths.append(_death(pod, codes, server=pod in early))
    return tuple(_as_echo(death, deaths, codes) for death in deaths)


def find_root_cause(deaths: Collection[Death]) -> tuple[Death, ...]:
    """The first death and those of the same kind in the same second, by rank. Empty without deaths."""
    ranked = sorted(deaths, key=lambda death: (death.kind, death.finished, death.rank))
    return tuple(death for death in ranked if (death.kind, death.finished) == (ranked[0].kind, ranked[0].finished))


def _death(pod: Pod, codes: ExitCodes, *, server: bool) -> Death:
    end = pod.exit or Exit(-1)
    finished = _NEVER if end.finished is None else int(end.finished)
    kind = _kind(end, codes)
    why, message = end.reason if kind is Kind.LOST else "", _read_message(end)
    return Death(pod.rank, kind, end.code, finished, why, server, message)


def _read_message(end: Exit) -> str | None:
    if end.reason not in _NOT_STARTED or not end.message.strip():
        return None
    message = " ".join(end.message.split())
    return message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}…"


def _kind(end: Exit, codes: ExitCodes) -> Kind:
    if end.reason in LOST_REASONS:
        return Kind.LOST
    if end.reason == "OOMKilled":
        return Kind.MEMORY
    if end.code == _TERMINATED or end.code in codes.echoes or any(phrase in end.message for phrase in _ECHO_MESSAGES):
        return Kind.ECHO
    if end.signal is not None or end.code in codes.killed:
        return Kind.SIGNAL
    return Kind.ERROR


def _as_echo(death: Death, deaths: Collection[Death], codes: ExitCodes) -> Death:
    """A killed trainer is the root cause, unless a peer ended by itself before it."""
    if death.code not in codes.killed or death.kind is not Kind.SIGNAL:
        return death
    # A launcher may have sent the SIGKILL after a peer's failure, as well as the kernel.
    after = any(peer.finished < death.finished for peer in deaths if peer.kind < Kind.ECHO)
    return replace(death, kind=Kind.ECHO) if after else death
