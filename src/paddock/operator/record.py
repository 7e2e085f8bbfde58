"""The recorded status: what of it changes, and whether a server kept what it was told. PURE.

Rules 1 and 2 of docs/architecture.md: what is decided is recorded before anybody acts on it, only differences are
written, and recorded means read back, as a server with somebody else's CRD drops our fields without a word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.jobs import causes
from paddock.jobs.model import Status
from paddock.jobs.problems import InvalidJob
from paddock.kube.meta import Manifest, version_of
from paddock.kube.times import Moment

INVALID = "InvalidJob"
"""Reason of the cause that is recorded while a job's manifest cannot be read; `problems` are its sentences."""


def build_difference(before: Mapping[str, Any], patch: Mapping[str, Any]) -> Manifest:
    """The part of a merge patch (RFC 7386) that would change `before`; empty when it would change nothing."""
    difference: Manifest = {}
    for name, wanted in patch.items():
        there = before.get(name)
        if isinstance(wanted, Mapping):
            inner = build_difference(there if isinstance(there, Mapping) else {}, wanted)
            if inner or not isinstance(there, Mapping):
                difference[name] = inner
        elif wanted != there:
            difference[name] = wanted
    return difference


def build_status_patch(manifest: Mapping[str, Any], difference: Mapping[str, Any]) -> Manifest:
    """Guarded: `Conflict` if the job has moved on since it was read."""
    return {"metadata": {"resourceVersion": version_of(manifest)}, "status": difference}


def read_raw_status(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    found = manifest.get("status")
    return found if isinstance(found, Mapping) else {}


def read_lost(answer: Mapping[str, Any], difference: Mapping[str, Any]) -> tuple[str, ...]:
    """Fields that were written and are not in the answer: the server drops them."""
    return tuple(sorted(build_difference(read_raw_status(answer), difference)))


def with_refusal(status: Status, refusal: InvalidJob, now: Moment) -> Status:
    """The user's mistake as the recorded cause. The phase stays: the user may mend the manifest, and pods that train
    by an earlier version of it go on."""
    cause = causes.InvalidJob(tuple(f"{problem.path}: {problem.message}" for problem in refusal.problems))
    return status.with_(cause=cause.record(now, status.cause))
