"""The common part of the status of all kinds, read and written.

Reading never raises: an unreadable value counts as absent. The other keys are in the modules of each kind.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, TypeGuard

from paddock.jobs.apis.indexes import read_indexes, write_indexes
from paddock.jobs.model import CauseRecord, JobProgress, Phase, Status, Successes, Suspect
from paddock.kube.meta import Manifest
from paddock.kube.times import Moment, format_time, read_time


def read_ours(raw: Mapping[str, Any]) -> Status:
    """The common part of a status; the kind's module adds `roles`."""
    phase = _phase(raw)
    return Status(
        phase=phase,
        unknown_phase=_unknown_phase(raw),
        mode=text(raw, "mode"),
        attempt=count(raw, "attempt"),
        restarts=count(raw, "restarts"),
        losses=count(raw, "losses"),
        problem=_read_cause(mapping(raw, "problem")),
        last_valid=text(raw, "lastValidSpec"),
        cause=_read_cause(mapping(raw, "cause")),
        started=read_time(text(raw, "startTime")),
        # Of a job that goes on, somebody else has written it: the next write takes it away.
        finished=read_time(text(raw, "completionTime")) if phase.terminal else None,
        observed_generation=count(raw, "observedGeneration"),
        renewals=_read_renewals(mapping(raw, "renewals")),
        renewed=read_time(text(raw, "lastRenewalTime")),
        delays=_read_delays(mapping(raw, "delays")),
        gang_size=count(raw, "gangSize"),
        gang_loss=text(raw, "gangLoss"),
        succeeded=_read_successes(raw),
        progress=_read_progress(mapping(raw, "progress")),
        suspects=_read_suspects(mapping(raw, "suspects")),
    )


def write_ours(previous: Mapping[str, Any], status: Status) -> Manifest:
    """The common part to be stored, for `as_patch`; None for a key to remove."""
    return {
        "phase": status.phase.value or status.unknown_phase or None,
        "mode": status.mode or None,
        "attempt": status.attempt,
        "restarts": status.restarts,
        "losses": status.losses or None,
        "problem": _write_cause(mapping(previous, "problem"), status.problem),
        "lastValidSpec": status.last_valid or None,
        "cause": _write_cause(mapping(previous, "cause"), status.cause),
        "startTime": _time(status.started),
        "completionTime": _time(status.finished),
        "observedGeneration": status.observed_generation or None,
        "renewals": _replacing(mapping(previous, "renewals"), status.renewals) if status.renewals else None,
        "lastRenewalTime": _time(status.renewed),
        "delays": _write_delays(mapping(previous, "delays"), status.delays),
        "gangSize": status.gang_size or None,
        "gangLoss": status.gang_loss or None,
        "succeeded": _write_successes(mapping(previous, "succeeded"), status),
        "progress": _write_progress(mapping(previous, "progress"), status.progress),
        "suspects": _write_suspects(mapping(previous, "suspects"), status.suspects),
    }


def as_patch(previous: Mapping[str, Any], wanted: Mapping[str, Any]) -> Manifest:
    """A merge patch from `previous` to `wanted`."""
    patch: Manifest = {}
    for key, value in wanted.items():
        stored = previous.get(key)
        if value is None and stored is None:  # some servers store a null that removes nothing
            continue
        if isinstance(value, Mapping):
            inner = stored if isinstance(stored, Mapping) else {}
            patch[key] = as_patch(inner, value)
        else:
            patch[key] = value
    return patch


def read_wanted(raw: Mapping[str, Any], default: int) -> int:
    """The number after the slash of `ready: 1/2`; `default` where there is none, as with other operators."""
    _, _, wanted = text(raw, "ready").partition("/")
    return int(wanted) if wanted.isascii() and wanted.isdigit() and len(wanted) < 10 else default


def count(raw: Mapping[str, Any], key: str) -> int:
    found = raw.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else 0


def text(raw: Mapping[str, Any], key: str) -> str:
    found = raw.get(key)
    return found if isinstance(found, str) else ""


def mapping(raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = raw.get(key) if isinstance(raw, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _replacing(stored: Mapping[str, Any], value: Mapping[str, Any]) -> Manifest:
    """`value`, with None for every other key of `stored`, at all depths: as a merge patch it replaces `stored`."""
    replaced = {
        key: _replacing(inner, item)
        if isinstance(item, Mapping) and isinstance(inner := stored.get(key), Mapping)
        else item
        for key, item in value.items()
    }
    return dict.fromkeys(stored, None) | replaced


def _write_cause(previous: Mapping[str, Any], cause: CauseRecord | None) -> Manifest | None:
    if cause is None:
        return None
    args = _replacing(mapping(previous, "args"), cause.args)
    return {"reason": cause.reason, "args": args, "since": _time(cause.since)}


def _read_cause(raw: Mapping[str, Any]) -> CauseRecord | None:
    if not text(raw, "reason"):
        return None
    return CauseRecord(text(raw, "reason"), dict(mapping(raw, "args")), read_time(text(raw, "since")))


def _read_renewals(raw: Mapping[str, Any]) -> dict[str, int]:
    """By rank; only numbers above 0 are recorded."""
    return {str(rank): number for rank in raw if (number := count(raw, rank))}


def _read_delays(raw: Mapping[str, Any]) -> dict[str, Moment]:
    """By rank; what is no time is none."""
    return {str(rank): moment for rank in raw if (moment := read_time(text(raw, rank))) is not None}


def _write_delays(previous: Mapping[str, Any], delays: Mapping[str, Moment]) -> Manifest | None:
    return _replacing(previous, {rank: _time(moment) for rank, moment in delays.items()}) if delays else None


def _read_successes(raw: Mapping[str, Any]) -> dict[str, Successes]:
    """By role, those of the recorded attempt: an operator without this field leaves those of an earlier one, and one
    that drops the attempt leaves nothing to compare them with. One whose indexes cannot be read has none."""
    attempt = raw.get("attempt")
    found = {
        str(role): Successes(
            read_indexes(text(inner, "indexes")),
            read_time(text(inner, "lastFinishTime")),
            read_time(text(inner, "firstFinishTime")),
        )
        for role, inner in mapping(raw, "succeeded").items()
        if isinstance(inner, Mapping) and attempt is not None and inner.get("attempt") == attempt
    }
    return {role: successes for role, successes in found.items() if successes.indexes}


def _write_successes(previous: Mapping[str, Any], status: Status) -> Manifest | None:
    written = {
        role: {
            "attempt": status.attempt,
            "indexes": write_indexes(each.indexes),
            "firstFinishTime": _time(each.first),
            "lastFinishTime": _time(each.last),
        }
        for role, each in status.succeeded.items()
    }
    return _replacing(previous, written) if written else None


def _read_suspects(raw: Mapping[str, Any]) -> dict[str, Suspect]:
    """By node; one without attempts is none."""
    found = {str(node): each for node, each in raw.items() if isinstance(each, Mapping)}
    read = {
        node: Suspect(
            text(each, "reason"),
            tuple(filter(_is_count, each["attempts"])) if isinstance(each.get("attempts"), list) else (),
            read_time(text(each, "until")),
        )
        for node, each in found.items()
    }
    return {node: each for node, each in read.items() if each.attempts}


def _write_suspects(previous: Mapping[str, Any], suspects: Mapping[str, Suspect]) -> Manifest | None:
    written = {
        node: {"reason": each.reason, "attempts": list(each.attempts), "until": _time(each.until)}
        for node, each in suspects.items()
    }
    return _replacing(previous, written) if written else None


def _read_progress(raw: Mapping[str, Any]) -> JobProgress | None:
    """A number that cannot be one is none."""
    percent, remaining = raw.get("percent"), raw.get("remaining")
    found = JobProgress(
        percent=count(raw, "percent") if _is_count(percent) and percent <= 100 else None,
        remaining=count(raw, "remaining") if _is_count(remaining) else None,
        metrics={str(name): float(value) for name, value in mapping(raw, "metrics").items() if _is_number(value)},
    )
    return None if found == JobProgress() else found


def _write_progress(previous: Mapping[str, Any], progress: JobProgress | None) -> Manifest | None:
    if progress is None or progress == JobProgress():
        return None
    numbers = {"percent": progress.percent, "remaining": progress.remaining, "metrics": dict(progress.metrics) or None}
    return _replacing(previous, {name: value for name, value in numbers.items() if value is not None})


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_number(value: Any) -> bool:
    """What a float can hold: integers of JSON have any length."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max


def _phase(raw: Mapping[str, Any]) -> Phase:
    """The recorded phase; NONE for an unknown one. A job that has ended has ended, whatever somebody wrote over its
    phase: it must not train again. And one that goes on goes on: an end that was written over its phase alone would
    delete its pods."""
    found = text(raw, "phase")
    phase = Phase(found) if found in list(Phase) else Phase.NONE
    if phase.terminal:
        return _read_going_on(raw) or phase
    return _read_end(raw) or phase


def _unknown_phase(raw: Mapping[str, Any]) -> str:
    """The phase in a status of Paddock's own that this version does not know, else empty. paddle-operator declares
    phases that it never sets."""
    known = "attempt" not in raw or text(raw, "phase") in list(Phase) or _read_end(raw) is not None
    return "" if known else text(raw, "phase")


_ENDS = {"Succeeded": Phase.COMPLETED, "Failed": Phase.FAILED}
"""The conditions that end a job, in both API groups."""


_BEGUN = {
    "Suspended": Phase.SUSPENDED,
    "Restarting": Phase.RESTARTING,
    "Running": Phase.RUNNING,
    "Created": Phase.PENDING,
}
"""The conditions that a job has before its end, in both API groups, and its phase where one is True; the first
counts."""


def _read_conditions(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The status of each condition, by its type."""
    conditions = raw.get("conditions")
    there = [each for each in conditions if isinstance(each, Mapping)] if isinstance(conditions, list) else []
    return {each["type"]: each.get("status") for each in there if isinstance(each.get("type"), str)}


def _read_end(raw: Mapping[str, Any]) -> Phase | None:
    """How the job has ended, by its conditions. Where they were removed, `completionTime` and the cause tell: they are
    not asked where a condition says that it goes on, as operators before this rule have started such jobs again, nor
    where there are conditions and none is of an end: then somebody wrote the time."""
    there = _read_conditions(raw)
    told = next((phase for type_, phase in _ENDS.items() if there.get(type_) == "True"), None)
    is_told = any(type_ in there for type_ in (*_ENDS, *_BEGUN))
    if told is not None or is_told or read_time(text(raw, "completionTime")) is None:
        return told
    reason = text(mapping(raw, "cause"), "reason")
    return Phase.COMPLETED if not reason or reason.startswith(Phase.COMPLETED) else Phase.FAILED


def _read_going_on(raw: Mapping[str, Any]) -> Phase | None:
    """The phase of a job whose status has an end in `phase` alone; None where more than it tells of an end. Paddock
    writes condition and time with it, so somebody else wrote it."""
    there = _read_conditions(raw)
    if "attempt" not in raw or text(raw, "completionTime") or any(type_ in there for type_ in _ENDS):
        return None
    begun = [phase for type_, phase in _BEGUN.items() if there.get(type_) == "True"]
    return begun[0] if begun else Phase.PENDING if any(type_ in there for type_ in _BEGUN) else None


def _time(moment: Moment | None) -> str | None:
    return None if moment is None else format_time(moment)
