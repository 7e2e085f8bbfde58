"""Conditions of a kubeflow.org job: training-operator's types, reasons, messages and order, of v1.9.4.

Its rules (pkg/util/status.go), on which its SDK, Kueue and `kubectl get` rely:

- A condition that changes moves to the end; one with the same status and reason does not change at all.
- Running and Restarting exclude each other: setting one removes the other.
- Success and failure set Running to False, which keeps its reason and message, and are the end of all changes.
- Suspending sets Running to False with the reason Suspended; resuming sets Suspended to False, reason Resumed.

Five rules differ, where v1.9 said what was not so:

- Running means that all ranks run, not the Master alone; it is False while one of them starts anew.
- A finished or suspended job is not Restarting any more.
- Created is never lost: where an update of somebody else came first, it is added.
- `kubectl get` prints the type of the last condition as the state. Where that one is False (a resumed job that does not
  run yet), Created stands behind it, and in its own place again afterwards; v1.9 printed Suspended.
- A changed status always gets a new lastTransitionTime.

Invalid is Paddock's: a job whose manifest cannot run has it, so that `kubectl get` prints it, and loses it when an edit
ends that. Conditions of other types stay. The messages are in `apis.kubeflow_sentences`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from paddock.jobs.model import Phase, Status
from paddock.kube.meta import Manifest
from paddock.kube.times import Moment, format_time

if TYPE_CHECKING:
    from paddock.jobs.apis.kubeflow_sentences import Subject

CREATED, RUNNING, RESTARTING = "Created", "Running", "Restarting"
SUCCEEDED, FAILED, SUSPENDED = "Succeeded", "Failed", "Suspended"
INVALID = "Invalid"

_RESUMED = "Resumed"
_PHASES = {
    FAILED: Phase.FAILED,
    SUCCEEDED: Phase.COMPLETED,
    SUSPENDED: Phase.SUSPENDED,
    RESTARTING: Phase.RESTARTING,
    RUNNING: Phase.RUNNING,
    CREATED: Phase.PENDING,
}
"""The phase that a True condition means; the first True one in this order counts."""

_OURS = frozenset({*_PHASES, INVALID} - {CREATED})
"""The types that tell how a job does."""

Conditions = tuple[Mapping[str, Any], ...]


def read_conditions(raw: Any) -> Conditions:
    """The conditions in a raw value; other entries, also without a type or a status, are dropped."""
    items = [item for item in raw if isinstance(item, Mapping)] if isinstance(raw, list) else []
    return tuple(item for item in items if all(isinstance(item.get(key), str) for key in ("type", "status")))


def read_phase(conditions: Conditions) -> Phase:
    """The phase of a job whose status has conditions only (training-operator's)."""
    return next((phase for type_, phase in _PHASES.items() if _is_true(conditions, type_)), Phase.NONE)


def build_conditions(previous: Conditions, status: Status, now: Moment, job: Subject) -> list[Manifest]:
    """`previous` updated to `status`; equal to `previous` without a change. Reasons begin with the kind, as in
    PaddleJobCreated (Kubeflow's NewReason)."""
    begun = status.phase is not Phase.NONE or status.cause is not None
    ended = _is_true(previous, SUCCEEDED) or _is_true(previous, FAILED)
    if status.phase is Phase.TERMINATING or not begun or ended:
        return [dict(each) for each in previous]
    listed = _ConditionList(previous, format_time(now), job.kind)
    if listed.find(CREATED) is None:
        listed = listed.set(CREATED, True, CREATED, job.created())
    if status.phase is not Phase.INVALID:
        listed = listed.without(INVALID)
    if status.phase.terminal:  # cancelled while it was suspended: it has not gone on
        listed = listed.set_false(SUSPENDED)
    elif status.phase is not Phase.SUSPENDED and _is_true(listed.conditions, SUSPENDED):
        listed = listed.set(SUSPENDED, False, _RESUMED, job.resumed())
    return [dict(each) for each in _in_order(_apply_phase(listed, status, job).conditions)]


@dataclass(frozen=True, slots=True)
class _ConditionList:
    """The conditions of a job, with functions that return a changed copy."""

    conditions: Conditions
    now: str  # RFC 3339
    kind: str  # of the job

    def find(self, type_: str) -> Mapping[str, Any] | None:
        return next((each for each in self.conditions if each["type"] == type_), None)

    def set(self, type_: str, value: bool, word: str, message: str) -> _ConditionList:
        """Sets a condition, which moves to the end; the same status and reason change nothing."""
        old, reason, text = self.find(type_), f"{self.kind}{word}", "True" if value else "False"
        same = old is not None and old.get("status") == text
        if old is not None and same and old.get("reason") == reason:
            return self
        since = (old.get("lastTransitionTime") if old is not None and same else None) or self.now
        new = {"type": type_, "status": text, "reason": reason, "message": message}
        return self.without(type_)._append(new | {"lastUpdateTime": self.now, "lastTransitionTime": since})

    def set_false(self, type_: str) -> _ConditionList:
        """Sets a True condition to False; its reason, message and place stay."""
        if not _is_true(self.conditions, type_):
            return self
        times = {"lastUpdateTime": self.now, "lastTransitionTime": self.now}
        return self._put({**(self.find(type_) or {}), "status": "False", **times})

    def set_message(self, type_: str, message: str) -> _ConditionList:
        """Sets the message alone, if it is new."""
        old = self.find(type_)
        if old is None or old.get("message") == message:
            return self
        return self._put({**old, "message": message, "lastUpdateTime": self.now})

    def without(self, type_: str) -> _ConditionList:
        return replace(self, conditions=tuple(each for each in self.conditions if each["type"] != type_))

    def _append(self, condition: Mapping[str, Any]) -> _ConditionList:
        return replace(self, conditions=(*self.conditions, condition))

    def _put(self, condition: Mapping[str, Any]) -> _ConditionList:
        changed = (condition if each["type"] == condition["type"] else each for each in self.conditions)
        return replace(self, conditions=tuple(changed))


def _apply_phase(listed: _ConditionList, status: Status, job: Subject) -> _ConditionList:
    match status.phase:
        case Phase.INVALID:
            from paddock.jobs.sentences.explain import explain  # late, as the classes of causes below

            said = explain(status.cause) if status.cause else "the manifest is wrong"
            return listed.set(INVALID, True, INVALID, said).set_message(INVALID, said)
        case Phase.RUNNING:
            return listed.without(RESTARTING).set(RUNNING, True, RUNNING, job.running())
        case Phase.RESTARTING if _is_restart(status):
            return listed.without(RUNNING).set(RESTARTING, True, RESTARTING, job.restarting(status.cause))
        case Phase.SUSPENDED:
            if _is_true(listed.conditions, RUNNING):
                listed = listed.set(RUNNING, False, SUSPENDED, job.suspended())
            return listed.set_false(RESTARTING).set(SUSPENDED, True, SUSPENDED, job.suspended())
        case Phase.COMPLETED:
            return listed.set_false(RUNNING).set_false(RESTARTING).set(SUCCEEDED, True, SUCCEEDED, job.succeeded())
        case Phase.FAILED:
            return listed.set_false(RUNNING).set_false(RESTARTING).set(FAILED, True, FAILED, job.failed(status))
        case _:
            return listed.set_false(RUNNING)


def _is_restart(status: Status) -> bool:
    """Whether the gang is made anew because of what happened. A resumed job is no restart (Kubeflow has no Restarting
    for it); nor is a wait for old pods, before which the restart was recorded if there was one."""
    # A list of jobs reads statuses and writes none: it does without the classes of all causes.
    from paddock.jobs.causes import NEW_ATTEMPT_REASONS

    return status.cause is None or status.cause.reason in NEW_ATTEMPT_REASONS - {_RESUMED}


def _in_order(conditions: Conditions) -> Conditions:
    """Created behind the last condition of a job where that is False, else before the others."""
    places = [place for place, each in enumerate(conditions) if each["type"] in _OURS]
    created = next((each for each in conditions if each["type"] == CREATED), None)
    if created is None or not places:
        return conditions
    is_last, others = conditions[max(places)]["status"] == "True", [each for each in conditions if each != created]
    at = conditions.index(created)
    if is_last and at > min(places):
        others.insert(min(places), created)
    elif not is_last and at < max(places):
        others.append(created)
    else:
        return conditions
    return tuple(others)


def _is_true(conditions: Conditions, type_: str) -> bool:
    return any(each["type"] == type_ and each.get("status") == "True" for each in conditions)
