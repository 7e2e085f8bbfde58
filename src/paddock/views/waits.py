"""Since when a job waits. Pure.

A cause has a time of its own, at which it became the reason (`status.cause.since`): it changes when a quota is edited,
and the wait goes on. So the conditions are read, whose times change only as the job begins or ends to run, to start
again or to be suspended.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.jobs.apis.kubeflow_conditions import read_conditions
from paddock.jobs.apis.recorded import mapping, text
from paddock.jobs.causes import NEW_ATTEMPT_REASONS
from paddock.jobs.model import CauseRecord
from paddock.kube.meta import metadata
from paddock.kube.times import Moment, read_time

_BEGINS = frozenset(
    {
        ("Restarting", "True"),
        ("Suspended", "True"),
        ("Suspended", "False"),  # resumed
    }
)
"""Conditions of both API groups, by type and status, that begin a wait."""


def find_wait(job: Mapping[str, Any], cause: CauseRecord | None) -> Moment | None:
    """Since when a job that does not run waits: it was created, ceased to run, its last restart began, it was suspended
    or resumed, whichever came last. None for one whose ranks all run, and where nothing is known. `cause`: as it is
    shown."""
    status = mapping(job, "status")
    conditions = {(each["type"], each["status"]): each for each in read_conditions(status.get("conditions"))}
    if ("Running", "True") in conditions:
        return None
    # Of a job that has never run, or not since it was suspended, it only tells when its first status was written.
    known = _BEGINS | ({("Running", "False")} if status.get("startTime") else set())
    begins = [read_time(text(conditions[each], "lastTransitionTime")) for each in known & conditions.keys()]
    begins.append(read_time(metadata(job).get("creationTimestamp")))
    if cause is not None and cause.reason in NEW_ATTEMPT_REASONS:  # one restart may follow another before all run
        begins.append(cause.since)
    return max((each for each in begins if each is not None), default=None)
