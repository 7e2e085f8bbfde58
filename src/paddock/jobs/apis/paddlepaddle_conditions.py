"""Conditions of a batch.paddlepaddle.org/v1 PaddleJob, as Kubernetes' own kinds have them (metav1.Condition).

    Running     whether all ranks run now; while they do not, reason and message are the cause: why not
    Restarting  the gang is made anew; afterwards False, still with what it was that time
    Suspended   `runPolicy.suspend` is set; afterwards False
    Succeeded   the job is Completed
    Failed      the job is Failed

`kubectl wait --for=condition=Succeeded` is what they are for. Running is there from the first record on, the others
once they have been true. The reason is that of `status.cause`, the message its English sentence. A condition is written
only where it changes, and lastTransitionTime moves only where its status does. Types of others are left as they are.
Kubeflow's conditions, whose order counts, are in `apis.kubeflow_conditions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.jobs.explain import explain
from paddock.jobs.model import Phase, Status
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
"""The phase in which each is True."""


def build_conditions(previous: Any, status: Status, now: Moment) -> list[Manifest]:
    """`previous`, the stored list, brought to `status`; equal to it where nothing has changed."""
    items = previous if isinstance(previous, list) else []
    there = [item for item in items if isinstance(item, Mapping) and isinstance(item.get("type"), str)]
    if status.phase is Phase.TERMINATING or (status.phase is Phase.NONE and status.cause is None):
        return [dict(each) for each in there]
    stored = {each["type"]: each for each in there}
    built = {type_: _build(type_, stored.get(type_), status, now) for type_ in _PHASES}
    kept = [built[each["type"]] or dict(each) if each["type"] in _PHASES else dict(each) for each in there]
    return kept + [each for type_, each in built.items() if each is not None and type_ not in stored]


def _build(type_: str, stored: Mapping[str, Any] | None, status: Status, now: Moment) -> Manifest | None:
    """None for one that says nothing yet."""
    holds = status.phase is _PHASES[type_]
    if stored is None and not holds and type_ != RUNNING:
        return None
    text, (reason, message) = "True" if holds else "False", _words(type_, stored, status, holds=holds)
    same = stored is not None and stored.get("status") == text and bool(stored.get("lastTransitionTime"))
    since = stored["lastTransitionTime"] if stored is not None and same else format_time(now)
    return {"type": type_, "status": text, "reason": reason, "message": message, "lastTransitionTime": since}


def _words(type_: str, stored: Mapping[str, Any] | None, status: Status, *, holds: bool) -> tuple[str, str]:
    """Reason and message. Neither is ever empty: Kubernetes 1.20 takes an empty message for none and refuses it."""
    if status.cause is not None:
        said = (status.cause.reason, explain(status.cause))
    else:
        said = (
            status.phase.value,
            "all ranks run" if status.phase is Phase.RUNNING else f"the job is {status.phase.value}",
        )
    if holds or type_ == RUNNING:
        return said
    if type_ == SUSPENDED:
        return "Resumed", "the job goes on"
    before = stored or {}
    return str(before.get("reason") or type_), str(before.get("message") or type_)
