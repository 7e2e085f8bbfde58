"""Which rank failed first. Peers fail within the same second, and API times have whole seconds, so a table decides:

    LOST     deleted, preempted, drained, or its node is gone: not the program's fault (`FREE`)
    MEMORY   out of memory
    EVICTED  evicted by its node, which was short of what the pod used: memory, disk, process ids
    SIGNAL   killed by a signal
    ERROR    an exit code of its own, or a server that ended early
    ECHO     what follows from a peer's end: what was sent SIGTERM (143), a complaint that a peer closed the
             connection, the framework's own exit codes for it, a worker that crashed, or that its launcher killed,
             after an earlier failure

then the earliest finish, then the lowest rank. Sources: runs of PaddlePaddle 3.3.1 and PyTorch 2.13. The exit codes of
a launcher are its framework's (`frameworks.ExitCodes`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from signal import SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV
from typing import Any

from paddock.jobs.frameworks import ExitCodes
from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.jobs.model import NOBODY, Displaced, Exit, Job, Pod, Rank
from paddock.jobs.queued import is_stopped
from paddock.kube.container_ends import read_memory_end, read_processes_end, read_why
from paddock.kube.times import Moment
from paddock.logs.endings import Ending, may_tell_lost_peer, read_ending


class Kind(IntEnum):
    """In order: a lower kind is the likelier root cause."""

    LOST = 0
    MEMORY = 1
    EVICTED = 2
    SIGNAL = 3
    ERROR = 4
    ECHO = 5


FREE = {
    "Lost": "the embedded node: it was ended together with its pods",
    "NodeLost": "node lifecycle controller, until 1.25: the node no longer reports",
    "NodeShutdown": "kubelet 1.20: the node shuts down",
    "Shutdown": "kubelet 1.21: the node shuts down",
    "Terminated": "kubelet since 1.22: the node shuts down",
    "TerminationByKubelet": "kubelet: the node shuts down, or the pod makes room for a critical one",
    "Preempting": "kubelet: the pod makes room for a critical one",
    "Preempted": "a scheduler: the pod makes room for another",
    "PreemptionByScheduler": "kube-scheduler: the pod makes room for one of a higher priority",
    "DeletionByTaintManager": "taint eviction: the node is unreachable, or was tainted by somebody",
    "EvictionByEvictionAPI": "the eviction API: kubectl drain, an autoscaler, a descheduler",
    "DeletionByPodGC": "garbage collection of pods: the node is gone",
    "NodeAffinity": "kubelet's admission: the node's labels have changed since the pod was bound",
    "UnexpectedAdmissionError": "kubelet's admission: devices that were promised are taken or gone",
    "TopologyAffinityError": "kubelet's admission: no CPUs and devices of one NUMA node are free together",
}
"""Every reason for which a gang starts again without a restart being counted, and who gives it. A deletion without a
reason (`DELETED`), the kubelet's `OutOf...` (`_OUT_OF`) and what Kueue ends (`jobs.queued`) are free too. All else is
the program's fault. Source:
Kubernetes' pod disruption conditions, `pkg/kubelet/{eviction,nodeshutdown,preemption,lifecycle}`."""

_OUT_OF = "OutOf"
"""Kubelet's admission: `OutOfcpu`, `OutOfnvidia.com/gpu`: another pod has taken what this one was promised."""

EVICTED = "Evicted"
"""The kubelet's `status.reason` of a pod that it ended for want of memory, disk or process ids, or as the pod used more
disk than its limits allow. The pods that use the most beyond their requests go first."""

DELETED = "Deleted"
"""`Death.why` of a pod that was deleted without a reason."""

_TERMINATED = 143  # 128 + SIGTERM, as a shell reports it
_EXCEPTION = 1
_ECHO_MESSAGES = ("Connection closed by peer", "Connection reset by peer")
_CRASHES = frozenset({SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV})
"""Signals that a program gets for what it does itself. In PS mode a trainer of PaddlePaddle 3.3.1 dies of SIGSEGV when
another trainer has failed, in the same second or some later."""
_NEVER = 2**62
_TOLD = frozenset({"StartError", "ContainerCannotRun", EVICTED})
"""The kubelet's reasons of a program that could not be started, or was evicted: its message says what no log does."""
_TOO_MANY_PROCESSES = "TooManyProcesses"
"""The reason of the node of a laptop: what a container may have is the machine's to bound."""
_LONGEST_MESSAGE = 300


@dataclass(frozen=True, slots=True)
class Death:
    """How one rank ended."""

    rank: Rank
    kind: Kind
    code: int | None = None
    finished: int = _NEVER
    why: str = ""  # the reason of a LOST rank, `Deleted` where its pod was deleted
    server: bool = False
    message: str | None = None  # the kubelet's, of a program that was not started or was evicted
    reason: str = ""  # the kubelet's, of the end of its program
    log: str = ""  # the end of the log, of a program that chose its end
    kubelet: str = ""  # why the kubelet has ended it, a probe or a hook
    memory: tuple[str, str] | None = None  # what it had used of which limit, where its node tells it
    processes: tuple[int, int] | None = None
    """How many it had, and how many its node allows, where it was ended for it."""
    displaced: Displaced = NOBODY  # for whom, of one that Kueue has ended
    initial: bool = False  # as `Exit.initial`

    @property
    def ending(self) -> Ending:
        """What the log says. It is read where it is asked for: a gang has up to 10,000 of them."""
        return read_ending(self.log)


_UNKNOWN = Exit(-1)


@dataclass(frozen=True, slots=True)
class Seen:
    """Ends that were seen while a verdict waits (`policies.ending`): whoever deletes these pods meanwhile deletes what
    had failed before."""

    ranks: frozenset[str] = frozenset()
    root: str = ""  # the likeliest root cause then
    exit: Exit = _UNKNOWN  # that of `root`; its time is that of the wait


_NOTHING = Seen()


def read_deaths(
    job: Job,
    pods: Sequence[Pod],
    early: Collection[Pod],
    missing: Collection[Rank],
    *,
    whole: bool,
    seen: Seen = _NOTHING,
) -> tuple[Death, ...]:
    """Every rank of an unfinished attempt that ended too early.

    `early`: servers that ended too early, with any code. `missing`: ranks whose pods were there and are gone. `whole`:
    the gang was complete, so a pod that is being deleted counts.
    """
    codes = FRAMEWORKS[job.framework].exit_codes
    deaths = [death for rank in missing if (death := _read_gone(job, rank, seen, codes)) is not None]
    names = {pod.name for pod in early}
    for pod in pods:
        failed = pod.ended and (pod.phase.value == "Failed" or pod.name in names)
        ended_before = failed and (_is_evicted(pod) or str(pod.rank) in seen.ranks)
        # Before the gang was complete, a live pod that is being deleted is simply created again, but not into a group
        # that Kueue has stopped.
        judged = whole or is_stopped(pod.disrupted)
        if pod.deleting and not ended_before and (failed or (judged and not pod.ended)):
            deaths.append(Death(pod.rank, Kind.LOST, why=pod.disrupted or DELETED, displaced=pod.displaced))
        elif failed:
            deaths.append(_death(pod, codes, server=pod.name in names))
    return _with_echoes(deaths, codes)


def read_failures(
    job: Job, failed: Iterable[Pod], serving: Callable[[Rank], bool], success: Moment
) -> tuple[Death, ...]:
    """How these ranks failed, of a job that has succeeded all the same. `success`: when the first of its other ranks
    ended well."""
    codes = FRAMEWORKS[job.framework].exit_codes
    pods = tuple(failed)
    deaths = _with_echoes([_death(pod, codes, server=serving(pod.rank)) for pod in pods], codes)
    return tuple(
        replace(death, kind=Kind.ECHO) if _is_abandoned(pod, death, success) else death
        for pod, death in zip(pods, deaths, strict=True)
    )


def find_root_cause(deaths: Collection[Death]) -> tuple[Death, ...]:
    """The first death and those of the same kind in the same second, by rank. Empty without deaths."""
    first = min(((death.kind, death.finished) for death in deaths), default=None)
    same = (death for death in deaths if (death.kind, death.finished) == first)
    return tuple(sorted(same, key=lambda death: (death.rank.role, death.rank.index)))


def tell_end(death: Death) -> dict[str, Any]:
    """How a rank ended, as arguments of a cause (`causes.Failure`)."""
    ending = death.ending
    amounts: dict[str, Any] = {}
    if death.memory is not None:
        amounts |= {"memory_used": death.memory[0], "memory_limit": death.memory[1]}
    if death.processes is not None:
        amounts |= {"processes": death.processes[0], "most_processes": death.processes[1]}
    return {
        "code": death.code,
        "memory": death.kind is Kind.MEMORY,
        "server": death.server,
        "message": death.message,
        "evicted": death.kind is Kind.EVICTED,
        "kubelet": death.kubelet or None,
        "error": ending.error or None,
        "last": ending.last or None,
        **amounts,
    }


def _read_gone(job: Job, rank: Rank, seen: Seen, codes: ExitCodes) -> Death | None:
    """How a rank ended whose pod is gone; None if it failed before, and another is the likelier cause."""
    if str(rank) not in seen.ranks:
        return Death(rank, Kind.LOST, why=DELETED)
    if str(rank) != seen.root:
        return None
    role = job.role(rank.role)
    finished = _NEVER if seen.exit.finished is None else int(seen.exit.finished)
    server = role is not None and role.serves
    kind = _kind(seen.exit, codes)
    return Death(rank, kind, seen.exit.code, finished, server=server, reason=seen.exit.reason)


def _death(pod: Pod, codes: ExitCodes, *, server: bool) -> Death:
    end = pod.exit or _UNKNOWN
    finished = _NEVER if end.finished is None else int(end.finished)
    kind = _kind(end, codes)
    why, message = end.reason if kind is Kind.LOST else "", _read_message(end)
    kubelet = " ".join(read_why(end.message).split())[:_LONGEST_MESSAGE]
    chosen = message is None and kind in (Kind.ERROR, Kind.ECHO) and end.signal is None and not kubelet
    log = end.message if chosen else ""
    memory = read_memory_end(end.message) if kind is Kind.MEMORY else None
    processes = read_processes_end(end.message) if end.reason == _TOO_MANY_PROCESSES else None
    return Death(
        pod.rank, kind, end.code, finished, why, server, message, end.reason, log, kubelet, memory, processes,
        pod.displaced, end.initial,
    )  # fmt: skip


def _is_evicted(pod: Pod) -> bool:
    # Somebody may clear an evicted pod away before its end is judged.
    return pod.exit is not None and pod.exit.reason == EVICTED


def _read_message(end: Exit) -> str | None:
    if end.reason not in _TOLD or not end.message.strip():
        return None
    message = " ".join(end.message.split())
    return message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}…"


def _kind(end: Exit, codes: ExitCodes) -> Kind:
    if end.reason in FREE or end.reason.startswith(_OUT_OF) or is_stopped(end.reason):
        return Kind.LOST
    if end.reason == EVICTED:
        return Kind.EVICTED
    if end.reason == "OOMKilled":
        return Kind.MEMORY
    if read_why(end.message) or end.reason == _TOO_MANY_PROCESSES:
        return Kind.ERROR
    if end.code == _TERMINATED or end.code in codes.echoes or _follows_from_peer(end.message):
        return Kind.ECHO
    if end.signal is not None or end.code in codes.killed:
        return Kind.SIGNAL
    return Kind.ERROR


def _follows_from_peer(message: str) -> bool:
    """Whether the program ended for a peer's end, by its termination message or by the end of its log."""
    if not may_tell_lost_peer(message):
        return False
    ending = read_ending(message)
    return ending.is_lost_peer if ending.raised else any(phrase in message for phrase in _ECHO_MESSAGES)


def _with_echoes(deaths: Sequence[Death], codes: ExitCodes) -> tuple[Death, ...]:
    """The deaths, of which a trainer that crashed or was killed is an echo if a peer ended by itself before it."""
    peers = [peer for peer in deaths if peer.kind < Kind.ECHO]
    first = min((peer.finished for peer in peers), default=_NEVER)
    chosen = {peer.finished for peer in peers if _chose_its_end(peer)}
    return tuple(replace(death, kind=Kind.ECHO) if _is_echo(death, codes, first, chosen) else death for death in deaths)


def _is_echo(death: Death, codes: ExitCodes, first: int, chosen: Collection[int]) -> bool:
    """`first`: when the first peer ended; `chosen`: when peers ended as they chose to."""
    crashed = Exit(death.code or 0).signal in _CRASHES
    # A launcher may have sent the SIGKILL after a peer's failure, as well as the kernel.
    if death.kind is not Kind.SIGNAL or not (crashed or death.code in codes.killed):
        return False
    return first < death.finished or (crashed and death.finished in chosen)


def _is_abandoned(pod: Pod, death: Death, success: Moment) -> bool:
    """Whether a peer's good end is the reason: gloo and NCCL abort a rank whose peer has left the group, mostly with
    the peer's name in the log, and else without a word."""
    if death.kind is not Kind.SIGNAL or pod.exit is None or pod.exit.signal != SIGABRT:
        return False
    return success < death.finished + 1 and not read_ending(pod.exit.message).raised


def _chose_its_end(death: Death) -> bool:
    """Whether no crash of a peer can be the reason: Python ends with 1 after an exception, also that of a lost peer."""
    return death.kind is Kind.ERROR and death.code != _EXCEPTION
