"""What starts again alone with the annotation `paddock.dev/restart-scope: Pod`: who is replaced, what is counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from jobs.gangs import (
    NOW,
    build_job,
    build_pods,
    build_services,
    build_status,
    build_torch_job,
    created,
    deleted,
    deleting,
    failed,
    gone,
    judge,
    reason,
    succeeded,
    with_pod,
)
from paddock.jobs.actions import Plan
from paddock.jobs.labels import ATTEMPT_LABEL, RENEWAL_LABEL
from paddock.jobs.model import (
    Intranet,
    Job,
    Network,
    Observed,
    Phase,
    Pod,
    RestartPolicy,
    RestartScope,
    Settings,
    Status,
)
from paddock.jobs.objects.pods import build_pod, read_pod
from paddock.jobs.plan import plan
from paddock.jobs.policies.one_pod import restarts_alone
from paddock.jobs.sentences.explain import explain
from paddock.kube.meta import labels_of

ALONE = build_torch_job(scope=RestartScope.POD)
ONCE = build_torch_job(scope=RestartScope.POD, backoff_limit=1)
BY_CODE = build_torch_job(scope=RestartScope.POD, restart=RestartPolicy.EXIT_CODE)
SETTINGS = Settings()
NEVER = build_torch_job(scope=RestartScope.POD, restart=RestartPolicy.NEVER)
PEER = failed(1, 4, message="RuntimeError: Connection closed by peer [127.0.0.3]:30561")

AGAIN = Phase.RESTARTING
Row = tuple[str, Job, Mapping[str, Any], Mapping[str, Any], tuple[Phase, str, int, Mapping[str, int]]]
# sentence, job, of the status, changed pods, (phase, cause, restarts, renewals)
ROWS: list[Row] = [
    ("a failed rank is replaced alone, and counted", ALONE, {}, {"worker-0": failed(1)},
     (AGAIN, "RankRestarted", 1, {"worker-0": 1})),
    ("so is the Master, which serves the store", ALONE, {}, {"master-0": failed(1)},
     (AGAIN, "RankRestarted", 1, {"master-0": 1})),
    ("peers that failed because it did are replaced with it, and count once", ALONE, {},
     {"worker-0": failed(137), "worker-1": PEER, "master-0": PEER},
     (AGAIN, "RankRestarted", 1, {"master-0": 1, "worker-0": 1, "worker-1": 1})),
    ("its next end is its second", ALONE, {"renewals": {"worker-0": 1}, "restarts": 1}, {"worker-0": failed(1)},
     (AGAIN, "RankRestarted", 2, {"worker-0": 2})),
    ("the numbers of the others stay", ALONE, {"renewals": {"worker-1": 3}}, {"worker-0": failed(1)},
     (AGAIN, "RankRestarted", 1, {"worker-0": 1, "worker-1": 3})),
    ("the last restart is made", ONCE, {}, {"worker-0": failed(1)}, (AGAIN, "RankRestarted", 1, {"worker-0": 1})),
    ("and no more than the limit, whichever rank fails", ONCE, {"restarts": 1}, {"worker-1": failed(1)},
     (Phase.FAILED, "BackoffLimitExceeded", 1, {})),
    ("under ExitCode a signal restarts", BY_CODE, {}, {"worker-0": failed(137)},
     (AGAIN, "RankRestarted", 1, {"worker-0": 1})),
    ("and a code below 128 fails the job", BY_CODE, {}, {"worker-0": failed(1)}, (Phase.FAILED, "RankFailed", 0, {})),
    ("under Never the job fails", NEVER, {}, {"worker-0": failed(1)}, (Phase.FAILED, "RankFailed", 0, {})),
    ("a deleted rank is replaced, and not counted", ALONE, {}, {"worker-0": deleting},
     (AGAIN, "PodsDeleted", 0, {"worker-0": 1})),
    ("also under Never and at the limit", build_torch_job(scope=RestartScope.POD, restart=RestartPolicy.NEVER,
     backoff_limit=0), {}, {"worker-0": deleting}, (AGAIN, "PodsDeleted", 0, {"worker-0": 1})),
    ("a rank that is gone too", ALONE, {}, {"worker-0": gone}, (AGAIN, "PodsDeleted", 0, {"worker-0": 1})),
    ("a lost node takes its rank alone", ALONE, {}, {"worker-0": failed(-1, reason="NodeLost")},
     (AGAIN, "PodsLost", 0, {"worker-0": 1})),
    ("an eviction is the program's fault", ALONE, {}, {"worker-0": failed(-1, reason="Evicted")},
     (AGAIN, "RankRestarted", 1, {"worker-0": 1})),
    ("a rank that has succeeded stays", ALONE, {}, {"worker-0": failed(1), "worker-1": succeeded()},
     (AGAIN, "RankRestarted", 1, {"worker-0": 1})),
]  # fmt: skip


def observed_of(job: Job, changed: Mapping[str, Any], status: Status) -> Observed:
    pods = tuple(replace(pod, renewal=status.renewal(pod.rank)) for pod in build_pods(job))
    for rank, change in changed.items():
        pods = with_pod(pods, rank, change)
    return Observed(pods=pods, services=build_services(job))


@pytest.mark.parametrize(("sentence", "job", "recorded", "changed", "wanted"), ROWS, ids=[row[0] for row in ROWS])
def test_who_is_replaced(
    sentence: str, job: Job, recorded: dict[str, Any], changed: dict[str, Any], wanted: tuple[Any, ...]
) -> None:
    status = build_status(job, **recorded)
    found = judge(job, status, observed_of(job, changed, status))
    after = found.status
    assert (after.phase, reason(found), after.restarts, dict(after.renewals)) == wanted, sentence
    assert after.attempt == 0
    assert found.actions == (), "it is recorded first"


def recorded(job: Job, changed: Mapping[str, Any], before: Status | None = None) -> Status:
    status = before or build_status(job)
    return judge(job, status, observed_of(job, changed, status)).status


def follow(status: Status, pods: tuple[Pod, ...], later: float = 60) -> Plan:
    return plan(ALONE, status, Observed(pods=pods, services=build_services(ALONE)), NOW + later)


def test_its_old_pod_is_deleted_by_uid_and_the_others_stay() -> None:
    status, pods = recorded(ALONE, {"worker-0": failed(1)}), with_pod(build_pods(ALONE), "worker-0", failed(1))
    found = follow(status, pods)
    assert deleted(found) == ["worker-0-of-0"]
    assert created(found) == [], "its name is taken until then"
    assert (found.status.phase, found.status.cause) == (AGAIN, status.cause)


def test_it_is_created_once_its_own_old_pod_is_gone_whatever_becomes_of_another() -> None:
    peers = {"worker-0": failed(1), "worker-1": failed(1)}
    status = recorded(ALONE, peers)
    assert dict(status.renewals) == {"worker-0": 1, "worker-1": 1}
    left = with_pod(with_pod(build_pods(ALONE), "worker-0", gone), "worker-1", deleting)
    found = follow(status, left)
    assert created(found) == ["Pod demo-worker-0"]
    assert deleted(found) == []
    assert found.status.phase is AGAIN, "it restarts until each rank has its pod"


def test_it_is_not_created_before_its_delay_is_over() -> None:
    status = recorded(ALONE, {"worker-0": failed(1)})
    left = with_pod(build_pods(ALONE), "worker-0", gone)
    early = follow(status, left, later=12)
    assert (created(early), early.requeue_after) == ([], 8.0)
    assert created(follow(status, left, later=20)) == ["Pod demo-worker-0"]


def test_its_pod_says_which_it_is_and_the_first_says_nothing() -> None:
    rank = ALONE.ranks()[1]
    first, second = (build_pod(ALONE, rank, 2, None, SETTINGS, renewal) for renewal in (0, 1))
    assert RENEWAL_LABEL not in labels_of(first)
    assert (labels_of(second)[ATTEMPT_LABEL], labels_of(second)[RENEWAL_LABEL]) == ("2", "1")
    assert [read.renewal for pod in (first, second) if (read := read_pod(pod))] == [0, 1]


def test_with_its_new_pod_the_job_runs_again_and_nothing_is_deleted() -> None:
    status = recorded(ALONE, {"worker-0": failed(1)})
    pods = with_pod(build_pods(ALONE), "worker-0", lambda pod: replace(pod, renewal=1, uid="new"))
    found = follow(status, pods)
    assert (found.status.phase, found.status.cause, found.actions) == (Phase.RUNNING, None, ())


def test_a_new_attempt_begins_without_replaced_pods() -> None:
    bigger = build_torch_job(workers=3, scope=RestartScope.POD)
    status = build_status(ALONE, renewals={"worker-0": 2})
    pods = with_pod(build_pods(ALONE), "worker-0", lambda pod: replace(pod, renewal=2))
    found = plan(bigger, status, Observed(pods=pods, services=build_services(bigger)), NOW)
    assert (reason(found), found.status.attempt, dict(found.status.renewals)) == ("Resized", 1, {})


def test_a_record_that_was_lost_is_taken_from_the_pods() -> None:
    pods = with_pod(build_pods(ALONE, 2), "worker-0", lambda pod: replace(pod, renewal=3))
    found = plan(ALONE, Status(), Observed(pods=pods, services=build_services(ALONE)), NOW)
    assert (reason(found), found.status.attempt, dict(found.status.renewals)) == ("PodsAdopted", 2, {"worker-0": 3})
    behind = build_status(ALONE, attempt=2, renewals={"worker-0": 1})
    found = plan(ALONE, behind, Observed(pods=pods, services=build_services(ALONE)), NOW)
    assert (reason(found), found.actions, dict(found.status.renewals)) == ("PodsAdopted", (), {"worker-0": 3})


def test_a_job_whose_ranks_know_addresses_restarts_as_a_gang_whatever_it_asks_for() -> None:
    listed = build_job(restart=RestartPolicy.ON_FAILURE, scope=RestartScope.POD)
    meeting = replace(listed, network=Network(rendezvous=True))
    by_name = replace(listed, network=Network(Intranet.SERVICE))
    assert [restarts_alone(job, job.ranks()) for job in (listed, by_name, meeting, ALONE)] == [False, False, True, True]
    status = build_status(listed)
    found = judge(listed, status, observed_of(listed, {"worker-0": failed(1)}, status))
    assert (found.status.attempt, dict(found.status.renewals)) == (1, {})


def test_losses_of_one_rank_in_a_row_are_bounded_and_those_of_ranks_that_ran_long_are_none() -> None:
    status = build_status(ALONE, losses=100)
    observed = observed_of(ALONE, {"worker-0": failed(-1, reason="NodeLost")}, status)
    assert reason(judge(ALONE, status, observed)) == "LostTooOften"
    for young, wanted in (("worker-0", "LostTooOften"), ("worker-1", "PodsLost")):
        pods = [replace(pod, started=NOW - (60 if str(pod.rank) == young else 3600)) for pod in observed.pods]
        assert reason(judge(ALONE, status, replace(observed, pods=tuple(pods)))) == wanted


LONG, SHORT = NOW - 3600, NOW - 60


@pytest.mark.parametrize(
    ("sentence", "recorded", "started", "losses"),
    [
        ("a gang that has run for long", {}, LONG, 1),
        ("a gang that began just now", {}, SHORT, 8),
        ("ranks that were renewed long ago", {"renewals": {"worker-0": 3}, "renewed": LONG}, LONG, 1),
        ("one of them just now, beside old peers", {"renewals": {"worker-0": 3}, "renewed": SHORT}, LONG, 8),
        ("nobody knows when", {"renewals": {"worker-0": 3}}, LONG, 8),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_losses_of_a_rank_that_is_deleted_by_force_begin_anew_after_a_long_run(
    sentence: str, recorded: dict[str, Any], started: float, losses: int
) -> None:
    """Nothing is left of its pod."""
    status = build_status(ALONE, losses=7, **recorded)
    observed = observed_of(ALONE, {"worker-0": gone}, status)
    pods = tuple(replace(pod, started=started) for pod in observed.pods)
    found = judge(ALONE, status, replace(observed, pods=pods)).status
    assert (found.cause and found.cause.reason, found.losses) == ("PodsDeleted", losses), sentence
    assert found.renewed is not None and NOW <= found.renewed < NOW + 60


def test_the_time_of_the_last_renewal_is_that_of_the_attempt() -> None:
    status = build_status(ALONE, renewals={"worker-0": 1}, renewed=SHORT)
    calm = follow(status, with_pod(build_pods(ALONE), "worker-0", lambda pod: replace(pod, renewal=1)))
    assert calm.status.renewed == SHORT
    bigger = build_torch_job(workers=3, scope=RestartScope.POD)
    assert plan(bigger, status, Observed(pods=build_pods(ALONE)), NOW).status.renewed is None


def test_the_cause_says_who_starts_again() -> None:
    one = recorded(ALONE, {"worker-0": failed(137)}).cause
    assert one is not None
    assert explain(one) == (
        "restart 1 in 10 s: worker-0 was killed by signal 9 (exit code 137); started again alone: worker-0"
    )
    lost = recorded(ALONE, {"worker-1": deleting}).cause
    assert lost is not None
    assert explain(lost) == "starting worker-1 again alone: worker-1 was deleted; not counted as a restart"


def test_as_many_ranks_are_counted_as_start_again() -> None:
    many = build_torch_job(workers=700, scope=RestartScope.POD)
    status = build_status(many)
    pods = tuple(failed(1)(pod) for pod in build_pods(many))
    found = judge(many, status, Observed(pods=pods, services=build_services(many))).status
    assert len(found.renewals) == 701
    assert found.cause is not None
    assert explain(found.cause).endswith("started again alone: master-0, worker-0, worker-1 and 698 more")
