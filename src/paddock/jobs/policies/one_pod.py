"""Restart per pod, on request: what ended starts again alone, and the other ranks of the attempt stay.

By default the whole gang restarts (`policies.restart`): the peers of a lost rank would wait for it in a collective
operation without end. A job whose ranks survive the loss of a peer says so with the annotation
`paddock.dev/restart-scope: Pod` (`Job.scope`). Then a verdict that would end the gang ends pods:

- All ranks that have ended too early by the time of the verdict are replaced, and they count as one restart: peers that
  failed because the first one did are no faults of their own. `runPolicy.backoffLimit`, the delays and the bound of
  losses are those of gangs.
- No rank is an exception. The peers of a dead DistributedDataParallel rank, or of the torchrun that serves the
  rendezvous store, exit within a second; a verdict waits for their ends (`policies.arrival`), so they are replaced with
  it. Ranks that hang instead hang on: that is what was asked for.
- A resize, a resumption and an adoption concern every rank, so they recreate the gang as ever.

A job whose ranks are told each other's addresses restarts as a gang whatever it asks for: a replaced pod has another
address, and the list of an attempt never changes (`policies.addresses`).

`Status.renewals` has the number of a rank's pod within the attempt. It is recorded first, then acted on: a pod with a
lower number is older, in the sense of the table of fates, and its rank is created again once it is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from paddock.jobs import causes
from paddock.jobs.model import Job, Observed, Phase, Pod, Rank, RestartScope, Status
from paddock.jobs.objects import pods
from paddock.jobs.policies.verdict import Verdict
from paddock.kube.times import Moment


def restarts_alone(job: Job) -> bool:
    """Whether a rank that ends is started again without its peers."""
    return job.scope is RestartScope.POD and not pods.needs_config_map(job)


def plan_alone(job: Job, status: Status, verdict: Verdict | None, ended: Collection[Rank]) -> Verdict | None:
    """The verdict on ranks that ended, `ended`, as the job wants it: a new gang becomes new pods of these ranks."""
    if verdict is None or verdict.attempt is None or not restarts_alone(job):
        return verdict
    ranks = sorted(set(ended))
    cause = verdict.cause
    if isinstance(cause, causes.RankRestarted | causes.Loss):
        cause = replace(cause, alone=tuple(map(str, ranks)))
    renewals = {str(rank): status.renewal(rank) + 1 for rank in ranks}
    return replace(verdict, cause=cause, attempt=None, renewals={**status.renewals, **renewals})


def replaced_pods(status: Status, observed: Observed) -> tuple[Pod, ...]:
    """Pods of this attempt whose rank is to have another, or has it: they hold its name until they are gone."""
    return tuple(pod for pod in observed.of_attempt(status.attempt) if pod.renewal < status.renewal(pod.rank))


def find_begun(job: Job, status: Status, gang: Sequence[Pod], missing: Collection[Rank]) -> Moment | None:
    """Since when what is judged runs, which says whether losses before count on (`policies.losses`): all of a gang, or
    the ranks that ended, as the others of a job that restarts per pod are older or younger. `missing`: ranks whose pods
    were there and are gone.

    A pod that was deleted by force tells nothing of its start. No rank was started again since the last renewal: this
    one has run since then, or, where none was renewed, since the gang began."""
    if not restarts_alone(job):
        return _latest(gang)
    ended = _latest([pod for pod in gang if pod.ended or pod.deleting])
    if not missing:
        return ended
    since = status.renewed if status.renewals else _latest(gang)
    return None if since is None else max(since, ended if ended is not None else since)


def _latest(pods: Iterable[Pod]) -> Moment | None:
    return max((pod.started for pod in pods if pod.started is not None), default=None)


def is_renewing(status: Status, missing: Collection[Rank]) -> bool:
    """Whether ranks that are started again alone have no pods yet. The phase stays Restarting until they have."""
    return status.phase is Phase.RESTARTING and any(status.renewal(rank) for rank in missing)
