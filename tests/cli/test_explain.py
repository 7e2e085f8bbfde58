"""`paddock explain`: the recorded cause as it is, and what the scheduler would say of a job that is not there yet."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from history.test_logs import write_log
from jobs.samples import read_manifest, read_text
from paddock.app.history import History
from paddock.app.home import Home
from paddock.app.submitted.lacking import plan_lacking
from paddock.app.why_not import plan_datasets, plan_hold, plan_images, plan_why_not, without_claims
from paddock.cli.submit.why_not import Answer, build_answer, build_document
from paddock.cli.verbs.explain import build_explanation, explain_silence
from paddock.environments.defaults import build_defaults
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.causes import CAUSES
from paddock.jobs.model import CauseRecord, Mount, Phase, Status
from paddock.jobs.sentences.explain import explain
from paddock.kube.meta import Key, Manifest
from paddock.kube.times import format_time
from paddock.node.runtime.machine import Machine, build_node
from paddock.preflight import Document
from paddock.submission.documents import place_document
from paddock.views.flags import LOCAL, Flags
from paddock.views.steps import build_steps
from paddock.views.stored import read_stored
from support.datasets import build_dataset

NOW = 1_700_000_000.0
GPU_JOB = read_text("wide_and_deep").replace(
    "demo-wide-and-deep:v1",
    "demo-wide-and-deep:v1\n            resources: {limits: {nvidia.com/gpu: 1}}\n"
    "        nodeSelector: {accelerator: nvidia-tesla-p100}",
)


def node(**labels: str) -> Manifest:
    machine = Machine("laptop", Fraction(8), 16 * 2**30)
    return build_node(machine, labels, NOW, sandbox="none")


REMOTE = Flags(" --context prod")


def job_of(text: str) -> Any:
    from paddock.manifests.documents import read_documents

    manifest = read_documents(text)[0].manifest
    manifest["metadata"] |= {"namespace": "default", "uid": ""}
    return PADDLEPADDLE.read_job(manifest)


def type_steps(cause: CauseRecord, name: str, namespace: str, flags: Flags = LOCAL) -> list[str]:
    return [str(flags.fill(step)) for step in build_steps(cause, name, namespace, local=flags.local)]


def test_both_facts_are_in_one_sentence() -> None:
    cause = plan_why_not(job_of(GPU_JOB), [], [node()], [], NOW)
    assert cause is not None
    (line, *steps) = build_answer(Answer(job_of(GPU_JOB), waits=[cause]), "001-4.yaml", "en")
    assert line.startswith("PaddleJob default/wide-ande-deep would wait: waiting for room for 4 of 4 pods: ")
    assert "1 has not enough GPUs free (needs 4; none is free)" in line
    assert "1 has not the label accelerator=nvidia-tesla-p100" in line
    assert steps == [
        "next: KUBECONFIG=$(paddock kubeconfig) kubectl label nodes --all accelerator=nvidia-tesla-p100",
        "then: paddock run 001-4.yaml --without nvidia.com/gpu",
    ]


def test_json_says_of_each_job_of_a_file_whether_it_would_start() -> None:
    cause = plan_why_not(job_of(GPU_JOB), [], [node()], [], NOW)
    assert cause is not None
    answers = [
        Answer(job_of(GPU_JOB), waits=[cause]),
        Answer(job_of(GPU_JOB), refused=["why"]),
        Answer(job_of(GPU_JOB)),
    ]
    document = build_document(answers, [], ["line"], "en")
    assert [each["starts"] for each in document["jobs"]] == [False, False, True] and not document["starts"]
    assert document["jobs"][0]["waits"][0] == {
        "reason": "WaitingForScheduler", "args": dict(cause.args), "since": "2023-11-14T22:13:20Z",
        "sentence": explain(cause),
    }  # fmt: skip
    assert document["jobs"][1]["refused"] == ["why"] and document["text"] == ["line"]
    assert build_document(answers[2:], [], [], "en")["starts"] and not build_document([], [], [], "en")["starts"]


def test_devices_that_are_lacking_are_left_out_by_one_command() -> None:
    """Two commands would each wait for the other's device."""
    message = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu (needs 2, 0 of 0 free), 1 Insufficient rdma/hca"
    cause = CauseRecord("WaitingForScheduler", {"pods": 2, "of": 2, "message": message}, NOW)
    lines = build_answer(Answer(job_of(GPU_JOB), waits=[cause]), "job.yaml", "en")
    assert lines[1:] == ["next: paddock run job.yaml --without nvidia.com/gpu --without rdma/hca"]
    assert type_steps(cause, "wide", "team")[-1] == (
        "paddock clone wide -n team --without nvidia.com/gpu --without rdma/hca"
    )


def test_a_job_that_waits_for_a_claim_is_not_helped_by_asking_for_fewer_devices() -> None:
    message = 'persistentvolumeclaim "data" not found; 0/1 nodes: 1 Insufficient nvidia.com/gpu (needs 4, 0 of 0 free)'
    assert type_steps(CauseRecord("WaitingForScheduler", {"message": message}, NOW), "wide", "default") == []


def test_a_job_that_its_manifest_suspends_would_not_start() -> None:
    """As one for Kueue: nothing else takes it back here."""
    job = job_of(read_text("wide_and_deep").replace("spec:", "spec:\n  runPolicy: {suspend: true}", 1))
    assert build_answer(Answer(job, waits=plan_hold(job, NOW)), "job.yaml", "en") == [
        "PaddleJob default/wide-ande-deep would wait: suspended, holds no pods; set runPolicy.suspend to false to go on"
    ]
    assert plan_hold(job_of(read_text("wide_and_deep")), NOW) == []


def test_the_same_in_chinese() -> None:
    cause = plan_why_not(job_of(GPU_JOB), [], [node()], [], NOW)
    assert cause is not None
    line = build_answer(Answer(job_of(GPU_JOB), waits=[cause]), "001-4.yaml", "zh")[0]
    assert "1 个节点没有足够的空闲 GPU（需要 4，目前没有空闲）" in line
    assert "个节点没有标签 accelerator=nvidia-tesla-p100" in line


def test_a_job_that_fits_would_start() -> None:
    job = job_of(read_text("wide_and_deep"))
    assert plan_why_not(job, [], [node()], [], NOW) is None
    assert build_answer(Answer(job), "f.yaml", "en") == [
        "PaddleJob default/wide-ande-deep would start now: all of its 4 pods fit"
    ]


@pytest.mark.parametrize(
    ("created", "said"),
    [
        (NOW - 3600, "reason NoReplicas, recorded 3s ago (status.cause of the job); the job has waited for 60m"),
        (NOW - 3, "reason NoReplicas, recorded 3s ago (status.cause of the job)"),
    ],
)
def test_a_cause_that_is_younger_than_the_wait_says_how_long_the_job_has_waited(created: float, said: str) -> None:
    manifest = read_manifest("wide_and_deep")
    manifest["metadata"]["creationTimestamp"] = format_time(created)
    status = Status(phase=Phase.PENDING, cause=CauseRecord("NoReplicas", {}, NOW - 3))
    assert said in build_explanation(manifest, status, NOW, "en")


@pytest.mark.parametrize(
    ("priority", "flags", "said"),
    [("system-node-critical", LOCAL, True), ("", LOCAL, False), ("system-node-critical", REMOTE, False)],
)
def test_a_job_with_a_priority_that_waits_on_a_laptop_is_told_that_nobody_makes_room(
    priority: str, flags: Flags, said: bool
) -> None:
    cause = CauseRecord("WaitingForScheduler", {"message": "0/1 nodes are available: 1 Insufficient cpu"}, NOW)
    manifest = read_manifest("wide_and_deep")
    for role in ("worker", "ps"):
        manifest["spec"][role]["template"]["spec"]["priorityClassName"] = priority
    lines = build_explanation(manifest, Status(phase=Phase.PENDING, cause=cause), NOW, "en", flags)
    assert ("ends jobs of a lower one where that makes room" in "\n".join(lines)) is said


def test_the_first_error_is_advised_where_torchrun_tells_only_that_a_process_failed() -> None:
    error = "ChildFailedError: exitcode: 1, rank: 1 (local_rank: 1)"
    assert type_steps(CauseRecord("RankFailed", {"ranks": ["master-0"], "error": error}, NOW), "digits", "default") == [
        "paddock logs digits --first-error"
    ]


def managed_elsewhere() -> Manifest:
    manifest = read_manifest("wide_and_deep")
    manifest["spec"]["runPolicy"] = {"managedBy": "kueue.x-k8s.io/multikueue"}
    return manifest


def test_of_a_running_job_it_says_what_would_start_again() -> None:
    said = "a rank that fails or is lost starts again alone (paddock.dev/restart-scope: Pod)"
    manifest = read_manifest("pytorch_mnist")
    manifest["metadata"]["annotations"] = {"paddock.dev/restart-scope": "Pod"}
    lines = build_explanation(manifest, Status(phase=Phase.RUNNING), NOW, "en")
    assert lines[1:3] == ["running: all of its pods run", said]
    assert said not in build_explanation(manifest, Status(phase=Phase.COMPLETED), NOW, "en")


def test_a_cause_that_another_manager_has_copied_is_told_with_the_manager_and_no_step() -> None:
    cause = CauseRecord("RankFailed", {"ranks": ["worker-1"], "code": 3}, NOW - 60)
    lines = build_explanation(managed_elsewhere(), Status(phase=Phase.FAILED, cause=cause), NOW, "en")
    assert lines[1:] == [
        explain(cause),
        "reason RankFailed, recorded 60s ago (status.cause of the job)",
        "managed by kueue.x-k8s.io/multikueue, not by Paddock",
    ]


def test_a_manifest_that_no_operator_has_read_is_read_by_the_command() -> None:
    manifest = read_manifest("wide_and_deep")
    manifest["spec"]["worker"]["replicas"] = 0
    status = read_stored(PADDLEPADDLE.resource, manifest).shown_status
    assert build_explanation(manifest, status, NOW, "en")[:4] == [
        "PaddleJob wide-ande-deep: Invalid",
        "the manifest is wrong; edit the job:",
        "  spec.worker.replicas: found 0, a whole number from 1 to 10000 is allowed",
        "read by this command: no operator has looked at the job yet",
    ]


@pytest.mark.parametrize("reason", CAUSES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_cause_can_be_explained(reason: str, language: str) -> None:
    """Also one of another version, that lost its numbers."""
    lines = build_explanation(read_manifest("resnet"), Status(cause=CauseRecord(reason, {}, 0.0)), NOW, language)
    assert len(lines) >= 3


def test_next_steps_name_the_namespace() -> None:
    cause = CauseRecord("CompletedServersKept", {}, NOW)
    assert type_steps(cause, "wide", "team") == ["paddock delete wide -n team"]


def test_the_next_step_of_a_job_on_a_lost_node_is_the_node() -> None:
    cause = CauseRecord("NodeSilent", {"ranks": ["worker-1"], "nodes": ["n2", "n1"], "state": "silent"}, NOW)
    assert type_steps(cause, "wide", "team") == ["KUBECONFIG=$(paddock kubeconfig) kubectl describe node n1"]


NODES = {"ranks": ["worker-1"], "nodes": ["n1"], "namespace": "team", "pods": ["wide-worker-1"], "seconds": 60}
KUBECTL = "KUBECONFIG=$(paddock kubeconfig) kubectl"
STEPS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "room for a PodGroup": ("WaitingForPodGroup", {"pods": 2, "of": 2, "name": "wide"}, ["paddock queue -n team"]),
    "room for all ranks": ("RunsSmaller", {"role": "worker", "size": 2}, ["paddock queue -n team"]),
    "a node that may be gone": ("WaitingForNode", NODES, [f"{KUBECTL} get nodes"]),
    "a node that is not ready": ("NodeNotReady", NODES, [f"{KUBECTL} describe node n1"]),
    "a node that is unknown": ("NodeUnknown", NODES, [f"{KUBECTL} describe node n1"]),
    "nodes that were lost": ("LostTooOften", {"limit": 5, "last": "PodsLost", "ranks": []}, [f"{KUBECTL} get nodes"]),
    "a container": ("ContainerWaiting", {"rank": "worker-0", "why": "Wait"}, ["paddock describe wide -n team"]),
    "a container that was ended": (
        "CompletedWithoutContainers", {"ranks": ["worker-0"], "containers": ["metrics"]},
        ["paddock logs wide -n team --role worker --rank 0 --container metrics"],
    ),
    "pods that start at once": ("PodsStarting", {"starting": 1, "of": 1}, []),
}  # fmt: skip


@pytest.mark.parametrize("awaited", STEPS)
def test_a_job_that_waits_has_a_next_command_where_something_can_be_done(awaited: str) -> None:
    reason, args, expected = STEPS[awaited]
    assert type_steps(CauseRecord(reason, args, NOW), "wide", "team") == expected


def test_pods_that_start_on_a_cluster_tell_in_events_what_they_wait_for() -> None:
    cause = CauseRecord("PodsStarting", {"starting": 1, "of": 1}, NOW)
    flags = Flags(" --context prod", kubectl="kubectl --context prod")
    (step,) = type_steps(cause, "wide", "team", flags)
    assert step == "kubectl --context prod -n team describe pods -l paddock.dev/job=wide"


@pytest.mark.parametrize("reason", ["WaitingForScheduler", "WaitingForPodGroup", "ConfigurationWrong"])
def test_of_a_job_that_is_not_there_yet_nothing_is_typed(reason: str) -> None:
    assert build_steps(CauseRecord(reason, {"rank": "worker-0"}, NOW), "wide", "team", "job.yaml") == []


@pytest.mark.parametrize(("name", "value"), [("wide", "wide"), ("x" * 100, "x" * 52 + "-09ecb6ebc8")])
def test_pods_of_a_job_are_asked_for_by_the_label_that_they_have(name: str, value: str) -> None:
    cause = CauseRecord("ImageUnavailable", {}, NOW)
    flags = Flags(" --context prod", kubectl="kubectl --context prod")
    assert type_steps(cause, name, "default", flags) == [
        f"kubectl --context prod describe pods -l paddock.dev/job={value}"
    ]


def test_an_image_that_stands_for_no_environment_is_waited_for_and_the_step_makes_one() -> None:
    job = job_of(read_text("wide_and_deep").replace("demo-wide-and-deep:v1", "of-our-team:v1"))
    (cause,) = plan_images(job, build_defaults(), NOW)
    line, step = build_answer(Answer(job, waits=[cause]), "f.yaml", "en")
    image = "registry.baidubce.com/paddle-operator/of-our-team:v1"
    assert f'would wait: waiting for the image of ps-0: image "{image}" stands for no environment' in line
    assert step == f"next: paddock env create NAME -r requirements.txt --image '{image}'"
    assert plan_images(job_of(read_text("wide_and_deep")), build_defaults(), NOW) == []


def test_a_device_that_is_lacking_here_is_what_submit_waits_for_and_run_leaves_out() -> None:
    manifest = read_manifest("wide_and_deep")
    manifest["metadata"] |= {"namespace": "default", "uid": ""}
    container = manifest["spec"]["worker"]["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": {"nvidia.com/gpu": 1}}
    each = place_document("f.yaml", Document(manifest), "default")
    assert each.job is not None
    job = each.job
    cause, lacking = plan_why_not(job, [], [node()], [], NOW), plan_lacking(each, [node()], NOW)
    assert cause is not None
    (line,) = build_answer(Answer(job, waits=[cause], lacking=lacking), "f.yaml", "en")
    assert (
        ": paddock submit would wait: asks for 2 GPUs (2 × 1); this cluster has none, so it cannot start here" in line
    )
    assert line.endswith("; paddock run would train on the CPU (--without nvidia.com/gpu)")
    manifest["spec"]["worker"]["template"]["spec"]["nodeSelector"] = {"accelerator": "p100"}
    selective = place_document("f.yaml", Document(manifest), "default")
    assert plan_lacking(selective, [node()], NOW) == (), "it would wait without the device as well"


def claim(name: str = "data", namespace: str = "default", phase: str = "Bound") -> Manifest:
    annotations = {"paddock.dev/directory": "/data"}
    return {"metadata": {"name": name, "namespace": namespace, "annotations": annotations}, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("claims", "brought", "waits"),
    [
        ([], (), True),
        ([claim("other")], (), True),
        ([claim(namespace="team")], (), True),
        ([claim(phase="Pending")], (), True),
        ([claim()], (), False),
        ([], [Key("default", "data")], False),
        ([], None, False),
    ],
)
def test_a_job_waits_for_a_claim_that_is_not_there(
    claims: list[Manifest], brought: list[Key] | None, waits: bool
) -> None:
    """`brought`: in the same file; None: whatever is there, as nobody may look."""
    job = job_of(read_text("wide_and_deep"))
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    template = job.roles[0].template
    mounting = {**template, "spec": {**template["spec"], "volumes": volumes}}
    job = replace(job, roles=(replace(job.roles[0], template=mounting), *job.roles[1:]))
    cause = plan_why_not(without_claims(job, brought), [], [node()], [], NOW, claims)
    assert (cause is not None) is waits
    assert cause is None or explain(cause).startswith("waiting for the claim data")


@pytest.mark.parametrize(
    ("datasets", "why", "step"),
    [
        ([], "waiting for dataset words, which namespace default lacks", "paddock dataset create words --from URL"),
        ([build_dataset("words")], "waiting for dataset words", "paddock dataset list"),
        ([build_dataset("words") | {"status": {"phase": "Ready"}}], "", ""),
        (
            [build_dataset("words") | {"status": {"phase": "Failed", "message": "the disk is full"}}],
            "waiting: dataset words failed: the disk is full",
            "paddock dataset describe words",
        ),
    ],
)
def test_a_job_waits_for_a_dataset_that_is_not_ready(datasets: list[Manifest], why: str, step: str) -> None:
    job = replace(job_of(read_text("wide_and_deep")), mounts=(Mount("words", "/data"),))
    causes = plan_datasets(job, datasets, NOW)
    lines = build_answer(Answer(job, waits=causes), "f.yaml", "en")
    assert (why in lines[0]) if why else not causes
    assert lines[1:] == ([f"next: {step}"] if step else [])
    assert plan_why_not(without_claims(job, None), [], [node()], [], NOW) is None, "its claim is not waited for twice"


def test_every_reason_to_refuse_has_its_sentence() -> None:
    job = job_of(read_text("wide_and_deep"))
    assert build_answer(Answer(job, refused=["one", "two"]), "f.yaml", "en") == [
        "PaddleJob default/wide-ande-deep would be refused: one",
        "PaddleJob default/wide-ande-deep would be refused: two",
    ]


@pytest.mark.parametrize(
    ("phase", "attempt", "after", "said"),
    [
        ("Running", 0, 300.0, "no rank has printed for 5m: `paddock stacks demo` shows where each is, "
         "`paddock doctor demo` whether that is long for it"),
        ("Running", 0, 60.0, None),
        ("Running", 1, 300.0, None),
        ("Completed", 0, 300.0, None),
    ],
    ids=["silent", "one has printed", "nothing of this attempt", "ended"],
)  # fmt: skip
def test_a_job_that_prints_nothing_is_told_where_to_look(
    phase: str, attempt: int, after: float, said: str | None, tmp_path: Path
) -> None:
    home = Home(tmp_path, tmp_path)
    for index, earlier in ((0, 0.0), (1, 500.0)):
        write_log(home.node, f"demo-worker-{index}", str(index), job="one", when=NOW - earlier)
    manifest = read_manifest("wide_and_deep")
    manifest["metadata"] |= {"name": "demo", "namespace": "default", "uid": "one"}
    manifest["status"] = {"phase": phase, "attempt": attempt}
    job = read_stored(PADDLEPADDLE.resource, manifest)
    place: Any = SimpleNamespace(kept=History(home), flags=LOCAL)
    found = explain_silence(place, job, NOW + after)
    assert (None if found is None else str(found)) == said
    assert explain_silence(cast("Any", SimpleNamespace(kept=None, flags=LOCAL)), job, NOW + after) is None
