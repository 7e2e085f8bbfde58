"""Conditions of a kubeflow.org job, in Kubeflow's order and with its reasons; the messages are Paddock's sentences.

Kubeflow's rules (training-operator v1.9, pkg/util/status.go), which its SDK, Kueue and `kubectl get` rely on:

- A condition whose status changes moves to the end: the last one is printed as the job's state.
- Running and Restarting exclude each other: setting one removes the other.
- Success and failure set Running to False, which keeps its reason and message.
- Suspending sets Running to False with the reason Suspended; resuming sets Suspended to False, reason Resumed.

Invalid is Paddock's: a job whose manifest cannot run has it, so that `kubectl get` prints it, and loses it when an edit
ends that.

Three rules differ. A message follows the cause while the status stays, with a new lastUpdateTime. A finished job is
not Restarting any more. A changed status always gets a new lastTransitionTime. Conditions of other types stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from paddock.jobs.model import Phase, Status
from paddock.jobs.text.explain import explain
from paddock.kube.meta import Manifest
from paddock.kube.times import Moment, format_time

CREATED, RUNNING, RESTARTING = "Created", "Running", "Restarting"
SUCCEEDED, FAILED, SUSPENDED = "Succeeded", "Failed", "Suspended"
INVALID = "Invalid"

_RESUMED = "Resumed"
_CREATED = "the job is created"
_PHASES = {
    FAILED: Phase.FAILED,
    SUCCEEDED: Phase.COMPLETED,
    SUSPENDED: Phase.SUSPENDED,
    RESTARTING: Phase.RESTARTING,
    RUNNING: Phase.RUNNING,
    CREATED: Phase.PENDING,
}
"""The phase that a True condition means; the first True one in this order counts."""

Conditions = tuple[Mapping[str, Any], ...]


def read_conditions(raw: Any) -> Conditions:
    """The conditions in a raw value; other entries are dropped."""
    items = raw if isinstance(raw, list) else []
    return tuple(item for item in items if isinstance(item, Mapping) and isinstance(item.get("type"), str))


def read_phase(conditions: Conditions) -> Phase:
    """The phase of a job whose status has conditions only (training-operator's)."""
    return next((phase for type_, phase in _PHASES.items() if _is_true(conditions, type_)), Phase.NONE)


def build_conditions(previous: Conditions, status: Status, now: Moment, kind: str) -> list[Manifest]:
    """`previous` updated to `status`; equal to `previous` without a change. Reasons begin with `kind`, as in
    PaddleJobCreated (Kubeflow's NewReason)."""
    sentence = explain(status.cause) if status.cause else ""
    if status.phase is Phase.TERMINATING or (status.phase is Phase.NONE and not sentence):
        return [dict(each) for each in previous]
    listed = _ConditionList(previous, format_time(now), kind)
    if listed.find(CREATED) is None:
        listed = listed.set(CREATED, True, CREATED, _CREATED)
    if status.phase is not Phase.INVALID:
        listed = listed.without(INVALID)
    if status.phase is not Phase.SUSPENDED and _is_true(listed.conditions, SUSPENDED):
        listed = listed.set(SUSPENDED, False, _RESUMED, "the job goes on")
    return [dict(each) for each in _apply_phase(listed, status, sentence).conditions]


@dataclass(frozen=True, slots=True)
class _ConditionList:
    """The conditions of a job of `kind`, with functions that return a changed copy. `now`: RFC 3339."""

    conditions: Conditions
    now: str
    kind: str

    def find(self, type_: str) -> Mapping[str, Any] | None:
        return next((each for each in self.conditions if each["type"] == type_), None)

    def set(self, type_: str, value: bool, word: str, message: str) -> _ConditionList:
        """Sets a condition. It moves to the end, unless its message alone is new."""
        old, reason, text = self.find(type_), f"{self.kind}{word}", "True" if value else "False"
        new = {"type": type_, "status": text, "reason": reason, "message": message, "lastUpdateTime": self.now}
        if old is None or old.get("status") != text:
            return self.without(type_)._append(new | {"lastTransitionTime": self.now})
        new["lastTransitionTime"] = old.get("lastTransitionTime") or self.now
        if old.get("reason") != reason:
            return self.without(type_)._append(new)
        return self if old.get("message") == message else self._put(new)

    def set_false(self, type_: str) -> _ConditionList:
        """Sets a True condition to False; its reason and message stay."""
        if not _is_true(self.conditions, type_):
            return self
        times = {"lastUpdateTime": self.now, "lastTransitionTime": self.now}
        return self._put({**(self.find(type_) or {}), "status": "False", **times})

    def set_message(self, type_: str, message: str) -> _ConditionList:
        """Sets the message alone, if it is new and not empty."""
        old = self.find(type_)
        if old is None or not message or old.get("message") == message:
            return self
        return self._put({**old, "message": message, "lastUpdateTime": self.now})

    def without(self, type_: str) -> _ConditionList:
        return replace(self, conditions=tuple(each for each in self.conditions if each["type"] != type_))

    def _append(self, condition: Mapping[str, Any]) -> _ConditionList:
        return replace(self, conditions=(*self.conditions, condition))

    def _put(self, condition: Mapping[str, Any]) -> _ConditionList:
        changed = (condition if each["type"] == condition["type"] else each for each in self.conditions)
        return replace(self, conditions=tuple(changed))


def _apply_phase(listed: _ConditionList, status: Status, sentence: str) -> _ConditionList:
    match status.phase:
        case Phase.INVALID:
            return listed.set(INVALID, True, INVALID, sentence or "the manifest is wrong")
        case Phase.RUNNING:
            listed = listed.set_message(CREATED, _CREATED).without(RESTARTING)
            return listed.set(RUNNING, True, RUNNING, sentence or "all ranks run")
        # a resumed job is no restart: Kubeflow has no Restarting for it
        case Phase.RESTARTING if status.cause is not None and status.cause.reason == _RESUMED:
            return listed.set_message(SUSPENDED, sentence)
        case Phase.RESTARTING:
            return listed.without(RUNNING).set(RESTARTING, True, RESTARTING, sentence or "the gang is made anew")
        case Phase.SUSPENDED:
            if _is_true(listed.conditions, RUNNING):
                listed = listed.set(RUNNING, False, SUSPENDED, sentence or "the job is suspended")
            return listed.set_false(RESTARTING).set(SUSPENDED, True, SUSPENDED, sentence or "the job is suspended")
        case Phase.COMPLETED:
            return _set_finished(listed, SUCCEEDED, sentence or "the job has succeeded")
        case Phase.FAILED:
            return _set_finished(listed, FAILED, sentence or "the job has failed")
        case Phase.PENDING:
            listed = listed.set_false(RUNNING)
    return _set_waiting(listed, sentence)


def _set_finished(listed: _ConditionList, type_: str, message: str) -> _ConditionList:
    """The end of the job. A condition that another operator has set to True stays as it is."""
    return (
        listed
        if _is_true(listed.conditions, type_)
        else listed.set_false(RUNNING).set_false(RESTARTING).set(type_, True, type_, message)
    )


def _set_waiting(listed: _ConditionList, sentence: str) -> _ConditionList:
    """The sentence of a job that does not run yet: the message of its latest condition that is True."""
    there: Sequence[str] = [type_ for type_ in (RESTARTING, RUNNING) if _is_true(listed.conditions, type_)]
    return listed.set_message(there[0] if there else CREATED, sentence)


def _is_true(conditions: Conditions, type_: str) -> bool:
    return any(each["type"] == type_ and each.get("status") == "True" for each in conditions)
