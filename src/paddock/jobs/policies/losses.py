"""A gang that is lost through no fault of the program: it starts again, no restart is counted, and there is a bound.

Preemption, a lost node, a drain, a deletion by somebody (`root_cause.FREE`), addresses that changed: `backoffLimit` is
not asked. What ends one gang may end the next one too, so losses in a row have a bound (`Settings.loss_limit`) and a
back-off of their own. A gang that ran for ten minutes begins the count anew, as a container's back-off does (kubelet,
MaxContainerBackOff). An elastic job waits 20 s at most.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from paddock.jobs import causes
from paddock.jobs.model import Job, Settings, Status
from paddock.jobs.policies.backoff import LONGEST_DELAY, restart_delay
from paddock.jobs.policies.verdict import Verdict, plan_failure, plan_new_gang
from paddock.kube.times import Moment

STEADY = 600.0
"""Seconds that a gang has run when the losses before it no longer count."""

LONGEST_OF_ELASTIC = 20
"""Seconds. An elastic gang is made for nodes that come and go, and goes on with those that are left."""


@dataclass(frozen=True, slots=True)
class Losses:
    """Losses in a row until now, of `limit`. `longest`: seconds that the next gang waits at most."""

    before: int
    limit: int
    longest: int = LONGEST_DELAY


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
