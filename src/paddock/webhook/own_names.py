"""Names of people in a job's annotations: each is its author's own, as the API server vouches for them. Pure.

The API server tells the webhook who asks (`request.userInfo`), which nobody can forge. A name that this request brings
and that is another's is refused, and nothing is written in its place: a webhook that changes objects would be at odds
with whoever applies a manifest again and again (GitOps, server-side apply). What stands there already stays, whoever
edits the job, and may be taken away. The webhook fails open, so while it does not answer a name is a claim again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from paddock.jobs.labels import CANCEL_ANNOTATION, CHANGED_BY_ANNOTATION, CREATED_BY_ANNOTATION
from paddock.jobs.people import Change, read_change
from paddock.kube.meta import annotations_of
from paddock.kube.user_names import read_login
from paddock.kube.validation.field_errors import Code
from paddock.words.phrases import phrase
from paddock.words.problems import Problem
from paddock.words.sentences import join_path, quoted, told

_NO_NAMES = ("", "true", "false")
"""What says that a job is to be cancelled, or is not, and names nobody."""


def find_other_names(new: Mapping[str, Any], old: Mapping[str, Any] | None, user: str) -> Iterator[Problem]:
    """A problem for each annotation that this request brings and that names another than `user`, as the API names who
    asks; none where that is not known. A login of a machine is no name of the API, and is shown as such."""
    if not user:
        return
    before, after = _read_signed(old or {}), _read_signed(new)
    for annotation, signed in after.items():
        name = signed.who if isinstance(signed, Change) else signed
        if name not in (user, *_NO_NAMES) and signed != before.get(annotation) and read_login(name) is None:
            yield _refuse(annotation, name, user)


def _read_signed(manifest: Mapping[str, Any]) -> dict[str, str | Change]:
    """By annotation, the name or the change that is there: who signs a change signs what was done too. Of what no
    reader understands nothing is ever shown."""
    found: object = annotations_of(manifest)
    annotations = found if isinstance(found, Mapping) else {}  # the API server refuses any other
    names = {key: str(annotations[key]) for key in (CREATED_BY_ANNOTATION, CANCEL_ANNOTATION) if key in annotations}
    change = read_change(annotations)
    return {**names, CHANGED_BY_ANNOTATION: change} if change is not None else {**names}


def _refuse(annotation: str, found: str, user: str) -> Problem:
    if annotation == CANCEL_ANNOTATION:  # without it nothing would be cancelled
        said = phrase(
            "found {found}, and the API knows you as {user}: write that, or \"true\"",
            found=quoted(found), user=quoted(user),
        )  # fmt: skip
    else:
        said = phrase(
            "found {found}, and the API knows you as {user}: write that, or leave the annotation out",
            found=quoted(found), user=quoted(user),
        )  # fmt: skip
    return told(join_path("metadata.annotations", annotation), said, found, code=Code.FORBIDDEN)
