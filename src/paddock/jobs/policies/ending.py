"""What becomes of workers that still train when the ranks that decide have succeeded: they have time to end.

The ranks of a distributed program end together, but not in the same second: when the Master of a PyTorchJob, or one
rank of an elastic one, has succeeded, the others are about to end as well, and may be saving. Where the clean-up policy
would end them, they have `Settings.end_wait` seconds to do so by themselves; then the job is completed without them.

Once the wait is recorded the job has succeeded, whatever is seen later: a worker that fails, is suspended or is deleted
meanwhile changes nothing, nor does a Master whose pod is gone. With `cleanPodPolicy: None` nobody ends them, so nothing
is waited for. Source: training-operator, which takes the Master's word and leaves the pods alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from paddock.jobs import causes
from paddock.jobs.model import CleanPods, Job, Phase, Pod, PodPhase, Settings, Status
from paddock.jobs.policies.verdict import LOOK_AGAIN, Verdict, Wait, noticed, plan_completion
from paddock.kube.times import Moment

_KEEPING = (CleanPods.NEVER, CleanPods.ON_FAILURE)
_ALIVE = (PodPhase.STARTING, PodPhase.RUNNING)


def plan_ending(
    job: Job,
    status: Status,
    success: Verdict | None,
    pods: Sequence[Pod],
    now: Moment,
    settings: Settings,
    clock_off: int = 0,
) -> Verdict | Wait | None:
    """The success of the job, now or later. `success`: that of `policies.success`, if there is one now; `pods`: the
    recorded ones."""
    # The pods of a suspended job are being ended already, by the operator.
    if status.phase is Phase.SUSPENDED:
        return success
    since = noticed(status, causes.WaitingForWorkers, now)
    success = success or _recall(status)
    training = _training(job, pods)
    if success is None or not training or job.policies.clean_pods in _KEEPING:
        return success
    left = settings.end_wait - (0.0 if since is None else max(0.0, now - since))
    if clock_off:  # its pods would be ended, and they may be saving
        left = max(left, LOOK_AGAIN)
    seconds = int(settings.end_wait)
    if left > 0:
        return Wait(causes.WaitingForWorkers(training, seconds, _count(success)), left)
    return plan_completion(causes.CompletedWithoutWorkers(training, seconds))


def _training(job: Job, pods: Sequence[Pod]) -> tuple[str, ...]:
    trains = {role.name for role in job.roles if role.trains}
    return tuple(str(pod.rank) for pod in pods if pod.rank.role in trains and pod.phase in _ALIVE and not pod.deleting)


def _recall(status: Status) -> Verdict | None:
    """The success that the recorded wait follows, if there is one. Its time is not asked: a clock that was set back
    makes the wait begin anew, and the job has succeeded all the same."""
    if status.cause is None or status.cause.reason != causes.WaitingForWorkers.__name__:
        return None
    succeeded = status.cause.args.get("succeeded")
    return plan_completion(causes.Completed(succeeded if isinstance(succeeded, int) else 1))


def _count(success: Verdict) -> int:
    return success.cause.succeeded if isinstance(success.cause, causes.Completed) else 1
