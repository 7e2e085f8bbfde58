"""Status patches: which fields change, and which of them the server dropped. PURE.

Rules 1 and 2 of docs/architecture.md: a decision is recorded before it is acted on, a patch contains only differences,
and the answer is checked, as a server with another operator's CRD prunes unknown fields silently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paddock.jobs import causes
from paddock.jobs.actions import EventNote
from paddock.jobs.apis.last_valid import decode_spec, encode_spec
from paddock.jobs.conditions import find_phase_of_invalid
from paddock.jobs.model import Status
from paddock.jobs.policies import suspects
from paddock.kube.meta import Manifest, metadata, version_of
from paddock.kube.times import Moment
from paddock.words.problems import InvalidJob

INVALID = "InvalidJob"
"""Reason of the event of a manifest that is invalid, and of the cause that is recorded of it."""


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
    """Fields that were written and are not in the answer: the server pruned them. Without suspects, which a definition
    of an older Paddock does not have, the next attempt avoids no node, and nothing is repeated or lost."""
    pruned = build_difference(read_raw_status(answer), difference)
    return tuple(sorted(name for name in pruned if name != "suspects"))


def keep_true(notes: Sequence[EventNote], answer: Mapping[str, Any]) -> list[EventNote]:
    """The events of what was recorded, without those of nodes that the next attempt avoids where the server pruned the
    suspects: it avoids none."""
    pruned = not read_raw_status(answer).get("suspects")
    return [note for note in notes if not (pruned and note.reason == suspects.EVENT)]


def with_invalid_job(status: Status, refusal: InvalidJob, now: Moment) -> Status:
    """The status of a job that was never valid: it is Invalid, and the errors of the manifest are the cause."""
    return status.with_(phase=find_phase_of_invalid(status.phase), cause=_describe(refusal).record(now, status.cause))


def with_problem(status: Status, refusal: InvalidJob | None, now: Moment) -> Status:
    """The decided status, with the errors of an edit, or without. What is recorded of a finished job stays."""
    if status.phase.terminal:
        return status
    return status.with_(problem=None if refusal is None else _describe(refusal).record(now, status.problem))


def with_valid_spec(status: Status, before: Status, manifest: Mapping[str, Any], *, first_look: bool = False) -> Status:
    """The decided status, with the spec of this manifest, which is valid. `before`: the recorded status. `first_look`:
    this process has not seen this generation yet; an operator without this field may have observed it before."""
    spec, generation = manifest.get("spec") or {}, metadata(manifest).get("generation")
    # An operator without this field has finished the job: it is over, and a write for each such job would help nobody.
    ended_before = before.phase.terminal and not before.last_valid
    observed = before.last_valid and before.problem is None and before.observed_generation == generation
    # Decoded, as not every zlib compresses alike.
    if ended_before or (observed and not (first_look and decode_spec(before.last_valid) != spec)):
        return status
    return status.with_(last_valid=encode_spec(spec))


def _describe(refusal: InvalidJob) -> causes.InvalidJob:
    return causes.InvalidJob(tuple(f"{problem.path}: {problem.message}" for problem in refusal.errors))
