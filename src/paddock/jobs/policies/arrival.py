"""Whether a failure is judged now, or waits for statuses that are on their way.

The statuses of a gang come from several kubelets, in no order: a kubelet whose patch failed tries again after 10 s
(`kubelet/status_manager.go`). And a launcher may end seconds after the peer whose end it noticed. So the first end that
is seen is not always the first that happened, and a worker's success may be behind the end of its server.

A failure waits until every rank's end is known, at most `Settings.status_wait` seconds from the first end that was
seen, and from a success that came so soon after it that the gang may have succeeded. Then it is judged by finish times
(`policies.success`, `policies.root_cause`). A lost or deleted rank is judged at
once, as no other end is a likelier cause, unless all deciding ranks may have succeeded by now; so is a rank that others
go on without (`elastic.rejoining`), but for an error of its own, which they may have too. A success waits for
nothing: no end that is still on its way can have come `SAME_TIME` before it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set

from paddock.jobs import causes
from paddock.jobs.apis.indexes import read_indexes, write_indexes
from paddock.jobs.model import Exit, Job, Pod, PodPhase, Rank, Settings, Status
from paddock.jobs.policies.root_cause import Death, Kind, Seen, find_root_cause
from paddock.jobs.policies.success import SAME_TIME, has_succeeded, last_success
from paddock.jobs.policies.verdict import Wait, noticed
from paddock.jobs.rejoining import all_rejoin
from paddock.kube.times import Moment

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
