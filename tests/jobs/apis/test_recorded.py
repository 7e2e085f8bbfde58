"""What of a status must be believed, whoever wrote over it: the same in every kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jobs.gangs import (
    NOW,
    build_job,
    build_pods,
    build_status,
    build_torch_job,
    cause,
    created,
    deleted,
    observe,
    succeeded,
)
from paddock.jobs.apis import JobApi
from paddock.jobs.apis.registry import KINDS, PADDLEPADDLE
from paddock.jobs.model import CleanPods, Phase, Status
from paddock.jobs.plan import plan
from paddock.kube.meta import Manifest

ENDS = [
    build_status(build_job(), Phase.COMPLETED, finished=NOW, cause=cause("CompletedWithoutMaster"), attempt=2),
    build_status(build_job(), Phase.FAILED, finished=NOW, cause=cause("RankFailed", ranks=["worker-0"]), attempt=2),
]


def write(api: JobApi, status: Status) -> Manifest:
    return api.write_status({}, status, NOW, {"metadata": {"name": "demo", "namespace": "team"}})


@pytest.mark.parametrize("api", KINDS.values(), ids=lambda api: api.resource.qualified)
@pytest.mark.parametrize("ended", ENDS, ids=lambda status: status.phase.value)
@pytest.mark.parametrize(
    "written",
    [
        {"phase": "Running"},
        {"phase": None},
        {"phase": "of a later version"},
        {"phase": "Running", "completionTime": None},
        {"phase": "Running", "conditions": None},
        {"phase": "Running", "conditions": [{"type": 1}, "x"]},
    ],
    ids=str,
)
def test_a_finished_job_stays_finished_whatever_is_written_over_its_phase(
    api: JobApi, ended: Status, written: dict[str, Any]
) -> None:
    """It trained again: the phase alone was looked at."""
    raw = {**write(api, ended), **written}
    raw = {name: value for name, value in raw.items() if value is not None}
    status = api.read_status({"status": raw, "spec": {}})
    assert status.phase is ended.phase
    assert api.write_status(raw, status, NOW)["phase"] == ended.phase.value, "and the next write says so"
    job = build_job()
    assert not created(plan(job, status, observe(job, ()), NOW))


@pytest.mark.parametrize("api", KINDS.values(), ids=lambda api: api.resource.qualified)
def test_what_goes_on_is_not_taken_for_an_end(api: JobApi) -> None:
    running = build_status(build_job())
    raw = write(api, running)
    assert api.read_status({"status": raw, "spec": {}}).phase is Phase.RUNNING
    # An operator before this rule has started a finished job again.
    again = {**raw, "completionTime": "2026-01-01T00:00:00Z", "conditions": [{"type": "Failed", "status": "False"}]}
    assert api.read_status({"status": again, "spec": {}}).phase is Phase.RUNNING


GOING_ON = [
    build_status(build_job()),
    build_status(build_job(), Phase.RESTARTING, cause=cause("RankFailed", ranks=["worker-0"]), attempt=2),
    build_status(build_job(), Phase.SUSPENDED, cause=cause("Suspended")),
    build_status(build_job(), Phase.PENDING, cause=cause("WaitingForScheduler", pods=2, wanted=2)),
]


@pytest.mark.parametrize("api", KINDS.values(), ids=lambda api: api.resource.qualified)
@pytest.mark.parametrize("going", GOING_ON, ids=lambda status: status.phase.value)
@pytest.mark.parametrize(
    "written",
    [
        {"phase": "Completed"},
        {"phase": "Failed"},
        {"completionTime": "2026-01-01T00:00:00Z"},
        {"completionTime": "2999-01-01T00:00:00Z"},
    ],
    ids=str,
)
def test_a_job_that_goes_on_is_not_ended_by_what_somebody_writes(
    api: JobApi, going: Status, written: dict[str, Any]
) -> None:
    """Its pods were deleted as those of a job that is complete."""
    before = write(api, going)
    before = {name: value for name, value in before.items() if value is not None}
    raw = {**before, **written}
    status, own = (api.read_status({"status": each, "spec": {}}) for each in (raw, before))
    # Kubeflow's conditions do not tell a gang that starts again from one that waits: its pods tell then.
    assert status in (own, replace(own, phase=Phase.PENDING)) and own.phase is going.phase
    assert status == own or (going.phase is Phase.RESTARTING and "phase" in written)
    patched = raw | api.write_status(raw, status, NOW)
    assert patched["phase"] == status.phase.value and not patched.get("completionTime"), "it is mended"
    job = build_job()
    ended = [uid for uid in deleted(plan(job, status, observe(job), NOW)) if uid.startswith("worker")]
    assert not ended or going.phase is not Phase.RUNNING


def test_pods_that_are_left_tell_how_a_job_without_a_status_has_ended() -> None:
    for job in (build_job(clean_pods=CleanPods.NEVER), build_torch_job(masters=0, clean_pods=CleanPods.NEVER)):
        pods = tuple(map(succeeded(600), build_pods(job)))
        assert plan(job, Status(), observe(job, pods), NOW).status.phase is Phase.COMPLETED
        later = tuple(replace(pod, attempt=3) for pod in pods)
        adopted = plan(job, Status(), observe(job, later), NOW)
        assert plan(job, adopted.status, observe(job, later), NOW).status.phase is Phase.COMPLETED


def test_an_end_that_only_paddle_operator_recorded_is_one() -> None:
    raw = {"phase": "Completed", "completionTime": "2026-01-01T00:00:00Z"}
    assert PADDLEPADDLE.read_status({"status": raw, "spec": {}}).phase is Phase.COMPLETED


@pytest.mark.parametrize("api", KINDS.values(), ids=lambda api: api.resource.qualified)
def test_a_phase_of_a_later_version_is_known_to_be_unknown_and_is_not_lost(api: JobApi) -> None:
    raw = {**write(api, build_status(build_job())), "phase": "Hibernating"}
    status = api.read_status({"status": raw, "spec": {}})
    assert (status.phase, status.unknown_phase) == (Phase.NONE, "Hibernating")
    assert api.write_status(raw, status, NOW)["phase"] == "Hibernating"
    del raw["attempt"]
    assert not api.read_status({"status": raw, "spec": {}}).unknown_phase, "what other operators say is not ours"
