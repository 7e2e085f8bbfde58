"""When a job has succeeded: all deciding ranks have, and nothing that they needed ended clearly before them.

- batch.paddlepaddle.org: the workers decide, as in paddle-operator v0.2.0 and its documents. Parameter servers never
  exit by themselves (PaddlePaddle's `run_server`); a server that ended before the workers lost what they learned since.
- kubeflow.org: the Masters decide where there are any, else the workers; of an elastic PyTorchJob without a Master one
  worker (training-operator), as its ranks end together. A Master that goes on after all workers have succeeded may be
  saving; it is given `Settings.master_wait` seconds. Workers that go on after it have a time too (`policies.ending`).

The clocks of two nodes differ, so finish times nearer than `SAME_TIME` have no order, and count as the same time. One
node has one clock: there a server that failed is before a success that came `ONE_CLOCK` later (decision 38).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from paddock.jobs import causes
from paddock.jobs.model import CleanPods, Job, Pod, PodPhase, Rank, Settings, Status
from paddock.jobs.policies.verdict import LOOK_AGAIN, Verdict, Wait, noticed, plan_completion
from paddock.kube.times import Moment

SAME_TIME = 10
"""Seconds."""
ONE_CLOCK = 2
"""Seconds. Finish times are whole seconds, so a difference of one may be none."""

_MOST_NAMED = 4
_ALIVE = (PodPhase.STARTING, PodPhase.RUNNING)


def deciding_ranks(job: Job) -> tuple[Rank, ...]:
    """The ranks that must succeed; all ranks in a job without a deciding role."""
    return tuple(rank for role in job.roles if role.decides for rank in role.ranks()) or job.ranks()


def early_servers(job: Job, pods: Sequence[Pod], first_noticed: Moment | None = None) -> tuple[Pod, ...]:
    """Pods of ranks that serve and ended too early, with any exit code. `first_noticed`: when an end of this attempt
    was first seen; it stands for the finish time of a pod that has none."""
    serving = _ranks(job, serves=True)
    ended = [pod for pod in pods if pod.ended and pod.rank in serving]
    if not has_succeeded(job, _succeeded(pods)):
        return tuple(ended)
    done = _find_successes(deciding_ranks(job), pods)
    return tuple(pod for pod in ended if _is_before(pod, done, first_noticed, serving))


def plan_success(
    job: Job, pods: Sequence[Pod], missing: Collection[Rank], first_noticed: Moment | None = None
) -> Verdict | None:
    """Completed, or None. `pods`: the current attempt's. `missing`: ranks whose pods were there and are gone."""
    deciding = deciding_ranks(job)
    if not has_succeeded(job, _succeeded(pods)):
        return None
    done = _find_successes(deciding, pods)
    serving = _ranks(job, serves=True)
    if any(_is_before(pod, done, first_noticed, serving) for pod in _needed_ends(job, pods)):
        return None
    if missing and first_noticed is not None and done.last - first_noticed >= SAME_TIME:
        return None
    count = len(_succeeded(pods) - _ranks(job, serves=True))
    kept = tuple(str(pod.rank) for pod in pods if pod.phase in _ALIVE)
    policy = job.policies.clean_pods
    # Those that are being deleted were ended by somebody.
    failed = [pod for pod in pods if pod.phase is PodPhase.FAILED and not pod.deleting]
    late = (
        tuple(str(pod.rank) for pod in failed[:_MOST_NAMED]) or None,
        _find_code(failed),
        any(pod.rank in serving for pod in failed) or None,
    )
    if kept and policy in (CleanPods.NEVER, CleanPods.ON_FAILURE):
        return plan_completion(causes.CompletedServersKept(count, kept, job.policies.clean_up, *late))
    return plan_completion(causes.Completed(count, *late))


def plan_master(
    job: Job, status: Status, pods: Sequence[Pod], now: Moment, settings: Settings, clock_off: int = 0
) -> Verdict | Wait | None:
    """What becomes of a Master that runs after all workers have succeeded. None where there is no such Master."""
    workers, masters = _ranks(job, serves=False), deciding_ranks(job)
    running = tuple(str(pod.rank) for pod in pods if pod.rank in masters and pod.phase in _ALIVE and not pod.deleting)
    if not workers or not running or not workers <= _succeeded(pods):
        return None
    seconds = int(settings.master_wait)
    since = noticed(status, causes.WaitingForMaster, now)
    left = settings.master_wait - (0.0 if since is None else max(0.0, now - since))
    if clock_off:  # its pods would be ended, and it may be saving
        left = max(left, LOOK_AGAIN)
    if left > 0:
        return Wait(causes.WaitingForMaster(running, seconds), left)
    return plan_completion(causes.CompletedWithoutMaster(running, seconds))


def _ranks(job: Job, *, serves: bool) -> frozenset[Rank]:
    """Ranks that do not decide: those that serve, or the others."""
    return frozenset(rank for role in job.roles if not role.decides and role.serves is serves for rank in role.ranks())


def _needed_ends(job: Job, pods: Sequence[Pod]) -> Iterator[Pod]:
    """The pods whose end counts against a success if it came before: of ranks that serve, and of those that failed. A
    deciding rank that is gone would have to succeed again."""
    serving, deciding = _ranks(job, serves=True), set(deciding_ranks(job))
    for pod in pods:
        if pod.rank not in deciding and pod.ended and (pod.rank in serving or pod.phase is PodPhase.FAILED):
            yield pod


def last_success(job: Job, pods: Sequence[Pod]) -> Moment | None:
    """When the last of the deciding ranks that have succeeded ended; None before the first."""
    deciding = deciding_ranks(job)
    return max(
        (_finished(pod, None) or 0.0 for pod in pods if pod.rank in deciding and pod.phase is PodPhase.SUCCEEDED),
        default=None,
    )


def has_succeeded(job: Job, succeeded: Collection[Rank]) -> bool:
    """Whether these ranks are enough for the job's success: all that decide, or one of them (`Job.one_decides`)."""
    deciding = deciding_ranks(job)
    enough = any if job.one_decides else all
    return bool(deciding) and enough(rank in succeeded for rank in deciding)


def _succeeded(pods: Sequence[Pod]) -> frozenset[Rank]:
    return frozenset(pod.rank for pod in pods if pod.phase is PodPhase.SUCCEEDED)


@dataclass(frozen=True, slots=True)
class _Successes:
    """When the last deciding rank succeeded: of all, and on each node by its name."""

    last: Moment
    by_node: Mapping[str, Moment]


def _find_successes(ranks: Collection[Rank], pods: Sequence[Pod]) -> _Successes:
    last, by_node = 0.0, dict[str, Moment]()
    deciding = frozenset(ranks)
    for pod in pods:
        if pod.rank in deciding and pod.phase is PodPhase.SUCCEEDED:
            moment = _finished(pod, None) or 0.0
            last = max(last, moment)
            by_node[pod.node] = max(moment, by_node.get(pod.node, 0.0))
    return _Successes(last, by_node)


def _find_code(failed: Sequence[Pod]) -> int | None:
    """The exit code that all of these ended with; None where they differ or it is not known."""
    codes = {pod.exit.code if pod.exit is not None else None for pod in failed}
    return codes.pop() if len(codes) == 1 else None


def _finished(pod: Pod, otherwise: Moment | None) -> Moment | None:
    known = pod.exit is not None and pod.exit.finished is not None
    return pod.exit.finished if known and pod.exit is not None else otherwise


def _is_before(pod: Pod, done: _Successes, otherwise: Moment | None, serving: Collection[Rank]) -> bool:
    """Whether `pod` ended so far before a success that clocks cannot explain it. An unknown moment does not. One clock
    counts for ranks that serve: workers may abort while the Master of their job still ends."""
    moment = _finished(pod, otherwise)
    if moment is None:
        return False
    return done.last - moment >= SAME_TIME or (pod.rank in serving and _is_before_by_one_clock(pod, done))


def _is_before_by_one_clock(pod: Pod, done: _Successes) -> bool:
    """Only a failure is judged so: a program may end its servers well, and then do something else for some seconds."""
    if pod.phase is not PodPhase.FAILED or pod.exit is None or pod.exit.finished is None:
        return False
    beside = done.by_node.get(pod.node) if pod.node else None
    return beside is not None and beside - pod.exit.finished >= ONE_CLOCK
