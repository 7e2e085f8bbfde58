"""The fate of one pod: one table over the job's situation, the pod's age (its attempt and renewal) and its state.

No other module decides to delete or create a pod. Every row is complete, and a test walks the whole product. The table
is read after a decisive change was recorded, so it never deletes a recorded pod of an active job. `plan`
decides when a missing rank may be created (not before older pods are gone, or its own if it restarts alone).
"""

from __future__ import annotations

from enum import Enum, StrEnum

from paddock.jobs.model import CleanPods, Job, Phase, Pod, PodPhase, Status
from paddock.jobs.policies.hold import is_held
from paddock.kube.times import Moment


class Fate(Enum):
    KEEP = "no action; an absent pod stays absent"
    WAIT = "no action yet: it is being deleted, or the record must change first"
    DELETE = "deleted by UID, with its own grace period"
    CREATE = "to be created"


class Situation(StrEnum):
    """The recorded job's phase together with what its cleanPodPolicy says of that end (KEPT, STOPPED, CLEAN)."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    COMPLETED_KEPT = "completed, pods kept"
    COMPLETED_STOPPED = "completed, what still runs is ended"
    COMPLETED_CLEAN = "completed, pods cleaned up"
    FAILED_KEPT = "failed, pods kept"
    FAILED_CLEAN = "failed, pods cleaned up"
    TERMINATING = "being deleted"


class Age(StrEnum):
    """A pod's attempt, and within it its renewal, compared with those that are recorded."""

    OLDER = "older"
    CURRENT = "current"
    NEWER = "newer"


class State(StrEnum):
    ABSENT = "absent"
    PENDING = "pending"
    ALIVE = "starting or running"
    ENDED = "succeeded or failed"
    HELD = "failed, and held for a shell"
    DELETING = "being deleted"


_COLUMNS = (State.ABSENT, State.PENDING, State.ALIVE, State.ENDED, State.HELD, State.DELETING)
_KEEP, _WAIT, _DELETE, _CREATE = Fate.KEEP, Fate.WAIT, Fate.DELETE, Fate.CREATE

# fmt: off
_ROWS: dict[tuple[Situation, Age], tuple[Fate, Fate, Fate, Fate, Fate, Fate]] = {
    #                                            absent   pending  alive    ended    held     being deleted
    (Situation.ACTIVE, Age.OLDER):              (_KEEP,   _DELETE, _DELETE, _DELETE, _DELETE, _WAIT),
    (Situation.ACTIVE, Age.CURRENT):            (_CREATE, _KEEP,   _KEEP,   _KEEP,   _KEEP,   _WAIT),
    # A later one is adopted first (`policies.gang`): the record was lost, and both numbers only grow.
    (Situation.ACTIVE, Age.NEWER):              (_KEEP,   _WAIT,   _WAIT,   _WAIT,   _WAIT,   _WAIT),
    (Situation.SUSPENDED, Age.OLDER):           (_KEEP,   _DELETE, _DELETE, _DELETE, _DELETE, _WAIT),
    (Situation.SUSPENDED, Age.CURRENT):         (_KEEP,   _DELETE, _DELETE, _DELETE, _DELETE, _WAIT),
    (Situation.SUSPENDED, Age.NEWER):           (_KEEP,   _DELETE, _DELETE, _DELETE, _DELETE, _WAIT),
    (Situation.COMPLETED_KEPT, Age.OLDER):      (_KEEP,   _DELETE, _DELETE, _DELETE, _DELETE, _WAIT),
    # Parameter servers never end by themselves; PaddlePaddle's documents show them kept (`Completed PS 2/2 0/2`).
    (Situation.COMPLETED_KEPT, Age.CURRENT):    (_KEEP,   _DELETE, _KEEP,   _KEEP,   _KEEP,   _WAIT),
    # Their attempt was dropped from the record: an attempt is recorded before its pods are made.
    (Situation.COMPLETED_KEPT, Age.NEWER):      (_KEEP,   _DELETE, _DELETE, _KEEP,   _KEEP,   _WAIT),
    (Situation.COMPLETED_STOPPED, Age.OLDER):   (_KEEP,   _DELETE, _DELETE, _DELETE, _DELETE, _WAIT),
    (Situation.COMPLETED_STOPPED, Age.CURRENT): (_KEEP,   _DELETE, _DELETE, _KEEP,   _KEEP,   _WAIT),
    (Situation.COMPLETED_STOPPED, Age.NEWER):   (_KEEP,   _DELETE, _DELETE, _KEEP,   _KEEP,   _WAIT),
    (Situation.COMPLETED_CLEAN, Age.OLDER):     (_KEEP,   _DELETE, _DELETE, _DELETE, _DELETE, _WAIT),
    (Situation.COMPLETED_CLEAN, Age.CURRENT):   (_KEEP,   _DELETE, _DELETE, _DELETE, _DELETE, _WAIT),
    (Situation.COMPLETED_CLEAN, Age.NEWER):     (_KEEP,   _DELETE, _DELETE, _DELETE, _DELETE, _WAIT),
    (Situation.FAILED_KEPT, Age.OLDER):         (_KEEP,   _DELETE, _DELETE, _DELETE, _DELETE, _WAIT),
    # The live pods of a failed job would hold their GPUs for nothing; ended pods stay with their logs.
    (Situation.FAILED_KEPT, Age.CURRENT):       (_KEEP,   _DELETE, _DELETE, _KEEP,   _KEEP,   _WAIT),
    (Situation.FAILED_KEPT, Age.NEWER):         (_KEEP,   _DELETE, _DELETE, _KEEP,   _KEEP,   _WAIT),
    (Situation.FAILED_CLEAN, Age.OLDER):        (_KEEP,   _DELETE, _DELETE, _DELETE, _DELETE, _WAIT),
    # Clean-up waits for whoever looks into it (`policies.hold`).
    (Situation.FAILED_CLEAN, Age.CURRENT):      (_KEEP,   _DELETE, _DELETE, _DELETE, _KEEP,   _WAIT),
    (Situation.FAILED_CLEAN, Age.NEWER):        (_KEEP,   _DELETE, _DELETE, _DELETE, _DELETE, _WAIT),
    # Kubernetes' garbage collector deletes the pods of a deleted job, by their owner references.
    (Situation.TERMINATING, Age.OLDER):         (_KEEP,   _WAIT,   _WAIT,   _WAIT,   _WAIT,   _WAIT),
    (Situation.TERMINATING, Age.CURRENT):       (_KEEP,   _WAIT,   _WAIT,   _WAIT,   _WAIT,   _WAIT),
    (Situation.TERMINATING, Age.NEWER):         (_KEEP,   _WAIT,   _WAIT,   _WAIT,   _WAIT,   _WAIT),
}
# fmt: on

FATES: dict[tuple[Situation, Age, State], Fate] = {
    (situation, age, state): fate
    for (situation, age), row in _ROWS.items()
    for state, fate in zip(_COLUMNS, row, strict=True)
}


def read_age(pod: Pod, status: Status) -> Age:
    if status.holds(pod):
        return Age.CURRENT
    older = (pod.attempt, pod.renewal) < (status.attempt, status.renewal(pod.rank))
    return Age.OLDER if older else Age.NEWER


def read_state(pod: Pod | None, now: Moment) -> State:
    if pod is None:
        return State.ABSENT
    if pod.deleting:
        return State.DELETING
    # The side-cars of a rank that has ended hold its devices: such a pod runs.
    if pod.ended and not pod.lingers:
        return State.HELD if is_held(pod, now) else State.ENDED
    return State.PENDING if pod.phase is PodPhase.PENDING else State.ALIVE


def plan_fate(situation: Situation, status: Status, pod: Pod, now: Moment) -> Fate:
    return FATES[situation, read_age(pod, status), read_state(pod, now)]


_DELETING = {
    Phase.COMPLETED: (CleanPods.ALWAYS, CleanPods.ON_COMPLETION),
    Phase.FAILED: (CleanPods.ALWAYS, CleanPods.ON_FAILURE),
}


def read_situation(job: Job, status: Status) -> Situation:
    """The recorded job's group of rows in the fate table. `cleanPodPolicy` says which end deletes pods and services:

                    Completed   Failed
        Always      deleted     deleted
        OnCompletion deleted    kept         (the default)
        OnFailure   kept        deleted
        Never       kept        kept
        Running     deleted if it runs, kept if it has ended (Kubeflow's)

    As in paddle-operator, with one difference: "kept" does not keep the live pods of a failed job; they are deleted,
    and ended pods stay with their logs. Parameter servers of a completed job do run on under "kept". The ConfigMap is
    deleted with the job.
    """
    if job.deleting:
        return Situation.TERMINATING
    if status.phase is Phase.SUSPENDED:
        return Situation.SUSPENDED
    if not status.phase.terminal:
        return Situation.ACTIVE
    clean = job.policies.clean_pods in _DELETING[status.phase]
    if status.phase is Phase.COMPLETED:
        if job.policies.clean_pods is CleanPods.RUNNING:
            return Situation.COMPLETED_STOPPED
        return Situation.COMPLETED_CLEAN if clean else Situation.COMPLETED_KEPT
    # FAILED_KEPT ends the live pods anyway, so Kubeflow's Running needs no row of its own for a failed job.
    return Situation.FAILED_CLEAN if clean else Situation.FAILED_KEPT
