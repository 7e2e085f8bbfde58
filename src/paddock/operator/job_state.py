"""What the operator's process itself knows of a job, beside what the API has. It may be lost with the process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from paddock.jobs.actions import Action, Create, EventNote
from paddock.jobs.model import Asked, Refusal, Status
from paddock.kube.meta import Key, Resource
from paddock.kube.times import Moment

_REMEMBERED_WRITES = 8
"""Status writes of a job that are recognized when the watch delivers them."""


class JobRef(NamedTuple):
    """The key of the operator's queue."""

    resource: Resource
    key: Key

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.key}"


class Unwritten(NamedTuple):
    """A status that is to be recorded, and was put off."""

    uid: str
    recorded: Status
    """What it is to replace."""
    status: Status
    since: float
    """Since when a record waits."""
    changed: float
    """Since when it is this one."""


@dataclass(slots=True)
class JobState:
    """What was reported of a job, the port that is reserved before pods have it, and the versions that were written.
    Times are of the steady clock."""

    uid: str = ""
    """Of the job; empty before it is known."""
    port: int | None = None
    written: dict[str, Moment] = field(default_factory=dict)
    """By version, the time by the API server at which the write was asked for."""
    seen_during_write: set[str] | None = None
    """Versions that the watch delivered during a write, else None."""
    reported_generation: Any = None
    reported: tuple[EventNote, ...] = ()
    told_no_autoscaler: bool = False
    told_unseen: bool = False
    """That nobody sees whether it prints; until somebody does."""
    told_unknown: str = ""
    """The phase of a later version that was told."""
    refused: Refusal | None = None
    hurried: bool = False
    """The last pass was queued to record another refusal, and not to try again."""
    asked: Asked | None = None
    live_at: float = float("-inf")
    """When the job that is cached was asked for, or written."""
    doubtful: bool = False
    """A pass has failed, so the next one reads the job."""
    unwritten: Unwritten | None = None

    def note_reading(self, generation: Any, notes: Iterable[EventNote]) -> tuple[EventNote, ...]:
        """The part of what is to be told of a manifest that was not told of the one before. All of it for a new
        generation: annotations change none."""
        known = self.reported if generation == self.reported_generation else ()
        self.reported_generation, self.reported = generation, tuple(notes)
        return tuple(note for note in self.reported if note not in known)

    def note_live(self, asked: float, *, cached: bool) -> None:
        """The job was read or written. `cached`: the cache has it as it was then, or later."""
        self.live_at, self.doubtful = asked, not cached

    def note_refused(self, before: Refusal | None) -> bool:
        """Whether what was refused now has another reason than before, so that a pass is to record it. Never twice in a
        row: two reasons may take turns."""
        now = self.refused
        other = now is not None and before is not None and not now.tries and now.message != before.message
        self.hurried = other and not self.hurried
        return self.hurried

    def note_asked(self, actions: Iterable[Action], unmet: str, now: Moment) -> bool:
        """Keep when optional pods were asked for, and what was said of one that was refused. Whether that is to be
        told."""
        asks = any(isinstance(action, Create) and action.optional for action in actions)
        if asks:
            self.asked = Asked(now, unmet)
        return asks and bool(unmet)

    def note_written(self, version: str, moment: Moment) -> None:
        self.written[version] = moment
        if len(self.written) > _REMEMBERED_WRITES:
            del self.written[next(iter(self.written))]

    def read(self, uid: str, recorded: Status) -> Status:
        """The status to plan on: what was put off counts as recorded, unless something else was recorded since."""
        kept = self.unwritten
        if kept is not None and (kept.uid, kept.recorded) != (uid, recorded):
            self.unwritten = kept = None
        return recorded if kept is None else kept.status

    def measure_wait(self, status: Status, now: float) -> tuple[float, float]:
        """How long this status, and how long any, waits to be recorded."""
        if self.unwritten is None:
            return 0.0, 0.0
        unchanged = now - self.unwritten.changed if self.unwritten.status == status else 0.0
        return unchanged, now - self.unwritten.since

    def put_off(self, uid: str, recorded: Status, status: Status, now: float) -> None:
        """Keep a status that is not recorded yet."""
        unchanged, waited = self.measure_wait(status, now)
        self.unwritten = Unwritten(uid, recorded, status, now - waited, now - unchanged)


class JobStates(dict[JobRef, JobState]):
    """What is known of each job, by its name."""

    def begin(self, ref: JobRef, uid: str) -> JobState:
        """The state of the job with this UID. One that was made again under its name begins anew: nothing was told of
        it, and what its predecessor has reserved goes with that. Only `doubtful` stays, as it is of the cache."""
        known = self.get(ref)
        if known is None or known.uid not in ("", uid):
            known = self[ref] = JobState(doubtful=known is not None and known.doubtful)
        known.uid = uid
        return known

    def begin_term(self, concerns: Callable[[str], bool]) -> None:
        """Somebody else may have led these namespaces until now: what was put off is theirs, and the cache may lag."""
        for ref, state in self.items():
            if concerns(ref.key.namespace):
                state.doubtful, state.unwritten = True, None
