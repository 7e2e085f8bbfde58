"""Which sizes a manifest accepts: the annotation of our own, and elasticPolicy of Kubeflow's PaddleJob."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from paddock.jobs.apis.last_valid import encode_spec, with_last_valid_spec
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Elasticity, Job
from paddock.words.problems import InvalidJob

TEMPLATE = {"spec": {"containers": [{"name": "paddle", "image": "paddle:3", "command": ["python", "train.py"]}]}}
NOTHING: Mapping[str, Any] = {}
TORCH = {"spec": {"containers": [{"name": "pytorch", "image": "torch:2", "command": ["python", "train.py"]}]}}


def read(group: str, kind: str, spec: dict[str, Any], sizes: str | None = None) -> Job:
    annotations = {} if sizes is None else {"paddock.dev/elastic": sizes}
    api = next(each for each in KINDS.values() if (each.resource.group, each.resource.kind) == (group, kind))
    manifest = {
        "apiVersion": f"{group}/v1",
        "kind": kind,
        "metadata": {"name": "demo", "namespace": "team", "uid": "u", "annotations": annotations},
        "spec": spec,
    }
    return api.read_job(manifest)


def read_paddle(sizes: str | None, replicas: int = 3, worker: Mapping[str, Any] = NOTHING, **fields: Any) -> Job:
    spec = {"worker": {"replicas": replicas, "template": TEMPLATE, **worker}, **fields}
    return read("batch.paddlepaddle.org", "PaddleJob", spec, sizes)


def read_kubeflow(policy: dict[str, Any], replicas: int = 3) -> Job:
    worker = {"Worker": {"replicas": replicas, "template": TEMPLATE}}
    return read("kubeflow.org", "PaddleJob", {"paddleReplicaSpecs": worker, "elasticPolicy": policy})


def test_the_annotation_names_the_least_and_the_most() -> None:
    assert read_paddle("1-4").elasticity == Elasticity("worker", 1, 4)
    assert read_paddle(" 2 - 3 ").elasticity == Elasticity("worker", 2, 3)
    assert read_paddle(None).elasticity is None


@pytest.mark.parametrize("sizes", ["", "4-1", "0-3", "3", "a-b", "1-", "-1-3", "1-999999"])
def test_sizes_that_cannot_be_are_refused(sizes: str) -> None:
    with pytest.raises(InvalidJob) as refused:
        read_paddle(sizes)
    assert "metadata.annotations" in str(refused.value)
    assert "the least and the most workers, such as 1-4" in str(refused.value)


@pytest.mark.parametrize(("sizes", "replicas"), [("1-2", 3), ("2-4", 1)])
def test_replicas_are_one_of_the_sizes(sizes: str, replicas: int) -> None:
    with pytest.raises(InvalidJob, match=f"leaves out the {replicas} replicas of worker"):
        read_paddle(sizes, replicas)


@pytest.mark.parametrize(
    ("policy", "bounds"),
    [
        ({"minReplicas": 1, "maxReplicas": 4}, (1, 4)),
        ({"minReplicas": 2}, (2, 3)),
        ({"maxReplicas": 5}, (3, 5)),
        ({"minReplicas": 0, "maxReplicas": 3}, (1, 3)),
        ({"minReplicas": 4, "maxReplicas": 5}, (3, 5)),
        ({"minReplicas": 1, "maxReplicas": 2}, (1, 3)),
        ({}, None),
    ],
)
def test_the_policy_of_kubeflow_is_widened_to_its_replicas(
    policy: dict[str, Any], bounds: tuple[int, int] | None
) -> None:
    assert read_kubeflow(policy).elasticity == (None if bounds is None else Elasticity("worker", *bounds))


@pytest.mark.parametrize(
    ("job", "path", "said"),
    [
        (lambda: read_kubeflow({"minReplicas": 1, "maxReplicas": 4}), "spec.elasticPolicy", "from 1 to 4"),
        (lambda: read_kubeflow({"maxReplicas": 5}), "spec.elasticPolicy", "from 3 to 5"),
        (lambda: read_paddle(None, worker={"limits": 4}), "spec.worker.limits", "from 3 to 4"),
        (lambda: read_paddle(None, worker={"requests": 1, "limits": 4}), "spec.worker.limits", "from 1 to 4"),
        (lambda: read_paddle(None, worker={"requests": 2}, elastic=1), "spec.elastic", "from 2 to 3"),
    ],
)
def test_fields_that_nothing_read_before_say_what_they_do(job: Callable[[], Job], path: str, said: str) -> None:
    (told,) = [problem for problem in job().warnings if problem.path == path]
    assert f"lets the workers train with any number {said}" in told.message
    assert "the script needs a checkpoint" in told.message
    assert "minReplicas 0" not in told.message


def test_no_replicas_at_least_are_taken_as_one_and_it_is_said() -> None:
    (told,) = read_kubeflow({"minReplicas": 0, "maxReplicas": 3}).warnings
    assert "any number from 1 to 3" in told.message
    assert "minReplicas 0 is taken as 1" in told.message


def test_sizes_that_change_nothing_and_the_annotation_need_no_warning() -> None:
    jobs = (read_kubeflow({"minReplicas": 3, "maxReplicas": 3}), read_kubeflow({}), read_paddle("1-4"))
    assert [job.warnings for job in jobs] == [()] * 3


@pytest.mark.parametrize("policy", [{"minReplicas": -1, "maxReplicas": 3}, {"minReplicas": 1, "maxReplicas": "two"}])
def test_a_bound_that_is_refused_has_no_sizes_to_tell(policy: dict[str, Any]) -> None:
    with pytest.raises(InvalidJob) as caught:
        read_kubeflow(policy)
    assert [problem.severity for problem in caught.value.problems] == ["error"]


def test_a_policy_with_more_at_least_than_at_most_is_refused() -> None:
    with pytest.raises(InvalidJob, match="at most maxReplicas, 2"):
        read_kubeflow({"minReplicas": 3, "maxReplicas": 2})


def test_beside_the_policy_of_a_pytorchjob_the_annotation_does_nothing_and_says_so() -> None:
    worker = {"Worker": {"replicas": 2, "template": TORCH}}
    spec = {"pytorchReplicaSpecs": worker, "elasticPolicy": {"minReplicas": 1, "maxReplicas": 3}}
    job = read("kubeflow.org", "PyTorchJob", spec, "1-3")
    assert job.elasticity is None
    assert any("torchrun changes the number of ranks itself" in problem.message for problem in job.warnings)


@pytest.mark.parametrize(
    ("fields", "worker", "bounds"),
    [
        ({"elastic": 1}, {}, (1, 3)),
        ({"elastic": 0}, {}, (1, 3)),
        ({"elastic": 1}, {"requests": 2}, (2, 3)),
        ({"elastic": 1}, {"requests": 2, "limits": 4}, (2, 4)),
        ({}, {"requests": 1, "limits": 4}, (1, 4)),
        ({}, {"requests": 1}, None),
        ({}, {"requests": 1, "limits": 0}, None),
        ({}, {"limits": 4}, (3, 4)),
        ({}, {"limits": 3}, None),
        ({}, {"requests": 0, "limits": 3}, (1, 3)),
        ({"elastic": 1}, {"requests": 0}, (1, 3)),
        ({"elastic": 1}, {"requests": 3, "limits": 3}, None),
    ],
)
def test_elastic_of_paddle_operator_and_its_sizes_are_read(
    fields: dict[str, Any], worker: dict[str, Any], bounds: tuple[int, int] | None
) -> None:
    job = read_paddle(None, worker=worker, **fields)
    assert job.elasticity == (None if bounds is None else Elasticity("worker", *bounds))
    told = any("any number from 1 to their replicas" in problem.message for problem in job.warnings)
    assert told == (bool(fields) and not worker)


def test_more_at_least_than_at_most_is_refused_there_too_and_the_annotation_comes_first() -> None:
    with pytest.raises(InvalidJob, match=r"spec\.worker\.requests: found 4, a whole number of at most limits, 2"):
        read_paddle(None, worker={"requests": 4, "limits": 2}, elastic=1)
    assert read_paddle("1-5", worker={"requests": 2, "limits": 4}, elastic=1).elasticity == Elasticity("worker", 1, 5)


LAUNCH = ["python", "-m", "paddle.distributed.launch"]


@pytest.mark.parametrize(
    "container",
    [
        {"command": [*LAUNCH, "--master", "etcd://etcd:2379", "train.py"]},
        {
            "command": [
                "bash",
                "-c",
                "pip install etcd3 && python -m paddle.distributed.launch --master=etcd://e:1 t",
            ]
        },
        {"env": [{"name": "PADDLE_MASTER", "value": "etcd://etcd:2379"}]},
        {"env": [{"name": "PADDLE_ELASTIC_SERVER", "value": "etcd:2379"}]},
    ],
)
def test_a_launcher_with_etcd_as_its_master_is_left_alone(container: dict[str, Any]) -> None:
    template = {"spec": {"containers": [{"name": "paddle", "image": "paddle:3", **container}]}}
    for sizes, fields in (("1-4", {}), (None, {"elastic": 1})):
        job = read_paddle(sizes, worker={"template": template}, **fields)
        assert job.elasticity is None
        assert any("the master of the launcher is etcd" in problem.message for problem in job.warnings)


@pytest.mark.parametrize(
    ("module", "words", "alone"),
    [
        ("paddle.distributed.launch", ["t.py"], False),
        ("paddle.distributed.launch", ["--scale=1", "t.py"], True),
        ("paddle.distributed.fleet.launch", ["t.py"], True),
        ("paddle.distributed.launch", ["$(ARGUMENTS)", "t.py"], True),
    ],
)
def test_only_the_old_launcher_reads_the_address_of_its_etcd_from_a_variable(
    module: str, words: list[str], alone: bool
) -> None:
    container: dict[str, Any] = {"name": "paddle", "image": "paddle:3", "command": ["python", "-m", module, *words]}
    container["env"] = [{"name": "PADDLE_ELASTIC_SERVER", "value": "etcd:2379"}]
    job = read_paddle("1-4", worker={"template": {"spec": {"containers": [container]}}})
    assert job.launch.etcd is alone


@pytest.mark.parametrize("words", [["--master", "10.0.0.1:37777"], ["--nnodes", "1:4"], []])
def test_any_other_master_is_none_of_that(words: list[str]) -> None:
    template = {"spec": {"containers": [{"name": "paddle", "image": "paddle:3", "command": [*LAUNCH, *words, "t.py"]}]}}
    assert read_paddle("1-4", worker={"template": template}).elasticity is not None


def test_a_job_without_workers_has_no_sizes() -> None:
    spec = {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": TORCH}}}
    with pytest.raises(InvalidJob, match="no size, as the job has no workers"):
        read("kubeflow.org", "PyTorchJob", spec, "1-3")


@pytest.mark.parametrize(
    ("sizes", "gang_size", "kept"),
    [("1-4", 2, (1, 4)), ("4-1", 2, (2, 3)), ("1-2", 2, (2, 3)), ("x", 0, None), ("4-1", 9, None)],
)
def test_sizes_that_are_edited_into_nonsense_leave_the_gang_at_its_size(
    sizes: str, gang_size: int, kept: tuple[int, int] | None
) -> None:
    spec = {"worker": {"replicas": 3, "template": TEMPLATE}}
    manifest = {"metadata": {"name": "demo", "annotations": {"paddock.dev/elastic": sizes}}, "spec": {"worker": {}}}
    found = with_last_valid_spec(manifest, encode_spec(spec), gang_size)
    assert found is not None
    notes = found["metadata"]["annotations"]
    job = read("batch.paddlepaddle.org", "PaddleJob", found["spec"], notes.get("paddock.dev/elastic"))
    assert job.elasticity == (None if kept is None else Elasticity("worker", *kept))
