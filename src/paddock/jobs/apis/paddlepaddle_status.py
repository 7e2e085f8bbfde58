"""`.status` of a batch.paddlepaddle.org/v1 PaddleJob <-> Status.

paddle-operator's shape: phase, mode, per role its counts without zeros and `refs` to its pods, startTime,
completionTime. `ready` ("2/2") of each role is v0.2's; attempt, restarts, cause and conditions are Paddock's.

paddle-operator's refs also have a resourceVersion. It is left out: it changes with every change of a pod, and each
would cost a write of the job's status. Other keys of the status stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.jobs.apis.recorded import as_patch, count, mapping, read_ours, read_wanted, text, write_ours
from paddock.jobs.model import Counts, Phase, PodRef, Status
from paddock.kube.meta import PODS, Manifest
from paddock.kube.times import Moment, format_time

ROLES = ("ps", "worker", "heter")
_COUNTS = ("pending", "starting", "running", "failed", "succeeded")
_NEVER_SET = (Phase.RESTARTING, Phase.SUSPENDED)


def read_status(manifest: Mapping[str, Any]) -> Status:
    """The recorded status, paddle-operator's too; an unreadable value counts as absent. Never raises."""
    raw, spec = mapping(manifest, "status"), mapping(manifest, "spec")
    there = {role: mapping(raw, role) for role in ROLES if isinstance(raw.get(role), Mapping)}
    status = read_ours(raw).with_(
        roles={role: _read_counts(counts, mapping(spec, role)) for role, counts in there.items()},
        refs={role: refs for role, counts in there.items() if (refs := _read_refs(counts.get("refs")))},
    )
    return status if "attempt" in raw else _convert_legacy_status(status, spec)


def _convert_legacy_status(status: Status, spec: Mapping[str, Any]) -> Status:
    """A status of paddle-operator. It has no roles without pods; its Starting does not mean that every pod exists, as
    Paddock's does; and it never set Restarting or Suspended."""
    roles = {role: Counts(wanted=count(mapping(spec, role), "replicas")) for role in ROLES if mapping(spec, role)}
    phase = Phase.NONE if status.phase in _NEVER_SET else status.phase
    return status.with_(
        roles={**roles, **status.roles} if status.roles else {},
        phase=Phase.PENDING if phase is Phase.STARTING else phase,
    )


def write_status(previous: Mapping[str, Any], status: Status, now: Moment) -> Manifest:
    """A merge patch for `.status`: Paddock's keys, None for a key to remove."""
    roles = {role: _write_role(status, role) if role in status.roles else None for role in ROLES}
    conditions = build_conditions(previous.get("conditions"), status, now)
    return as_patch(previous, write_ours(previous, status) | roles | {"conditions": conditions or None})


def _write_role(status: Status, role: str) -> Manifest:
    counts, refs = status.roles[role], status.refs.get(role, ())
    numbers = {name: getattr(counts, name) or None for name in _COUNTS}
    return {"ready": counts.ready} | numbers | {"refs": [_write_ref(ref) for ref in refs] or None}


def _write_ref(ref: PodRef) -> Manifest:
    kind = {"apiVersion": PODS.api_version, "kind": PODS.kind}
    return kind | {"namespace": ref.namespace, "name": ref.name, "uid": ref.uid}


def _read_refs(raw: Any) -> tuple[PodRef, ...]:
    items = [item for item in raw if isinstance(item, Mapping)] if isinstance(raw, list) else []
    return tuple(PodRef(text(item, "namespace"), text(item, "name"), text(item, "uid")) for item in items)


def _read_counts(raw: Mapping[str, Any], role: Mapping[str, Any]) -> Counts:
    """Counts of one role. paddle-operator v0.3 has no wanted number: the spec's `replicas` counts."""
    return Counts(wanted=read_wanted(raw, count(role, "replicas")), **{name: count(raw, name) for name in _COUNTS})


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
    """`previous`, the stored list, updated to `status`; equal to `previous` without a change. In the shape of
    Kubernetes' own kinds (metav1.Condition), for `kubectl wait --for=condition=Succeeded`:

        Running     whether all ranks run now; if False, reason and message are the cause
        Restarting  the gang is being recreated; afterwards False, with the reason and message of that restart
        Suspended   `runPolicy.suspend` is set; afterwards False
        Succeeded   the job is Completed
        Failed      the job is Failed

    Running exists from the first status on, the others once they have been True. The reason is that of `status.cause`,
    the message its English sentence, and what is wrong in an edit that is not followed. lastTransitionTime changes only
    with the status of a condition. Conditions of other types stay. Kubeflow's are in `apis.kubeflow_conditions`.
    """
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
    from paddock.jobs.sentences.explain import explain_state  # late: a list of jobs writes no status

    if status.cause is not None:
        return status.cause.reason, explain_state(status)
    said = "all ranks run" if status.phase is Phase.RUNNING else f"the job is {status.phase.value}"
    return status.phase.value, "; ".join(filter(None, (said, explain_state(status))))
