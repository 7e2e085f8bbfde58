"""The annotation `paddock.dev/silent` of a job -> how long its ranks may print nothing. Pure.

`30m=Tell`, `90s=Restart`, `2h=Fail`; a time alone tells. A value that is not known has a warning, and no effect: an
operator of another version may know it. What follows from it is in `policies.silent_job`. The local cluster sees
what programs print. The operator of a cluster does where it was given the right to logs (`install.rights.OF_LOGS`);
else the annotation does nothing there, and who submits is told (`submission.local_only`).
"""

from __future__ import annotations

from paddock.jobs.apis.after_time import find_nearest, read_after
from paddock.jobs.labels import SILENT_ANNOTATION
from paddock.jobs.model import OnSilence, SilenceLimit
from paddock.manifests.fields import Fields
from paddock.words.phrases import phrase
from paddock.words.sentences import perhaps, quoted


def read_silence(metadata: Fields) -> SilenceLimit | None:
    annotations = metadata.child("annotations")
    found = annotations.value.get(SILENT_ANNOTATION)
    if not found:
        return None
    if (read := read_after(found, tuple(OnSilence))) is None:
        said = phrase(
            "has no effect: found {found}; a time (90s, 30m, 2h) and what is done when no rank prints for so long are "
            "allowed: 30m=Tell, 30m=Restart, 30m=Fail{perhaps}",
            found=quoted(found), perhaps=perhaps(find_nearest(str(found), tuple(OnSilence))),
        )  # fmt: skip
        annotations.warn(SILENT_ANNOTATION, said)
        return None
    return SilenceLimit(read[0], OnSilence(read[1]))
