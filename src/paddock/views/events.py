"""The events of a job and of all that it owns, as rows; many of them counted by reason. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from paddock.kube.meta import Manifest, metadata
from paddock.kube.times import Moment, read_time

MOST_ROWS = 200
"""With more events the rows are counted by reason."""


@dataclass(frozen=True, slots=True)
class EventRow:
    """Events of one sort as a row of a table."""

    type: str
    reason: str
    about: str  # `Pod demo-worker-0`; of several objects the last of them
    message: str  # the last one's
    count: int  # how often, in all
    first: Moment | None
    last: Moment | None
    objects: int = 1  # more than 1 where the events are about several


def is_about(event: Manifest, uids: set[str]) -> bool:
    """Whether it is of one of the objects with these UIDs."""
    return str((event.get("involvedObject") or event.get("regarding") or {}).get("uid") or "") in uids


def list_owned(job: Manifest, children: Iterable[Manifest]) -> set[str]:
    """The UIDs of the job and of its children, whose events are the job's."""
    uid = str(metadata(job).get("uid") or "")
    owned = {
        str(metadata(child).get("uid") or "")
        for child in children
        if any(owner.get("uid") == uid for owner in metadata(child).get("ownerReferences") or ())
    }
    return {uid, *owned} - {""}


def build_event_rows(events: Iterable[Manifest]) -> list[EventRow]:
    """The newest first."""
    return sorted(map(_read, events), key=lambda row: (-(row.last or 0.0), row.about, row.reason))


def count_by_reason(rows: Sequence[EventRow]) -> list[EventRow]:
    """One row for each type and reason: warnings first, then the most frequent."""
    groups: dict[tuple[str, str], list[EventRow]] = {}
    for row in rows:
        groups.setdefault((row.type, row.reason), []).append(row)
    counted = [_merge(group) for group in groups.values()]
    return sorted(counted, key=lambda row: (row.type == "Normal", -row.count, row.reason))


def _merge(group: Sequence[EventRow]) -> EventRow:
    """`group`: the newest first, as it is in rows of events."""
    firsts = [row.first for row in group if row.first is not None]
    return replace(
        group[0],
        count=sum(row.count for row in group),
        first=min(firsts, default=None),
        objects=len({row.about for row in group}),
    )


def _read(event: Manifest) -> EventRow:
    """A row of an event of core/v1 or events.k8s.io/v1, whose newer fields a core event has too."""
    about: dict[str, Any] = event.get("involvedObject") or event.get("regarding") or {}
    series: dict[str, Any] = event.get("series") or {}
    created = read_time(event.get("eventTime")) or read_time(metadata(event).get("creationTimestamp"))
    first = read_time(event.get("firstTimestamp")) or created
    last = read_time(series.get("lastObservedTime")) or read_time(event.get("lastTimestamp")) or first
    count = event.get("count") or series.get("count") or 1
    return EventRow(
        type=str(event.get("type") or "Normal"),
        reason=str(event.get("reason") or ""),
        about=f"{about.get('kind') or ''} {about.get('name') or ''}".strip(),
        message=str(event.get("message") or event.get("note") or ""),
        count=count if isinstance(count, int) else 1,
        first=first,
        last=last,
    )
