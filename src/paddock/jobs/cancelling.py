"""The annotation `paddock.dev/cancel`: a job that somebody has cancelled has failed, for good, and stays listed.

It counts also while the job is suspended or waits. What has ended stays as it ended: a finished job is not asked, and
a job whose deciding ranks have succeeded is complete. Taking the annotation away again changes nothing, as phases that
are terminal absorb. Pods go by `cleanPodPolicy`, as those of each failed job. docs/decisions/0027 has the reasons, and
0081 says whose name it is.
"""

from __future__ import annotations

from paddock.jobs import causes
from paddock.jobs.labels import CANCEL_ANNOTATION
from paddock.jobs.model import Job
from paddock.jobs.people import find_canceller
from paddock.jobs.policies.verdict import Verdict, plan_failure


def plan_cancellation(job: Job) -> Verdict | None:
    if not is_cancelled(job):
        return None
    who, claimed = find_canceller(job.annotations)
    return plan_failure(causes.Cancelled(who, claimed=claimed or None))


def is_cancelled(job: Job) -> bool:
    """`"false"` is a word of who wants to take it back before it is seen."""
    return job.annotations.get(CANCEL_ANNOTATION, "false") != "false"
