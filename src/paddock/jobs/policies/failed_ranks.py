"""Ranks that failed although the job has succeeded: which of them count for the exit code of who waits for the job.

In Kubeflow's API the Master alone decides, so a job whose worker failed in the same seconds is Completed all the same.
But its work may be lost: `paddock run` and `paddock wait` exit with 1 (`jobs.exit_codes`), and the cause of
the end says which rank failed, and with what. Not counted are

- pods that are being deleted: Paddock or somebody else ended them;
- ends that only follow from another rank's, by the table of `policies.root_cause`; the cause names them as echoes. A
  rank that aborts in the second in which a peer ended well, or later, is one, unless its log has an error of its own;
- in a job of which one rank decides (`Job.one_decides`), ranks that began after the first success: their group had
  gone.

A rank that never began has not done its work either, and counts too; but for those of a job of which one decides, whose
group may be smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Any

from paddock.jobs.model import Job, Pod, PodPhase, Rank
from paddock.jobs.policies.root_cause import Death, Kind, find_root_cause, read_failures, tell_end
from paddock.kube.times import Moment

_MOST_NAMED, _MOST_UNSTARTED = 5, 3
_LONGEST = 500
"""Characters of what a rank waited for."""


def tell_failed(job: Job, pods: Sequence[Pod]) -> dict[str, Any]:
    """The arguments of a `causes.Completion` about them. `pods`: the recorded ones, of a job that has succeeded."""
    success = first_success(job, pods)
    failed = [
        pod for pod in pods if pod.phase is PodPhase.FAILED and not pod.deleting and _took_part(job, pod, success)
    ]
    deaths = read_failures(job, failed, _serves(job), success)
    counted = [death for death in deaths if death.kind is not Kind.ECHO]
    told: dict[str, Any] = {"echoes": _name(death for death in deaths if death.kind is Kind.ECHO)}
    told |= _tell_unstarted(job, pods)
    if not counted:
        return told
    root = find_root_cause(counted)[0]
    others = [death for death in counted if death is not root]
    return {
        **told,
        **tell_end(root),
        "failed": (str(root.rank), *(_name(others) or ()))[:_MOST_NAMED],
        "more": max(0, len(counted) - _MOST_NAMED) or None,
        "why": root.why or None,
    }


def _tell_unstarted(job: Job, pods: Sequence[Pod]) -> dict[str, Any]:
    pending = (pod for pod in pods if pod.phase is PodPhase.PENDING and not (pod.deleting or pod.spare or pod.renewal))
    found = [] if job.one_decides else sorted(pending, key=lambda pod: pod.rank)
    if not found:
        return {}
    return {
        "unstarted": tuple(str(pod.rank) for pod in found[:_MOST_UNSTARTED]),
        "unstarted_more": max(0, len(found) - _MOST_UNSTARTED) or None,
        "lacked": found[0].waiting[1][:_LONGEST] or found[0].waiting[0] if found[0].waiting else None,
    }


def first_success(job: Job, pods: Sequence[Pod]) -> Moment:
    """When the first of the ranks that train ended well; infinity if no such time is known."""
    training = {role.name for role in job.roles if role.trains}
    ends = (pod.exit for pod in pods if pod.phase is PodPhase.SUCCEEDED and pod.rank.role in training)
    return min((end.finished for end in ends if end is not None and end.finished is not None), default=inf)


def _took_part(job: Job, pod: Pod, success: Moment) -> bool:
    return not (job.one_decides and pod.started is not None and pod.started > success)


def _serves(job: Job) -> Callable[[Rank], bool]:
    serving = {role.name for role in job.roles if role.serves}
    return lambda rank: rank.role in serving


def _name(deaths: Iterable[Death]) -> tuple[str, ...] | None:
    ranks = sorted((death.rank for death in deaths), key=lambda rank: (rank.role, rank.index))
    return tuple(map(str, ranks[:_MOST_NAMED])) or None
