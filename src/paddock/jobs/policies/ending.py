"""What becomes of ranks that still train when those that decide have succeeded, or some of them: they have time to end.

The ranks of a distributed program end together, but not in the same second: when the Master of a PyTorchJob, or one
rank of an elastic one, has succeeded, the others are about to end as well, and may be saving. Where the clean-up policy
would end them, they have `Settings.end_wait` seconds to do so by themselves; then the job is completed without them.

Once the wait is recorded the job has succeeded, whatever is seen later: a worker that fails, is suspended or is deleted
meanwhile changes nothing, nor does a Master whose pod is gone. With `cleanPodPolicy: None` nobody ends them, so nothing
is waited for. Source: training-operator, which takes the Master's word and leaves the pods alone.

Where all ranks decide (`Success.all_ranks`), all are waited for, without end: the last one may be saving the model. A
job that names a bound (`Success.end_wait`) has not succeeded during that wait: a rank that fails then is judged as
ever.
"""

from __future__ import annotations

from collections.abc import Sequence

from paddock.jobs import causes
from paddock.jobs.model import CleanPods, Job, Phase, Pod, PodPhase, Settings, Status
from paddock.jobs.policies.failed_ranks import tell_failed
from paddock.jobs.policies.success import ALIVE, deciding_ranks
from paddock.jobs.policies.verdict import LOOK_AGAIN, Verdict, Wait, noticed, plan_completion
from paddock.kube.times import Moment

_KEEPING = (CleanPods.NEVER, CleanPods.ON_FAILURE)


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
    success = success or _recall(job, status, pods)
    training = _training(job, pods)
    if success is None or not training or job.policies.clean_pods in _KEEPING:
        return success
    left = settings.end_wait - (0.0 if since is None else max(0.0, now - since))
    if clock_off:  # its pods would be ended, and they may be saving
        left = max(left, LOOK_AGAIN)
    seconds = int(settings.end_wait)
    if left > 0:
        return Wait(causes.WaitingForWorkers(training, seconds, _count(success)), left)
    return plan_completion(causes.CompletedWithoutWorkers(training, seconds, **tell_failed(job, pods)))


def plan_last(job: Job, status: Status, pods: Sequence[Pod], now: Moment, clock_off: int = 0) -> Verdict | Wait | None:
    """What becomes of ranks that run on after the first of a job with a bound has ended well; None without a bound, or
    while a rank has neither ended well nor runs."""
    bound, running = job.success.end_wait, _find_last(job, pods)
    if bound is None or not running or job.policies.clean_pods in _KEEPING:
        return None
    since = noticed(status, causes.WaitingForLastRanks, now)
    left = bound - (0.0 if since is None else max(0.0, now - since))
    if clock_off:  # as above
        left = max(left, LOOK_AGAIN)
    if left > 0:
        return Wait(causes.WaitingForLastRanks(running, bound), left)
    return plan_completion(causes.CompletedWithoutWorkers(running, bound, **tell_failed(job, pods)))


def explain_last(job: Job, pods: Sequence[Pod]) -> causes.Cause | None:
    """Whom a job without a bound waits for."""
    running = _find_last(job, pods) if job.success.all_ranks else ()
    return causes.WaitingForLastRanks(running) if running else None


def _find_last(job: Job, pods: Sequence[Pod]) -> tuple[str, ...]:
    """The ranks that run beside others that have ended well; none while a rank has neither ended well nor runs."""
    running, deciding = _training(job, pods), deciding_ranks(job)
    succeeded = sum(pod.phase is PodPhase.SUCCEEDED and pod.rank in deciding for pod in pods)
    if not succeeded or (succeeded + len(running) < len(deciding) and not job.one_decides):
        return ()
    return running


def _training(job: Job, pods: Sequence[Pod]) -> tuple[str, ...]:
    trains = {role.name for role in job.roles if role.trains}
    return tuple(str(pod.rank) for pod in pods if pod.rank.role in trains and pod.phase in ALIVE and not pod.deleting)


def _recall(job: Job, status: Status, pods: Sequence[Pod]) -> Verdict | None:
    """The success that the recorded wait follows, if there is one. Its time is not asked: a clock that was set back
    makes the wait begin anew, and the job has succeeded all the same."""
    if status.cause is None or status.cause.reason != causes.WaitingForWorkers.__name__:
        return None
    succeeded = status.cause.args.get("succeeded")
    count = succeeded if isinstance(succeeded, int) else 1
    return plan_completion(causes.Completed(count, **tell_failed(job, pods)))


def _count(success: Verdict) -> int:
    return success.cause.succeeded if isinstance(success.cause, causes.Completed) else 1
