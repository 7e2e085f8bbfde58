"""Conditions of a kubeflow.org job, in Kubeflow's order and with its reasons; the messages are our causes' sentences.

Kubeflow's rules (training-operator v1.9, pkg/util/status.go), which its SDK, Kueue and `kubectl get` rely on:

- A condition that changes goes to the end: the last one is printed as the job's state.
- Running and Restarting exclude each other: setting one takes the other away.
- Success and failure make Running False, and it keeps its reason and message.
- Suspending makes Running False with the reason Suspended; going on again makes Suspended False, reason Resumed.

Three things differ. A message follows the cause while the condition stays, with a new lastUpdateTime. A finished job is
not Restarting any more. A status that changes always brings a new lastTransitionTime. What others have added stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from paddock.jobs.explain import explain
from paddock.jobs.model import Phase, Status
from paddock.kube.meta import Manifest
from paddock.kube.times import Moment, format_time

CREATED, RUNNING, RESTARTING = "Created", "Running", "Restarting"
SUCCEEDED, FAILED, SUSPENDED = "Succeeded", "Failed", "Suspended"

_KIND = "PaddleJob"
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
"""What a condition that is True says of a job, in the order in which they count."""

Conditions = tuple[Mapping[str, Any], ...]


def read_conditions(raw: Any) -> Conditions:
    """What of it are conditions."""
    items = raw if isinstance(raw, list) else []
    return tuple(item for item in items if isinstance(item, Mapping) and isinstance(item.get("type"), str))


def read_phase(conditions: Conditions) -> Phase:
    """The phase of a job of which only conditions are recorded."""
    return next((phase for type_, phase in _PHASES.items() if _is_true(conditions, type_)), Phase.NONE)


def build_conditions(previous: Conditions, status: Status, now: Moment) -> list[Manifest]:
    """`previous` brought to `status`; equal to it where nothing has changed."""
    sentence = explain(status.cause) if status.cause else ""
    if status.phase is Phase.TERMINATING or (status.phase is Phase.NONE and not sentence):
        return [dict(each) for each in previous]
    book = _Book(previous, format_time(now))
    if book.find(CREATED) is None:
        book = book.set(CREATED, True, CREATED, _CREATED)
    if status.phase is not Phase.SUSPENDED and _is_true(book.conditions, SUSPENDED):
        book = book.set(SUSPENDED, False, _RESUMED, "the job goes on")
    return [dict(each) for each in _turn(book, status, sentence).conditions]


@dataclass(frozen=True, slots=True)
class _Book:
    """Conditions at a moment, `now` as the API writes it."""

    conditions: Conditions
    now: str

    def find(self, type_: str) -> Mapping[str, Any] | None:
        return next((each for each in self.conditions if each["type"] == type_), None)

    def set(self, type_: str, value: bool, word: str, message: str) -> _Book:
        """The condition with this value; a new message alone leaves it where it is."""
        old, reason, text = self.find(type_), f"{_KIND}{word}", "True" if value else "False"
        new = {"type": type_, "status": text, "reason": reason, "message": message, "lastUpdateTime": self.now}
        if old is None or old.get("status") != text:
            return self.without(type_)._append(new | {"lastTransitionTime": self.now})
        new["lastTransitionTime"] = old.get("lastTransitionTime") or self.now
        if old.get("reason") != reason:
            return self.without(type_)._append(new)
        return self if old.get("message") == message else self._put(new)

    def end(self, type_: str) -> _Book:
        """Make it False where it is True; it keeps its reason and its message."""
        if not _is_true(self.conditions, type_):
            return self
        times = {"lastUpdateTime": self.now, "lastTransitionTime": self.now}
        return self._put({**(self.find(type_) or {}), "status": "False", **times})

    def say(self, type_: str, message: str) -> _Book:
        """Another message, if there is one to say."""
        old = self.find(type_)
        if old is None or not message or old.get("message") == message:
            return self
        return self._put({**old, "message": message, "lastUpdateTime": self.now})

    def without(self, type_: str) -> _Book:
        return replace(self, conditions=tuple(each for each in self.conditions if each["type"] != type_))

    def _append(self, condition: Mapping[str, Any]) -> _Book:
        return replace(self, conditions=(*self.conditions, condition))

    def _put(self, condition: Mapping[str, Any]) -> _Book:
        changed = (condition if each["type"] == condition["type"] else each for each in self.conditions)
        return replace(self, conditions=tuple(changed))


def _turn(book: _Book, status: Status, sentence: str) -> _Book:
    match status.phase:
        case Phase.RUNNING:
            book = book.say(CREATED, _CREATED).without(RESTARTING)
            return book.set(RUNNING, True, RUNNING, sentence or "all ranks run")
        case Phase.RESTARTING if status.cause is not None and status.cause.reason == _RESUMED:
            return book.say(SUSPENDED, sentence)
        case Phase.RESTARTING:
            return book.without(RUNNING).set(RESTARTING, True, RESTARTING, sentence or "the gang is made anew")
        case Phase.SUSPENDED:
            if _is_true(book.conditions, RUNNING):
                book = book.set(RUNNING, False, SUSPENDED, sentence or "the job is suspended")
            return book.end(RESTARTING).set(SUSPENDED, True, SUSPENDED, sentence or "the job is suspended")
        case Phase.COMPLETED:
            return _finish(book, SUCCEEDED, sentence or "the job has succeeded")
        case Phase.FAILED:
            return _finish(book, FAILED, sentence or "the job has failed")
        case Phase.PENDING:
            book = book.end(RUNNING)
    return _wait(book, sentence)


def _finish(book: _Book, type_: str, message: str) -> _Book:
    """A job that another operator finished keeps that one's words."""
    return (
        book if _is_true(book.conditions, type_) else book.end(RUNNING).end(RESTARTING).set(type_, True, type_, message)
    )


def _wait(book: _Book, sentence: str) -> _Book:
    """Neither runs yet nor stands still: said where the job's way has come to."""
    there: Sequence[str] = [type_ for type_ in (RESTARTING, RUNNING) if _is_true(book.conditions, type_)]
    return book.say(there[0] if there else CREATED, sentence)


def _is_true(conditions: Conditions, type_: str) -> bool:
    return any(each["type"] == type_ and each.get("status") == "True" for each in conditions)
