"""The CustomResourceDefinition of PaddleJob, and that it takes what worked before."""

from __future__ import annotations

import json

import pytest

from jobs.samples import JOBS, read_manifest
from paddock.jobs.apis.paddlepaddle import write_status
from paddock.jobs.crd import build_crd
from paddock.jobs.model import CauseRecord, Counts, Phase, Status
from paddock.jobs.structure import check_structure

VERSION = build_crd()["spec"]["versions"][0]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]


def test_the_names_and_columns_are_those_that_the_documents_show() -> None:
    crd = build_crd()
    assert crd["metadata"]["name"] == "paddlejobs.batch.paddlepaddle.org"
    assert crd["spec"]["names"]["shortNames"] == ["pdj"]
    columns = {column["name"]: column["jsonPath"] for column in VERSION["additionalPrinterColumns"]}
    assert columns == {
        "Status": ".status.phase",
        "Mode": ".status.mode",
        "PS": ".status.ps.ready",
        "Worker": ".status.worker.ready",
        "Age": ".metadata.creationTimestamp",
    }
    assert VERSION["subresources"] == {"status": {}}


def test_kubectl_apply_can_keep_it_in_an_annotation() -> None:
    assert len(json.dumps(build_crd(), separators=(",", ":"))) < 256 * 1024


@pytest.mark.parametrize("name", JOBS)
def test_the_documents_jobs_fit_the_schema(name: str) -> None:
    assert list(check_structure(SCHEMA, read_manifest(name))) == []


def test_values_that_paddle_operator_took_can_still_be_stored() -> None:
    manifest = read_manifest("wide_and_deep")
    manifest["spec"] |= {"cleanPodPolicy": "OnFailed", "intranet": "any", "elastic": 0}
    manifest["spec"]["ps"] |= {"replicas": 0, "requests": 1, "limits": 3}
    assert list(check_structure(SCHEMA, manifest)) == []


def test_no_field_of_a_status_is_dropped() -> None:
    counts = Counts(9, 1, 2, 3, 4, 5)
    roles = {"ps": counts, "worker": counts, "heter": counts}
    cause = CauseRecord("Reason", {"any": ["thing", {"at": "all"}]}, 1.0)
    status = Status(Phase.RUNNING, "PS", 1, 2, roles, cause, 3.0, 4.0, 5)
    assert list(check_structure(SCHEMA, {"status": write_status({}, status, 0.0)})) == []
