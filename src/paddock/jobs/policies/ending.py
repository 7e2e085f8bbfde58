"""A verdict that waits for the other ranks: a failure for statuses on their way, a success for ranks that still train.

**A failure.** The statuses of a gang come from several kubelets, in no order: a kubelet whose patch failed tries again
after 10 s (`kubelet/status_manager.go`). And a launcher may end seconds after the peer whose end it noticed. So the
first end that is seen is not always the first that happened, and a worker's success may be behind the end of its
server. A failure waits until every rank's end is known, at most `Settings.status_wait` seconds from the first end that
was seen, and from a success that came so soon after it that the gang may have succeeded. Then it is judged by finish
times (`policies.success`, `policies.root_cause`). A lost or deleted rank is judged at once, as no other end is a
likelier cause, unless all deciding ranks may have succeeded by now; so is a rank that others go on without
(`jobs.rejoining`), but for an error of its own, which they may have too. A success waits for no status: no end that is
still on its way can have come `SAME_TIME` before it.

**A success.** The ranks of a distributed program end together, but not in the same second: when the Master of a
PyTorchJob, or one rank of an elastic one, has succeeded, the others are about to end as well, and may be saving. Where
the clean-up policy would end them, they have `Settings.end_wait` seconds to do so by themselves; then the job is
completed without them. Once the wait is recorded the job has succeeded, whatever is seen later: a worker that fails, is
suspended or is deleted meanwhile changes nothing, nor does a Master whose pod is gone. With `cleanPodPolicy: None`
nobody ends them, so nothing is waited for. Source: training-operator, which takes the Master's word and leaves the pods
alone. Where all ranks decide (`Success.all_ranks`), all are waited for, without end: the last one may be saving the
model. A job that names a bound (`Success.end_wait`) has not succeeded during that wait: a rank that fails then is
judged as ever.

**Other containers of ranks that have ended well.** A container beside the program's may have work left when the program
has succeeded: Katib's metrics collector reads the program's log to its end, and sends what it has found. Where the
clean-up ends them, they have the same time, counted from the end of the rank's program: `Settings.end_wait`, or what
the job itself names. A rank that ends well while others still train is no exception: those have as much longer, once,
as the clean-up ends all pods in one moment: the cause tells that time, counted from the success. Kubernetes' own side-
cars, init containers that restart, end by the kubelet: none is waited for. How another container ends changes nothing:
a rank succeeds by the container that trains, as in training-operator.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set

from paddock.jobs import causes
from paddock.jobs.apis.indexes import read_indexes, write_indexes
from paddock.jobs.model import CleanPods, Exit, Job, Phase, Pod, PodPhase, Rank, Settings, Status
from paddock.jobs.policies.failed_ranks import tell_failed
from paddock.jobs.policies.root_cause import Death, Kind, Seen, find_root_cause
from paddock.jobs.policies.success import ALIVE, SAME_TIME, deciding_ranks, has_succeeded, last_success
from paddock.jobs.policies.verdict import LOOK_AGAIN, Verdict, Wait, noticed, plan_completion
from paddock.jobs.rejoining import all_rejoin
from paddock.kube.times import Moment

_KEEPING = (CleanPods.NEVER, CleanPods.ON_FAILURE)
_SUCCEEDED = (causes.WaitingForWorkers.__name__, causes.WaitingForContainers.__name__)
_MOST_CONTAINERS, _MOST_RANKS = 4, 3
"""Names in a cause."""


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
    if success is None or job.policies.clean_pods in _KEEPING:
        return success
    if not training:
        return _plan_containers(job, status, success, pods, now, settings, clock_off)
    waited = 0.0 if since is None else max(0.0, now - since)
    bound = max(settings.end_wait, _left_of_containers(job, pods, settings))
    left = bound - waited
    if clock_off:  # its pods would be ended, and they may be saving
        left = max(left, LOOK_AGAIN)
    seconds = int(bound)
    if left > 0:
        return Wait(causes.WaitingForWorkers(training, seconds, _count(success)), left)
    return plan_completion(causes.CompletedWithoutWorkers(training, seconds, **tell_failed(job, pods)))


def _plan_containers(
    job: Job, status: Status, success: Verdict, pods: Sequence[Pod], now: Moment, settings: Settings, clock_off: int
) -> Verdict | Wait:
    """The success, later while other containers of ranks that have ended well have time."""
    lingering = _find_lingering(pods)
    if not lingering:
        return success
    bound = _time_of_containers(job, settings)
    since = noticed(status, causes.WaitingForContainers, now)
    left = bound - _ended_before(job, pods, lingering) - (0.0 if since is None else max(0.0, now - since))
    if clock_off:  # as above
        left = max(left, LOOK_AGAIN)
    containers = tuple(dict.fromkeys(name for pod in lingering for name in pod.lingering))[:_MOST_CONTAINERS]
    ranks = tuple(map(str, sorted(pod.rank for pod in lingering)[:_MOST_RANKS]))
    more = len(lingering) - len(ranks) or None
    if left > 0:
        return Wait(causes.WaitingForContainers(containers, ranks, int(bound), _count(success), more), left)
    failed = tell_failed(job, pods)
    return plan_completion(causes.CompletedWithoutContainers(containers, ranks, int(bound), others=more, **failed))


def _find_lingering(pods: Sequence[Pod]) -> list[Pod]:
    return [pod for pod in pods if pod.phase is PodPhase.SUCCEEDED and pod.lingers and not pod.deleting]


def _time_of_containers(job: Job, settings: Settings) -> float:
    return settings.end_wait if job.success.end_wait is None else float(job.success.end_wait)


def _left_of_containers(job: Job, pods: Sequence[Pod], settings: Settings) -> float:
    """Seconds from the success on that containers of ranks which have ended since need, while others still train; 0.0
    without such. Both ends are times of nodes. Ranks that end in the time that this adds add none."""
    deciding = deciding_ranks(job)
    good = [pod.exit.finished for pod in pods if pod.phase is PodPhase.SUCCEEDED and pod.exit and pod.rank in deciding]
    known = [end for end in good if end is not None]
    if not known:
        return 0.0
    success = min(known) if job.one_decides else max(known)
    ends = (pod.exit.finished for pod in _find_lingering(pods) if pod.exit)
    later = [end - success for end in ends if end is not None and 0 <= end - success <= settings.end_wait]
    return max(later) + _time_of_containers(job, settings) if later else 0.0


def _ended_before(job: Job, pods: Sequence[Pod], lingering: Sequence[Pod]) -> float:
    """Seconds by which the last rank of `lingering` ended before the last of all that train. Both are times of nodes,
    whose clocks may differ from the operator's."""
    trains = {role.name for role in job.roles if role.trains}  # a server may end during the wait
    ended = (pod.exit.finished for pod in pods if pod.exit and pod.rank.role in trains)
    last = max((end for end in ended if end is not None), default=None)
    ends = [pod.exit.finished if pod.exit else None for pod in lingering]
    known = [end for end in ends if end is not None]
    return last - max(known) if last is not None and len(known) == len(ends) else 0.0


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
    """The cause while a job without a bound waits for its last ranks; None where it does not."""
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
    if status.cause is None or status.cause.reason not in _SUCCEEDED:
        return None
    succeeded = status.cause.args.get("succeeded")
    count = succeeded if isinstance(succeeded, int) else 1
    return plan_completion(causes.Completed(count, **tell_failed(job, pods)))


def _count(success: Verdict) -> int:
    return success.cause.succeeded if isinstance(success.cause, causes.Completed) else 1


# A failure waits for statuses.


_MOST_ENDED, _MOST_AWAITED = 20, 4
"""Names in the cause, which is written again at each end; more have ended as indexes (`apis.indexes`)."""


def first_noticed(status: Status, now: Moment) -> Moment | None:
    """When the first end of this attempt was seen, if a verdict waits for others."""
    return noticed(status, causes.WaitingForStatuses, now)


def recall(status: Status, now: Moment) -> Seen:
    """The ends that the recorded wait tells of. A lost rank is none: it stays lost."""
    since, args = first_noticed(status, now), status.cause.args if status.cause is not None else {}
    code, why, ranks = args.get("code"), args.get("why"), args.get("ranks")
    if since is None or not isinstance(code, int) or not isinstance(ranks, Sequence) or not ranks:
        return Seen()
    ended = frozenset(map(str, ranks)) | _read_ended(args.get("ended"))
    return Seen(ended, str(ranks[0]), Exit(code, str(why or ""), "", since))


def plan_wait(
    job: Job, status: Status, pods: Sequence[Pod], deaths: Collection[Death], now: Moment, settings: Settings
) -> Wait | None:
    """The wait before these deaths are judged; None to judge them now. `pods`: the current attempt's."""
    root = find_root_cause(deaths)
    awaited = _awaited(pods, {death.rank for death in deaths})
    may_succeed = _may_succeed(job, pods, awaited)
    if not root or not awaited or (root[0].kind is Kind.LOST and not may_succeed):
        return None
    # The peers of such a rank go on without it, so no end of theirs is on its way.
    if root[0].kind < Kind.ERROR and all_rejoin(job, {death.rank for death in deaths}):
        return None
    since = first_noticed(status, now)
    left = settings.status_wait - (0.0 if since is None else max(0.0, now - since))
    if may_succeed and since is not None:
        left += _seconds_more(job, pods, since)
    if left <= 0:
        return None
    return Wait(_describe(root[0], deaths, recall(status, now), awaited, settings), left)


def _describe(
    root: Death, deaths: Collection[Death], seen: Seen, awaited: Sequence[Rank], settings: Settings
) -> causes.WaitingForStatuses:
    ended = dict.fromkeys((str(root.rank), *sorted(str(death.rank) for death in deaths), *sorted(seen.ranks)))
    lost = root.kind is Kind.LOST
    return causes.WaitingForStatuses(
        ranks=tuple(ended)[:_MOST_ENDED],
        ended=_write_ended(ended) if len(ended) > _MOST_ENDED else None,
        awaited=tuple(map(str, awaited[:_MOST_AWAITED])),
        count=len(awaited),
        seconds=int(settings.status_wait),
        code=None if lost else root.code,
        why=None if lost else root.reason or None,
    )


def _write_ended(ranks: Iterable[str]) -> dict[str, str]:
    indexes: dict[str, set[int]] = {}
    for role, _, index in (rank.rpartition("-") for rank in ranks):
        indexes.setdefault(role, set()).add(int(index))
    return {role: write_indexes(found) for role, found in indexes.items()}


def _read_ended(written: object) -> frozenset[str]:
    if not isinstance(written, Mapping):
        return frozenset()
    return frozenset(f"{role}-{index}" for role, text in written.items() for index in read_indexes(str(text)))


def _seconds_more(job: Job, pods: Sequence[Pod], since: Moment) -> float:
    """By how much a success that came after the first end, at `since`, makes the wait longer: the statuses of the
    others may come as late after it."""
    latest = last_success(job, pods)
    # One that came later than `SAME_TIME` makes no success of the gang.
    return 0.0 if latest is None or latest - since >= SAME_TIME else max(0.0, latest - since)


def _awaited(pods: Sequence[Pod], dead: Set[Rank]) -> tuple[Rank, ...]:
    """Ranks whose end may have happened and is not known."""
    return tuple(
        sorted(
            pod.rank
            for pod in pods
            if not pod.ended and pod.rank not in dead and (pod.phase is not PodPhase.PENDING or pod.node)
        )
    )


def _may_succeed(job: Job, pods: Sequence[Pod], awaited: Collection[Rank]) -> bool:
    """Whether the deciding ranks have succeeded, as far as their ends are known."""
    succeeded = {pod.rank for pod in pods if pod.phase is PodPhase.SUCCEEDED}
    return has_succeeded(job, succeeded.union(awaited))
