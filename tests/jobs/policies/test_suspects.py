"""Nodes on which a job has failed: what accuses one, how pods avoid it, and that no job waits for ever for another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.gangs import (
    NOW,
    build_job,
    build_pods,
    build_services,
    build_status,
    build_torch_job,
    cause,
    failed,
    with_pod,
)
from paddock.jobs.actions import Create, Plan
from paddock.jobs.labels import AVOID_ANNOTATION
from paddock.jobs.model import (
    Exit,
    Job,
    Observed,
    Phase,
    Pod,
    PodPhase,
    RestartPolicy,
    RestartScope,
    Role,
    Settings,
    Status,
    Suspect,
)
from paddock.jobs.plan import plan
from paddock.jobs.policies import suspects
from paddock.jobs.sentences.suspect_phrases import explain_suspects
from paddock.kube.meta import PODS

CLUSTER = Settings(avoids_nodes=True)
UNTIL = NOW + suspects.AVOID_SECONDS
DEVICES = {"resources": {"limits": {"nvidia.com/gpu": 1}}}


def build_gpu_job(**changes: Any) -> Job:
    template = {"spec": {"containers": [{"name": "paddle", "image": "paddle:3", "command": ["python"], **DEVICES}]}}
    job = build_job(restart=RestartPolicy.ON_FAILURE, **changes)
    return replace(job, roles=tuple(replace(role, template=template) for role in job.roles))


JOB = build_gpu_job()


def place(job: Job, *nodes: str, attempt: int = 0) -> tuple[Pod, ...]:
    return tuple(replace(pod, node=node) for pod, node in zip(build_pods(job, attempt), nodes, strict=True))


def fail(job: Job, pods: tuple[Pod, ...], status: Status, settings: Settings = CLUSTER, **how: Any) -> Plan:
    """The plan when worker-1 fails so, and its peer a while later as an echo."""
    pods = with_pod(pods, "worker-1", failed(how.pop("code", 1), ago=60, **how))
    pods = with_pod(pods, "worker-0", failed(143, ago=50))
    return plan(job, status, Observed(pods=pods, services=build_services(job)), NOW, settings)


def end(job: Job, pods: tuple[Pod, ...], status: Status, **how: Any) -> Status:
    return fail(job, pods, status, **how).status


def raised(error: str) -> dict[str, str]:
    return {"message": f'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\n{error}\n'}


@pytest.mark.parametrize(
    ("how", "reason", "avoided"),
    [
        (raised("RuntimeError: CUDA error: uncorrectable ECC error encountered"), "DeviceMemory", 1),
        (raised("OSError: (External) CUDA error(214), uncorrectable ECC error"), "DeviceMemory", 1),
        ({"message": "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."}, "DeviceFault", 1),
        (raised("RuntimeError: CUDA unknown error - this may be due to"), "DeviceInitialization", 1),
        (
            {"reason": "StartError", "code": 128, "message": "nvidia-container-cli: initialization error: nvml error"},
            "DeviceInitialization",
            1,
        ),
        (raised("RuntimeError: No CUDA GPUs are available"), "DeviceInitialization", 0),
        ({"code": 139}, "FailedFirst", 0),
        ({"reason": "Evicted", "code": 137}, "FailedFirst", 0),
        ({"code": 3}, "FailedFirst", 0),
        (raised("ValueError: bad"), "", 0),
        (raised("KeyError: 'xid'"), "", 0),
        ({"reason": "OOMKilled", "code": 137}, "", 0),
    ],
)  # fmt: skip
def test_what_speaks_against_a_node(how: Mapping[str, Any], reason: str, avoided: int) -> None:
    found = end(JOB, place(JOB, "gpu-1", "gpu-2"), build_status(JOB), **how)
    assert found.attempt == 1
    expected = {"gpu-2": Suspect(reason, (0,), UNTIL if avoided else None)} if reason else {}
    assert found.suspects == expected


@pytest.mark.parametrize(
    ("why", "reason"),
    [
        ("NodeLost", "NodeLost"),
        ("DeletionByTaintManager", "NodeLost"),
        ("UnexpectedAdmissionError", "DevicesNotAllocated"),
        ("PreemptionByScheduler", ""),
        ("EvictionByEvictionAPI", ""),
        ("OutOfcpu", ""),
        ("NodeShutdown", ""),
    ],
)
def test_of_what_ends_a_pod_from_outside_only_the_node_s_own_speaks_against_it(why: str, reason: str) -> None:
    found = end(JOB, place(JOB, "gpu-1", "gpu-2"), build_status(JOB), code=137, reason=why)
    assert {name: each.reason for name, each in found.suspects.items()} == ({"gpu-2": reason} if reason else {})


def test_words_of_a_program_that_asks_for_no_device_accuse_no_node() -> None:
    job = build_job(restart=RestartPolicy.ON_FAILURE)
    how = raised("RuntimeError: CUDA unknown error")
    assert end(job, place(job, "gpu-1", "gpu-2"), build_status(job), **how).suspects == {}


def test_two_failures_that_no_program_chose_make_a_suspect_and_on_two_nodes_none() -> None:
    once = end(JOB, place(JOB, "gpu-1", "gpu-2"), build_status(JOB), code=139)
    status = build_status(JOB, attempt=1, restarts=1, suspects=once.suspects)
    again = end(JOB, place(JOB, "gpu-1", "gpu-2", attempt=1), status, code=139)
    assert again.suspects == {"gpu-2": Suspect("FailedFirst", (0, 1), UNTIL)}
    elsewhere = end(JOB, place(JOB, "gpu-1", "gpu-3", attempt=1), status, code=139)
    assert elsewhere.suspects == {
        "gpu-2": Suspect("FailedFirst", (0,)),
        "gpu-3": Suspect("FailedFirst", (1,)),
    }


def test_a_rank_that_starts_again_alone_makes_a_suspect_by_two_failures_of_one_attempt() -> None:
    job = build_torch_job(scope=RestartScope.POD)
    pods, status, now = place(job, "gpu-1", "gpu-2", "gpu-3"), build_status(job), NOW
    found = []
    for renewal in (1, 2):
        observed = Observed(pods=with_pod(pods, "worker-0", failed(139)), services=build_services(job))
        waits = plan(job, status, observed, now, CLUSTER).status
        status = plan(job, waits, observed, now + CLUSTER.status_wait, CLUSTER).status
        assert (status.attempt, status.renewals) == (0, {"worker-0": renewal})
        found.append(status.suspects)
        status, now = status.with_(phase=Phase.RUNNING), now + 60
        pods = tuple(replace(pod, renewal=status.renewal(pod.rank)) for pod in pods)
    until = UNTIL + 60 + CLUSTER.status_wait
    assert found == [{"gpu-2": Suspect("FailedFirst", (0,))}, {"gpu-2": Suspect("FailedFirst", (0,), until)}]


@pytest.mark.parametrize(("how", "noted"), [({"code": 3}, False), ({"code": 139}, True)])
def test_what_an_init_container_says_is_about_what_it_prepares_and_accuses_no_node(
    how: Mapping[str, Any], noted: bool
) -> None:
    """Such as a claim for outputs that is full: so it is on each node."""
    said = Exit(finished=NOW - 60, message="the claim results is full (No space left on device)", initial=True, **how)
    pods = with_pod(
        place(JOB, "gpu-1", "gpu-2"), "worker-1", lambda pod: replace(pod, phase=PodPhase.FAILED, exit=said)
    )
    pods = with_pod(pods, "worker-0", failed(143, ago=50))
    found = plan(JOB, build_status(JOB), Observed(pods=pods), NOW, CLUSTER).status
    assert (found.attempt, bool(found.suspects)) == (1, noted)


def test_ranks_of_two_nodes_that_fail_in_one_second_accuse_neither() -> None:
    pods = tuple(map(failed(139, ago=60), place(JOB, "gpu-1", "gpu-2")))
    assert plan(JOB, build_status(JOB), Observed(pods=pods), NOW, CLUSTER).status.suspects == {}


def test_the_event_says_which_node_is_avoided_until_when_and_why() -> None:
    found = fail(JOB, place(JOB, "gpu-1", "gpu-2"), build_status(JOB), message="CUDA unknown error")
    (note,) = (each for each in found.events if each.reason == "NodeAvoided")
    assert note.message == "node gpu-2 is avoided until 2023-11-14T23:13:20Z (attempt 0: CUDA could not be initialized)"
    assert [str(each) for each in explain_suspects(found.status, NOW)] == [note.message]
    assert explain_suspects(found.status, UNTIL) == []
    assert str(explain_suspects(found.status.with_(suspects={"a": Suspect("New", (0, 4), UNTIL)}), NOW)[0]) == (
        "node a is avoided until 2023-11-14T23:13:20Z (attempts 0 and 4: it failed there)"
    )


@pytest.mark.parametrize(
    ("job", "settings"),
    [(JOB, Settings()), (build_gpu_job(annotations={AVOID_ANNOTATION: "false"}), CLUSTER)],
    ids=["on a laptop", "switched off"],
)
def test_nothing_is_noted_where_nothing_is_avoided(job: Job, settings: Settings) -> None:
    status = build_status(job, suspects={"gpu-1": Suspect("NodeLost", (0,), UNTIL)})
    found = fail(job, place(job, "gpu-1", "gpu-2"), status, settings, message="CUDA unknown error")
    assert (found.status.attempt, found.status.suspects) == (1, {})
    assert list_affinities(job, status.with_(phase=Phase.PENDING), settings) == [None, None]


BAD = {"gpu-2": Suspect("NodeLost", (0,), UNTIL), "gpu-3": Suspect("FailedFirst", (0,))}
OURS = {"key": "metadata.name", "operator": "NotIn", "values": ["gpu-2"]}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def list_affinities(job: Job, status: Status, settings: Settings = CLUSTER, now: float = NOW) -> list[Any]:
    """The required node affinity of each pod that is created."""
    actions = plan(job, status, Observed(services=build_services(job)), now, settings).actions
    specs = [each.manifest["spec"] for each in actions if isinstance(each, Create) and each.resource == PODS]
    return [(each.get("affinity") or {}).get("nodeAffinity", {}).get(REQUIRED) for each in specs]


def begun(**changes: Any) -> Status:
    return build_status(JOB, Phase.PENDING, attempt=1, started=None, roles={}, suspects=BAD, **changes)


def test_the_next_pods_avoid_a_suspect_and_no_node_that_is_only_noted() -> None:
    assert list_affinities(JOB, begun()) == [{"nodeSelectorTerms": [{"matchFields": [OURS]}]}] * 2
    assert list_affinities(JOB, begun(), now=UNTIL) == [None, None], "the suspicion is over"
    assert list_affinities(JOB, begun(), now=NOW - 3 * suspects.AVOID_SECONDS) == [None, None], "a clock set back"


def affinity(*terms: Any) -> dict[str, Any]:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}, "podAffinity": {"kept": 1}}}


EXPRESSION = {"key": "pool", "operator": "In", "values": ["a"]}
FIELD = {"key": "metadata.name", "operator": "NotIn", "values": ["old"]}


@pytest.mark.parametrize(
    ("spec", "terms"),
    [
        ({}, [{"matchFields": [OURS]}]),
        ({"nodeSelector": {"pool": "a"}}, [{"matchFields": [OURS]}]),
        (
            affinity({"matchExpressions": [EXPRESSION]}, {"matchFields": [FIELD]}),
            [{"matchExpressions": [EXPRESSION], "matchFields": [OURS]}, {"matchFields": [FIELD, OURS]}],
        ),
        (
            affinity({}, {"matchExpressions": [EXPRESSION]}),
            [{}, {"matchExpressions": [EXPRESSION], "matchFields": [OURS]}],
        ),
        (affinity(None), [{}]),
    ],
)  # fmt: skip
def test_each_term_of_a_template_gets_it_and_one_that_matches_no_node_goes_on_to_match_none(
    spec: dict[str, Any], terms: list[Any]
) -> None:
    found = suspects.with_affinity(spec, ["gpu-2"])
    assert found["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] == terms
    assert {key: found[key] for key in spec if key != "affinity"} == {k: v for k, v in spec.items() if k != "affinity"}
    assert found["affinity"].get("podAffinity") == spec.get("affinity", {}).get("podAffinity")


@pytest.mark.parametrize(
    "spec",
    [
        {"nodeName": "gpu-2"},
        {"nodeSelector": {"kubernetes.io/hostname": "gpu-2"}},
        affinity({"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["gpu-2"]}]}),
        affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gpu-2"]}]}),
    ],
)
def test_a_role_that_names_its_node_goes_there(spec: dict[str, Any]) -> None:
    role = Role("worker", 1, {"spec": {"containers": [], **spec}})
    assert suspects.keep_away(replace(JOB, roles=(role,)), ["gpu-2"]).roles == (role,)


def stuck(job: Job, message: str, ago: float, **changes: Any) -> tuple[Pod, ...]:
    pods = build_pods(job, 1, PodPhase.PENDING, created=NOW - ago, waiting=("Unschedulable", message), **changes)
    return tuple(replace(pod, node="", address="", started=None) for pod in pods)


NO_NODE = "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) didn't match Pod's node affinity/selector."
NO_ROOM = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."


def decide(pods: tuple[Pod, ...], status: Status, now: float = NOW, job: Job = JOB) -> Any:
    return plan(job, status, Observed(pods=pods, services=build_services(job)), now, CLUSTER)


def test_pods_that_find_no_other_node_let_the_oldest_suspect_go_after_two_minutes() -> None:
    two = {"gpu-2": Suspect("NodeLost", (0,), UNTIL), "gpu-4": Suspect("NodeLost", (0,), UNTIL - 9)}
    status = begun().with_(suspects=two)
    before = decide(stuck(JOB, NO_NODE, 119), status)
    assert (before.status.attempt, before.requeue_after) == (1, 1.0)
    found = decide(stuck(JOB, NO_NODE, 120), status)
    assert (found.status.attempt, found.status.restarts, found.actions) == (2, 0, ())
    assert found.status.cause == cause("NodesNotAvoided", NOW, nodes=["gpu-4"])
    assert found.status.suspects == {"gpu-2": two["gpu-2"]}


def test_a_full_cluster_lets_no_suspect_go_until_the_suspicion_is_over() -> None:
    status = begun()
    waits = decide(stuck(JOB, NO_ROOM, 1000), status)
    assert (waits.status.attempt, waits.requeue_after) == (1, suspects.AVOID_SECONDS)
    over = decide(stuck(JOB, NO_ROOM, 1000 + suspects.AVOID_SECONDS), status, UNTIL)
    assert over.status.cause == cause("NodesNotAvoided", UNTIL, nodes=["gpu-2"])
    assert over.status.suspects == {"gpu-3": BAD["gpu-3"]}


def test_pods_that_were_made_when_it_was_over_wait_for_room_as_any_pod() -> None:
    found = decide(stuck(JOB, NO_NODE, -1 - suspects.AVOID_SECONDS), begun(), UNTIL + 500)
    assert found.status.attempt == 1


@pytest.mark.parametrize("waiting", [("SchedulingGated", "Scheduling is blocked"), ("ContainerCreating", ""), None])
def test_who_has_not_been_looked_at_by_a_scheduler_is_not_stuck(waiting: tuple[str, str] | None) -> None:
    pods = tuple(replace(pod, waiting=waiting) for pod in stuck(JOB, NO_NODE, 500))
    assert decide(pods, begun()).status.attempt == 1


def test_of_a_job_that_restarts_per_pod_only_the_stuck_ones_begin_again() -> None:
    job = build_gpu_job(scope=RestartScope.POD, network=replace(JOB.network, rendezvous=True))
    running, waiting = build_pods(job, 1)[0], stuck(job, NO_NODE, 500, renewal=1)[1]
    status = build_status(job, Phase.STARTING, attempt=1, suspects=BAD, renewals={"worker-1": 1})
    found = decide((running, waiting), status, job=job).status
    assert (found.attempt, found.renewals, sorted(found.suspects)) == (1, {"worker-1": 2}, ["gpu-3"])


NODES = st.sampled_from(["a", "b", "c"])
ENTRIES = st.builds(
    Suspect, st.sampled_from(["NodeLost", "FailedFirst"]), st.just((0,)),
    st.none() | st.integers(-7200, 7200).map(lambda seconds: NOW + seconds),
)  # fmt: skip


@given(st.dictionaries(NODES, ENTRIES), st.integers(0, 9000))
def test_no_gang_waits_for_ever_for_a_node_that_it_avoids(known: dict[str, Suspect], ago: int) -> None:
    """Whatever is recorded: by the times that the plan itself names, each suspect that its pods avoid is let go."""
    status, now = begun().with_(suspects=known), NOW
    pods = stuck(JOB, NO_NODE, ago)
    for _ in range(40):
        found = suspects.plan_waiting(JOB, status, pods, now, CLUSTER)
        if found.verdict is not None:
            assert found.verdict.suspects is not None and len(found.verdict.suspects) < len(status.suspects)
            status = status.with_(suspects=found.verdict.suspects)
            pods = tuple(replace(pod, created=now) for pod in pods)
        elif found.left is None:
            break
        else:
            assert found.left > 0
            now += found.left
    avoided = suspects.list_avoided(JOB, status, now, CLUSTER)
    assert all((pods[0].created or 0) >= (status.suspects[name].until or 0) for name in avoided)


@given(st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=60))
def test_what_is_noted_is_bounded_whatever_fails(failures: list[tuple[int, bool]]) -> None:
    status = build_status(JOB)
    for number, (node, strong) in enumerate(failures):
        status = build_status(JOB, attempt=number, suspects=status.suspects)
        how = {"message": "CUDA unknown error"} if strong else {"code": 139}
        status = end(JOB, place(JOB, "other", f"n{node}", attempt=number), status, **how)
    assert len(status.suspects) <= suspects.MOST
    assert all(len(each.attempts) <= suspects.MOST_ATTEMPTS for each in status.suspects.values())
