"""How well the job that a reconcile has before it is known to be the live one, and how well a plan needs it to be.

Jobs are read from the cache, which may lag (decision 33). A plan that acts, and so starts or ends something, needs a
job that was read, or written by this process, live within `LIVE_SECONDS`. Two exceptions. A verdict is recorded before
anything is done, and the server refuses a record of a job that has changed. And the first pods of a new job, whose
status is empty, need the cache alone while its watch is known to be at most `PROVEN_SECONDS` behind: it has delivered
something that the server made no longer ago, and after this process began to lead, as a watch keeps the order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum

from paddock.jobs.actions import Action, Create, Delete, Patch, Plan
from paddock.jobs.model import Phase, Status
from paddock.kube.meta import CONFIG_MAPS, SERVICES, Resource, metadata
from paddock.kube.times import Moment, read_time

LIVE_SECONDS = 1.0
"""As long as a request that was decided on a live read may be under way before anybody notices."""

PROVEN_SECONDS = 3.0
"""Less than a leader leads without a renewal (`operator.election.RENEW_DEADLINE`)."""

_PROVE_EACH = 1.0
"""Seconds between two writes whose events prove a watch."""


class Known(IntEnum):
    """How well a job is known, or has to be."""

    CACHED = 0
    PROVEN = 1
    LIVE = 2


def find_need(recorded: Status, status: Status, decided: Plan) -> Known:
    """How well the job must be known for this plan. `recorded`: what is in the API; `status`: what was planned on."""
    if decided.status.decisive() != status.decisive():
        return Known.CACHED  # it is recorded, guarded by the version, and the actions are planned anew on the answer
    first = recorded.phase is Phase.NONE and not recorded.attempt
    return max((_find_need(action, first=first) for action in decided.actions), default=Known.CACHED)


def _find_need(action: Action, *, first: bool) -> Known:
    match action:
        case Delete():
            return Known.LIVE
        case Patch():
            return Known.CACHED if action.optional else Known.LIVE
        case Create():
            # Neither starts anything, and those of another attempt are removed.
            if action.resource in (SERVICES, CONFIG_MAPS):
                return Known.CACHED
            return Known.PROVEN if first else Known.LIVE


class Freshness:
    """Up to when the watches of jobs are known to have delivered everything. `clock`: of the API server; `clock_off`:
    by how much it may be wrong."""

    def __init__(self, clock: Callable[[], Moment], clock_off: Callable[[], float]) -> None:
        self._clock = clock
        self._clock_off = clock_off
        self._since = clock()
        self._proven: dict[tuple[Resource, str], Moment] = {}
        self._asked: dict[tuple[Resource, str], Moment] = {}

    def begin_term(self) -> None:
        """Somebody else may have led until now."""
        self._since = self._clock()

    def hear(self, resource: Resource, watched: str, manifest: Mapping[str, object]) -> None:
        """The watch of this kind and namespace has delivered this job."""
        created = read_time(str(metadata(manifest).get("creationTimestamp") or ""))
        if created is not None:
            self.prove(resource, watched, created)

    def prove(self, resource: Resource, watched: str, moment: Moment) -> None:
        """The watch has delivered something that was written at this moment, or later."""
        known = (resource, watched)
        self._proven[known] = max(self._proven.get(known, 0.0), min(moment, self._clock()))

    def wants_proof(self, resource: Resource, watched: str) -> bool:
        """Whether something should be written now, as its event proves the watch: in a burst nothing else is, once all
        jobs are there. Not while one is awaited."""
        known, now = (resource, watched), self._clock()
        if now - max(self._proven.get(known, 0.0), self._asked.get(known, 0.0)) < _PROVE_EACH:
            return False
        self._asked[known] = now
        return True

    def is_proven(self, resource: Resource, watched: str) -> bool:
        # Times of objects are whole seconds: one in the second in which the term began may be from before it.
        moment = self._proven.get((resource, watched), 0.0)
        return moment > self._since and self._clock() - moment <= PROVEN_SECONDS and not self._clock_off()
