"""The annotation `paddock.dev/cancel`: a job that somebody has cancelled has failed, for good, and stays listed.

It counts also while the job is suspended or waits. What has ended stays as it ended: a finished job is not asked, and
a job whose deciding ranks have succeeded is complete. Taking the annotation away again changes nothing, as phases that
are terminal absorb. Pods go by `cleanPodPolicy`, as those of each failed job. docs/decisions/0027 has the reasons.
"""

from __future__ import annotations

import re

from paddock.jobs import causes
from paddock.jobs.labels import CANCEL_ANNOTATION
from paddock.jobs.model import Job
from paddock.jobs.policies.verdict import Verdict, plan_failure

_LONGEST = 100


def plan_cancellation(job: Job) -> Verdict | None:
    return plan_failure(causes.Cancelled(read_who(job.annotations[CANCEL_ANNOTATION]))) if is_cancelled(job) else None


def is_cancelled(job: Job) -> bool:
    """`"false"` is a word of who wants to take it back before it is seen."""
    return job.annotations.get(CANCEL_ANNOTATION, "false") != "false"


def read_who(text: str) -> str:
    """The annotation's text as one short line: who cancelled the job, in the words of that program; empty for `true`,
    which names nobody. Any program may write it, and who may patch the job may write any name."""
    line = re.sub(r"[\s\x00-\x1f\x7f]+", " ", text).strip()[:_LONGEST]
    return "" if line == "true" else line
