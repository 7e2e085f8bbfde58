"""A job whose program was not found, as the job has no working directory. Pure."""

from __future__ import annotations

import re

from paddock.jobs.model import CauseRecord, Job
from paddock.views.kept_ranks import list_failed
from paddock.views.outputs import trained_container

_NOT_FOUND = re.compile(
    r"can't open file '[^']*': \[Errno 2\]"  # Python's own words
    r"|^(?:ba|da)?sh: (?:line \d+: |\d+: )?(?:cannot open )?[^:]*: No such file",
)


def lacks_directory(cause: CauseRecord | None, job: Job | None) -> bool:
    """Whether the rank that failed first was to start a file that was not there, and its role names no directory to
    start in."""
    failed = list_failed(cause)
    if cause is None or job is None or not failed:
        return False
    role = job.role(failed[0].rpartition("-")[0])
    said = (str(cause.args.get(name) or "") for name in ("error", "last", "message"))
    if role is None or not any(map(_NOT_FOUND.search, said)):
        return False
    return not trained_container(job, role).get("workingDir")
