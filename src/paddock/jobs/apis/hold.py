"""The annotation `paddock.dev/hold` of a job -> how long a rank that has failed is held for a shell. Pure.

A value that is not known has a warning, and no effect: an operator of another version may know it. What follows from it
is in `policies.hold` and on the node (`kube.held_pods`). On a cluster it does nothing (`submission.local_only`).
"""

from __future__ import annotations

from paddock.kube.held_pods import HOLD_ANNOTATION, MOST_SECONDS, parse_hold
from paddock.manifests.fields import Fields
from paddock.words.phrases import phrase
from paddock.words.sentences import quoted


def read_hold(metadata: Fields) -> int | None:
    """Seconds; None without it."""
    annotations = metadata.child("annotations")
    found = annotations.value.get(HOLD_ANNOTATION)
    if not found:
        return None
    seconds = parse_hold(found)
    if seconds is None:
        said = phrase(
            "has no effect: found {found}; a time from 1 s to {most} h is allowed: 90s, 30m, 2h",
            found=quoted(found), most=MOST_SECONDS // 3600,
        )  # fmt: skip
        annotations.warn(HOLD_ANNOTATION, said)
    return seconds
