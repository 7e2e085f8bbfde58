"""What happens to one pod: one table over the job's situation, the pod's attempt against the recorded one, its state.

This is the only place that says Delete of a pod, and Create of one. A row is complete, and a test walks the product.
The table is read after what is decisive was recorded, so that a pod of the current attempt of an active job is never
deleted: what replaces a gang is never killed. When a rank may be created (not before older pods are gone) is `plan`'s.
"""

from __future__ import annotations

from enum import Enum, StrEnum

from paddock.jobs.model import Pod, PodPhase


class Fate(Enum):
    KEEP = "stays as it is; an absent pod stays absent"
    WAIT = "is going, or is nothing to touch before the record is settled"
    DELETE = "is deleted, by its UID and with its own grace"
    CREATE = "is to be made"


class Situation(StrEnum):
    """Where the recorded job stands. KEPT and CLEAN: what its clean-up policy says of this end."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    COMPLETED_KEPT = "completed, pods kept"
    COMPLETED_STOPPED = "completed, what still runs is ended"
    COMPLETED_CLEAN = "completed, pods cleaned up"
    FAILED_KEPT = "failed, pods kept"
    FAILED_CLEAN = "failed, pods cleaned up"
    TERMINATING = "being deleted"


class Age(StrEnum):
    """A pod's attempt against the recorded one."""

    OLDER = "older"
    CURRENT = "current"
    NEWER = "newer"


class State(StrEnum):
    ABSENT = "absent"
    PENDING = "pending"
    ALIVE = "starting or running"
    ENDED = "succeeded or failed"
    DELETING = "being deleted"


_COLUMNS = (State.ABSENT, State.PENDING, State.ALIVE, State.ENDED, State.DELETING)
_KEEP, _WAIT, _DELETE, _CREATE = Fate.KEEP, Fate.WAIT, Fate.DELETE, Fate.CREATE

# fmt: off
_ROWS: dict[tuple[Situation, Age], tuple[Fate, Fate, Fate, Fate, Fate]] = {
    #                                            absent   pending  alive    ended    being deleted
    (Situation.ACTIVE, Age.OLDER):              (_KEEP,   _DELETE, _DELETE, _DELETE, _WAIT),
    (Situation.ACTIVE, Age.CURRENT):            (_CREATE, _KEEP,   _KEEP,   _KEEP,   _WAIT),
    (Situation.ACTIVE, Age.NEWER):              (_KEEP,   _WAIT,   _WAIT,   _WAIT,   _WAIT),
    (Situation.SUSPENDED, Age.OLDER):           (_KEEP,   _DELETE, _DELETE, _DELETE, _WAIT),
    (Situation.SUSPENDED, Age.CURRENT):         (_KEEP,   _DELETE, _DELETE, _DELETE, _WAIT),
    (Situation.SUSPENDED, Age.NEWER):           (_KEEP,   _DELETE, _DELETE, _DELETE, _WAIT),
    (Situation.COMPLETED_KEPT, Age.OLDER):      (_KEEP,   _DELETE, _DELETE, _DELETE, _WAIT),
    (Situation.COMPLETED_KEPT, Age.CURRENT):    (_KEEP,   _DELETE, _KEEP,   _KEEP,   _WAIT),
    (Situation.COMPLETED_KEPT, Age.NEWER):      (_KEEP,   _DELETE, _DELETE, _DELETE, _WAIT),
    (Situation.COMPLETED_STOPPED, Age.OLDER):   (_KEEP,   _DELETE, _DELETE, _DELETE, _WAIT),
    (Situation.COMPLETED_STOPPED, Age.CURRENT): (_KEEP,   _DELETE, _DELETE, _KEEP,   _WAIT),
    (Situation.COMPLETED_STOPPED, Age.NEWER):   (_KEEP,   _DELETE, _DELETE, _DELETE, _WAIT),
    (Situation.COMPLETED_CLEAN, Age.OLDER):     (_KEEP,   _DELETE, _DELETE, _DELETE, _WAIT),
    (Situation.COMPLETED_CLEAN, Age.CURRENT):   (_KEEP,   _DELETE, _DELETE, _DELETE, _WAIT),
    (Situation.COMPLETED_CLEAN, Age.NEWER):     (_KEEP,   _DELETE, _DELETE, _DELETE, _WAIT),
    (Situation.FAILED_KEPT, Age.OLDER):         (_KEEP,   _DELETE, _DELETE, _DELETE, _WAIT),
    (Situation.FAILED_KEPT, Age.CURRENT):       (_KEEP,   _DELETE, _DELETE, _KEEP,   _WAIT),
    (Situation.FAILED_KEPT, Age.NEWER):         (_KEEP,   _DELETE, _DELETE, _DELETE, _WAIT),
    (Situation.FAILED_CLEAN, Age.OLDER):        (_KEEP,   _DELETE, _DELETE, _DELETE, _WAIT),
    (Situation.FAILED_CLEAN, Age.CURRENT):      (_KEEP,   _DELETE, _DELETE, _DELETE, _WAIT),
    (Situation.FAILED_CLEAN, Age.NEWER):        (_KEEP,   _DELETE, _DELETE, _DELETE, _WAIT),
    (Situation.TERMINATING, Age.OLDER):         (_KEEP,   _WAIT,   _WAIT,   _WAIT,   _WAIT),
    (Situation.TERMINATING, Age.CURRENT):       (_KEEP,   _WAIT,   _WAIT,   _WAIT,   _WAIT),
    (Situation.TERMINATING, Age.NEWER):         (_KEEP,   _WAIT,   _WAIT,   _WAIT,   _WAIT),
}
# fmt: on

FATES: dict[tuple[Situation, Age, State], Fate] = {
    (situation, age, state): fate
    for (situation, age), row in _ROWS.items()
    for state, fate in zip(_COLUMNS, row, strict=True)
}


def read_age(pod: Pod, attempt: int) -> Age:
    if pod.attempt == attempt:
        return Age.CURRENT
    return Age.OLDER if pod.attempt < attempt else Age.NEWER


def read_state(pod: Pod | None) -> State:
    if pod is None:
        return State.ABSENT
    if pod.deleting:
        return State.DELETING
    if pod.ended:
        return State.ENDED
    return State.PENDING if pod.phase is PodPhase.PENDING else State.ALIVE


def plan_fate(situation: Situation, attempt: int, pod: Pod) -> Fate:
    return FATES[situation, read_age(pod, attempt), read_state(pod)]
