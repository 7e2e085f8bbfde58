"""The annotation `paddock.dev/idle`: what becomes of a job that runs, and whose GPUs all do nothing for too long.

GPUs that are held and not used are nobody's else, and a program that waits for a peer, a download or a person at a
debugger holds them as one that trains does. Only what is known counts: a pod of which nobody tells what its GPUs do is
never idle, nor is one that was not heard of for a while; its time is counted anew. A processor that is idle says
nothing, so jobs without GPUs are left alone.

Who looks (`app.idle_jobs`) is a client of the API as a person is: it suspends the job as `paddock suspend` does, in the
spec, so it can be resumed as any other, and says why in an annotation with the attempt, which `policies.suspend` makes
the cause of. A suspension is no failure and no restart. A job of a queue of Kueue is told of alone: Kueue would begin
it again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from paddock.jobs.labels import IDLE_ANNOTATION, IDLE_SUSPENDED_ANNOTATION
from paddock.jobs.model import IdleLimit, Job, OnIdle, Phase, Pod, PodPhase, Status
from paddock.jobs.queued import find_queue
from paddock.kube.accelerators import is_accelerator
from paddock.kube.meta import Key, Manifest
from paddock.kube.pod_amounts import read_pod_amounts
from paddock.kube.times import format_duration

IDLE_PERCENT = 1.0
"""Of the time a GPU may work, and does nothing: a driver that is asked for its state is no work."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A gang that runs, of a job with a limit."""

    job: Job
    limit: IdleLimit
    attempt: int
    pods: Mapping[str, Key]
    """Those that have GPUs, by UID; none of a job that asks for none."""

    @property
    def does(self) -> OnIdle:
        return OnIdle.TELL if find_queue(self.job) else self.limit.does


def find_watched(job: Job, status: Status, gang: Sequence[Pod]) -> Watched | None:
    """None for a job without a limit, and while not all of its pods with GPUs run."""
    if job.idle is None or status.phase is not Phase.RUNNING:
        return None
    roles = {role.name for role in job.roles if has_gpus(role.template)}
    pods = [pod for pod in gang if pod.rank.role in roles and not pod.ended]
    if any(pod.phase is not PodPhase.RUNNING for pod in pods):
        return None
    return Watched(job, job.idle, status.attempt, {pod.uid: Key(job.key.namespace, pod.name) for pod in pods})


def has_gpus(template: Mapping[str, object]) -> bool:
    spec = template.get("spec")
    try:
        return isinstance(spec, Mapping) and any(map(is_accelerator, read_pod_amounts(spec)))
    except ValueError:
        return False


def follow(
    since: Mapping[str, float], percents: Mapping[str, float], pods: Iterable[str], now: float
) -> dict[str, float]:
    """Since when the GPUs of each pod do nothing, by a steady clock. `percents`: of the time in which those of a pod
    worked lately; one that is missing, or no number, is not known. A pod that is busy or unknown has no entry."""
    return {pod: since.get(pod, now) for pod in pods if percents.get(pod, math.nan) <= IDLE_PERCENT}


def measure_idle(watched: Watched, since: Mapping[str, float], now: float) -> float | None:
    """For how many seconds all GPUs of the gang have done nothing; None while one works, or is not known."""
    if not watched.pods or not watched.pods.keys() <= since.keys():
        return None
    return now - max(since[pod] for pod in watched.pods)


def build_suspension(watched: Watched) -> Manifest:
    """The merge patch. The UID is a precondition: the name may belong to another job by now."""
    note = json.dumps({"attempt": watched.attempt, "seconds": watched.limit.seconds})
    return {
        "metadata": {"uid": watched.job.uid, "annotations": {IDLE_SUSPENDED_ANNOTATION: note}},
        "spec": {"runPolicy": {"suspend": True}},
    }


def read_suspension(annotations: Mapping[str, str], attempt: int) -> int | None:
    """For how many seconds the GPUs of the attempt had done nothing when it was suspended for that; None for any other
    suspension. That of an earlier attempt is over, whoever has left its annotation."""
    try:
        kept = json.loads(annotations.get(IDLE_SUSPENDED_ANNOTATION) or "null")
        is_this = isinstance(kept, dict) and kept.get("attempt") == attempt
        return int(kept["seconds"]) if is_this else None
    except (ValueError, KeyError, TypeError, OverflowError):  # another program may have written it
        return None


def explain_idle(watched: Watched, idle: float) -> str:
    """The message of an event."""
    names = sorted(key.name for key in watched.pods.values())
    named = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    said = f"the GPUs of {named} have done nothing for {format_duration(idle)}, and nobody else can have them"
    if watched.limit.does is OnIdle.SUSPEND and watched.does is OnIdle.TELL:
        return f"{said}; the job is not suspended, as Kueue would begin it again"
    return said


def explain_unknown(why: str) -> str:
    """The message of an event. `why`: why nobody knows what the GPUs do."""
    return f"the annotation {IDLE_ANNOTATION} has no effect: {why}"
