"""Conditions of a batch.paddlepaddle.org/v1 PaddleJob, in the shape of Kubernetes' own kinds (metav1.Condition).

    Running     whether all ranks run now; if False, reason and message are the cause
    Restarting  the gang is being recreated; afterwards False, with the reason and message of that restart
    Suspended   `runPolicy.suspend` is set; afterwards False
    Succeeded   the job is Completed
    Failed      the job is Failed

They serve `kubectl wait --for=condition=Succeeded`. Running exists from the first status on, the others once they have
been True. The reason is that of `status.cause`, the message its English sentence, and what is wrong in an edit that is
not followed. lastTransitionTime changes only with the status of a condition. Conditions of other types stay. Kubeflow's
conditions are in `apis.kubeflow_conditions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.jobs.model import Phase, Status
from paddock.jobs.sentences.edit import explain_state
from paddock.kube.meta import Manifest
from paddock.kube.times import Moment, format_time

RUNNING, RESTARTING, SUSPENDED, SUCCEEDED, FAILED = "Running", "Restarting", "Suspended", "Succeeded", "Failed"

_PHASES = {
    RUNNING: Phase.RUNNING,
    RESTARTING: Phase.RESTARTING,
    SUSPENDED: Phase.SUSPENDED,
    SUCCEEDED: Phase.COMPLETED,
    FAILED: Phase.FAILED,
}
"""The phase in which each condition is True."""


def build_conditions(previous: Any, status: Status, now: Moment) -> list[Manifest]:
    """`previous`, the stored list, updated to `status`; equal to `previous` without a change."""
    items = previous if isinstance(previous, list) else []
    there = [item for item in items if isinstance(item, Mapping) and isinstance(item.get("type"), str)]
    if status.phase is Phase.TERMINATING or (status.phase is Phase.NONE and status.cause is None):
        return [dict(each) for each in there]
    stored = {each["type"]: each for each in there}
    built = {type_: _build(type_, stored.get(type_), status, now) for type_ in _PHASES}
    kept = [built[each["type"]] or dict(each) if each["type"] in _PHASES else dict(each) for each in there]
    return kept + [each for type_, each in built.items() if each is not None and type_ not in stored]


def _build(type_: str, stored: Mapping[str, Any] | None, status: Status, now: Moment) -> Manifest | None:
    """One condition; None if it has never been True."""
    holds = status.phase is _PHASES[type_]
    if stored is None and not holds and type_ != RUNNING:
        return None
    text, (reason, message) = "True" if holds else "False", _words(type_, stored, status, holds=holds)
    same = stored is not None and stored.get("status") == text and bool(stored.get("lastTransitionTime"))
    since = stored["lastTransitionTime"] if stored is not None and same else format_time(now)
    return {"type": type_, "status": text, "reason": reason, "message": message, "lastTransitionTime": since}


def _words(type_: str, stored: Mapping[str, Any] | None, status: Status, *, holds: bool) -> tuple[str, str]:
    """Reason and message. Neither is ever empty: Kubernetes 1.20 treats an empty message as missing and refuses it."""
    if holds or type_ == RUNNING:
        return _say(status)
    # One that is cancelled while it is suspended does not go on.
    if type_ == SUSPENDED and not status.phase.terminal:
        return "Resumed", "the job goes on"
    before = stored or {}
    return str(before.get("reason") or type_), str(before.get("message") or type_)


def _say(status: Status) -> tuple[str, str]:
    if status.cause is not None:
        return status.cause.reason, explain_state(status)
    said = "all ranks run" if status.phase is Phase.RUNNING else f"the job is {status.phase.value}"
    return status.phase.value, "; ".join(filter(None, (said, explain_state(status))))
