"""What happens to the whole job when a rank ended too early: the gang is recreated, or the job fails.

A verdict only; the fate table deletes the pods of the old attempt at the next reconcile. Rules:

- Otherwise than by the program, the gang is lost: preemption, a lost node, a drain, a deletion by somebody
  (`root_cause.FREE`), addresses that changed. A new attempt under any policy, no restart is counted, and `backoffLimit`
  is not asked. What ends one gang may end the next one too, so losses in a row have a bound (`Settings.loss_limit`) and
  a back-off of their own. A gang that ran for ten minutes begins the count anew, as a container's back-off does
  (kubelet, MaxContainerBackOff).
- What Kueue ended (`jobs.queued`) is no loss either: its queue decides when the next gang begins, and how often.
- Else the restartPolicy of the role that failed first decides (`policies.root_cause`): Never fails the job,
  OnFailure and Always restart the gang, ExitCode restarts it for codes of 128 and above (Kubeflow).
- `runPolicy.backoffLimit` is compared with `status.restarts`, and with nothing else. No limit never gives up.
- A restart waits (`policies.backoff`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from paddock.jobs import causes
from paddock.jobs.model import Job, RestartPolicy, Settings, Status
from paddock.jobs.policies.backoff import LONGEST_DELAY, restart_delay
from paddock.jobs.policies.root_cause import DELETED, Death, Kind, find_root_cause, tell_end
from paddock.jobs.policies.verdict import Verdict, plan_failure, plan_new_gang
from paddock.jobs.queued import PREEMPTED, find_queue, is_stopped, read_stop
from paddock.kube.times import Moment

_RETRYABLE = 128


def plan_restart(
    job: Job, status: Status, deaths: Collection[Death], losses: Losses, *, untrained: bool = False
) -> Verdict | None:
    """None if no rank failed. `untrained`: no rank that trains has begun."""
    first = find_root_cause(deaths)
    if not first:
        return None
    root = first[0]
    # Of ranks lost in the same second, one may have been deleted and another evicted: a cause tells of one reason.
    ranks = tuple(str(death.rank) for death in first if death.why == root.why)
    # A lost or deleted pod is not the program's fault, so neither policy nor limit is asked.
    if root.kind is Kind.LOST and (stopped := next((each for each in deaths if is_stopped(each.why)), None)):
        return _plan_eviction(job, stopped, status)
    if root.kind is Kind.LOST:
        return _plan_loss(root, ranks, status, losses)
    how = tell_end(root)
    if not _retries(job, root):
        if root.server:
            return plan_failure(causes.ServerEnded(ranks, untrained=untrained, **how))
        return plan_failure(causes.RankFailed(ranks, **how))
    limit = job.policies.backoff_limit
    if limit is not None and status.restarts >= limit:
        return plan_failure(causes.BackoffLimitExceeded(ranks, limit=limit, **how))
    number = status.restarts + 1
    delay = restart_delay(number)
    cause = causes.RankRestarted(ranks, restart=number, limit=limit, delay=delay, **how)
    return plan_new_gang(cause, status.attempt, at_fault=True)


def _plan_loss(root: Death, ranks: tuple[str, ...], status: Status, losses: Losses) -> Verdict:
    if root.why == DELETED:
        return plan_loss(causes.PodsDeleted(ranks), status.attempt, losses, at_once=True)
    # A node that is drained or lost takes the next pods as well, so such a loss waits before the new attempt.
    return plan_loss(causes.PodsLost(ranks, root.why), status.attempt, losses, at_once=False)


REQUEUE = 60
"""Seconds before the next group of a gang that Kueue has stopped for another reason than a preemption, such as pods
that were not ready in time: each group is new to Kueue, whose own delay (`requeuingStrategy.backoffBaseSeconds`, 60 s)
begins anew with it."""


def _plan_eviction(job: Job, stopped: Death, status: Status) -> Verdict:
    why = read_stop(stopped.why)
    cause = causes.EvictedByQueue(
        find_queue(job), why, stopped.displaced.by or None, stopped.displaced.due or None,
        delay=None if why == PREEMPTED else REQUEUE,
    )  # fmt: skip
    return plan_new_gang(cause, status.attempt)


def _retries(job: Job, root: Death) -> bool:
    role = job.role(root.rank.role)
    policy = RestartPolicy.NEVER if role is None else role.restart
    if policy is RestartPolicy.EXIT_CODE:
        # What is evicted gets SIGKILL, whether or not the kubelet still tells its exit code.
        return root.kind is Kind.EVICTED or (root.code is not None and root.code >= _RETRYABLE)
    return policy in (RestartPolicy.ON_FAILURE, RestartPolicy.ALWAYS)


STEADY = 600.0
"""Seconds that a gang has run when the losses before it no longer count."""

LONGEST_OF_ELASTIC = 20
"""Seconds. An elastic gang is made for nodes that come and go, and goes on with those that are left."""


@dataclass(frozen=True, slots=True)
class Losses:
    """Losses in a row, and their bounds."""

    before: int  # until now
    limit: int
    longest: int = LONGEST_DELAY  # seconds that the next gang waits at most


def read_losses(job: Job, status: Status, begun: Moment | None, now: Moment, settings: Settings) -> Losses:
    """`begun`: since when what is to be judged runs; None if it does not, or that is not known."""
    steady = begun is not None and now - begun >= STEADY
    elastic = job.elasticity is not None or job.launch.elastic is not None
    return Losses(0 if steady else status.losses, settings.loss_limit, LONGEST_OF_ELASTIC if elastic else LONGEST_DELAY)


def plan_loss(cause: causes.Loss, attempt: int, losses: Losses, *, at_once: bool) -> Verdict:
    """The next gang, or the end of the job. `at_once`: after the first loss nothing is waited for."""
    number = losses.before + 1
    if number > losses.limit:
        return plan_failure(causes.LostTooOften(losses.limit, cause.reason, *cause.told()))
    waits = number - int(at_once)
    told = replace(cause, delay=min(restart_delay(waits), losses.longest) if waits else None)
    if number > 1:
        told = replace(told, loss=number, limit=losses.limit)
    return plan_new_gang(told, attempt, losses=number)
