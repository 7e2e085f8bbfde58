"""When a job has succeeded: all ranks of the deciding roles have, whatever the other ranks do.

Parameter servers never exit by themselves (PaddlePaddle's `run_server`), so the workers decide, as in paddle-operator
v0.2.0 and its documents. But the job has not succeeded if a server ended before the last worker.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from paddock.jobs import causes
from paddock.jobs.model import CleanPods, Job, Pod, PodPhase, Rank
from paddock.jobs.policies.verdict import Verdict, plan_completion


def deciding_ranks(job: Job) -> tuple[Rank, ...]:
    """The ranks that must succeed; all ranks in a job without a deciding role."""
    return tuple(rank for role in job.roles if role.decides for rank in role.ranks()) or job.ranks()


def early_servers(job: Job, pods: Sequence[Pod]) -> tuple[Pod, ...]:
    """Pods of ranks that do not decide and that ended before the deciding ranks, with any exit code."""
    deciding = deciding_ranks(job)
    wanted = set(job.ranks())
    ended = [pod for pod in pods if pod.ended and pod.rank in wanted and pod.rank not in deciding]
    if not _all_succeeded(deciding, pods):
        return tuple(ended)
    # Times have whole seconds: a server that ends in the same second as the last worker counts as in time.
    last = max((_finished(pod) for pod in pods if pod.rank in deciding), default=0)
    return tuple(pod for pod in ended if _finished(pod) < last)


def plan_success(job: Job, pods: Sequence[Pod], missing: Collection[Rank]) -> Verdict | None:
    """Completed, or None. `pods`: the current attempt's. `missing`: ranks whose pods were there and are gone, at an
    unknown time."""
    deciding = deciding_ranks(job)
    # Trainers go on and exit with 0 when a server fails, and what they learned after that is lost.
    if not deciding or missing or not _all_succeeded(deciding, pods) or early_servers(job, pods):
        return None
    kept = tuple(str(pod.rank) for pod in pods if pod.phase in (PodPhase.STARTING, PodPhase.RUNNING))
    policy = job.policies.clean_pods
    if kept and policy in (CleanPods.NEVER, CleanPods.ON_FAILURE):
        return plan_completion(causes.CompletedServersKept(len(deciding), kept, policy.value))
    return plan_completion(causes.Completed(len(deciding)))


def _all_succeeded(ranks: Collection[Rank], pods: Sequence[Pod]) -> bool:
    succeeded = {pod.rank for pod in pods if pod.phase is PodPhase.SUCCEEDED}
    return all(rank in succeeded for rank in ranks)


def _finished(pod: Pod) -> int:
    """Whole seconds. A failed pod without a time counts as early."""
    if pod.exit is not None and pod.exit.finished is not None:
        return int(pod.exit.finished)
    return 2**62 if pod.phase is PodPhase.SUCCEEDED else 0
