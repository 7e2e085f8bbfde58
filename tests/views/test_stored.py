"""A stored job, read once; also an invalid one."""

from __future__ import annotations

from jobs.samples import read_manifest
from paddock.jobs.apis.last_valid import encode_spec
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.model import CauseRecord, Phase
from paddock.kube.meta import Key
from paddock.views.given_up import GIVEN_UP, write_given_up
from paddock.views.stored import read_stored

CAUSE = CauseRecord("EnvironmentFailed", {"rank": "worker-0", "message": "environment mine: no wheel"}, 100.0)


def test_an_invalid_job_has_its_problems_and_its_status() -> None:
    manifest = {"metadata": {"name": "demo", "namespace": "team", "uid": "u"}, "status": {"phase": "Running"}}
    stored = read_stored(PADDLEPADDLE.resource, manifest)
    assert (stored.job, stored.key, stored.uid) == (None, Key("team", "demo"), "u")
    assert stored.status.phase is Phase.RUNNING
    assert stored.problems
    assert not read_stored(PADDLEPADDLE.resource, read_manifest("wide_and_deep")).problems


def test_a_job_that_no_operator_has_read_is_shown_as_invalid_unless_somebody_else_runs_it() -> None:
    manifest = read_manifest("wide_and_deep")
    manifest["spec"]["worker"]["replicas"] = 0
    shown = read_stored(PADDLEPADDLE.resource, manifest).shown_status
    assert (shown.phase, shown.cause and shown.cause.reason) == (Phase.INVALID, "InvalidJob")
    manifest["spec"]["runPolicy"] = {"managedBy": "example.com/another"}
    shown = read_stored(PADDLEPADDLE.resource, manifest).shown_status
    assert (shown.phase, shown.cause) == (Phase.NONE, None), "it has its own rules"


def test_a_job_that_run_has_suspended_is_shown_with_the_reason_and_keeps_its_recorded_status() -> None:
    manifest = read_manifest("wide_and_deep")
    manifest["metadata"]["annotations"] = {GIVEN_UP: write_given_up(CAUSE)}
    manifest["status"] = {"phase": "Suspended", "attempt": 0, "cause": {"reason": "Suspended", "args": {}}}
    stored = read_stored(PADDLEPADDLE.resource, manifest)
    assert stored.is_given_up
    assert stored.shown_status.cause == CAUSE
    assert stored.status.cause is not None and stored.status.cause.reason == "Suspended"


def test_a_job_with_an_invalid_edit_is_read_by_its_last_valid_spec() -> None:
    manifest = read_manifest("wide_and_deep")
    status = {"phase": "Running", "lastValidSpec": encode_spec(manifest["spec"])}
    stored = read_stored(PADDLEPADDLE.resource, {**manifest, "spec": {"worker": {}}, "status": status})
    assert stored.problems and stored.job is not None
    assert [role.name for role in stored.job.roles] == ["ps", "worker"]
