"""What suspends, resumes and cancels a job: the patch, and what its answer says. For the command line and the console.
Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.jobs.given_up import GIVEN_UP
from paddock.jobs.labels import CANCEL_ANNOTATION, IDLE_SUSPENDED_ANNOTATION
from paddock.kube.meta import Manifest, Resource, annotations_of
from paddock.words.phrases import Phrase, phrase


def build_change(verb: str, uid: str, who: str = "") -> Manifest:
    """The merge patch of `suspend`, `resume` or `cancel`. The UID is a precondition (409, or 422 on a real
    API server): the name may belong to another job by now. `who`: who cancels, as others read it."""
    if verb == "cancel":
        return {"metadata": {"uid": uid, "annotations": {CANCEL_ANNOTATION: who or "true"}}}
    # a resumed job is not one any more that `paddock run` has given up
    annotations = {"annotations": {GIVEN_UP: None, IDLE_SUSPENDED_ANNOTATION: None}} if verb == "resume" else {}
    return {"metadata": {"uid": uid, **annotations}, "spec": {"runPolicy": {"suspend": verb == "suspend"}}}


def is_asked(verb: str, manifest: Mapping[str, Any]) -> bool:
    """Whether the job's manifest says already what the verb would write."""
    if verb == "cancel":
        return annotations_of(manifest).get(CANCEL_ANNOTATION, "false") != "false"
    return (verb == "suspend") == is_suspended(manifest)


def is_suspended(manifest: Mapping[str, Any]) -> bool:
    """`runPolicy.suspend`, also of a manifest with problems elsewhere."""
    found: Any = manifest
    for key in ("spec", "runPolicy", "suspend"):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found is True


def explain_pruned(verb: str, resource: Resource, answer: Mapping[str, Any]) -> Phrase | None:
    """Why the job goes on as before although the API took the patch; None where it does not."""
    if is_asked(verb, answer):
        return None
    return phrase(
        "the job goes on: the cluster's definition of {kind} is another operator's and knows no runPolicy.suspend "
        "(`paddock manifests crd` prints ours)",
        kind=resource.kind,
    )


def explain_done(verb: str, job: str) -> Phrase:
    if verb == "suspend":
        return phrase("{object} suspended", object=job)
    return phrase("{object} cancelled", object=job) if verb == "cancel" else phrase("{object} resumed", object=job)
