"""The annotation by which `paddock run` says why it has suspended a job. `views.given_up` shows it. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from paddock.jobs.model import CauseRecord
from paddock.kube.meta import annotations_of

GIVEN_UP = "paddock.dev/timed-out"
"""The annotation with the reason why `paddock run` suspended a job: empty for --timeout, else a cause as JSON
(`write_given_up`). A job that a user suspended has none."""


def write_given_up(cause: CauseRecord) -> str:
    return json.dumps({"reason": cause.reason, "args": dict(cause.args), "since": cause.since}, ensure_ascii=False)


def read_given_up(job: Mapping[str, Any]) -> CauseRecord | None:
    """The cause for which `paddock run` suspended the job; None without one, or for its --timeout."""
    try:
        kept = json.loads(annotations_of(job).get(GIVEN_UP) or "null")
        return CauseRecord(str(kept["reason"]), dict(kept["args"]), kept["since"]) if kept else None
    except (ValueError, KeyError, TypeError):  # another program may have written the annotation
        return None
