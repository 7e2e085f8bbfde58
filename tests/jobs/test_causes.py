"""Causes: each has a sentence and survives its record, and the first one that holds is recorded."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields, replace
from typing import Any

import pytest

from jobs.gangs import NOW, build_job, build_pods, cause, with_pod
from paddock.jobs import causes
from paddock.jobs.causes import CAUSES, Cause
from paddock.jobs.model import CauseRecord, Pod, PodPhase
from paddock.jobs.sentences.cause_phrases import CAUSE_ROWS
from paddock.jobs.sentences.explain import explain
from paddock.jobs.waiting import plan_waiting_cause
from paddock.words.formats import FORMATS

WORTH: dict[str, Any] = {"tuple[str, ...]": ("worker-0",), "int": 3, "int | None": 3, "str": "so", "bool": True}
WORTH |= {"str | None": "so", "tuple[str, ...] | None": ("ps-0",), "bool | None": True}
WORTH |= {"Mapping[str, str] | None": {"worker": "0-3"}}


def class_names(cause: type[Cause]) -> set[str]:
    return {cause.__name__}.union(*(class_names(each) for each in cause.__subclasses__()))


def example(kind: type[Cause]) -> Cause:
    return kind(**{field.name: WORTH[str(field.type)] for field in fields(kind)})


@pytest.mark.parametrize("kind", CAUSES.values(), ids=CAUSES)
@pytest.mark.parametrize("language", FORMATS)
def test_every_cause_has_a_sentence_in_every_language(kind: type[Cause], language: str) -> None:
    assert kind.__name__ in CAUSE_ROWS
    sentence = explain(example(kind).record(NOW), language)
    assert sentence
    assert "?" not in sentence, "each number is told"


def test_every_class_is_listed_and_every_sentence_has_a_class() -> None:
    assert class_names(Cause) - {"Cause", "NewAttempt", "Loss", "Failure", "Completion"} == set(CAUSES)
    assert set(CAUSE_ROWS) == set(CAUSES)


@pytest.mark.parametrize("kind", CAUSES.values(), ids=CAUSES)
def test_a_record_survives_json_and_loses_its_numbers_without_harm(kind: type[Cause]) -> None:
    record = example(kind).record(NOW)
    assert json.loads(json.dumps(dict(record.args))) == record.args
    assert explain(CauseRecord(record.reason))
    least = {f.name: WORTH[str(f.type)] for f in fields(kind) if f.default is MISSING}
    assert explain(kind(**least).record(NOW))


def test_a_reason_of_a_newer_version_is_printed_with_its_numbers() -> None:
    assert explain(cause("WaitingForTheMoon", phase=3)) == "WaitingForTheMoon (phase=3)"
    assert explain(cause("WaitingForPods", missing=1, wanted=2), "tlh") == explain(
        cause("WaitingForPods", missing=1, wanted=2)
    )


def test_since_stays_while_the_cause_does() -> None:
    first = causes.WaitingForPods(1, 4).record(NOW + 0.9)
    assert first.since == NOW, "whole seconds, as they are read back"
    assert causes.WaitingForPods(1, 4).record(NOW + 60, first) is first
    assert causes.WaitingForPods(2, 4).record(NOW + 60, first).since == NOW + 60


def test_since_stays_while_only_the_tries_grow() -> None:
    first = causes.ObjectsNotCreated(("Pod demo-ps-0",), "refused", 6).record(NOW)
    later = causes.ObjectsNotCreated(("Pod demo-ps-0",), "refused", 10).record(NOW + 60, first)
    assert (later.since, later.args["tries"]) == (first.since, 10)
    assert causes.ObjectsNotCreated(("Pod demo-ps-1",), "refused", 10).record(NOW + 60, first).since == NOW + 60


ERROR = "ValueError: shapes do not match"
SENTENCES = [
    (
        causes.ObjectInTheWay(("ConfigMap demo",)),
        (
            "waiting: ConfigMap demo has a name that this job needs and belongs to somebody else; delete what is there "
            "or rename the job"
        ),
    ),
    (
        causes.ObjectInTheWay(("ConfigMap demo", "Pod demo-worker-0"), former=True),
        ("waiting for what is left of the former job of this name to go: ConfigMap demo and Pod demo-worker-0"),
    ),
    (
        causes.ObjectsRefused(("Pod demo-worker-0",), "exceeded quota: pods, used: pods=2, limited: pods=2"),
        "waiting: the API server refuses Pod demo-worker-0: exceeded quota: pods, used: pods=2, limited: pods=2; "
        "it is asked again within a minute",
    ),
    (
        causes.ObjectsRefused(("Pod demo-worker-0",), "failed quota: team: must specify limits.cpu for: pytorch"),
        "waiting: the API server refuses Pod demo-worker-0: failed quota: team: must specify limits.cpu for: pytorch; "
        "write resources.limits.cpu at the container, which --cpus N and --memory SIZE do for a typed command, or make "
        "a LimitRange with defaults; it is asked again within a minute",
    ),
    (
        causes.ObjectsRefused(
            ("Pod demo-worker-0",),
            'pods "demo-worker-0" is forbidden: failed quota: team: must specify limits.cpu for: a,b; memory for: b',
        ),
        'waiting: the API server refuses Pod demo-worker-0: pods "demo-worker-0" is forbidden: failed quota: team: '
        "must specify limits.cpu for: a,b; memory for: b; write resources.limits.cpu and resources.requests.memory at "
        "the containers, which --cpus N and --memory SIZE do for a typed command, or make a LimitRange with defaults; "
        "it is asked again within a minute",
    ),
    (
        causes.QuotaExceeded(
            ("Pod demo-worker-0", "Pod demo-worker-1"),
            "team",
            2,
            1,
            ("pods", "requests.cpu"),
            ("2", "8"),
            ("1", "4"),
            ("2", "10"),
        ),
        "waiting: the quota team has no room for 2 pods together: 2 pods, with 1 of 2 left; 8 CPUs, with 6 of "
        "10 left; 1 of them would fit; the job starts once others of the namespace have ended or the "
        "quota is raised: it is asked again within a minute",
    ),
    (
        causes.QuotaExceeded(("Pod demo-worker-0",), "team", 1, 0, ("pods",), ("1",), ("0",), ("0",), never=True),
        "waiting: the quota team has no room for Pod demo-worker-0: 1 pod, with 0 of 0 left; "
        "it allows too little for this job alone: raise it, or ask for less",
    ),
    (
        causes.ObjectsNotCreated(("Pod demo-worker-0",), 'failed calling webhook "w.x": connection refused', 10),
        'waiting: the API server cannot create Pod demo-worker-0: failed calling webhook "w.x": connection refused; '
        "tried 10 times or more, and again within a minute",
    ),
    (
        causes.WaitingForPodGroup(2, 2, "demo", "Pending", "resource in cluster is overused"),
        "waiting for room for 2 of 2 pods: PodGroup demo is Pending: resource in cluster is overused",
    ),
    (causes.WaitingForPodGroup(1, 2, "demo", "Unknown"), "waiting for room for 1 of 2 pods: PodGroup demo is Unknown"),
    (
        causes.WaitingForPodGroup(2, 2, "demo", "", "no queue"),
        "waiting for room for 2 of 2 pods: PodGroup demo: no queue",
    ),
    (
        causes.WaitingForNode(("worker-0",), ("n1",), 30),
        (
            "waiting for worker-0 to go: its node n1 is lost; 30 s after that, and after its grace, it is deleted by "
            "force"
        ),
    ),
    (
        causes.WaitingForNode(("worker-0", "worker-1"), ("n1", "n2"), 30),
        (
            "waiting for worker-0 and worker-1 to go: their nodes n1 and n2 are lost; 30 s after that, and after their "
            "grace, they are deleted by force"
        ),
    ),
    (
        causes.NodeNotReady(("worker-0",), ("n1",), "team", ("demo-worker-0",)),
        (
            "waiting for worker-0 to go: its node n1 is not ready, but not lost, and has to end it by itself; if it "
            "never does: kubectl -n team delete pod --force --grace-period=0 demo-worker-0"
        ),
    ),
    (
        causes.NodeUnknown(("worker-0",), ("n1",), "team", ("demo-worker-0",)),
        (
            "waiting for worker-0 to go, long overdue; this operator may not ask whether its node n1 is ready, so if "
            "it is lost: kubectl -n team delete pod --force --grace-period=0 demo-worker-0"
        ),
    ),
    (causes.RankFailed(("worker-1",), 1), "failed: worker-1 ended with exit code 1; its log has the reason"),
    (causes.RankFailed(("worker-0",), 1, error=ERROR), f"worker-0 failed: {ERROR} (exit code 1)"),
    (
        causes.RankFailed(("worker-0", "worker-1"), 1, error=ERROR),
        f"worker-0 or worker-1 failed: {ERROR} (exit code 1)",
    ),
    (
        causes.RankFailed(("worker-0",), 1, last="cannot read data.csv"),
        "failed: worker-0 ended with exit code 1, its last line: cannot read data.csv",
    ),
    (
        causes.RankFailed(("worker-1",), 137, memory=True, error=ERROR),
        "failed: worker-1 ran out of memory and was killed (exit code 137); raise its memory limit or lower the batch "
        "size",
    ),
    (causes.BackoffLimitExceeded(("worker-0",), 1, limit=0, error=ERROR), f"worker-0 failed: {ERROR} (exit code 1)"),
    (
        causes.BackoffLimitExceeded(("worker-0",), 1, limit=2, error=ERROR),
        f"worker-0 failed: {ERROR} (exit code 1); after 2 restarts, as many as runPolicy.backoffLimit allows",
    ),
    (
        causes.RankRestarted(("worker-0",), 1, restart=1, limit=3, delay=10, error=ERROR),
        f"restart 1 of 3 in 10 s: worker-0 failed: {ERROR} (exit code 1)",
    ),
    (
        causes.ServerEnded(("ps-0",), 1, server=True, error=ERROR),
        f"ps-0 failed: {ERROR} (exit code 1) before the workers were done, and what they learned since is lost",
    ),
    (
        causes.ServerEnded(("ps-0",), 1, server=True, error=ERROR, untrained=True),
        f"ps-0 failed: {ERROR} (exit code 1) before the workers were done",
    ),
    (
        causes.RankFailed(("worker-0", "worker-1"), 137),
        "failed: worker-0 or worker-1 was killed by signal 9 (exit code 137); signal 9 is often the machine's memory",
    ),
    (
        causes.RankFailed(("worker-1",), 137, memory=True),
        (
            "failed: worker-1 ran out of memory and was killed (exit code 137); raise its memory limit or lower "
            "the batch size"
        ),
    ),
    (
        causes.RankFailed(("worker-1",), 247),
        (
            "failed: worker-1 saw its training process killed by signal 9 (exit code 247); signal 9 is often the "
            "machine's memory"
        ),
    ),
    (
        causes.RankFailed(("worker-1",), 250),
        "failed: worker-1 saw its training process killed by signal 6 (exit code 250)",
    ),
    (causes.RankFailed(("worker-1",), 139), "failed: worker-1 was killed by signal 11 (exit code 139)"),
    (causes.RankFailed(("worker-1",), -1), "failed: worker-1 failed without an exit code; its log has the reason"),
    (
        causes.ServerEnded(("ps-0",), 0, server=True),
        (
            "failed: ps-0 ended with exit code 0 before the workers were done, and what they learned since is "
            "lost; its log has the reason"
        ),
    ),
    (
        causes.RankRestarted(("worker-1",), 1, restart=2, limit=3, delay=20),
        "restart 2 of 3 in 20 s: worker-1 ended with exit code 1",
    ),
    (
        causes.RankRestarted(("worker-1",), 1, restart=2, delay=20),
        "restart 2 in 20 s: worker-1 ended with exit code 1",
    ),
    (
        causes.BackoffLimitExceeded(("worker-1",), 1, limit=1),
        (
            "failed after 1 restart, as many as runPolicy.backoffLimit allows: worker-1 ended with exit code 1; "
            "its log has the reason"
        ),
    ),
    (
        causes.RankFailed(("worker-1",), 127, message='exec: "trian": executable file not found in $PATH (/bin).'),
        'failed: worker-1 was not started: exec: "trian": executable file not found in $PATH (/bin)',
    ),
    (
        causes.ServerEnded(("ps-0",), 127, server=True, message="no such file"),
        "failed: ps-0 was not started: no such file",
    ),
    (
        causes.RankRestarted(("worker-1",), 127, restart=1, delay=10, message="no such file"),
        "restart 1 in 10 s: worker-1 was not started: no such file",
    ),
    (
        causes.PodsDeleted(("worker-0", "worker-1")),
        "starting all ranks again: worker-0 and worker-1 were deleted; not counted as a restart",
    ),
    (
        causes.WaitingForScheduler(2, 4, "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."),
        "waiting for room for 2 of 4 pods: no node has enough GPUs free",
    ),
    (
        causes.WaitingForScheduler(1, 4, "0/1 nodes are available: 1 Insufficient cpu.", placed=3),
        "waiting for room for 1 of 4 pods, while 3 others hold room: no node has enough CPUs free",
    ),
    (
        causes.SuspendedIdle(3600),
        "suspended by paddock.dev/idle, as its GPUs did nothing for 60m; holds no pods, and goes on when resumed",
    ),
    (causes.WaitingForQueue("team"), "waits for Kueue's queue team to admit it, and holds no devices"),
    (causes.Completed(1), "completed: 1 rank succeeded"),
    (
        causes.Completed(2, failed=("ps-0", "ps-1"), code=3, last="no room"),
        "completed, but ps-0 ended with exit code 3, its last line: no room; ps-1 failed too",
    ),
    (
        causes.CompletedServersKept(1, ("ps-0",), "Never", failed=("ps-1",), code=1),
        "completed, but ps-1 ended with exit code 1; its log has the reason; "
        "cleanPodPolicy Never keeps ps-0, which still runs; delete the job to end it",
    ),
    (
        causes.PodsDeleted(tuple(f"worker-{number}" for number in range(9))),
        ("starting all ranks again: worker-0, worker-1, worker-2 and 6 more were deleted; not counted as a restart"),
    ),
]


@pytest.mark.parametrize(("kind", "sentence"), SENTENCES, ids=[sentence[:40] for _, sentence in SENTENCES])
def test_sentences(kind: Cause, sentence: str) -> None:
    assert explain(kind.record(NOW)) == sentence


PODS = build_pods(build_job(), phase=PodPhase.PENDING)


def waiting(reason: str, message: str = "") -> Any:
    return lambda pod: replace(pod, waiting=(reason, message))


def unready(pod: Pod) -> Pod:
    return replace(pod, phase=PodPhase.STARTING, unready="paddle")


def told(pods: tuple[Pod, ...], *, has_config_map: bool = False) -> Cause | None:
    return plan_waiting_cause(pods, 2, "demo", has_config_map=has_config_map)


def test_the_earliest_step_of_a_pods_start_is_reported_first() -> None:
    """Each step removes the cause of the one before."""
    unplaced = with_pod(PODS, "worker-1", waiting("Unschedulable", "no room"))
    pods = with_pod(
        unplaced, "worker-0", waiting("EnvironmentBuilding", "paddle-ps: installing, 61 %, 12 MB/s, 9 s left")
    )
    assert told(pods[:1]) == causes.WaitingForPods(1, 2)
    assert told(pods) == causes.WaitingForScheduler(1, 2, "no room", placed=1)
    pods = with_pod(pods, "worker-1", waiting("ErrImagePull", "no such image"))
    assert told(pods) == causes.ImageUnavailable("worker-1", "no such image")
    pods = with_pod(pods, "worker-1", waiting("EnvironmentFailed", "environment x: no wheel"))
    assert told(pods) == causes.EnvironmentFailed("worker-1", "environment x: no wheel")
    pods = with_pod(pods, "worker-1", waiting("ContainerCreating"))
    assert told(pods) == causes.BuildingEnvironment(1, 2, "paddle-ps: installing")
    pods = with_pod(pods, "worker-0", lambda pod: replace(pod, waiting=None, address=""))
    assert told(pods) == causes.WaitingForAddresses(1, 2)
    pods = with_pod(pods, "worker-0", lambda pod: replace(pod, address="127.0.0.9"))
    assert told(pods) == causes.WaitingForConfigMap("demo")
    missing_secret = with_pod(pods, "worker-1", waiting("CreateContainerConfigError", 'secret "token" not found'))
    assert told(missing_secret, has_config_map=True) == causes.ConfigurationWrong(
        "worker-1", 'secret "token" not found'
    )
    not_yet = with_pod(pods, "worker-1", waiting("CreateContainerConfigError", 'configmap "demo" not found'))
    assert told(not_yet, has_config_map=True) == causes.PodsStarting(2, 2)
    probed = with_pod(build_pods(build_job()), "worker-1", unready)
    assert told(probed, has_config_map=True) == causes.PodsStarting(1, 2, "worker-1", "paddle")
    image_comes = with_pod(probed, "worker-0", lambda pod: replace(pod, phase=PodPhase.STARTING))
    assert told(image_comes, has_config_map=True) == causes.PodsStarting(2, 2)
    odd = with_pod(pods, "worker-1", waiting("PostStartHookError", "odd"))
    assert told(odd, has_config_map=True) == causes.ContainerWaiting("worker-1", "PostStartHookError", "odd")
    assert told(build_pods(build_job()), has_config_map=True) is None


def test_progress_of_an_environment_writes_no_status() -> None:
    for progress in ("61 %", "62%", "99.5 % of 193 MB"):
        pods = with_pod(PODS, "worker-0", waiting("EnvironmentBuilding", f"paddle-ps: installing, {progress}"))
        assert told(pods) == causes.BuildingEnvironment(1, 2, "paddle-ps: installing")
