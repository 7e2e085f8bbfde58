"""Status patches: which fields change, and which of them the server dropped. PURE.

Rules 1 and 2 of docs/architecture.md: a decision is recorded before it is acted on, a patch contains only differences,
and the answer is checked, as a server with another operator's CRD prunes unknown fields silently.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.jobs import causes
from paddock.jobs.model import Status
from paddock.jobs.text.problems import InvalidJob
from paddock.kube.meta import Manifest, version_of
from paddock.kube.times import Moment

INVALID = "InvalidJob"
"""Reason of the cause that is recorded while the manifest of a job is invalid."""


def build_difference(before: Mapping[str, Any], patch: Mapping[str, Any]) -> Manifest:
    """The part of a merge patch (RFC 7386) that would change `before`; empty when it would change nothing."""
    difference: Manifest = {}
    for name, wanted in patch.items():
        current = before.get(name)
        if isinstance(wanted, Mapping):
            inner = build_difference(current if isinstance(current, Mapping) else {}, wanted)
            if inner or not isinstance(current, Mapping):
                difference[name] = inner
        elif wanted != current:
            difference[name] = wanted
    return difference


def build_status_patch(manifest: Mapping[str, Any], difference: Mapping[str, Any]) -> Manifest:
    """A merge patch of the status, guarded by resourceVersion: `Conflict` if the job has changed since it was read."""
    return {"metadata": {"resourceVersion": version_of(manifest)}, "status": difference}


def read_raw_status(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    found = manifest.get("status")
    return found if isinstance(found, Mapping) else {}


def find_dropped(answer: Mapping[str, Any], difference: Mapping[str, Any]) -> tuple[str, ...]:
    """Fields that were written and are not in the answer: the server pruned them."""
    return tuple(sorted(build_difference(read_raw_status(answer), difference)))


def with_invalid_job(status: Status, refusal: InvalidJob, now: Moment) -> Status:
    """The status with the errors of the manifest as cause. The phase stays: pods that were created from an earlier,
    valid version train on, and the user may correct the manifest."""
    cause = causes.InvalidJob(tuple(f"{problem.path}: {problem.message}" for problem in refusal.problems))
    return status.with_(cause=cause.record(now, status.cause))
