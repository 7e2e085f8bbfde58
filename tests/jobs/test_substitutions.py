"""A job without a resource that the machine lacks, and with another command where the written one cannot work."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jobs.samples import read_any, read_manifest, read_sample, with_value
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.model import Job, Rank, Settings
from paddock.jobs.objects import pods
from paddock.jobs.substitutions import (
    WITHOUT_ANNOTATION,
    Removal,
    read_original,
    substitute,
    without,
    write_original,
)
from paddock.kube.meta import annotations_of

GPU = "nvidia.com/gpu"
LIMITS = "spec.worker.template.spec.containers[0].resources.limits"


def test_the_resource_goes_from_every_template_with_a_notice_of_each() -> None:
    manifest = read_manifest("wide_and_deep_service")
    result, notices = without(manifest, GPU)
    assert notices == (Removal(LIMITS, GPU, "1"), Removal(LIMITS.replace("worker", "ps"), GPU, "1"))
    assert GPU not in json.dumps(result["spec"])
    assert "resources" not in result["spec"]["worker"]["template"]["spec"]["containers"][0]
    assert PADDLEPADDLE.read_job(result).mode == "PS"


def test_removed_amounts_are_kept_in_an_annotation() -> None:
    result, _ = without(read_manifest("resnet"), GPU)
    assert json.loads(annotations_of(result)[WITHOUT_ANNOTATION]) == {GPU: {LIMITS: "1"}}


def test_removals_of_two_resources_are_recorded_and_idempotent() -> None:
    manifest = read_manifest("resnet")
    manifest["spec"]["worker"]["template"]["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "1"}
    once, _ = without(without(manifest, GPU)[0], "cpu")
    assert set(json.loads(annotations_of(once)[WITHOUT_ANNOTATION])) == {GPU, "cpu"}
    assert without(once, GPU) == (once, ())


def test_other_amounts_stay_and_the_argument_is_not_changed() -> None:
    manifest = read_manifest("resnet")
    resources = {"limits": {GPU: 1, "cpu": "2"}, "requests": {"cpu": "1"}, "claims": []}
    manifest["spec"]["worker"]["template"]["spec"]["containers"][0]["resources"] = resources
    result, _ = without(manifest, GPU)
    left = result["spec"]["worker"]["template"]["spec"]["containers"][0]["resources"]
    assert left == {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}, "claims": []}
    assert resources["limits"] == {GPU: 1, "cpu": "2"}


def test_the_resource_is_removed_from_min_resources_too() -> None:
    manifest = read_manifest("resnet")
    manifest["spec"]["schedulingPolicy"] = {"minResources": {GPU: 2, "cpu": 1}}
    assert without(manifest, GPU)[0]["spec"]["schedulingPolicy"] == {"minResources": {"cpu": 1}}


def test_a_manifest_that_asks_for_no_such_thing_is_returned_as_it_is() -> None:
    manifest = read_manifest("wide_and_deep")
    assert without(manifest, GPU) == (manifest, ())


def test_an_init_container_and_other_kinds_with_pod_templates_are_covered() -> None:
    container = {"name": "a", "resources": {"requests": {GPU: 1}}}
    deployment = {"kind": "Deployment", "spec": {"template": {"spec": {"initContainers": [container]}}}}
    result, notices = without(deployment, GPU)
    assert [notice.path for notice in notices] == ["spec.template.spec.initContainers[0].resources.requests"]
    assert result["spec"]["template"]["spec"]["initContainers"] == [{"name": "a"}]


# The check of an installation.

KUBEFLOW_WORKER = ("spec", "paddleReplicaSpecs", "Worker")
CONTAINER = (*KUBEFLOW_WORKER, "template", "spec", "containers", 0)
CHECK = "import paddle; paddle.utils.run_check()"
LAUNCH = ["python", "-m", "paddle.distributed.launch", "run_check"]


LAPTOP, CLUSTER = Settings(substitutes=True), Settings()


def run(job: Job, settings: Settings = LAPTOP) -> tuple[Any, bool]:
    container = job.roles[0].template["spec"]["containers"][0]
    result, notice = substitute(job, container, settings)
    assert (result == container) == (notice is None)
    return [*(result.get("command") or ()), *(result.get("args") or ())], notice is not None


COMMANDS = [
    (LAUNCH, [], ["python", "-c", CHECK]),
    (["/usr/bin/python3.9"], ["-m", "paddle.distributed.launch", "run_check"], ["/usr/bin/python3.9", "-c", CHECK]),
    (["python3", "-u", "-m", "paddle.distributed.launch", "--devices=0", "run_check"], [], ["python3", "-c", CHECK]),
    (["bash", "-c", "python3 -m paddle.distributed.launch run_check"], [], ["python3", "-c", CHECK]),
    (["fleetrun", "run_check"], [], ["python", "-c", CHECK]),
    (["python", "run_check"], [], None),
    (["python", "-m", "paddle.distributed.launch", "train.py", "--run_check"], [], None),
    (["bash", "-c", "nvidia-smi; python -m paddle.distributed.launch run_check"], [], None),
    ([], [], None),
]


@pytest.mark.parametrize(("command", "args", "expected"), COMMANDS)
def test_one_pod_runs_the_check_that_one_pod_can_do(
    command: list[str], args: list[str], expected: list[str] | None
) -> None:
    manifest = with_value(read_manifest("kubeflow_run_check"), (*CONTAINER, "command"), command)
    job = read_any(with_value(manifest, (*CONTAINER, "args"), args))
    assert run(job) == ((expected, True) if expected else ([*command, *args], False))
    paths = [warning.path for warning in job.warnings]
    key = "command" if command else "args"
    worker = "spec.paddleReplicaSpecs.Worker.template.spec.containers[0]"
    assert paths == ([f"{worker}.{key}"] if expected else [])


def test_two_replicas_run_the_written_command() -> None:
    job = read_any(with_value(read_manifest("kubeflow_run_check"), (*KUBEFLOW_WORKER, "replicas"), 2))
    assert run(job) == (LAUNCH, False)
    assert job.warnings == ()


CHECKED, WRITTEN = (["python", "-c", CHECK], True), (LAUNCH, False)
WARNING = "`launch run_check` waits for a second node for ever, and this job has one pod: "


def annotated(decision: str | None) -> Job:
    manifest = read_manifest("kubeflow_run_check")
    manifest["metadata"]["annotations"] = {} if decision is None else {"paddock.dev/substitute": decision}
    return read_any(manifest)


@pytest.mark.parametrize(
    ("decision", "laptop", "cluster", "warned"),
    [
        (None, CHECKED, WRITTEN, "the local cluster runs the check that one pod can do, python -c "),
        ("true", CHECKED, CHECKED, "the check that one pod can do is run instead, python -c "),
        ("false", WRITTEN, WRITTEN, ""),
        ("no", CHECKED, WRITTEN, "the local cluster runs the check that one pod can do, python -c "),
    ],
)
def test_a_cluster_runs_what_is_written_a_laptop_what_works_and_the_job_decides_for_both(
    decision: str | None, laptop: Any, cluster: Any, warned: str
) -> None:
    job = annotated(decision)
    assert (run(job, LAPTOP), run(job, CLUSTER)) == (laptop, cluster)
    said = [each.message for each in job.warnings if each.path.endswith(".command")]
    assert len(said) == (1 if warned else 0)
    assert all(each.startswith(WARNING + warned) for each in said)


def test_another_decision_than_true_or_false_is_a_warning() -> None:
    (warning,) = (each for each in annotated("no").warnings if "annotations" in each.path)
    assert warning.path == "metadata.annotations[paddock.dev/substitute]"
    assert warning.message == 'found "no", "true" or "false" is allowed'
    assert not any("annotations" in each.path for each in annotated("true").warnings)


@pytest.mark.parametrize(("settings", "decision"), [(LAPTOP, None), (CLUSTER, "true"), (LAPTOP, "true")])
def test_a_pod_with_a_substitution_keeps_what_was_written(settings: Settings, decision: str | None) -> None:
    pod = pods.build_pod(annotated(decision), Rank("worker", 0), 0, None, settings)
    assert pod["spec"]["containers"][0]["command"] == ["python", "-c", CHECK]
    assert json.loads(pod["metadata"]["annotations"]["paddock.dev/substituted"]) == {"command": LAUNCH}


@pytest.mark.parametrize(("settings", "decision"), [(CLUSTER, None), (LAPTOP, "false"), (CLUSTER, "false")])
def test_a_pod_without_one_runs_what_was_written(settings: Settings, decision: str | None) -> None:
    pod = pods.build_pod(annotated(decision), Rank("worker", 0), 0, None, settings)
    assert pod["spec"]["containers"][0]["command"] == LAUNCH
    assert "paddock.dev/substituted" not in pod["metadata"]["annotations"]


def test_the_other_api_group_says_where_it_stands_there() -> None:
    template = read_sample("kubeflow_run_check").roles[0].template
    job = read_sample("resnet", worker={"replicas": 1, "template": template})
    assert run(job) == (["python", "-c", CHECK], True)
    warning = job.warnings[-1]
    assert (warning.path, warning.severity) == ("spec.worker.template.spec.containers[0].command", "warning")
    assert "waits for a second node for ever" in warning.message


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (write_original({"command": ["bash"], "args": ["print('打印')\nprint(2)"]}), "bash print('打印')\nprint(2)"),
        (write_original({"args": ["train.py", "--lr", "0.1"]}), "train.py --lr 0.1"),
        ("", ""),
        ("written by hand", "written by hand"),
        ('["bash"]', '["bash"]'),
        ('{"command": 5}', '{"command": 5}'),
        ('{"command": [5]}', '{"command": [5]}'),
    ],
)
def test_the_command_as_written_is_shown_in_its_own_letters_and_lines(value: str, shown: str) -> None:
    assert read_original(value) == shown
