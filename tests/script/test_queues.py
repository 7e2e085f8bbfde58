"""--queue and --priority in the manifests of both API groups."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Settings
from paddock.jobs.queued import find_pod_queue, find_queue
from paddock.kube.meta import Manifest
from paddock.preflight import Document, check
from paddock.script.manifest import build_manifest
from paddock.script.queues import by_suspend, with_priority, with_queue, with_volcano, without_priority, without_queue
from paddock.script.request import ScriptRequest
from paddock.submission.documents import find_resource

FRAMEWORKS = ("paddle", "pytorch", "jax", "none")


def build(framework: str, **options: Any) -> Manifest:
    return build_manifest(ScriptRequest(("python", "train.py"), framework, workers=2, **options))


def read(manifest: Manifest) -> Any:
    assert not [each for each in check(Document(manifest)) if each.severity == "error"]
    return KINDS[find_resource(manifest)].read_job(manifest)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_job_names_its_queue_and_its_class(framework: str) -> None:
    job = read(build(framework, queue="team-a", priority="high"))
    assert find_queue(job) == "team-a"
    assert {role.template["spec"]["priorityClassName"] for role in job.roles} == {"high"}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_job_without_them_is_as_it_was(framework: str) -> None:
    manifest = build(framework)
    assert with_priority(with_queue(manifest, ""), "") == manifest
    assert "labels" not in manifest["metadata"] and "priorityClassName" not in str(manifest)


def test_a_paddle_job_is_queued_by_its_pods_and_a_pytorch_job_by_suspend() -> None:
    assert find_pod_queue(read(build("paddle", queue="team-a")), Settings()) == "team-a"
    assert find_pod_queue(read(build("pytorch", queue="team-a")), Settings()) == ""
    assert find_pod_queue(read(by_suspend(build("paddle", queue="team-a"))), Settings()) == ""


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_volcano_reads_the_queue_in_the_schedulingpolicy(framework: str) -> None:
    manifest = with_volcano(build(framework, queue="team-a", priority="high"), "team-a", "high")
    job = read(manifest)
    assert (job.scheduling.queue, job.scheduling.priority_class) == ("team-a", "high")
    assert not find_queue(job) and "kueue" not in str(manifest).lower()


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_was_added_is_taken_away_whole(framework: str) -> None:
    manifest = build(framework, queue="team-a", priority="high")
    assert without_priority(without_queue(manifest)) == build(framework)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_each_rank_asks_for_cpus_and_memory_and_only_memory_is_limited(framework: str) -> None:
    job = read(build(framework, cpus="500m", memory="4Gi"))
    for role in job.roles:
        (container,) = role.template["spec"]["containers"]
        assert container["resources"] == {
            "requests": {"cpu": "500m", "memory": "4Gi"}, "limits": {"memory": "4Gi"},
        }  # fmt: skip


def test_parameter_servers_ask_for_them_too() -> None:
    job = read(build("paddle", servers=1, cpus="1", memory="1Gi", gpus=1))
    ps, worker = (role.template["spec"]["containers"][0]["resources"] for role in job.roles)
    assert ps == {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}
    assert worker["limits"] == {"memory": "1Gi", "nvidia.com/gpu": 1}
