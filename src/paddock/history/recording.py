"""A stored job -> the record of its run. Pure.

`JobState` is what a record needs of a job's status: `paddock.app.history` reads it, as only `paddock.jobs` knows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from paddock.history.records import MOST_RENEWALS, MOST_SIZES, Attempt, Cause, Renewal, RunRecord, Size
from paddock.kube.meta import annotations_of, metadata, name_of, namespace_of, uid_of
from paddock.kube.pod_logs import LogOwner
from paddock.kube.times import Moment, read_time

_OURS = "paddock.dev/"


@dataclass(frozen=True, slots=True)
class JobState:
    """What a record has of a job's status."""

    phase: str = ""
    final: bool = False
    """The phase never changes again."""
    ended: Moment | None = None
    """The recorded completion."""
    attempt: int = 0
    restarts: int = 0
    cause: Cause | None = None
    given_up: str = ""
    """As in `RunRecord`."""
    renewals: Mapping[str, int] = field(default_factory=dict)
    """How often each rank was started again alone in this attempt, by rank."""
    later: bool = False
    """The cause is that of a later moment, and does not tell why the attempt began."""
    placed: bool = False
    """All pods of the attempt have nodes."""
    started: bool = False
    """All programs of the attempt run, or have ended."""
    ranks: int | None = None
    """How many train, or have trained to their end; None while they do not run together."""


def build_record(manifest: Mapping[str, Any], run: int, now: Moment) -> RunRecord:
    """The record of a run that was not seen before; `update_record` adds its state."""
    return RunRecord(
        api_version=str(manifest.get("apiVersion") or ""),
        kind=str(manifest.get("kind") or ""),
        namespace=namespace_of(manifest),
        name=name_of(manifest),
        uid=uid_of(manifest),
        run=run,
        created=read_time(metadata(manifest).get("creationTimestamp")) or now,
    )


def build_from_owner(owner: LogOwner, run: int, started: Moment) -> RunRecord:
    """The record of a run of which nothing but logs is left: the cluster was killed before it was recorded."""
    return RunRecord(
        owner.api_version, owner.kind, owner.namespace, owner.name, owner.uid, run, started,
        ended=started, deleted=started,
    )  # fmt: skip


def update_record(
    record: RunRecord, manifest: Mapping[str, Any], state: JobState, now: Moment, before: JobState | None = None
) -> RunRecord:
    """The record with the job's present manifest and state. `before`: the state that was seen last; None where nobody
    looked just before, so that what has come since may be long ago."""
    spec = manifest.get("spec")
    ours = {key: value for key, value in annotations_of(manifest).items() if key.startswith(_OURS)}
    over = state.final or bool(state.given_up)
    return replace(
        _with_renewal(record, state, now),
        spec=spec if isinstance(spec, Mapping) else {},
        annotations=ours,
        phase=state.phase,
        finished=state.final,
        given_up=state.given_up,
        cause=state.cause,
        restarts=state.restarts,
        ended=((state.ended or record.ended or now) if over else None),
        attempts=_with_attempt(record, state, before, now),
        sizes=_with_size(record.sizes, state, now),
    )


def _begin(record: RunRecord, now: Moment) -> Moment:
    """When the first attempt began: with the job, whose own time has whole seconds."""
    return now if int(now) == record.created else record.created


def _with_attempt(record: RunRecord, state: JobState, before: JobState | None, now: Moment) -> tuple[Attempt, ...]:
    known = record.attempts
    if not any(each.number == state.attempt for each in known):
        why = state.cause if known and not state.later else None
        known = (*known, Attempt(state.attempt, now if known else _begin(record, now), why))
    if before is None:
        return known
    return tuple(_with_steps(each, state, before, now) if each.number == state.attempt else each for each in known)


def _with_steps(attempt: Attempt, state: JobState, before: JobState, now: Moment) -> Attempt:
    is_new = before.attempt != state.attempt
    if state.placed and attempt.placed is None and (is_new or not before.placed):
        attempt = replace(attempt, placed=now)
    if state.started and attempt.started is None and (is_new or not before.started):
        attempt = replace(attempt, started=now)
    return attempt


def _with_size(known: tuple[Size, ...], state: JobState, now: Moment) -> tuple[Size, ...]:
    if state.ranks is None or (known and (known[-1].attempt, known[-1].ranks) == (state.attempt, state.ranks)):
        return known
    return (*known, Size(state.attempt, now, state.ranks))[-MOST_SIZES:]


def _with_renewal(record: RunRecord, state: JobState, now: Moment) -> RunRecord:
    """Compared by number, so that a renewal whose cause nobody saw is recorded without it."""
    known = record.renewed if record.attempt == state.attempt else {}
    ranks = tuple(sorted(rank for rank, number in state.renewals.items() if number > known.get(rank, 0)))
    record = replace(record, renewed=dict(state.renewals))
    if not ranks:
        return record
    cause = state.cause if state.cause is not None and state.cause.args.get("alone") else None
    renewals = (*record.renewals, Renewal(state.attempt, now, ranks, cause))
    dropped = max(0, len(renewals) - MOST_RENEWALS)
    return replace(record, renewals=renewals[dropped:], renewals_dropped=record.renewals_dropped + dropped)


def mark_deleted(record: RunRecord, now: Moment) -> RunRecord:
    """The record of a run whose job is gone."""
    if record.deleted is not None:
        return record
    return replace(record, deleted=now, ended=now if record.ended is None else record.ended)
