"""`plan` as tables: a valid job, one change, and the resulting plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from jobs.gangs import (
    NOW,
    build_config_maps,
    build_job,
    build_pods,
    build_services,
    build_status,
    build_torch_job,
    cause,
    created,
    deleted,
    deleting,
    failed,
    gone,
    judge,
    observe,
    reason,
    succeeded,
    with_pod,
    workers_succeeded,
)
from paddock.jobs.actions import Create, Delete, EventNote, Patch, Plan
from paddock.jobs.labels import PORT_ANNOTATION
from paddock.jobs.model import (
    CauseRecord,
    Child,
    CleanPods,
    Counts,
    Job,
    Observed,
    Phase,
    Pod,
    PodPhase,
    Refusal,
    RestartPolicy,
    RestartScope,
    Settings,
    Status,
)
from paddock.jobs.names import config_map_name
from paddock.jobs.plan import name_old_pods, plan
from paddock.jobs.sentences.explain import explain
from paddock.kube.meta import POD_GROUPS, SERVICES, Key

PS = build_job(ps=2)
COLLECTIVE = build_job()
LAPTOP = Settings(shared_network=True)


HELD = replace(deleting(build_pods(COLLECTIVE)[1]), finalizers=("team/keep",))


@pytest.mark.parametrize(
    ("old", "said"),
    [
        (build_pods(COLLECTIVE)[:1], "waiting for pod demo-worker-0 of an earlier attempt to end"),
        (build_pods(COLLECTIVE), "waiting for 2 pods of an earlier attempt to end"),
        ((build_pods(COLLECTIVE)[0], HELD), "waiting for pod demo-worker-1 of an earlier attempt, which its finalizer "
         "team/keep keeps: whoever set it is to remove it"),
    ],
)  # fmt: skip
def test_old_pods_are_named_and_those_with_finalizers_first(old: tuple[Pod, ...], said: str) -> None:
    found = name_old_pods(old)
    assert explain(CauseRecord(found.reason, found.args())) == said and found.pods == len(old)


STILL_LISTED = (
    "waiting for PodGroup demo of an earlier attempt to be gone: it is being deleted, and the cluster's garbage "
    "collector, a part of kube-controller-manager, or its own controller has not removed it yet"
)


@pytest.mark.parametrize(
    ("finalizers", "said"),
    [
        ((), STILL_LISTED),
        (("foregroundDeletion",), STILL_LISTED),
        (("scheduling.k8s.io/podgroup-protection",), "waiting for PodGroup demo of an earlier attempt, which "
         "kube-controller-manager keeps (finalizer scheduling.k8s.io/podgroup-protection) until its pods are gone: its "
         "feature gate GenericWorkload must be on there too, or somebody takes the finalizer off"),
        (("team/keep",), "waiting for PodGroup demo of an earlier attempt, which its finalizer team/keep keeps: "
         "whoever set it is to remove it"),
        (("a/b", "c/d"), "waiting for PodGroup demo of an earlier attempt, which its finalizers a/b and c/d keep: "
         "whoever set them is to remove them"),
    ],
)  # fmt: skip
def test_a_podgroup_that_is_being_deleted_is_what_the_pods_wait_for(finalizers: tuple[str, ...], said: str) -> None:
    group = Child(POD_GROUPS, "demo", "g", deleting=True, finalizers=finalizers)
    settings = Settings(pod_groups=POD_GROUPS)
    planned = plan(COLLECTIVE, Status(), Observed(pod_group=group), NOW, settings)
    assert planned.status.cause is not None and planned.status.cause.args["group"] == "demo"
    assert explain(planned.status.cause) == said


# The way of a good job.


def test_a_new_job_gets_all_services_and_pods_at_once_and_an_event() -> None:
    planned = plan(PS, Status(), Observed(), NOW)
    ranks = ("ps-0", "ps-1", "worker-0", "worker-1")
    assert created(planned) == [f"Service demo-{rank}" for rank in ranks] + [f"Pod demo-{rank}" for rank in ranks]
    assert planned.status == Status(
        phase=Phase.PENDING,
        mode="PS",
        roles={"ps": Counts(wanted=2), "worker": Counts(wanted=2)},
        cause=cause("WaitingForPods", missing=4, wanted=4),
        observed_generation=1,
    )
    assert planned.events == (EventNote("Created", "waiting for 4 of 4 pods to be created"),)


def test_a_job_whose_manifest_was_invalid_from_the_first_begins_like_a_new_one() -> None:
    invalid = Status(phase=Phase.INVALID, cause=cause("InvalidJob", problems=["spec.worker: is missing"]))
    assert plan(PS, invalid, Observed(), NOW) == plan(PS, Status(), Observed(), NOW)
    suspended = build_job(suspend=True)
    assert plan(suspended, invalid, Observed(), NOW) == plan(suspended, Status(), Observed(), NOW)
    gone = build_job(deleting=True)
    assert plan(gone, invalid, Observed(), NOW).status.phase is Phase.TERMINATING


def test_the_config_map_waits_for_the_last_address() -> None:
    starting = build_pods(PS, phase=PodPhase.STARTING)
    status = build_status(PS, Phase.STARTING, started=None)
    one_short = with_pod(starting, "worker-1", lambda pod: replace(pod, address=""))
    planned = plan(PS, status, observe(PS, one_short, config_maps=()), NOW)
    assert (created(planned), reason(planned)) == ([], "WaitingForAddresses")
    planned = plan(PS, status, observe(PS, starting, config_maps=()), NOW)
    assert (created(planned), reason(planned)) == ([f"ConfigMap {config_map_name(PS, 0)}"], "WaitingForConfigMap")
    planned = plan(PS, status, observe(PS, starting), NOW)
    assert (created(planned), reason(planned)) == ([], "PodsStarting")


def test_a_running_job_at_rest_plans_nothing() -> None:
    assert plan(PS, build_status(PS), observe(PS), NOW) == Plan(build_status(PS))


@pytest.mark.parametrize("phase", [PodPhase.STARTING, PodPhase.PENDING])
@pytest.mark.parametrize("job", [PS, build_torch_job(), build_torch_job(masters=0, scope=RestartScope.POD)])
def test_a_gang_that_has_run_runs_until_a_verdict(job: Job, phase: PodPhase) -> None:
    """A probe of readiness that fails for a while; pods as the view of a second operator that is late has them."""
    status = build_status(job)
    for late in (build_pods(job)[:1], build_pods(job)):
        pods = (*(replace(pod, phase=phase) for pod in late), *build_pods(job)[len(late) :])
        assert plan(job, status, observe(job, pods), NOW) == Plan(status)
    lost = with_pod(pods, "worker-0", failed())
    assert judge(job, status, observe(job, lost)).status.phase is not Phase.RUNNING


def test_a_running_phase_that_paddock_has_not_recorded_follows_the_pods() -> None:
    """training-operator's Running may be the Master's alone, and somebody may write anything."""
    job = build_torch_job()
    pods = with_pod(build_pods(job), "worker-1", lambda pod: replace(pod, phase=PodPhase.PENDING))
    for changes in ({"observed_generation": 0}, {"started": None}):
        assert plan(job, build_status(job, **changes), observe(job, pods), NOW).status.phase is Phase.STARTING


def test_start_time_is_recorded_when_all_ranks_run_for_the_first_time_and_stays() -> None:
    first = plan(PS, build_status(PS, Phase.STARTING, started=None), observe(PS), NOW + 0.7)
    assert (first.status.phase, first.status.started) == (Phase.RUNNING, NOW)
    assert plan(PS, first.status, observe(PS), NOW + 9).status == first.status


def test_workers_decide_the_success_and_afterwards_the_counts_alone_follow_the_pods() -> None:
    job = build_job(ps=2, clean_pods=CleanPods.NEVER)
    observed = observe(job, workers_succeeded(build_pods(job)))
    planned = plan(job, build_status(job), observed, NOW)
    assert (planned.status.phase, planned.status.finished, planned.actions) == (Phase.COMPLETED, NOW, ())
    assert [planned.status.roles[role].ready for role in ("ps", "worker")] == ["2/2", "0/2"]
    assert planned.status.cause == cause("CompletedServersKept", succeeded=2, kept=["ps-0", "ps-1"], policy="Never")
    assert [event.reason for event in planned.events] == ["Completed"]
    assert plan(job, planned.status, observed, NOW + 99) == Plan(planned.status)
    ended = replace(observed, pods=with_pod(observed.pods, "ps-0", failed(143)))
    told = {"ps": Counts(wanted=2, running=1, failed=1), "worker": Counts(wanted=2, succeeded=2)}
    later = plan(job, planned.status, ended, NOW + 99)
    assert later == Plan(replace(planned.status, roles=told))
    bare = plan(job, later.status, replace(observed, pods=()), NOW + 999)
    told = {"ps": Counts(wanted=2, failed=1), "worker": Counts(wanted=2, succeeded=2)}
    assert bare == Plan(replace(planned.status, roles=told, refs={}))
    assert plan(job, bare.status, replace(observed, pods=()), NOW + 9999) == bare


@pytest.mark.parametrize("phase", [Phase.COMPLETED, Phase.FAILED])
def test_a_finished_job_whose_pods_were_deleted_shows_none_that_runs(phase: Phase) -> None:
    status = build_status(PS, phase, finished=NOW, cause=cause("Completed", succeeded=2))
    planned = plan(PS, status, Observed(), NOW + 9)
    told = {"ps": Counts(wanted=2), "worker": Counts(wanted=2)}
    assert planned == Plan(replace(status, roles=told, refs={}))
    assert plan(PS, planned.status, Observed(), NOW + 99) == planned


# Failure, restart, loss. Each row: one change to a running PS job, and the recorded outcome.

ON_FAILURE = build_job(ps=2, restart=RestartPolicy.ON_FAILURE)
ONCE = build_job(ps=2, restart=RestartPolicy.ON_FAILURE, backoff_limit=1)
AT_MOST_0 = build_job(ps=2, restart=RestartPolicy.ON_FAILURE, backoff_limit=0)
BY_CODE = build_job(ps=2, restart=RestartPolicy.EXIT_CODE)
FAIL, AGAIN = Phase.FAILED, Phase.RESTARTING
Row = tuple[str, Job, dict[str, Any], dict[str, Callable[[Pod], Pod | None]], tuple[Phase, int, int, str]]
ENDS: list[Row] = [
    ("a failed rank fails a job that never restarts", PS, {}, {"worker-1": failed(1)}, (FAIL, 0, 0, "RankFailed")),
    ("a failed rank restarts the gang", ON_FAILURE, {}, {"worker-1": failed(1)}, (AGAIN, 1, 1, "RankRestarted")),
    ("the limit holds", ONCE, {"restarts": 1}, {"worker-1": failed(1)}, (FAIL, 0, 1, "BackoffLimitExceeded")),
    ("and is none where it is 0", AT_MOST_0, {}, {"worker-1": failed(1)}, (FAIL, 0, 0, "BackoffLimitExceeded")),
    ("attempts do not count against it", ONCE, {"attempt": 7}, {"worker-1": failed(1)}, (AGAIN, 8, 1, "RankRestarted")),
    (
        "no limit never gives up",
        ON_FAILURE,
        {"restarts": 99},
        {"worker-1": failed(1)},
        (AGAIN, 1, 100, "RankRestarted"),
    ),
    ("a program error is final under ExitCode", BY_CODE, {}, {"worker-1": failed(1)}, (FAIL, 0, 0, "RankFailed")),
    ("a signal restarts under ExitCode", BY_CODE, {}, {"worker-1": failed(137)}, (AGAIN, 1, 1, "RankRestarted")),
    ("a server that ends with 0 fails the attempt", PS, {}, {"ps-0": succeeded()}, (FAIL, 0, 0, "ServerEnded")),
    ("a killed server restarts the gang", ON_FAILURE, {}, {"ps-0": failed(137)}, (AGAIN, 1, 1, "RankRestarted")),
    ("a deleted pod is nobody's fault", PS, {}, {"worker-1": gone}, (AGAIN, 1, 0, "PodsDeleted")),
    ("nor is one that is being deleted", PS, {}, {"worker-1": deleting}, (AGAIN, 1, 0, "PodsDeleted")),
    ("nor what its peers do then", PS, {}, {"worker-1": gone, "worker-0": failed(250)}, (AGAIN, 1, 0, "PodsDeleted")),
    ("nor a lost node", ONCE, {"restarts": 1}, {"ps-0": failed(-1, reason="NodeLost")}, (AGAIN, 1, 1, "PodsLost")),
    ("nor a drain", ONCE, {}, {"ps-0": failed(137, reason="EvictionByEvictionAPI")}, (AGAIN, 1, 0, "PodsLost")),
    (
        "nor a device that is gone",
        ONCE,
        {},
        {"ps-0": failed(-1, reason="OutOfnvidia.com/gpu")},
        (AGAIN, 1, 0, "PodsLost"),
    ),
    ("its own eviction is its fault", PS, {}, {"ps-0": failed(137, reason="Evicted")}, (FAIL, 0, 0, "ServerEnded")),
    ("and is counted", ONCE, {}, {"worker-0": failed(-1, reason="Evicted")}, (AGAIN, 1, 1, "RankRestarted")),
    (
        "up to the limit",
        ONCE,
        {"restarts": 1},
        {"worker-0": failed(-1, reason="Evicted")},
        (FAIL, 0, 1, "BackoffLimitExceeded"),
    ),
    (
        "and restarts under ExitCode",
        BY_CODE,
        {},
        {"worker-0": failed(-1, reason="Evicted")},
        (AGAIN, 1, 1, "RankRestarted"),
    ),
    ("losses in a row are bounded", ONCE, {"losses": 100}, {"worker-1": gone}, (FAIL, 0, 0, "LostTooOften")),
    ("one worker's success decides nothing", PS, {}, {"worker-0": succeeded()}, (Phase.RUNNING, 0, 0, "")),
    (
        "a success that was deleted must be trained again",
        PS,
        {},
        {"worker-0": gone, "worker-1": succeeded()},
        (AGAIN, 1, 0, "PodsDeleted"),
    ),
]


@pytest.mark.parametrize(
    ("job", "recorded", "changes", "outcome"), [row[1:] for row in ENDS], ids=[row[0] for row in ENDS]
)
def test_ends(
    job: Job,
    recorded: dict[str, Any],
    changes: dict[str, Callable[[Pod], Pod | None]],
    outcome: tuple[Phase, int, int, str],
) -> None:
    status = build_status(job, **recorded)
    pods = build_pods(job, status.attempt)
    for rank, change in changes.items():
        pods = with_pod(pods, rank, change)
    planned = judge(job, status, observe(job, pods, status.attempt))
    found = planned.status
    assert (found.phase, found.attempt, found.restarts, reason(planned)) == outcome
    assert planned.actions == ()


def waiting_for_servers(pod: Pod) -> Pod:
    return replace(pod, phase=PodPhase.STARTING)


@pytest.mark.parametrize(
    ("changes", "untrained"),
    [
        ({"worker-0": waiting_for_servers, "worker-1": waiting_for_servers}, True),
        ({"worker-0": waiting_for_servers}, False),
        ({"worker-0": waiting_for_servers, "worker-1": lambda pod: replace(pod, phase=PodPhase.PENDING)}, True),
        ({"worker-0": waiting_for_servers, "worker-1": succeeded()}, False),
        ({"worker-0": waiting_for_servers, "worker-1": lambda pod: replace(pod, phase=PodPhase.STARTING, renewal=1)},
         False),
    ],
)  # fmt: skip
def test_a_server_that_failed_before_any_worker_began_has_lost_nothing(
    changes: dict[str, Callable[[Pod], Pod | None]], untrained: bool
) -> None:
    pods = with_pod(build_pods(PS), "ps-0", failed(1))
    for rank, change in changes.items():
        pods = with_pod(pods, rank, change)
    renewals = {str(pod.rank): pod.renewal for pod in pods if pod.renewal}
    recorded = judge(
        PS, build_status(PS, Phase.STARTING, started=None, renewals=renewals), observe(PS, pods)
    ).status.cause
    assert recorded is not None and recorded.reason == "ServerEnded"
    assert bool(recorded.args.get("untrained")) is untrained


def test_a_job_fails_if_a_server_ended_before_the_workers_between_two_reconciles() -> None:
    pods = with_pod(workers_succeeded(build_pods(PS), ago=5), "ps-0", failed(137, ago=30))
    assert reason(judge(PS, build_status(PS), observe(PS, pods))) == "ServerEnded"
    pods = with_pod(workers_succeeded(build_pods(PS), ago=5), "ps-0", failed(137, ago=5))
    assert plan(PS, build_status(PS), observe(PS, pods), NOW).status.phase is Phase.COMPLETED


def test_before_the_gang_was_complete_a_missing_pod_is_recreated_in_the_same_attempt() -> None:
    pods = with_pod(build_pods(PS, phase=PodPhase.PENDING), "worker-1", gone)
    pending = build_status(PS, Phase.PENDING, started=None)
    assert plan(PS, pending, observe(PS, pods, config_maps=()), NOW).status.attempt == 0
    assert plan(PS, pending, observe(PS, pods), NOW).status.attempt == 1, "its ConfigMap proves that it was whole"


# A new attempt, step by step.


def test_a_restart_is_recorded_then_old_pods_are_deleted_then_after_the_delay_new_pods_are_created() -> None:
    job = ON_FAILURE
    broken = observe(job, with_pod(build_pods(job), "worker-0", failed(1)))
    recorded = judge(job, build_status(job), broken, NOW - 10)
    assert (recorded.actions, recorded.requeue_after) == ((), 0.0)
    assert recorded.status.roles == {"ps": Counts(wanted=2), "worker": Counts(wanted=2)}
    assert [event.type for event in recorded.events] == ["Warning"]

    clearing = plan(job, recorded.status, broken, NOW + 1)
    assert clearing.status == recorded.status
    assert deleted(clearing) == ["ps-0-of-0", "ps-1-of-0", "worker-0-of-0", "worker-1-of-0", "config-0"]
    assert created(clearing) == []

    going = replace(broken, pods=tuple(map(deleting, broken.pods)), config_maps=())
    assert plan(job, recorded.status, going, NOW + 11).actions == (), "not before the older ones are gone"

    clear = observe(job, (), config_maps=())
    waiting = plan(job, recorded.status, clear, NOW + 4)
    assert waiting == Plan(recorded.status, requeue_after=6.0)

    made = plan(job, recorded.status, clear, NOW + 10)
    assert created(made) == ["Pod demo-ps-0", "Pod demo-ps-1", "Pod demo-worker-0", "Pod demo-worker-1"]
    assert (made.status.phase, reason(made)) == (Phase.PENDING, "WaitingForPods")

    ready = observe(job, build_pods(job, 1), 1, config_maps=())
    assert created(plan(job, made.status, ready, NOW + 11)) == [f"ConfigMap {config_map_name(job, 1)}"]


@pytest.mark.parametrize("workers", [1, 3])
def test_edited_replicas_recreate_the_gang(workers: int) -> None:
    edited = build_job(workers=workers, generation=2)
    planned = plan(edited, build_status(COLLECTIVE), observe(COLLECTIVE), NOW)
    assert (planned.status.attempt, planned.status.restarts, reason(planned)) == (1, 0, "Resized")
    services = observe(COLLECTIVE, ())
    made = plan(edited, planned.status, services, NOW)
    assert [name for name in created(made) if name.startswith("Pod")] == [
        f"Pod demo-worker-{i}" for i in range(workers)
    ]
    assert ("service-worker-1" in deleted(made)) == (workers == 1)


def test_only_pods_of_an_older_attempt_are_deleted_by_uid() -> None:
    stray = replace(build_pods(PS)[0], name="demo-ps-0", uid="stray")
    status = build_status(PS, attempt=1)
    observed = observe(PS, (*build_pods(PS, 1), stray), 1)
    planned = plan(PS, status, observed, NOW)
    assert deleted(planned) == ["stray"]
    assert planned.status == status


# Suspension, deadline, deletion, TTL.


def test_a_program_that_exits_0_when_it_is_suspended_has_not_completed() -> None:
    """A trainer may save on SIGTERM and exit with 0; its training is not complete."""
    job = build_job(suspend=True)
    suspended, done = build_status(job, Phase.SUSPENDED, started=None), workers_succeeded(build_pods(job))
    ended = plan(job, suspended, observe(job, map(deleting, done)), NOW)
    assert ended.status.phase is Phase.SUSPENDED
    before = plan(job, suspended, observe(job, done), NOW)
    assert before.status.phase is Phase.COMPLETED, "it was done before anybody ended it"


def test_suspend_is_recorded_then_pods_and_services_are_deleted() -> None:
    job = build_job(suspend=True)
    recorded = plan(job, build_status(job), observe(job), NOW)
    assert (recorded.status.phase, recorded.status.started, recorded.actions) == (Phase.SUSPENDED, None, ())
    taken = plan(job, recorded.status, observe(job), NOW)
    assert deleted(taken) == ["worker-0-of-0", "worker-1-of-0", "service-worker-0", "service-worker-1"]
    settled = plan(job, recorded.status, Observed(), NOW)
    assert plan(job, settled.status, Observed(), NOW + 99) == Plan(settled.status)


def test_a_resumed_job_is_a_new_attempt_once_its_old_pods_are_gone() -> None:
    suspended = build_status(COLLECTIVE, Phase.SUSPENDED, started=None)
    resumed = plan(COLLECTIVE, suspended, observe(COLLECTIVE), NOW)
    assert (resumed.status.phase, resumed.status.attempt, reason(resumed)) == (Phase.RESTARTING, 1, "Resumed")
    assert created(plan(COLLECTIVE, resumed.status, observe(COLLECTIVE), NOW)) == []
    assert "Pod demo-worker-0" in created(plan(COLLECTIVE, resumed.status, Observed(), NOW))


def test_for_a_job_that_is_being_deleted_only_the_status_is_written() -> None:
    job = build_job(ps=2, deleting=True)
    planned = plan(job, build_status(job), Observed(), NOW)
    assert (planned.status.phase, planned.actions) == (Phase.TERMINATING, ())
    assert plan(job, planned.status, Observed(), NOW + 5) == Plan(planned.status)
    done = build_status(job, Phase.COMPLETED)
    assert plan(job, done, observe(job), NOW) == Plan(done), "the end of a job is final"


def test_the_time_to_live_deletes_the_job_itself() -> None:
    job = build_job(ttl=60.0)
    done = build_status(job, Phase.COMPLETED, finished=NOW, roles={"worker": Counts(2, succeeded=2)}, refs={})
    assert plan(job, done, Observed(), NOW + 20) == Plan(done, requeue_after=40.0)
    assert plan(job, done, Observed(), NOW + 60).actions == (Delete(job.resource, job.key, "job-uid"),)


@pytest.mark.parametrize(
    ("finished", "recorded"),
    [
        (NOW - 30, NOW - 30),
        (NOW + 200, NOW + 200),  # the clock of another machine
        (NOW + 1e8, NOW),
        (0.0, NOW),
        (NOW - 1200, NOW - 1200),  # before the job was made, by another machine's clock
        (None, NOW),
    ],
)
def test_a_time_of_the_end_that_cannot_be_neither_deletes_the_job_at_once_nor_keeps_it_for_ever(
    finished: float | None, recorded: float
) -> None:
    job = build_job(ttl=3600.0, created=NOW - 1000)
    done = build_status(job, Phase.COMPLETED, finished=finished, roles={"worker": Counts(2, succeeded=2)}, refs={})
    planned = plan(job, done, Observed(), NOW)
    assert planned == Plan(replace(done, finished=recorded), requeue_after=recorded + 3600 - NOW)
    unsure = plan(job, done, Observed(clock_off=9), NOW)
    assert finished is None or unsure.status.finished == finished, "nobody knows what time it is"
    later = plan(job, planned.status, Observed(), NOW)
    assert later == planned, "and it is written once"


# Clean-up: five policies, two ends.

ALL = ["ps-0-of-0", "ps-1-of-0", "worker-0-of-0", "worker-1-of-0"]
SERVICE_UIDS = ["service-ps-0", "service-ps-1", "service-worker-0", "service-worker-1"]
SERVERS = ["ps-0-of-0", "ps-1-of-0"]
SURVIVORS = ["ps-0-of-0", "ps-1-of-0", "worker-0-of-0"]


@pytest.mark.parametrize(
    ("policy", "phase", "taken"),
    [
        (CleanPods.ALWAYS, Phase.COMPLETED, ALL + SERVICE_UIDS),
        (CleanPods.ON_COMPLETION, Phase.COMPLETED, ALL + SERVICE_UIDS),
        (CleanPods.ON_FAILURE, Phase.COMPLETED, []),
        (CleanPods.NEVER, Phase.COMPLETED, []),
        (CleanPods.ALWAYS, Phase.FAILED, ALL + SERVICE_UIDS),
        (CleanPods.ON_FAILURE, Phase.FAILED, ALL + SERVICE_UIDS),
        (CleanPods.ON_COMPLETION, Phase.FAILED, SURVIVORS),
        (CleanPods.NEVER, Phase.FAILED, SURVIVORS),
        (CleanPods.RUNNING, Phase.FAILED, SURVIVORS),
        (CleanPods.RUNNING, Phase.COMPLETED, SERVERS),
    ],
)
def test_clean_up(policy: CleanPods, phase: Phase, taken: list[str]) -> None:
    job = build_job(ps=2, clean_pods=policy)
    pods = workers_succeeded(build_pods(job)) if phase is Phase.COMPLETED else build_pods(job)
    if phase is Phase.FAILED:
        pods = with_pod(pods, "worker-1", failed(1))
    status = build_status(job, phase, finished=NOW - 1)
    planned = plan(job, status, observe(job, pods), NOW)
    assert deleted(planned) == taken
    assert replace(planned.status, roles={}, refs={}) == replace(status, roles={}, refs={})


def test_a_finished_job_never_trains_again() -> None:
    for phase in (Phase.COMPLETED, Phase.FAILED):
        job = build_job(workers=5, generation=9, suspend=True, clean_pods=CleanPods.NEVER)
        status = build_status(COLLECTIVE, phase, finished=NOW, roles={"worker": Counts(2, succeeded=2)}, refs={})
        assert plan(job, status, Observed(), NOW + 1e6) == Plan(replace(status, observed_generation=9))


# In the way.


REMOVE = "kubectl delete -n team services/demo-worker-0"


@pytest.mark.parametrize(
    ("others", "args"),
    [
        ((), {"objects": ["Service demo-worker-1"], "former": True}),
        ((Child(SERVICES, "demo-worker-0", "somebody's"),), {"objects": ["Service demo-worker-0"], "command": REMOVE}),
    ],
)
def test_objects_of_a_former_job_are_deleted_and_objects_of_other_owners_are_reported_first(
    others: tuple[Child, ...], args: dict[str, Any]
) -> None:
    left = Child(SERVICES, "demo-worker-1", "gone", former=True)
    planned = plan(COLLECTIVE, Status(), Observed(foreign=(left, *others)), NOW)
    assert planned.status.cause == cause("ObjectInTheWay", **args)
    assert planned.actions == (Delete(SERVICES, Key(COLLECTIVE.key.namespace, "demo-worker-1"), "gone", former=True),)


def test_a_job_waits_for_an_object_of_another_owner_and_does_not_change_it() -> None:
    somebody = Child(SERVICES, "demo-worker-0", "somebody's")
    planned = plan(COLLECTIVE, Status(), Observed(foreign=(somebody,)), NOW)
    assert planned.actions == ()
    assert planned.status.cause == cause("ObjectInTheWay", objects=["Service demo-worker-0"], command=REMOVE)
    assert planned.requeue_after is not None
    running = plan(COLLECTIVE, build_status(COLLECTIVE), observe(COLLECTIVE, foreign=(somebody,)), NOW)
    assert running == Plan(build_status(COLLECTIVE)), "a job that needs nothing is not held up"


def test_a_refused_object_is_reported_as_long_as_the_job_needs_it() -> None:
    refused = Refusal(("Pod demo-worker-1", "Service demo-worker-0"), "exceeded quota")
    needs = observe(COLLECTIVE, build_pods(COLLECTIVE)[:1], config_maps=(), refused=refused)
    planned = plan(COLLECTIVE, Status(), needs, NOW)
    assert created(planned), "it is asked for again"
    told = cause("ObjectsRefused", objects=["Pod demo-worker-1"], message="exceeded quota")
    assert planned.status.cause == told
    has = observe(COLLECTIVE, refused=refused)
    assert plan(COLLECTIVE, build_status(COLLECTIVE), has, NOW) == Plan(build_status(COLLECTIVE))


def test_a_job_without_replicas_has_a_cause() -> None:
    planned = plan(build_job(workers=0), Status(), Observed(), NOW)
    assert (planned.status.phase, reason(planned), planned.actions) == (Phase.PENDING, "NoReplicas", ())


# Ports and gangs.


def port_of(planned: Plan) -> set[str | None]:
    return {
        action.manifest["metadata"]["annotations"].get(PORT_ANNOTATION)
        for action in planned.actions
        if isinstance(action, Create) and action.resource.kind == "Pod"
    }


def test_pods_get_one_port_where_they_share_a_network_and_none_elsewhere() -> None:
    assert port_of(plan(PS, Status(), Observed(), NOW)) == {None}
    (port,) = port_of(plan(PS, Status(), Observed(), NOW, LAPTOP))
    assert port is not None
    taken = frozenset({int(port) + 7})
    assert port_of(plan(PS, Status(), Observed(taken_ports=taken), NOW, LAPTOP)) != {port}


def test_a_job_keeps_its_port_although_it_is_in_use_by_the_job() -> None:
    pods = with_pod(build_pods(PS, phase=PodPhase.PENDING, port=20_020), "ps-1", gone)
    observed = observe(PS, pods, config_maps=(), taken_ports=frozenset({20_020}))
    assert port_of(plan(PS, build_status(PS, Phase.PENDING), observed, NOW, LAPTOP)) == {"20020"}


def test_without_a_free_port_the_job_waits() -> None:
    planned = plan(PS, Status(), Observed(taken_ports=frozenset(range(20_000, 32_768))), NOW, LAPTOP)
    assert (reason(planned), planned.actions) == ("NoFreePort", ())


def test_two_ports_in_a_gang_recreate_it() -> None:
    pods = with_pod(build_pods(PS, port=20_020), "ps-1", lambda pod: replace(pod, port=20_040))
    assert reason(plan(PS, build_status(PS), observe(PS, pods), NOW, LAPTOP)) == "PortsDiffer"


def test_the_pod_group_is_created_before_the_pods_and_deleted_with_the_job() -> None:
    settings = Settings(pod_groups=POD_GROUPS)
    assert created(plan(PS, Status(), Observed(), NOW, settings)) == ["PodGroup demo"]
    group = Child(POD_GROUPS, "demo", "group", members=4)
    assert "Pod demo-ps-0" in created(plan(PS, Status(), Observed(pod_group=group), NOW, settings))
    done = build_status(PS, Phase.COMPLETED)
    assert deleted(plan(PS, done, Observed(pod_group=group), NOW, settings)) == ["group"]
    theirs = replace(group, owned=False, members=1)
    assert plan(PS, done, Observed(pod_group=theirs), NOW, settings).actions == ()
    taken = plan(PS, Status(), Observed(pod_group=theirs), NOW, settings)
    assert "Pod demo-ps-0" in created(taken)
    assert all(isinstance(action, Create) for action in taken.actions), "a user's own is taken as it is"


def test_a_resized_job_resizes_its_pod_group() -> None:
    settings = Settings(pod_groups=POD_GROUPS)
    group = Child(POD_GROUPS, "demo", "group", members=3)
    (patch,) = (
        action
        for action in plan(PS, build_status(PS), observe(PS, pod_group=group), NOW, settings).actions
        if isinstance(action, Patch)
    )
    assert (patch.uid, patch.patch["spec"]["minMember"]) == ("group", 4)


def test_a_deleted_service_is_recreated() -> None:
    planned = plan(PS, build_status(PS), observe(PS, services=build_services(PS)[1:]), NOW)
    assert created(planned) == ["Service demo-ps-0"]
    assert planned.status == build_status(PS)


def test_config_maps_of_earlier_attempts_are_deleted() -> None:
    both = (*build_config_maps(PS), *build_config_maps(PS, 1))
    planned = plan(PS, build_status(PS, attempt=1), observe(PS, attempt=1, config_maps=both), NOW)
    assert deleted(planned) == ["config-0"]


def test_addresses_that_paddle_cannot_read_are_reported_with_the_config_map() -> None:
    pods = tuple(replace(pod, address=f"fd00::{pod.rank.index + 1}") for pod in build_pods(COLLECTIVE))
    planned = plan(COLLECTIVE, build_status(COLLECTIVE), observe(COLLECTIVE, pods, config_maps=()), NOW)
    assert created(planned) == [f"ConfigMap {config_map_name(COLLECTIVE, 0)}"]
    assert [note.reason for note in planned.events] == ["AddressesUnread"]
    again = plan(COLLECTIVE, build_status(COLLECTIVE), observe(COLLECTIVE, pods), NOW)
    assert again.events == ()
