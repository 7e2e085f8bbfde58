"""An elastic PyTorchJob: ranks come, go and are lost while torchrun forms the group of the others anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from jobs.gangs import (
    NOW,
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
from paddock.jobs.launch import Elastic, Launch
from paddock.jobs.model import (
    CauseRecord,
    CleanPods,
    Counts,
    Job,
    Observed,
    Phase,
    Pod,
    PodPhase,
    RestartPolicy,
    RestartScope,
    Status,
)
from paddock.jobs.plan import plan
from paddock.jobs.sentences.explain import explain
from paddock.views.restarts import explain_scope, name_scope

LAUNCH = Launch("auto", Elastic(1, 4))
JOB = build_torch_job(masters=0, workers=3, one_decides=True, launch=LAUNCH)


def with_elastic(**changes: Any) -> Job:
    elastic = LAUNCH.elastic
    assert elastic is not None
    return replace(JOB, launch=replace(LAUNCH, elastic=replace(elastic, **changes)))


def resized(workers: int, job: Job = JOB) -> Job:
    return replace(job, generation=2, roles=tuple(replace(role, replicas=workers) for role in job.roles))


def observed_of(changed: Mapping[str, Callable[[Pod], Pod | None]], job: Job = JOB) -> Observed:
    pods = build_pods(job)
    for rank, change in changed.items():
        pods = with_pod(pods, rank, change)
    return Observed(pods=pods, services=build_services(job))


def unplaced(pod: Pod) -> Pod:
    waiting = ("Unschedulable", "0/1 nodes are available: 1 Insufficient cpu.")
    return replace(pod, phase=PodPhase.PENDING, node="", address="", started=None, waiting=waiting)


def preempted(pod: Pod) -> Pod:
    return replace(pod, deleting=True, disrupted="Preempted")


ETCD = with_elastic(backend="etcd", host="etcd.team")
STRICT = with_elastic(max_restarts=0)
BARE = with_elastic(launched=False)
TWO = with_elastic(least=2)
ALL = with_elastic(least=3)
GANG = replace(JOB, scope=RestartScope.GANG)
NEVER = replace(JOB, roles=tuple(replace(role, restart=RestartPolicy.NEVER) for role in JOB.roles))
LOST = failed(-1, reason="NodeLost")

Row = tuple[str, Job, Mapping[str, Any], tuple[Phase, str, int, int, Mapping[str, int]]]
# sentence, job, changed pods, (phase, cause, attempt, restarts, renewals)
ROWS: list[Row] = [
    ("a lost rank starts again alone, and the job runs", JOB, {"worker-1": LOST},
     (Phase.RUNNING, "PodsLost", 0, 0, {"worker-1": 1})),
    ("as long as enough ranks are left", TWO, {"worker-1": LOST}, (Phase.RUNNING, "PodsLost", 0, 0, {"worker-1": 1})),
    ("else it restarts, and the others wait at the rendezvous", ALL, {"worker-1": LOST},
     (Phase.RESTARTING, "PodsLost", 0, 0, {"worker-1": 1})),
    ("a rank that is killed counts", JOB, {"worker-2": failed(137)},
     (Phase.RUNNING, "RankRestarted", 0, 1, {"worker-2": 1})),
    ("a preempted rank waits for its delay", JOB, {"worker-2": preempted},
     (Phase.RUNNING, "PodsLost", 0, 0, {"worker-2": 1})),
    ("a deleted one is no loss: it is created again once it is gone", JOB, {"worker-2": deleting},
     (Phase.RUNNING, "WaitingForOldPods", 0, 0, {})),
    ("the rank that opens the rendezvous takes all others with it", JOB, {"worker-0": LOST, "worker-1": failed(1),
     "worker-2": failed(1)}, (Phase.RESTARTING, "PodsLost", 1, 0, {})),
    ("a rendezvous at etcd has no such rank", ETCD, {"worker-0": LOST},
     (Phase.RUNNING, "PodsLost", 0, 0, {"worker-0": 1})),
    ("without restarts in its pods nothing is formed anew", STRICT, {"worker-1": LOST, "worker-0": failed(1),
     "worker-2": failed(1)}, (Phase.RESTARTING, "PodsLost", 1, 0, {})),
    ("nor without a launcher", BARE, {"worker-1": LOST, "worker-0": failed(1), "worker-2": failed(1)},
     (Phase.RESTARTING, "PodsLost", 1, 0, {})),
    ("nor where the user asks for gangs", GANG, {"worker-1": LOST, "worker-0": failed(1), "worker-2": failed(1)},
     (Phase.RESTARTING, "PodsLost", 1, 0, {})),
    ("all that fail together count once", JOB, {"worker-0": failed(1), "worker-1": failed(1), "worker-2": failed(1)},
     (Phase.RESTARTING, "RankRestarted", 1, 1, {})),
    ("under Never a failure ends the job", NEVER, {"worker-1": failed(137)}, (Phase.FAILED, "RankFailed", 0, 0, {})),
    ("one without room is missed and not waited for", JOB, {"worker-2": unplaced},
     (Phase.RUNNING, "RunsSmaller", 0, 0, {})),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "job", "changed", "wanted"), ROWS, ids=[row[0] for row in ROWS])
def test_what_becomes_of_a_rank(sentence: str, job: Job, changed: dict[str, Any], wanted: tuple[Any, ...]) -> None:
    found = judge(job, build_status(job), observed_of(changed))
    after = found.status
    assert (after.phase, reason(found), after.attempt, after.restarts, dict(after.renewals)) == wanted, sentence


def test_no_end_of_others_is_waited_for_when_a_rank_is_lost() -> None:
    found = plan(JOB, build_status(JOB), observed_of({"worker-1": failed(137)}), NOW)
    assert reason(found) == "RankRestarted"
    # An error of its own may be one that the others have as well.
    assert reason(plan(JOB, build_status(JOB), observed_of({"worker-1": failed(1)}), NOW)) == "WaitingForStatuses"


def test_the_job_says_how_many_run_and_what_the_others_lack() -> None:
    found = plan(JOB, build_status(JOB), observed_of({"worker-2": unplaced}), NOW)
    assert found.status.cause is not None
    said = explain(found.status.cause)
    assert "2 of 1 to 4" in said
    assert "Insufficient cpu" in said
    assert found.status.roles["worker"] == Counts(wanted=3, pending=1, running=2)


def test_it_says_since_when_as_long_as_a_rank_is_missing() -> None:
    lost = judge(JOB, build_status(JOB), observed_of({"worker-1": LOST})).status
    assert lost.gang_loss == "NodeLost"
    again = tuple(replace(pod, renewal=lost.renewal(pod.rank)) for pod in observed_of({"worker-1": unplaced}).pods)
    smaller = plan(JOB, lost, Observed(pods=again, services=build_services(JOB)), NOW + 60)
    assert smaller.status.cause is not None
    assert explain(smaller.status.cause).startswith("runs with 2 of 1 to 4 workers, since a node was lost; grows when")
    whole = tuple(replace(pod, renewal=lost.renewal(pod.rank)) for pod in build_pods(JOB))
    back = plan(JOB, smaller.status, Observed(pods=whole, services=build_services(JOB)), NOW + 90)
    assert (reason(back), back.status.gang_loss, back.status.phase) == ("", "", Phase.RUNNING)


@pytest.mark.parametrize("losses", [1, 4, 9])
def test_an_elastic_job_that_loses_nodes_again_and_again_waits_20_seconds_at_most(losses: int) -> None:
    found = judge(JOB, build_status(JOB, losses=losses, started=NOW - 60), observed_of({"worker-1": LOST}))
    assert found.status.cause is not None
    assert (reason(found), found.status.cause.args["delay"], found.status.losses) == ("PodsLost", 20, losses + 1)


def after_loss(changed: Mapping[str, Any], status: Status, later: float) -> Plan:
    return plan(JOB, status, observed_of(changed), NOW + later)


def test_a_deleted_pod_that_exits_with_0_on_sigterm_is_no_success_of_the_job() -> None:
    """One worker's success is the job's; the program of this one was told to end."""

    def told_to_end(pod: Pod) -> Pod:
        return replace(succeeded()(pod), deleting=True)

    found = plan(JOB, build_status(JOB), observed_of({"worker-1": told_to_end}), NOW)
    assert (found.status.phase, reason(found)) == (Phase.RUNNING, "WaitingForOldPods")
    drained = {"worker-1": lambda pod: replace(told_to_end(pod), disrupted="EvictionByEvictionAPI")}
    assert reason(plan(JOB, build_status(JOB), observed_of(drained), NOW)) != "WaitingForWorkers"


def test_a_rank_that_was_seen_to_fail_has_failed_also_when_its_pod_is_deleted() -> None:
    waiting = plan(JOB, build_status(JOB), observed_of({"worker-1": failed(1)}), NOW).status
    assert waiting.cause is not None and waiting.cause.reason == "WaitingForStatuses"
    cleared = {"worker-1": lambda pod: replace(failed(1)(pod), deleting=True)}
    found = plan(JOB, waiting, observed_of(cleared), NOW + 60)
    assert (reason(found), found.status.restarts) == ("RankRestarted", 1)


def test_a_pod_that_is_deleted_with_its_node_is_lost() -> None:
    unheard = {"worker-1": lambda pod: replace(pod, deleting=True, unheard=NOW)}
    found = plan(JOB, build_status(JOB), observed_of(unheard), NOW)
    assert (reason(found), found.status.losses) == ("PodsDeleted", 1)


def test_the_delay_of_one_rank_is_not_that_of_another() -> None:
    killed = judge(JOB, build_status(JOB, restarts=5), observed_of({"worker-2": failed(137)})).status
    found = plan(JOB, killed, observed_of({"worker-2": gone, "worker-1": gone}), NOW + 1)
    assert (created(found), reason(found)) == (["Pod demo-worker-1"], "RankRestarted")
    more = plan(resized(4), killed, observed_of({"worker-2": gone}), NOW + 1)
    assert created(more) == ["Service demo-worker-3", "Pod demo-worker-3"]
    assert more.status.cause == killed.cause, "the delay counts from it"


def test_the_delay_of_a_rank_outlives_the_verdict_on_another() -> None:
    """Each of two ranks that go on failing would else start again at once, as the verdict on the other one comes."""
    first = judge(JOB, build_status(JOB, restarts=1), observed_of({"worker-2": failed(137)})).status
    assert first.delays == {"worker-2": NOW + 20}
    both = {"worker-2": gone, "worker-1": failed(137)}
    second = plan(JOB, first, observed_of(both), NOW + 5).status
    assert (second.restarts, second.delays) == (3, {"worker-2": NOW + 20, "worker-1": NOW + 45})
    both = {"worker-2": gone, "worker-1": gone}
    early = plan(JOB, second, observed_of(both), NOW + 19)
    assert (created(early), early.requeue_after, early.status.cause) == ([], 1, second.cause)
    assert created(plan(JOB, second, observed_of(both), NOW + 21)) == ["Pod demo-worker-2"]
    assert created(plan(JOB, second, observed_of(both), NOW + 45)) == ["Pod demo-worker-1", "Pod demo-worker-2"]


def test_the_delay_of_a_rank_outlives_every_other_cause() -> None:
    status = judge(JOB, build_status(JOB), observed_of({"worker-2": failed(137)})).status
    told = status.with_(cause=CauseRecord("WaitingForStatuses", {}, NOW + 1))
    early = plan(JOB, told, observed_of({"worker-2": gone}), NOW + 5)
    assert (created(early), early.requeue_after, reason(early)) == ([], 5, "WaitingForPods")
    assert created(plan(JOB, early.status, observed_of({"worker-2": gone}), NOW + 10)) == ["Pod demo-worker-2"]
    assert created(plan(JOB, told, observed_of({"worker-2": gone}), NOW - 3600)) == ["Pod demo-worker-2"], "its clock"


def test_what_starts_again_names_the_rank_that_others_need() -> None:
    said = name_scope(JOB)
    assert said is not None and str(said).endswith("form their group without it; with worker-0 all do")
    again = judge(JOB, build_status(JOB), observed_of({f"worker-{index}": failed(1) for index in range(3)})).status
    assert again.cause is not None
    assert "worker-0 was among those that ended" in str(explain_scope(JOB, again.cause))


def test_a_lost_rank_is_created_again_after_its_delay_and_the_job_runs_meanwhile() -> None:
    changed = {"worker-1": LOST}
    status = judge(JOB, build_status(JOB), observed_of(changed)).status
    found = after_loss(changed, status, 1)
    assert (found.status.phase, reason(found), deleted(found)) == (Phase.RUNNING, "PodsLost", ["worker-1-of-0"])
    waiting = after_loss({"worker-1": gone}, found.status, 5)
    assert (waiting.status.phase, created(waiting)) == (Phase.RUNNING, [])
    again = after_loss({"worker-1": gone}, waiting.status, 11)
    assert (again.status.phase, created(again)) == (Phase.RUNNING, ["Pod demo-worker-1"])
    assert again.status.attempt == 0


def test_more_ranks_are_added_to_the_attempt() -> None:
    found = plan(resized(4), build_status(JOB), observed_of({}), NOW)
    assert (found.status.attempt, found.status.phase) == (0, Phase.RUNNING)
    assert created(found) == ["Service demo-worker-3", "Pod demo-worker-3"]
    assert [note.reason for note in found.events] == ["Resized"]
    assert found.status.roles["worker"].wanted == 4


def test_fewer_ranks_leave_the_attempt_and_their_ends_are_no_losses() -> None:
    found = plan(resized(1), build_status(JOB), observed_of({}), NOW)
    assert (found.status.attempt, found.status.phase, found.status.losses) == (0, Phase.RUNNING, 0)
    assert deleted(found)[:2] == ["worker-1-of-0", "worker-2-of-0"]
    leaving = {"worker-1": deleting, "worker-2": failed(143)}
    later = plan(resized(1), found.status, observed_of(leaving), NOW)
    assert (later.status.attempt, later.status.restarts, later.status.phase) == (0, 0, Phase.RUNNING)
    assert "worker-1-of-0" not in deleted(later)


def test_ranks_that_are_wanted_again_while_they_leave_come_again() -> None:
    status = plan(resized(1), build_status(JOB), observed_of({}), NOW).status
    leaving = {"worker-1": deleting, "worker-2": deleting}
    found = plan(resized(3), status, observed_of(leaving), NOW)
    assert (found.status.attempt, found.status.losses, created(found)) == (0, 0, [])
    back = plan(resized(3), found.status, observed_of({"worker-1": gone, "worker-2": gone}), NOW)
    assert created(back) == ["Pod demo-worker-1", "Pod demo-worker-2"]


def test_a_rank_that_could_not_be_created_is_not_taken_for_a_deleted_one() -> None:
    """A quota refuses a pod for hours; its rank is tried again, and nothing is counted."""
    status = plan(resized(4), build_status(JOB), observed_of({}), NOW).status
    for _ in range(30):
        found = plan(resized(4), status, observed_of({}), NOW)
        status = found.status
        assert "Pod demo-worker-3" in created(found)
    assert (status.attempt, status.losses, status.phase) == (0, 0, Phase.RUNNING)


def test_without_its_first_rank_the_gang_begins_anew() -> None:
    found = plan(resized(0), build_status(JOB), observed_of({}), NOW)
    assert (reason(found), found.status.attempt, found.actions) == ("Resized", 1, ())


def test_gangs_without_a_launcher_are_resized_as_a_whole() -> None:
    for job in (BARE, STRICT, GANG):
        found = plan(resized(4, job), build_status(job), observed_of({}), NOW)
        assert (reason(found), found.status.attempt) == ("Resized", 1)


def test_at_the_start_ranks_on_their_way_are_waited_for_and_those_without_room_are_not() -> None:
    fresh = build_status(JOB, Phase.PENDING, started=None)
    starting = lambda pod: replace(pod, phase=PodPhase.STARTING)  # noqa: E731
    coming = plan(JOB, fresh, observed_of({"worker-2": starting}), NOW).status
    assert (coming.phase, coming.started) == (Phase.STARTING, None)
    begun = plan(JOB, fresh, observed_of({"worker-2": unplaced}), NOW).status
    assert (begun.phase, begun.started) == (Phase.RUNNING, NOW)
    # Without the rank that opens the rendezvous nobody trains.
    assert plan(JOB, fresh, observed_of({"worker-0": unplaced}), NOW).status.phase is Phase.STARTING


def test_a_rank_that_starts_anew_in_its_attempt_does_not_run_yet() -> None:
    for phase in (PodPhase.PENDING, PodPhase.STARTING):
        found = plan(JOB, build_status(JOB), observed_of({"worker-2": lambda pod: replace(pod, phase=phase)}), NOW)  # noqa: B023
        assert found.status.roles["worker"].running == 2


def test_pods_of_a_finished_job_are_not_ended_by_an_edit() -> None:
    done = build_status(JOB, Phase.COMPLETED, finished=NOW - 5)
    ended = {f"worker-{index}": succeeded() for index in range(3)}
    kept = replace(JOB.policies, clean_pods=CleanPods.NEVER)
    assert deleted(plan(replace(resized(1), policies=kept), done, observed_of(ended), NOW)) == []


def test_the_success_of_one_counts_while_another_rank_is_away() -> None:
    found = plan(JOB, build_status(JOB), observed_of({"worker-0": succeeded(), "worker-1": gone}), NOW)
    assert reason(found) == "WaitingForWorkers"
