"""`.status` of a batch.paddlepaddle.org/v1 PaddleJob <-> Status.

paddle-operator's shape: phase, mode, per role its counts with zeros left out, startTime, completionTime. `ready`
("2/2") of each role is v0.2's; attempt, restarts and cause are ours. `refs` is not written: it repeats a list of the
pods. What others have written beside these keys is left as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.jobs.model import CauseRecord, Counts, Phase, Status
from paddock.kube.meta import Manifest
from paddock.kube.times import Moment, format_time, read_time

ROLES = ("ps", "worker", "heter")
_COUNTS = ("pending", "starting", "running", "failed", "succeeded")


def read_status(manifest: Mapping[str, Any]) -> Status:
    """What was recorded, by whomever; what cannot be read reads as not recorded. Never raises."""
    raw, spec = _mapping(manifest, "status"), _mapping(manifest, "spec")
    return Status(
        phase=_phase(raw.get("phase")),
        mode=_text(raw, "mode"),
        attempt=_count(raw, "attempt"),
        restarts=_count(raw, "restarts"),
        roles={
            role: _read_counts(raw[role], _mapping(spec, role)) for role in ROLES if isinstance(raw.get(role), dict)
        },
        cause=_read_cause(_mapping(raw, "cause")),
        started=read_time(_text(raw, "startTime")),
        finished=read_time(_text(raw, "completionTime")),
        observed_generation=_count(raw, "observedGeneration"),
    )


def write_status(previous: Mapping[str, Any], status: Status, now: Moment) -> Manifest:
    """A merge patch for `.status`: our keys as they must be, and None for those of ours that must go."""
    wanted: Manifest = {
        "phase": status.phase.value or None,
        "mode": status.mode or None,
        "attempt": status.attempt,
        "restarts": status.restarts,
        "cause": _write_cause(_mapping(previous, "cause"), status.cause),
        "startTime": _time(status.started),
        "completionTime": _time(status.finished),
        "observedGeneration": status.observed_generation or None,
    }
    wanted |= {role: _write_counts(status.roles[role]) if role in status.roles else None for role in ROLES}
    return _as_patch(previous, wanted)


def _as_patch(previous: Mapping[str, Any], wanted: Mapping[str, Any]) -> Manifest:
    """Without None where nothing is to go, as some servers store a null that they are sent."""
    patch: Manifest = {}
    for key, value in wanted.items():
        stored = previous.get(key)
        if value is None and stored is None:
            continue
        if isinstance(value, Mapping):
            inner = stored if isinstance(stored, Mapping) else {}
            patch[key] = _as_patch(inner, value)
        else:
            patch[key] = value
    return patch


def _replacing(stored: Mapping[str, Any], value: Mapping[str, Any]) -> Manifest:
    """`value`, with None for every key that `stored` has besides, all the way down."""
    replaced = {
        key: _replacing(inner, item)
        if isinstance(item, Mapping) and isinstance(inner := stored.get(key), Mapping)
        else item
        for key, item in value.items()
    }
    return dict.fromkeys(stored, None) | replaced


def _write_counts(counts: Counts) -> Manifest:
    return {"ready": counts.ready} | {name: getattr(counts, name) or None for name in _COUNTS}


def _read_counts(raw: Mapping[str, Any], role: Mapping[str, Any]) -> Counts:
    """The wanted number is in `ready`; paddle-operator v0.3 left it out, and then it is what the spec asks for."""
    _, _, wanted = _text(raw, "ready").partition("/")
    replicas = int(wanted) if wanted.isascii() and wanted.isdigit() and len(wanted) < 10 else _count(role, "replicas")
    return Counts(wanted=replicas, **{name: _count(raw, name) for name in _COUNTS})


def _write_cause(previous: Mapping[str, Any], cause: CauseRecord | None) -> Manifest | None:
    if cause is None:
        return None
    args = _replacing(_mapping(previous, "args"), cause.args)
    return {"reason": cause.reason, "args": args, "since": _time(cause.since)}


def _read_cause(raw: Mapping[str, Any]) -> CauseRecord | None:
    if not _text(raw, "reason"):
        return None
    return CauseRecord(_text(raw, "reason"), dict(_mapping(raw, "args")), read_time(_text(raw, "since")))


def _phase(text: Any) -> Phase:
    """Phases that paddle-operator declared and never set are unknown here, and so not recorded."""
    return Phase(text) if isinstance(text, str) and text in list(Phase) else Phase.NONE


def _time(moment: Moment | None) -> str | None:
    return None if moment is None else format_time(moment)


def _count(raw: Mapping[str, Any], key: str) -> int:
    found = raw.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else 0


def _text(raw: Mapping[str, Any], key: str) -> str:
    found = raw.get(key)
    return found if isinstance(found, str) else ""


def _mapping(raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = raw.get(key) if isinstance(raw, Mapping) else None
    return found if isinstance(found, Mapping) else {}
