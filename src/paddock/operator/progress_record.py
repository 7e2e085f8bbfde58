"""Which changes of a status may be recorded a little later, several at once. PURE.

Each write of a status costs the API server more than a pod does, and while a gang starts, each of its pods changes the
counts. Counts, and phases on the way to Running, decide nothing: they are written together, a moment later. Everything
else is written at once: what `Status.decisive` covers, the first time that the gang runs, a wait that a verdict counts
from, an edit (`docs/decisions/0033-*.md`).
"""

from __future__ import annotations

from dataclasses import replace

from paddock.jobs import causes
from paddock.jobs.model import Phase, Status

_ON_THE_WAY = (Phase.NONE, Phase.PENDING, Phase.STARTING, Phase.RESTARTING)

COUNTED_FROM = frozenset(
    cause.__name__
    for cause in (
        causes.WaitingForStatuses,
        causes.WaitingForWorkers,
        causes.WaitingForContainers,
        causes.WaitingForMaster,
        causes.WaitingForLastRanks,
    )
)
"""Causes whose time a verdict counts from (`policies.verdict.noticed`)."""


def can_wait(before: Status, after: Status) -> bool:
    """Whether `after` tells of progress alone, and not of the same. `before`: what is recorded."""
    if after == before:
        return False
    told = replace(
        before,
        phase=after.phase,
        mode=after.mode,
        roles=after.roles,
        refs=after.refs,
        progress=after.progress,
        cause=after.cause,
        observed_generation=after.observed_generation,
        # Until it is recorded, its pod tells of it.
        succeeded=after.succeeded,
        # That of the first record; of an edit, it is what is followed from then on.
        last_valid=before.last_valid or after.last_valid,
    )
    if told != after or after.decisive() != before.decisive():
        return False
    if any(cause is not None and cause.reason in COUNTED_FROM for cause in (before.cause, after.cause)):
        return False
    if before.phase in _ON_THE_WAY:
        return after.phase in _ON_THE_WAY
    # A rank that starts anew alone may run again in a moment.
    return after.phase is before.phase or (before.phase, after.phase) == (Phase.RUNNING, Phase.STARTING)
