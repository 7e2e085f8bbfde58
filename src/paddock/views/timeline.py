"""The attempts of a job in time: since when each one waited, was prepared and ran, and why the next one began. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from paddock.jobs.model import CauseRecord, Phase, Status
from paddock.kube.meta import Manifest, is_controlled_by, metadata
from paddock.kube.times import Moment, read_time
from paddock.views.ranks import JobPod


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """An attempt as a row of a table. Durations are 0 or more, and None where they are not known (the pods are
    gone)."""

    number: int
    begun: Moment | None  # None where nobody wrote it down
    ended: Moment | None  # None while it goes on
    queued: float | None  # seconds until all its pods had nodes
    prepared: float | None  # seconds from then until all their programs ran
    ran: float | None  # seconds from then on
    now: str  # which of the three goes on
    cause: CauseRecord | None  # why it was started; None for the first


@dataclass(frozen=True, slots=True)
class Steps:
    """When all pods of an attempt had nodes, and when all programs ran; None as long as one lacks it."""

    placed: Moment | None
    started: Moment | None


def build_timeline(
    status: Status,
    created: Moment | None,
    begun: Mapping[int, Moment],
    causes: Mapping[int, CauseRecord],
    pods: Iterable[JobPod],
    uid: str,
    now: Moment,
    steps: Mapping[int, tuple[Moment | None, Moment | None]] | None = None,
) -> list[AttemptRow]:
    """The newest first. `begun`, `causes`, `steps` (as the fields of `Steps`): by attempt, as far as a history knows;
    the last attempt is known by its pods too."""
    kept = {number: Steps(*each) for number, each in (steps or {}).items()}
    starts = dict(begun)
    if created is not None:
        starts.setdefault(0, created)
    own: dict[int, list[Manifest]] = {}
    for manifest, pod in pods:
        # A spare pod asks for room while the attempt runs, and has no part in it.
        if is_controlled_by(manifest, uid) and pod is not None and not pod.spare:
            own.setdefault(pod.attempt, []).append(manifest)
    causes = {**causes}
    if status.phase is Phase.RESTARTING and status.cause is not None:  # a history knows it a moment later
        causes.setdefault(status.attempt, status.cause)
        if status.cause.since is not None:
            starts.setdefault(status.attempt, status.cause.since)
    rows: list[AttemptRow] = []
    after: Moment | None = None
    # From the last one back, as each ends when the next one that is known begins: a job may have a thousand.
    for number in sorted({*starts, *causes, status.attempt}, reverse=True):
        seen = _join(kept.get(number), read_steps(own.get(number, [])))
        rows.append(_build_row(status, number, starts.get(number), after, causes.get(number), seen, now))
        if (begun_then := starts.get(number)) is not None:
            after = begun_then if after is None else min(after, begun_then)
    return rows


def _build_row(
    status: Status,
    number: int,
    begun: Moment | None,
    after: Moment | None,
    cause: CauseRecord | None,
    steps: Steps | None,
    now: Moment,
) -> AttemptRow:
    """`after`: when a later one began first."""
    is_last = number >= status.attempt
    ended = after if after is not None else status.finished if is_last else None
    until = ended if ended is not None else now if is_last else None  # None: it is over, and nobody knows since when
    if steps is None or begun is None:
        return AttemptRow(number, begun, ended, None, None, None, "", cause)
    placed, started = steps.placed, steps.started
    goes_on = is_last and ended is None
    word = "" if not goes_on else "queued" if placed is None else "prepared" if started is None else "ran"
    return AttemptRow(
        number, begun, ended,
        queued=_seconds(begun, placed or until),
        prepared=_seconds(placed, started or until) if placed else None,
        ran=_seconds(started, until) if started else None,
        now=word, cause=cause,
    )  # fmt: skip


def _join(kept: Steps | None, seen: Steps | None) -> Steps | None:
    """What was recorded goes before what pods say: a rank may have a later pod than its peers. None if neither
    knows."""
    if kept is None or (kept.placed is None and kept.started is None):
        return seen
    if seen is None:
        return kept
    placed = kept.placed if kept.placed is not None else seen.placed
    return Steps(placed, kept.started if kept.started is not None else seen.started)


def _seconds(begin: Moment, end: Moment | None) -> float | None:
    return None if end is None else max(0.0, end - begin)


def read_steps(pods: list[Manifest]) -> Steps | None:
    """None without pods."""
    if not pods:
        return None
    placed, started = [_read_placed(each) for each in pods], [_read_started(each) for each in pods]
    return Steps(_last(placed), _last(started))


def _last(moments: list[Moment | None]) -> Moment | None:
    known = [each for each in moments if each is not None]
    return max(known) if len(known) == len(moments) else None


def _read_placed(pod: Manifest) -> Moment | None:
    if not (pod.get("spec") or {}).get("nodeName"):
        return None
    status = pod.get("status") or {}
    for each in status.get("conditions") or ():
        if (each.get("type"), each.get("status")) == ("PodScheduled", "True"):
            return read_time(each.get("lastTransitionTime"))
    return read_time(status.get("startTime")) or read_time(metadata(pod).get("creationTimestamp"))


def _read_started(pod: Manifest) -> Moment | None:
    """When the last of its containers was started."""
    found: list[Moment | None] = []
    for each in (pod.get("status") or {}).get("containerStatuses") or ():
        state = each.get("state") or {}
        begun = state.get("running") or state.get("terminated") or {}
        found.append(read_time(begun.get("startedAt")))
    return _last(found) if found else None
