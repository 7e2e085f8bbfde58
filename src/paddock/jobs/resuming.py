"""The annotation `paddock.dev/resume` of a job: with the checkpoints of which earlier run it begins. Pure.

    paddock.dev/resume: "true"    of the newest earlier run of its name that has any
    paddock.dev/resume: "3"       of run 3

Who moves them is `app.outputs` on a laptop, and on a cluster the first container of a pod (`jobs.objects.outputs`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from paddock.jobs.labels import RESUME_ANNOTATION

_NUMBER = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)
NEWEST = 0
"""See `read_resume`."""


def read_resume(annotations: Mapping[str, str]) -> int | None:
    """The number of the run whose checkpoints are asked for, `NEWEST` for the newest; None where none are: any other
    text does nothing."""
    asked = annotations.get(RESUME_ANNOTATION, "")
    return NEWEST if asked == "true" else int(asked) if _NUMBER.fullmatch(asked) else None
