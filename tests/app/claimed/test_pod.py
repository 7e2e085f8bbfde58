"""The pod that reads what runs have written."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest

from jobs.gangs import TEMPLATE, build_job
from paddock.app.claimed.pod import (
    CLAIM_PATH,
    PROGRAM,
    Source,
    build_command,
    build_pod,
    choose_source,
    find_running,
    name_pod,
)
from paddock.app.pods_beside import Pin, has_not_started
from paddock.jobs.model import Job, Rank, Settings
from paddock.jobs.names import LONGEST_NAME
from paddock.jobs.objects.observed import read_pod
from paddock.jobs.objects.pods import build_pod as build_rank
from paddock.kube.meta import Manifest, is_controlled_by

JOB = build_job(outputs="results")
SECURE: dict[str, Any] = {
    "serviceAccountName": "trainer", "hostNetwork": True, "nodeSelector": {"pool": "gpu"},
    "securityContext": {"runAsUser": 1000, "fsGroup": 2000, "runAsNonRoot": True},
}  # fmt: skip


def with_template(job: Job, **spec: Any) -> Job:
    (container,) = TEMPLATE["spec"]["containers"]
    made = {**container, "env": [{"name": "TOKEN", "value": "secret"}], "resources": {"limits": {"nvidia.com/gpu": 8}}}
    template = {"spec": {"containers": [made], **spec}}
    return replace(job, roles=tuple(replace(role, template=template) for role in job.roles))


def build(job: Job | None = JOB, pin: Pin | None = None, owner: Job | None = JOB) -> Manifest:
    return build_pod("team", "demo", "results", Source(job, "mine:1"), "abc123", owner, pin)


def test_it_has_the_files_and_none_of_the_rights() -> None:
    pod = build(with_template(JOB, **SECURE))
    spec = pod["spec"]
    (container,) = spec["containers"]
    assert pod["metadata"]["name"] == "demo-outputs-abc123"
    assert spec["automountServiceAccountToken"] is False and "serviceAccountName" not in spec
    assert "hostNetwork" not in spec and spec["nodeSelector"] == {"pool": "gpu"}
    assert spec["securityContext"]["runAsUser"] == 1000 and spec["securityContext"]["supplementalGroups"] == [2000]
    assert "fsGroup" not in spec["securityContext"], "a kubelet would give it all files again"
    assert container["volumeMounts"][0] == {"name": "claim", "mountPath": CLAIM_PATH, "readOnly": True}
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["resources"]["limits"] == {"cpu": "1", "memory": "512Mi"}
    assert "TOKEN" not in str(container["env"])


def test_it_is_no_rank_and_goes_with_its_job() -> None:
    pod = build()
    assert not is_controlled_by(pod, JOB.uid) and read_pod(pod) is None
    assert [each["uid"] for each in pod["metadata"]["ownerReferences"]] == [JOB.uid]
    assert "ownerReferences" not in build(owner=None)["metadata"]


def test_of_a_deleted_job_the_image_is_enough() -> None:
    pod = build(job=None, owner=None)
    assert pod["spec"]["containers"][0]["image"] == "mine:1"


def test_it_is_drawn_to_where_the_claim_is_mounted() -> None:
    terms = build(pin=Pin("node-7", surely=True))["spec"]["affinity"]["nodeAffinity"]
    assert "node-7" in str(terms["requiredDuringSchedulingIgnoredDuringExecution"])


def test_a_long_name_is_cut() -> None:
    assert len(name_pod("a" * 253, "abc123")) == LONGEST_NAME
    assert name_pod("a" * 237 + ".b", "abc123").startswith("a" * 237 + "-outputs-"), "no dot at its end"


@pytest.mark.parametrize(
    ("job", "others", "image", "found"),
    [
        (JOB, [], "", "paddle:3"),
        (JOB, [], "own:1", "own:1"),
        (None, [], "own:1", "own:1"),
        (None, [], "", None),
        (None, [build_job(created=9.0), build_job(created=1.0, outputs="results")], "", "paddle:3"),
    ],
)
def test_whose_image_it_has(job: Job | None, others: list[Job], image: str, found: str | None) -> None:
    source = choose_source(job, others, "results", image)
    assert (source.image if source else None) == found
    if job is None and others:
        assert source is not None and source.job is others[1], "the one that writes into the same claim"


def build_rank_pod(index: int, phase: str = "Running", **state: Any) -> Manifest:
    pod = build_rank(JOB, Rank("worker", index), 0, None, Settings())
    pod["status"] = {
        "phase": phase,
        "containerStatuses": [{"name": "paddle", "state": state or {"running": {}}}],
    }
    return pod


def test_a_pod_of_the_job_that_runs_is_used() -> None:
    ended = build_rank_pod(0, terminated={"exitCode": 0})
    assert find_running(JOB, [build_rank_pod(1), ended]) == ("demo-worker-1", "paddle")
    assert find_running(JOB, [build_rank_pod(0, "Pending")]) is None
    assert find_running(replace(JOB, uid="another"), [build_rank_pod(0)]) is None, "a run of its own directory alone"
    leaving = build_rank_pod(0)
    leaving["metadata"]["deletionTimestamp"] = "2026-11-30T00:00:00Z"
    assert find_running(JOB, [leaving]) is None


def test_the_program_reads_as_old_a_python_as_3_6() -> None:
    ast.parse(PROGRAM.read_text(), feature_version=(3, 6))


def test_the_words_of_exec_are_short_enough_for_any_proxy() -> None:
    address = "&".join(f"command={quote(each, safe='')}" for each in build_command(f"/paddock/claim/{'a' * 253}"))
    assert len(address) < 2_000, "they stand in an address, and nginx and aiohttp take 8 KiB with its name"


@pytest.mark.parametrize(
    ("code", "message", "found"),
    [
        (128, 'failed to create containerd task: exec: "python3": executable file not found in $PATH: unknown', True),
        (127, "executable file `python3` not found in $PATH: No such file or directory", True),
        (126, 'exec: "python3": permission denied', True),
        (128, "failed to create containerd task: error setting rlimits", False),
        (127, "", False),
        (1, "FileNotFoundError: No such file or directory: 'x'", False),
    ],
)
def test_a_program_that_could_not_be_started_is_told_from_one_that_failed(code: int, message: str, found: bool) -> None:
    ended = {"exitCode": code, "message": message}
    assert has_not_started({"status": {"containerStatuses": [{"state": {"terminated": ended}}]}}) is found
