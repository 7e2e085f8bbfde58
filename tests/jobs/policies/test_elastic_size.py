"""An elastic gang begins smaller where it must, asks for room, and grows; nothing else about it is special."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jobs.gangs import NOW, build_job, build_pods, build_status, build_torch_job, created, deleted, observe, reason
from paddock.jobs.actions import Create, Plan
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.model import (
    Asked,
    Elasticity,
    Exit,
    Job,
    Observed,
    Phase,
    Pod,
    PodPhase,
    Policies,
    Rank,
    Refusal,
    RestartScope,
    Settings,
    Status,
)
from paddock.jobs.objects.pods import build_pod_group, read_pod
from paddock.jobs.plan import plan
from paddock.jobs.policies.fitting import fit
from paddock.jobs.sentences.explain import explain
from paddock.kube.meta import POD_GROUPS, Key

JOB = build_job(workers=3, elasticity=Elasticity("worker", 1, 3))
SMALL = fit(JOB, 2)
QUOTA = 'pods "demo-worker-2" is forbidden: exceeded quota: team, requested: cpu=1, used: cpu=4, limited: cpu=4'


def wait_for_room(job: Job, placed: int, ago: float = 31) -> tuple[Pod, ...]:
    """The pods of a new gang, `placed` of which have a node."""
    pods = build_pods(job, phase=PodPhase.PENDING, created=NOW - ago)
    return tuple(
        replace(pod, started=None, node="laptop" if number < placed else "", address="")
        for number, pod in enumerate(pods)
    )


def begin(job: Job, pods: tuple[Pod, ...], **status: Any) -> Plan:
    sizes = build_status(job, Phase.PENDING, started=None, **status)
    return plan(job, sizes, observe(job, pods, config_maps=()), NOW)


@pytest.mark.parametrize(
    ("placed", "ago", "size"),
    [(2, 31, 2), (1, 31, 1), (2, 29, None), (3, 31, None), (0, 31, None)],
    ids=["two have room", "one has room", "not yet", "all have room", "none has room"],
)
def test_a_gang_that_cannot_be_whole_begins_with_those_that_have_room(placed: int, ago: float, size: int) -> None:
    found = begin(JOB, wait_for_room(JOB, placed, ago))
    if size is None:
        assert (found.status.attempt, found.status.gang_size) == (0, 0)
        return
    assert (reason(found), found.status.attempt, found.status.gang_size) == ("GangShrunk", 1, size)
    assert (found.status.restarts, found.status.losses, found.actions) == (0, 0, ())
    assert found.status.sizes == {"worker": size}


def test_the_wait_is_looked_at_when_it_ends() -> None:
    assert begin(JOB, wait_for_room(JOB, 2, ago=10)).requeue_after == pytest.approx(20)


def lacking(*, refused: Refusal | None = None, **status: Any) -> Plan:
    """Two of three ranks have nodes, and the third has no pod."""
    recorded = build_status(JOB, Phase.PENDING, started=None, **status)
    return plan(JOB, recorded, replace(observe(JOB, wait_for_room(JOB, 3)[:2], config_maps=()), refused=refused), NOW)


def test_a_rank_without_a_pod_is_created_before_anything_is_said_of_its_room() -> None:
    """Somebody has deleted it, as pod garbage collection does."""
    found = lacking()
    assert (created(found)[-1], found.status.attempt) == ("Pod demo-worker-2", 0)


@pytest.mark.parametrize(("tries", "size"), [(0, 2), (3, 0)], ids=["a quota refuses it", "the connection failed"])
def test_what_refuses_the_pod_says_that_there_is_no_room_and_a_failure_does_not(tries: int, size: int) -> None:
    assert lacking(refused=Refusal(("Pod demo-worker-2",), QUOTA, tries, QUOTA)).status.gang_size == size


def test_a_rank_that_waits_for_its_back_off_is_not_without_room() -> None:
    job = build_torch_job(masters=0, workers=3, elasticity=Elasticity("worker", 1, 3), scope=RestartScope.POD)
    status = build_status(job, Phase.RESTARTING, renewals={"worker-2": 1}, delays={"worker-2": NOW + 9})
    found = plan(
        job, status, observe(job, [replace(pod, node="laptop", created=NOW - 99) for pod in build_pods(job)[:2]]), NOW
    )
    assert (created(found), found.status.attempt, found.requeue_after) == ([], 0, 9)


def test_fewer_than_the_least_wait() -> None:
    job = replace(JOB, elasticity=Elasticity("worker", 2, 3))
    assert begin(job, wait_for_room(job, 1)).status.attempt == 0


def test_servers_are_never_left_out() -> None:
    job = build_job(ps=1, workers=3, elasticity=Elasticity("worker", 1, 3))
    pods = wait_for_room(job, 4)
    without_server = tuple(replace(pod, node="") if pod.rank.role == "ps" else pod for pod in pods)
    assert begin(job, without_server).status.attempt == 0
    without_worker = tuple(replace(pod, node="") if str(pod.rank) == "worker-2" else pod for pod in pods)
    assert begin(job, without_worker).status.sizes == {"ps": 1, "worker": 2}


def test_a_job_that_is_not_elastic_waits() -> None:
    job = build_job(workers=3)
    assert begin(job, wait_for_room(job, 2)).status.attempt == 0


def test_a_smaller_gang_is_told_its_size() -> None:
    status = build_status(SMALL, Phase.RESTARTING, attempt=1, gang_size=2, started=None)
    made = plan(JOB, status, Observed(), NOW)
    assert created(made)[-2:] == ["Pod demo-worker-0", "Pod demo-worker-1"]
    told = plan(JOB, status, observe(JOB, build_pods(SMALL, 1), config_maps=()), NOW)
    (data,) = [each.manifest["data"] for each in told.actions if isinstance(each, Create) and "data" in each.manifest]
    assert (data["PADDLE_TRAINERS_NUM"], data["PADDLE_TRAINERS"]) == ("2", "127.0.0.2,127.0.0.3")


def run_smaller(*spares: Pod, ago: float = 61, job: Job = JOB, **changes: Any) -> Plan:
    small = fit(job, 2)
    pods = tuple(replace(pod, started=NOW - ago) for pod in build_pods(small))
    status = build_status(small, gang_size=2, **changes)
    return plan(job, status, observe(small, (*pods, *spares)), NOW)


def spare(**changes: Any) -> Pod:
    pod = build_pods(JOB, phase=PodPhase.PENDING, created=NOW - 5)[2]
    return replace(pod, spare=True, address="", started=None, **{"node": "", **changes})


UNTOLD = ("CreateContainerConfigError", 'configmap "demo-worker-2-spare" not found')


def ready(**changes: Any) -> Pod:
    """A spare pod that both kubelets have brought as far as they can."""
    return spare(**{"node": "laptop", "placed": NOW - 11, "waiting": UNTOLD, **changes})


def test_a_gang_that_runs_smaller_says_so_and_asks_for_room() -> None:
    settling = run_smaller(ago=20)
    assert (created(settling), settling.requeue_after) == ([], pytest.approx(40))
    found = run_smaller()
    assert created(found) == ["Pod demo-worker-2"]
    assert found.status.phase is Phase.RUNNING
    assert found.status.cause is not None
    said = "runs with 2 of 1 to 3 workers, since there was no room for more; grows when there is room"
    assert explain(found.status.cause) == said


@pytest.mark.parametrize(("ago", "asks", "left"), [(1, False, 59), (59, False, 1), (60, True, None)])
def test_a_refusal_is_no_error_it_is_told_and_a_minute_later_it_asks_again(
    ago: float, asks: bool, left: float | None
) -> None:
    small = fit(JOB, 2)
    pods = tuple(replace(pod, started=NOW - 400) for pod in build_pods(small))
    observed = replace(observe(small, pods), asked=Asked(NOW - ago, QUOTA))
    found = plan(JOB, build_status(small, gang_size=2), observed, NOW)
    assert [action.optional for action in found.actions if isinstance(action, Create)] == [True] * asks
    assert found.requeue_after == left
    assert found.status.cause is not None
    assert explain(found.status.cause).endswith(f"grows when there is room: {QUOTA}")


def test_a_small_gang_that_is_scaled_to_its_size_is_whole_and_begins_anew_when_it_is_scaled_up() -> None:
    two, three = (build_job(workers=workers, elasticity=Elasticity("worker", 1, 3)) for workers in (2, 3))
    pods = tuple(replace(pod, started=NOW - 400) for pod in build_pods(two))
    status = build_status(SMALL, gang_size=2, gang_loss="NodeLost")
    whole = plan(two, status, observe(two, pods), NOW)
    assert (whole.status.gang_size, whole.status.gang_loss, whole.status.attempt, whole.actions) == (0, "", 0, ())
    after = plan(two, whole.status, observe(two, pods), NOW)
    assert (after.status.phase, after.status.cause, after.actions) == (Phase.RUNNING, None, ())
    assert reason(plan(three, after.status, observe(three, pods), NOW)) == "Resized"


def test_what_was_refused_before_this_attempt_is_not_told() -> None:
    small = fit(JOB, 2)
    pods = tuple(replace(pod, started=NOW - 5) for pod in build_pods(small))
    found = plan(
        JOB, build_status(small, gang_size=2), replace(observe(small, pods), asked=Asked(NOW - 86400, QUOTA)), NOW
    )
    assert found.status.cause is not None and QUOTA not in explain(found.status.cause)


def test_a_spare_pod_that_somebody_deletes_is_not_made_again_at_once() -> None:
    small = fit(JOB, 2)
    pods = tuple(replace(pod, started=NOW - 400) for pod in build_pods(small))
    found = plan(JOB, build_status(small, gang_size=2), replace(observe(small, pods), asked=Asked(NOW - 3)), NOW)
    assert (created(found), found.requeue_after) == ([], 57)


def test_no_spare_pod_has_an_account_of_paddock_and_a_gang_that_runs_stays() -> None:
    ours = {"spec": {**JOB.roles[0].template["spec"], "serviceAccountName": "ours"}}
    job = replace(JOB, roles=tuple(replace(role, template=ours) for role in JOB.roles))
    small, settings = fit(job, 2), Settings(own_accounts=frozenset({Key(job.key.namespace, "ours")}))
    pods = tuple(replace(pod, started=NOW - 61) for pod in build_pods(small))
    status = build_status(small, gang_size=2)
    assert created(plan(job, status, observe(small, pods), NOW)) == ["Pod demo-worker-2"]
    found = plan(job, status, observe(small, (*pods, spare())), NOW, settings)
    assert (created(found), deleted(found), found.status.phase) == ([], ["worker-2-of-0"], Phase.RUNNING)


def test_a_spare_pod_waits_for_what_nobody_makes_and_is_read_as_one() -> None:
    (create,) = [action for action in run_smaller().actions if isinstance(action, Create)]
    (container,) = create.manifest["spec"]["containers"]
    assert {"configMapRef": {"name": "demo-worker-2-spare"}} in container["envFrom"]
    assert container.get("resources") == JOB.roles[0].template["spec"]["containers"][0].get("resources")
    pod = read_pod(create.manifest)
    assert pod is not None
    assert pod.spare


LACKS_CPU = "0/1 nodes are available: 1 Insufficient cpu (needs 900m, 200m of 2 free)."
LACKS_TWO = "0/3 nodes are available: 2 Insufficient nvidia.com/gpu, 1 Insufficient cpu. preemption: not helpful."
TAINTED = "0/3 nodes are available: 1 node(s) had untolerated taint {x: y}, 2 Insufficient cpu."
BEHIND = 'comes after the gang "default/other", which lacks cpu'


@pytest.mark.parametrize(
    ("loss", "message", "said"),
    [
        ("DeletionByPodGC", LACKS_CPU, "since a node was lost; grows when 1 CPU is free"),
        ("NodeShutdown", "", "since a node was shut down; grows when there is room"),
        ("PreemptionByScheduler", LACKS_TWO, "since pods had to make room for others; grows when 1 CPU and 2 GPUs are"),
        ("PodsDeleted", TAINTED, f"since pods were deleted; grows when 1 CPU is free: {TAINTED.rstrip('.')}"),
        ("", BEHIND, f"since there was no room for more; grows when there is room: {BEHIND}"),
        ("OutOfcpu", "0/1 nodes: full", "since there was no room for more; grows when there is room: 0/1 nodes: full"),
    ],
)
def test_why_it_is_smaller_and_what_it_lacks_is_told(loss: str, message: str, said: str) -> None:
    resources = {"requests": {"cpu": "1", "nvidia.com/gpu": "2"}}
    containers = [{"name": "paddle", "image": "x", "resources": resources}]
    role = replace(JOB.roles[0], template={"spec": {"containers": containers}})
    job = replace(JOB, roles=(role,))
    found = run_smaller(spare(waiting=("Unschedulable", message)), job=job, gang_loss=loss)
    assert found.status.cause is not None
    assert explain(found.status.cause).startswith(f"runs with 2 of 1 to 3 workers, {said}")
    assert found.actions == ()


def test_the_loss_before_which_a_gang_was_larger_is_remembered_until_it_is_whole_again() -> None:
    pods = tuple(replace(pod, exit=Exit(-1, "DeletionByPodGC"), phase=PodPhase.FAILED) for pod in build_pods(JOB)[:1])
    lost = plan(JOB, build_status(JOB), observe(JOB, (*pods, *build_pods(JOB)[1:])), NOW).status
    lost = plan(JOB, lost, observe(JOB, (*pods, *build_pods(JOB)[1:])), NOW + 11).status
    assert (lost.attempt, lost.gang_loss) == (1, "DeletionByPodGC")
    waiting = tuple(replace(pod, attempt=1) for pod in wait_for_room(JOB, 2, ago=31))
    small = plan(JOB, lost, observe(JOB, waiting, config_maps=()), NOW).status
    assert (small.attempt, small.gang_size, small.gang_loss) == (2, 2, "DeletionByPodGC")
    running = tuple(replace(pod, attempt=2, started=NOW - 90) for pod in build_pods(SMALL))
    more = replace(ready(), attempt=2)
    whole = plan(JOB, small, observe(SMALL, (*running, more)), NOW).status
    assert (whole.attempt, whole.gang_size, whole.gang_loss) == (3, 0, "")


def test_it_grows_when_its_spare_pods_have_room() -> None:
    found = run_smaller(ready())
    assert (reason(found), found.status.attempt, found.status.gang_size, found.actions) == ("GangGrown", 1, 0, ())
    assert found.status.sizes == {"worker": 3}


def test_it_does_not_grow_over_a_rank_whose_pod_is_still_there() -> None:
    """On a node that is lost it may be there for long, and the gang would wait for its name instead of training."""
    job = replace(build_job(workers=4), elasticity=Elasticity("worker", 1, 4))
    last = replace(ready(placed=NOW - 61), rank=Rank("worker", 3), name="demo-worker-3", uid="u3")
    found = run_smaller(ready(placed=NOW - 61, deleting=True), last, job=job)
    assert (found.status.attempt, found.status.phase) == (0, Phase.RUNNING)
    assert run_smaller(ready(placed=NOW - 61), replace(last, deleting=True), job=job).status.gang_size == 3


PULLING, ABSENT = ("ContainerCreating", ""), ("ImagePullBackOff", "no such image")
BUILDING, BROKEN = ("EnvironmentBuilding", "paddle: installing, 61 %"), ("EnvironmentFailed", "no disk")


@pytest.mark.parametrize(
    ("waiting", "said"),
    [
        (None, "grows when there is room"),
        (PULLING, "grows when there is room"),
        (ABSENT, "grows when the pods for more can start: worker-2: ImagePullBackOff: no such image"),
        (BUILDING, "grows when the pods for more can start: worker-2: EnvironmentBuilding: paddle: installing"),
        (BROKEN, "grows when the pods for more can start: worker-2: EnvironmentFailed: no disk"),
    ],
)
def test_it_trains_on_until_its_spare_pods_can_start(waiting: tuple[str, str] | None, said: str) -> None:
    found = run_smaller(ready(waiting=waiting))
    assert (found.status.attempt, found.status.phase, found.actions) == (0, Phase.RUNNING, ())
    assert found.status.cause is not None
    assert explain(found.status.cause).endswith(f"; {said}")


def test_a_spare_pod_that_cannot_start_is_not_waited_for() -> None:
    job = replace(build_job(workers=4), elasticity=Elasticity("worker", 1, 4))
    last = replace(ready(waiting=ABSENT), rank=Rank("worker", 3), name="demo-worker-3")
    found = run_smaller(ready(placed=NOW - 61), last, job=job)
    assert (found.status.attempt, found.status.gang_size) == (1, 3)


@pytest.mark.parametrize(("placed", "left"), [(None, 10), (NOW - 4, 6)])
def test_room_that_was_just_found_may_be_that_of_a_job_that_restarts(placed: float | None, left: float) -> None:
    found = run_smaller(ready(placed=placed))
    assert (found.status.attempt, found.requeue_after) == (0, pytest.approx(left))


def test_some_room_is_taken_after_a_while() -> None:
    job = replace(build_job(workers=4), elasticity=Elasticity("worker", 1, 4))
    third = build_pods(job)[2:]
    known = {"spare": True, "created": NOW - 3600, "phase": PodPhase.PENDING, "waiting": UNTOLD}
    first, second = (replace(pod, **known) for pod in third)
    spares = [replace(first, placed=NOW - 50), replace(second, node="", waiting=None)]
    settling = run_smaller(*spares, job=job)
    assert (settling.status.attempt, settling.requeue_after) == (0, pytest.approx(10))
    # its kubelet has not written the condition yet, so it was bound a moment ago
    assert run_smaller(replace(spares[0], placed=None), spares[1], job=job).status.attempt == 0
    late = [replace(spares[0], placed=NOW - 61), spares[1]]
    found = run_smaller(*late, job=job)
    assert (found.status.attempt, found.status.gang_size) == (1, 3)


def test_spare_pods_that_are_not_wanted_any_more_are_deleted() -> None:
    job = build_job(workers=2, elasticity=Elasticity("worker", 1, 3))
    whole = run_smaller(spare(), job=job)
    assert (whole.status.gang_size, whole.requeue_after) == (0, 0.0), "that it is whole is recorded first"
    assert deleted(plan(job, whole.status, observe(job, (*build_pods(job), spare())), NOW)) == ["worker-2-of-0"]


REJECTED = Exit(-1, "UnexpectedAdmissionError", "no device is left")


@pytest.mark.parametrize(
    ("end", "created_ago", "left"),
    [(REJECTED, 5, 55), (REJECTED, 60, None), (replace(REJECTED, finished=NOW - 20), 90, 40)],
    ids=["just made", "made long ago", "ended a while ago"],
)
def test_a_spare_pod_that_its_kubelet_rejects_is_replaced_after_a_while(
    end: Exit, created_ago: float, left: float | None
) -> None:
    found = run_smaller(spare(phase=PodPhase.FAILED, node="laptop", exit=end, created=NOW - created_ago))
    assert created(found) == []
    assert (deleted(found), found.requeue_after) == (
        (["worker-2-of-0"], None) if left is None else ([], pytest.approx(left))
    )
    assert found.status.cause is not None
    said = "grows when the pods for more can start: worker-2: UnexpectedAdmissionError: no device is left"
    assert explain(found.status.cause).endswith(said)


def test_spare_pods_go_with_the_job() -> None:
    pods = (*build_pods(SMALL), spare(node="laptop"))
    suspended = replace(JOB, policies=Policies(suspend=True))
    status = build_status(SMALL, Phase.SUSPENDED, gang_size=2)
    assert "worker-2-of-0" in deleted(plan(suspended, status, observe(SMALL, pods), NOW))
    done = build_status(SMALL, Phase.COMPLETED, gang_size=2, finished=NOW)
    assert "worker-2-of-0" in deleted(plan(JOB, done, observe(SMALL, pods), NOW))


def test_a_restart_keeps_the_size_and_an_edit_or_a_resumption_asks_for_all() -> None:
    suspended = build_status(SMALL, Phase.SUSPENDED, gang_size=2)
    found = plan(JOB, suspended, Observed(), NOW)
    assert (reason(found), found.status.gang_size, found.status.sizes) == ("Resumed", 0, {"worker": 3})
    lost = tuple(replace(pod, deleting=str(pod.rank) == "worker-1") for pod in build_pods(SMALL))
    found = plan(JOB, build_status(SMALL, gang_size=2), observe(SMALL, lost), NOW)
    assert (reason(found), found.status.gang_size, found.status.attempt) == ("PodsDeleted", 2, 1)


def test_scaled_down_below_its_size_it_begins_anew_and_scaled_up_it_goes_on() -> None:
    status = build_status(SMALL, gang_size=2)
    down = replace(build_job(workers=1), elasticity=JOB.elasticity)
    assert reason(plan(down, status, observe(SMALL), NOW)) == "Resized"
    up = replace(build_job(workers=5), elasticity=Elasticity("worker", 1, 5))
    found = plan(up, status, observe(SMALL), NOW + 61)
    assert created(found) == ["Pod demo-worker-2", "Pod demo-worker-3", "Pod demo-worker-4"]


def test_a_silent_node_is_no_want_of_room() -> None:
    pods = tuple(replace(pod, unheard=NOW - 40, created=NOW - 90) for pod in build_pods(JOB))
    assert plan(JOB, build_status(JOB), observe(JOB, pods), NOW).status.attempt == 0


def test_the_pod_group_asks_for_the_least_and_the_status_is_read_back() -> None:
    assert build_pod_group(SMALL, POD_GROUPS)["spec"]["minMember"] == 1
    written = PADDLEPADDLE.write_status({}, Status(gang_size=2, attempt=1), NOW)
    assert PADDLEPADDLE.read_status({"status": written, "spec": {}}).gang_size == 2


def test_a_job_without_bounds_is_never_fitted() -> None:
    job = build_job(workers=3)
    assert fit(job, 2) is job
    assert fit(fit(JOB, 2), 0).size == 3
    assert fit(JOB, 7).size == 3


def test_a_gang_that_is_over_its_time_fails_and_takes_no_other_size_first() -> None:
    """It shrank, as a new attempt, and failed in the next reconcile."""
    job = replace(JOB, policies=Policies(active_deadline=90.0))
    pods = wait_for_room(job, 2)
    status = build_status(job, Phase.PENDING, started=NOW - 91)
    found = plan(job, status, observe(job, pods, config_maps=()), NOW)
    assert (found.status.phase, reason(found), found.status.attempt) == (Phase.FAILED, "DeadlineExceeded", 0)
