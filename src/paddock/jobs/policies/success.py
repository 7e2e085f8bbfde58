"""When a job has succeeded: all ranks of the roles that decide have, whatever the others still do.

Parameter servers never exit by themselves (PaddlePaddle's `run_server`), so the workers decide, as in paddle-operator
v0.2.0 and its documents. But trainers go on and exit 0 when a server dies under them, and what they learned since is
lost: a server that ended before the last worker did spoils the success. Times have whole seconds; a server that ends
within the same second has done its work.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from paddock.jobs import causes
from paddock.jobs.model import CleanPods, Job, Pod, PodPhase, Rank
from paddock.jobs.policies.verdict import Verdict, plan_completion


def deciding_ranks(job: Job) -> tuple[Rank, ...]:
    """The ranks whose success is the job's; all of them in a job without such a role."""
    return tuple(rank for role in job.roles if role.decides for rank in role.ranks()) or job.ranks()


def early_servers(job: Job, pods: Sequence[Pod]) -> tuple[Pod, ...]:
    """Ended pods of ranks that do not decide, which should have outlived the deciding ones. With any exit code."""
    deciding = deciding_ranks(job)
    wanted = set(job.ranks())
    ended = [pod for pod in pods if pod.ended and pod.rank in wanted and pod.rank not in deciding]
    if not _all_succeeded(deciding, pods):
        return tuple(ended)
    last = max((_finished(pod) for pod in pods if pod.rank in deciding), default=0)
    return tuple(pod for pod in ended if _finished(pod) < last)


def plan_success(job: Job, pods: Sequence[Pod], missing: Collection[Rank]) -> Verdict | None:
    """Completed, if it is. `pods`: the current attempt's; `missing`: ranks whose pods were there and are gone, and of
    which nobody can say when they went."""
    deciding = deciding_ranks(job)
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
    """Whole seconds. A failed pod without a time counts as early, as what it did cannot be vouched for."""
    if pod.exit is not None and pod.exit.finished is not None:
        return int(pod.exit.finished)
    return 2**62 if pod.phase is PodPhase.SUCCEEDED else 0
