"""When a job has succeeded: all deciding ranks have, and nothing that they needed ended clearly before them.

- `paddock.dev/success: AllRanks`, which `paddock run` writes: all ranks that train decide (`apis.success`).
- batch.paddlepaddle.org: the workers decide, as in paddle-operator v0.2.0 and its documents. Parameter servers never
  exit by themselves (PaddlePaddle's `run_server`); a server that ended before the workers lost what they learned since.
- kubeflow.org: the Masters decide where there are any, else the workers; of an elastic PyTorchJob without a Master one
  worker (training-operator), as its ranks end together. A Master that goes on after all workers have succeeded may be
  saving; it is given `Settings.master_wait` seconds. Workers that go on after it have a time too (`policies.ending`).
  A rank that failed all the same is told, and counts for the exit code of `paddock run` (`policies.failed_ranks`).

The clocks of two nodes differ, so finish times nearer than `SAME_TIME` have no order, and count as the same time. One
node has one clock: there a server that failed is before a success that came `ONE_CLOCK` later (decision 38).

A job has up to 10,000 ranks: a policy asks of each pod what takes no time (`Ranks`), and lists ranks once at most.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from paddock.jobs import causes
from paddock.jobs.model import CleanPods, Job, Pod, PodPhase, Rank, Role, Settings, Status
from paddock.jobs.policies.failed_ranks import first_success, tell_failed
from paddock.jobs.policies.verdict import LOOK_AGAIN, Verdict, Wait, noticed, plan_completion
from paddock.kube.times import Moment

SAME_TIME = 10
"""Seconds."""
ONE_CLOCK = 2
"""Seconds. Finish times are whole seconds, so a difference of one may be none."""

ALIVE = (PodPhase.STARTING, PodPhase.RUNNING)


@dataclass(frozen=True, slots=True)
class Ranks:
    """All ranks of some roles: a set that is not written out. `sizes`: replicas by role."""

    sizes: Mapping[str, int]

    def __contains__(self, rank: Rank) -> bool:
        return rank.index < self.sizes.get(rank.role, 0)

    def __len__(self) -> int:
        return sum(self.sizes.values())

    def are_in(self, ranks: Collection[Rank]) -> bool:
        return sum(rank in self for rank in frozenset(ranks)) == len(self)


def _ranks_of(roles: Iterable[Role]) -> Ranks:
    return Ranks({role.name: role.replicas for role in roles})


def deciding_ranks(job: Job) -> Ranks:
    """The ranks that must succeed; all ranks in a job without a deciding role."""
    deciding = _ranks_of(role for role in job.roles if role.decides)
    return deciding if len(deciding) else _ranks_of(job.roles)


def early_servers(job: Job, pods: Sequence[Pod], first_noticed: Moment | None = None) -> tuple[Pod, ...]:
    """Pods of ranks that serve and ended too early, with any exit code. `first_noticed`: when an end of this attempt
    was first seen; it stands for the finish time of a pod that has none."""
    serving = _beside(job, serves=True)
    ended = [pod for pod in pods if pod.ended and pod.rank in serving]
    if not ended or not has_succeeded(job, _succeeded(pods)):
        return tuple(ended)
    done = _find_successes(job, pods)
    return tuple(pod for pod in ended if _is_before(pod, done, first_noticed, serving))


def has_trained(job: Job, pods: Sequence[Pod]) -> bool:
    """Whether a rank that does not serve may have begun its program."""
    serving = _beside(job, serves=True)
    return any(
        pod.rank not in serving and (pod.ended or pod.phase is PodPhase.RUNNING or bool(pod.unready) or pod.renewal > 0)
        for pod in pods
    )


def plan_success(
    job: Job, pods: Sequence[Pod], missing: Collection[Rank], first_noticed: Moment | None = None
) -> Verdict | None:
    """Completed, or None. `pods`: the current attempt's. `missing`: ranks whose pods were there and are gone."""
    succeeded = _succeeded(pods)
    if not has_succeeded(job, succeeded):
        return None
    done, serving = _find_successes(job, pods), _beside(job, serves=True)
    if any(_is_before(pod, done, first_noticed, serving) for pod in _needed_ends(job, pods)):
        return None
    if missing and first_noticed is not None and done.last - first_noticed >= SAME_TIME:
        return None
    if job.success.all_ranks and job.one_decides and _run_on(job, pods):
        return None
    count = sum(rank not in serving for rank in succeeded)
    kept = tuple(str(pod.rank) for pod in pods if pod.phase in ALIVE)
    failed = tell_failed(job, pods)
    if kept and job.policies.clean_pods in (CleanPods.NEVER, CleanPods.ON_FAILURE):
        return plan_completion(causes.CompletedServersKept(count, kept, job.policies.clean_up, **failed))
    return plan_completion(causes.Completed(count, **failed))


def _run_on(job: Job, pods: Sequence[Pod]) -> bool:
    """Whether a rank of a group of which one decides still runs, and nobody is to be ended for being the last. One that
    began after the first success has no group."""
    training, success = {role.name for role in job.roles if role.trains}, first_success(job, pods)
    running = (pod for pod in pods if pod.rank.role in training and pod.phase in ALIVE and not pod.deleting)
    return any(pod.started is None or pod.started <= success for pod in running)


def plan_master(
    job: Job, status: Status, pods: Sequence[Pod], now: Moment, settings: Settings, clock_off: int = 0
) -> Verdict | Wait | None:
    """What becomes of a Master that runs after all workers have succeeded. None where there is no such Master."""
    workers, masters = _beside(job, serves=False), deciding_ranks(job)
    running = tuple(str(pod.rank) for pod in pods if pod.rank in masters and pod.phase in ALIVE)
    if not len(workers) or not running or not workers.are_in(_succeeded(pods)):
        return None
    seconds = int(settings.master_wait)
    since = noticed(status, causes.WaitingForMaster, now)
    left = settings.master_wait - (0.0 if since is None else max(0.0, now - since))
    if clock_off:  # its pods would be ended, and it may be saving
        left = max(left, LOOK_AGAIN)
    if left > 0:
        return Wait(causes.WaitingForMaster(running, seconds), left)
    return plan_completion(causes.CompletedWithoutMaster(running, seconds))


def _beside(job: Job, *, serves: bool) -> Ranks:
    """Ranks that do not decide: those that serve, or the others."""
    return _ranks_of(role for role in job.roles if not role.decides and role.serves is serves)


def _needed_ends(job: Job, pods: Sequence[Pod]) -> Iterator[Pod]:
    """The pods whose end counts against a success if it came before: of ranks that serve, and of those that failed. A
    deciding rank that is gone would have to succeed again."""
    serving, deciding = _beside(job, serves=True), deciding_ranks(job)
    for pod in pods:
        if pod.rank not in deciding and pod.ended and (pod.phase is PodPhase.FAILED or pod.rank in serving):
            yield pod


def last_success(job: Job, pods: Sequence[Pod]) -> Moment | None:
    """When the last of the deciding ranks that have succeeded ended; None before the first."""
    deciding = deciding_ranks(job)
    return max(
        (_finished(pod, None) or 0.0 for pod in pods if pod.phase is PodPhase.SUCCEEDED and pod.rank in deciding),
        default=None,
    )


def has_succeeded(job: Job, succeeded: Collection[Rank]) -> bool:
    """Whether these ranks are enough for the job's success: all that decide, or one of them (`Job.one_decides`)."""
    deciding = deciding_ranks(job)
    if job.one_decides:
        return any(rank in deciding for rank in succeeded)
    return len(deciding) > 0 and deciding.are_in(succeeded)


def _succeeded(pods: Sequence[Pod]) -> frozenset[Rank]:
    return frozenset(pod.rank for pod in pods if pod.phase is PodPhase.SUCCEEDED)


@dataclass(frozen=True, slots=True)
class _Successes:
    """When the last deciding rank succeeded: of all, and on each node by its name."""

    last: Moment
    by_node: Mapping[str, Moment]


def _find_successes(job: Job, pods: Sequence[Pod]) -> _Successes:
    deciding, last, by_node = deciding_ranks(job), 0.0, dict[str, Moment]()
    for pod in pods:
        if pod.phase is PodPhase.SUCCEEDED and pod.rank in deciding:
            moment = _finished(pod, None) or 0.0
            last = max(last, moment)
            by_node[pod.node] = max(moment, by_node.get(pod.node, 0.0))
    return _Successes(last, by_node)


def _finished(pod: Pod, otherwise: Moment | None) -> Moment | None:
    known = pod.exit is not None and pod.exit.finished is not None
    return pod.exit.finished if known and pod.exit is not None else otherwise


def _is_before(pod: Pod, done: _Successes, otherwise: Moment | None, serving: Ranks) -> bool:
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
