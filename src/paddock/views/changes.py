"""What suspends, resumes and cancels a job: the patch, and what its answer says. For the command line and the console.
Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.jobs.given_up import GIVEN_UP
from paddock.jobs.labels import CANCEL_ANNOTATION, CHANGED_BY_ANNOTATION, IDLE_SUSPENDED_ANNOTATION
from paddock.kube.meta import Manifest, Resource, annotations_of, metadata, uid_of
from paddock.words.phrases import Phrase, phrase


def build_change(verb: str, manifest: Mapping[str, Any], who: str = "") -> Manifest:
    """The merge patch of `suspend`, `resume` or `cancel` for the job that was read. Its UID is a precondition (409, or
    422 on a real API server): the name may belong to another job by now. `who`: who does it, as the API names them;
    empty where that is not known."""
    uid = uid_of(manifest)
    annotations: dict[str, str | None] = dict(sign_change(manifest, _DONE[verb], who, changes_spec=verb != "cancel"))
    if verb == "cancel":
        return {"metadata": {"uid": uid, "annotations": {CANCEL_ANNOTATION: who or "true", **annotations}}}
    if verb == "resume":  # it is not a job any more that `paddock run` has given up
        annotations |= {GIVEN_UP: None, IDLE_SUSPENDED_ANNOTATION: None}
    noted = {"annotations": annotations} if annotations else {}
    return {"metadata": {"uid": uid, **noted}, "spec": {"runPolicy": {"suspend": verb == "suspend"}}}


_DONE = {"suspend": "suspended", "resume": "resumed", "cancel": "cancelled"}
"""By verb, the word of `jobs.people`."""


def sign_change(manifest: Mapping[str, Any], what: str, who: str, *, changes_spec: bool = True) -> dict[str, str]:
    """The annotation that says who has changed the job that was read. `changes_spec`: then the API gives the job the
    next generation, and any other one tells that somebody has changed it as well."""
    if not who:
        return {}
    from paddock.jobs.people import Change, write_change  # late: a listing changes nothing

    generation = read_generation(manifest) + int(changes_spec)
    return {CHANGED_BY_ANNOTATION: write_change(Change(who, what, generation))}


def read_generation(manifest: Mapping[str, Any]) -> int:
    """`metadata.generation`; 0 of a job without one."""
    found = metadata(manifest).get("generation")
    return found if isinstance(found, int) else 0


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
