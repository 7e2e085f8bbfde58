"""The annotation `paddock.dev/idle` of a job -> for how long its GPUs may do nothing. Pure.

`30m=Tell`, `1h=Suspend`; a time alone tells. A value that is not known has a warning, and no effect. What follows from
it is in `policies.idle_gpus`.
"""

from __future__ import annotations

from paddock.jobs.apis.after_time import find_nearest, read_after
from paddock.jobs.labels import IDLE_ANNOTATION
from paddock.jobs.model import IdleLimit, OnIdle
from paddock.manifests.fields import Fields
from paddock.words.phrases import phrase
from paddock.words.sentences import perhaps, quoted


def read_idle(metadata: Fields) -> IdleLimit | None:
    annotations = metadata.child("annotations")
    found = annotations.value.get(IDLE_ANNOTATION)
    if not found:
        return None
    if (read := read_after(found, tuple(OnIdle))) is None:
        said = phrase(
            "has no effect: found {found}; a time (30m, 2h) and what is done when the GPUs of no rank do anything for "
            "so long are allowed: 1h=Tell, 1h=Suspend{perhaps}",
            found=quoted(found), perhaps=perhaps(find_nearest(str(found), tuple(OnIdle))),
        )  # fmt: skip
        annotations.warn(IDLE_ANNOTATION, said)
        return None
    return IdleLimit(read[0], OnIdle(read[1]))
