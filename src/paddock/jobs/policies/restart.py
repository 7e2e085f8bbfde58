"""What happens to the whole job when a rank ended too early: the gang is recreated, or the job fails.

A verdict only; the fate table deletes the pods of the old attempt at the next reconcile. Rules:

- Lost or deleted pods: a new attempt under any policy, and no restart is counted.
- Otherwise the restartPolicy of the role that failed first decides (`policies.root_cause`): Never fails the job,
  OnFailure and Always restart the gang, ExitCode restarts it for codes of 128 and above (Kubeflow).
- `runPolicy.backoffLimit` is compared with `status.restarts`, and with nothing else. No limit never gives up.
- A restart waits: 10 s at first, doubled each time, at most 5 min (Kubernetes' Job).
"""

from __future__ import annotations

from collections.abc import Collection

from paddock.jobs import causes
from paddock.jobs.model import Job, Phase, RestartPolicy, Status
from paddock.jobs.policies.root_cause import DELETED, Death, Kind, find_root_cause
from paddock.jobs.policies.verdict import Verdict, plan_failure, plan_new_gang
from paddock.kube.times import Moment

FIRST_DELAY = 10
LONGEST_DELAY = 300
_RETRYABLE = 128


def restart_delay(restarts: int) -> int:
    """Seconds before restart number `restarts`, counted from 1."""
    doublings = max(0, min(restarts - 1, 10))
    return min(LONGEST_DELAY, FIRST_DELAY << doublings)


def delay_left(status: Status, now: Moment) -> float:
    """Seconds until the pods of the recorded attempt may be created; 0 when they may."""
    # The recorded cause holds the delay and its start, so no process has to remember them.
    cause = status.cause
    if status.phase is not Phase.RESTARTING or cause is None or cause.since is None:
        return 0.0
    delay = cause.args.get("delay", 0)
    seconds = delay if isinstance(delay, int | float) else 0
    # A clock that was set back must not delay a restart for hours.
    if cause.since - now > LONGEST_DELAY:
        return 0.0
    return min(max(0.0, cause.since + seconds - now), float(LONGEST_DELAY))


def plan_restart(job: Job, status: Status, deaths: Collection[Death]) -> Verdict | None:
    """None if no rank failed."""
    first = find_root_cause(deaths)
    if not first:
        return None
    root = first[0]
    # Of ranks lost in the same second, one may have been deleted and another evicted: a cause tells of one reason.
    ranks = tuple(str(death.rank) for death in first if death.why == root.why)
    # A lost or deleted pod is not the program's fault, so neither policy nor limit is asked.
    if root.kind is Kind.LOST:
        return plan_new_gang(_loss(root, ranks), status.attempt)
    memory, said = root.kind is Kind.MEMORY, root.message
    if not _retries(job, root):
        end = causes.ServerEnded if root.server else causes.RankFailed
        return plan_failure(end(ranks, root.code, memory, root.server, message=said))
    limit = job.policies.backoff_limit
    if limit is not None and status.restarts >= limit:
        return plan_failure(causes.BackoffLimitExceeded(ranks, root.code, memory, root.server, limit, message=said))
    number = status.restarts + 1
    delay = restart_delay(number)
    cause = causes.RankRestarted(ranks, root.code, memory, root.server, number, limit, delay, message=said)
    return plan_new_gang(cause, status.attempt, at_fault=True)


def _loss(root: Death, ranks: tuple[str, ...]) -> causes.Cause:
    # A node that evicts pods evicts the next ones as well, so a loss waits before the new attempt; a deletion does not.
    return causes.PodsDeleted(ranks) if root.why == DELETED else causes.PodsLost(ranks, root.why, FIRST_DELAY)


def _retries(job: Job, root: Death) -> bool:
    role = job.role(root.rank.role)
    policy = RestartPolicy.NEVER if role is None else role.restart
    if policy is RestartPolicy.EXIT_CODE:
        return root.code is not None and root.code >= _RETRYABLE
    return policy in (RestartPolicy.ON_FAILURE, RestartPolicy.ALWAYS)
