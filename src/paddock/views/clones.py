"""A job's manifest as another job begins with it. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from paddock.jobs.given_up import GIVEN_UP
from paddock.jobs.labels import (
    CANCEL_ANNOTATION,
    CHANGED_BY_ANNOTATION,
    CREATED_BY_ANNOTATION,
    HALTED_ANNOTATION,
    IDLE_SUSPENDED_ANNOTATION,
    RESUME_ANNOTATION,
)
from paddock.jobs.substitutions import without as leave_out
from paddock.kube.code_annotation import CODE_ANNOTATION
from paddock.kube.meta import Manifest, annotations_of
from paddock.manifests.dumps import without_server_fields
from paddock.views.commands import printed_name
from paddock.views.stored import StoredJob
from paddock.words.phrases import Phrase, phrase

_WRITTEN_BY_KUBECTL = "kubectl.kubernetes.io/last-applied-configuration"
_SIGNED = frozenset({CREATED_BY_ANNOTATION, CHANGED_BY_ANNOTATION})
"""Annotations that Paddock writes for whoever acts, and nobody edits."""
_OF_ONE_RUN = _SIGNED | {
    CANCEL_ANNOTATION, CODE_ANNOTATION, GIVEN_UP, HALTED_ANNOTATION, IDLE_SUSPENDED_ANNOTATION,
}  # fmt: skip
"""Annotations that say what became of the job, by whom, and with which code it began."""
NOT_EDITED = _SIGNED | {_WRITTEN_BY_KUBECTL}
"""Annotations that an edit does not show, and keeps."""


def take_editable(manifest: Mapping[str, Any]) -> Manifest:
    """What a reader may edit: without fields of the server, without kubectl's copy of the whole, and without who has
    done what."""
    return _take(manifest, NOT_EDITED)


def build_clone(manifest: Mapping[str, Any], name: str) -> Manifest:
    """A new job like this one, which starts: what became of the old one, and its suspension, are left out."""
    without = _OF_ONE_RUN | {_WRITTEN_BY_KUBECTL}
    if annotations_of(manifest).get(RESUME_ANNOTATION) != "true":  # the number of a run is one of the old name
        without |= {RESUME_ANNOTATION}
    taken = _take(manifest, without)
    spec = dict(taken.get("spec") or {})
    if isinstance(policy := spec.get("runPolicy"), Mapping):
        spec["runPolicy"] = {key: value for key, value in policy.items() if key != "suspend"}
        if not spec["runPolicy"]:
            del spec["runPolicy"]
    return {**taken, "metadata": {**taken["metadata"], "name": name}, "spec": spec}


def leave_out_resources(clone: Mapping[str, Any], resources: Collection[str]) -> Manifest:
    """The clone without requests and limits for `resources` (`nvidia.com/gpu`); an annotation keeps the amounts."""
    left = dict(clone)
    for each in resources:
        left, _ = leave_out(left, each)
    return left


def name_clone(name: str, taken: Collection[str]) -> str:
    """The next free name: `mnist` -> `mnist-2`, `mnist-2` -> `mnist-3`; `resnet-50` -> `resnet-50-2`, unless there is a
    `resnet`, of which it then is the fiftieth."""
    found = re.fullmatch(r"(.+)-([1-9][0-9]{0,3})", name)
    base, number = (found[1], int(found[2])) if found and found[1] in taken else (name, 1)
    while (candidate := f"{base}-{number + 1}") in taken:
        number += 1
    return candidate


def explain_taken(job: StoredJob, taken: str, free: str, where: str) -> Phrase:
    """Why `job` cannot be cloned as `taken`. `free`: a name that is not; `where`: options that name the place."""
    return phrase(
        "{object} exists already: `{command}` takes a name that is free",
        object=printed_name(job.resource, taken), command=f"paddock clone {job.key.name} {free}{where}",
    )  # fmt: skip


def _take(manifest: Mapping[str, Any], without: Collection[str]) -> Manifest:
    own = without_server_fields(manifest)
    metadata = dict(own.get("metadata") or {})
    noted = {key: each for key, each in (metadata.get("annotations") or {}).items() if key not in without}
    for name in ("annotations", "finalizers", "ownerReferences"):
        metadata.pop(name, None)
    return {**own, "metadata": {**metadata, "annotations": noted} if noted else metadata}
