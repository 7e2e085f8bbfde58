"""Restart per pod, on request: what ended starts again alone, and the other ranks of the attempt stay.

By default the whole gang restarts (`policies.restart`): the peers of a lost rank would wait for it in a collective
operation without end. A job whose ranks survive the loss of a peer says so with the annotation
`paddock.dev/restart-scope: Pod` (`Job.scope`). Then a verdict that would end the gang ends pods:

- All ranks that have ended too early by the time of the verdict are replaced, and they count as one restart: peers that
  failed because the first one did are no faults of their own. `runPolicy.backoffLimit`, the delays and the bound of
  losses are those of gangs.
- No rank is an exception. The peers of a dead DistributedDataParallel rank, or of the torchrun that serves the
  rendezvous store, exit within a second; a verdict waits for their ends (`policies.ending`), so they are replaced with
  it. Ranks that hang instead hang on: that is what was asked for.
- A resize, a resumption and an adoption concern every rank, so they recreate the gang as ever.

The ranks of an elastic PyTorchJob survive that by themselves: its rules are in `jobs.rejoining`.

A job whose ranks are told each other's addresses restarts as a gang whatever it asks for: a replaced pod has another
address, and the list of an attempt never changes (`policies.addresses`).

`Status.renewals` has the number of a rank's pod within the attempt. It is recorded first, then acted on: a pod with a
lower number is older, in the sense of the table of fates, and its rank is created again once it is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from paddock.jobs import causes
from paddock.jobs.model import Job, Observed, Phase, Pod, Rank, RestartScope, Status
from paddock.jobs.objects import pods
from paddock.jobs.policies import backoff
from paddock.jobs.policies.verdict import Verdict
from paddock.jobs.rejoining import all_rejoin, runs_on
from paddock.kube.times import Moment


def restarts_alone(job: Job, ended: Collection[Rank]) -> bool:
    """Whether these ranks, which end together, are started again without their peers."""
    if pods.needs_config_map(job):
        return False
    return job.scope is RestartScope.POD or (bool(ended) and all_rejoin(job, ended))


def plan_alone(
    job: Job, status: Status, verdict: Verdict | None, ended: Collection[Rank], gang: Sequence[Pod]
) -> Verdict | None:
    """The verdict on ranks that ended, `ended`, as the job wants it: a new gang becomes new pods of these ranks. Where
    enough of the others train on, the job runs all the while. `gang`: the recorded pods."""
    if verdict is None or verdict.attempt is None or not restarts_alone(job, ended):
        return verdict
    gone = frozenset(ended)
    ranks = sorted(gone)
    cause = verdict.cause
    if isinstance(cause, causes.RankRestarted | causes.Loss):
        cause = replace(cause, alone=tuple(map(str, ranks)))
    renewals = {str(rank): status.renewal(rank) + 1 for rank in ranks}
    others = [pod for pod in gang if pod.rank not in gone]
    phase = status.phase if status.phase is Phase.RUNNING and runs_on(job, status, others) else verdict.phase
    return replace(verdict, phase=phase, cause=cause, attempt=None, renewals={**status.renewals, **renewals})


def replaced_pods(status: Status, observed: Observed) -> tuple[Pod, ...]:
    """Pods of this attempt whose rank is to have another, or has it: they hold its name until they are gone."""
    return tuple(pod for pod in observed.of_attempt(status.attempt) if pod.renewal < status.renewal(pod.rank))


def find_begun(job: Job, status: Status, gang: Sequence[Pod], missing: Collection[Rank]) -> Moment | None:
    """Since when what is judged runs, which says whether losses before count on (`policies.restart`): all of a gang, or
    the ranks that ended, as the others of a job that restarts per pod are older or younger. `missing`: ranks whose pods
    were there and are gone.

    A pod that was deleted by force tells nothing of its start. No rank was started again since the last renewal: this
    one has run since then, or, where none was renewed, since the gang began."""
    over = [pod for pod in gang if pod.ended or pod.deleting]
    if not restarts_alone(job, {*missing, *(pod.rank for pod in over)}):
        return _latest(gang)
    ended = _latest(over)
    if not missing:
        return ended
    since = status.renewed if status.renewals else _latest(gang)
    return None if since is None else max(since, ended if ended is not None else since)


def _latest(pods: Iterable[Pod]) -> Moment | None:
    return max((pod.started for pod in pods if pod.started is not None), default=None)


def find_delays(job: Job, status: Status, now: Moment) -> Mapping[Rank, float]:
    """Seconds until the ranks that are started again alone may have their pods; without those that may now. Each has a
    delay of its own (`Status.delays`), whatever is recorded of others meanwhile. An operator before these were recorded
    left the delay in the cause that names the ranks."""
    named = status.cause.args.get("alone") if status.cause is not None else None
    of_cause = (
        dict.fromkeys(map(str, named), backoff.delay_left(status, now)) if isinstance(named, list | tuple) else {}
    )
    of_ranks = {rank: backoff.left_until(moment, now) for rank, moment in status.delays.items()}
    left = {**of_cause, **of_ranks}
    return {rank: left[str(rank)] for rank in job.ranks() if left.get(str(rank), 0.0) > 0}


def is_renewing(status: Status, missing: Collection[Rank]) -> bool:
    """Whether ranks that are started again alone have no pods yet. The phase stays Restarting until they have."""
    return status.phase is Phase.RESTARTING and any(status.renewal(rank) for rank in missing)
