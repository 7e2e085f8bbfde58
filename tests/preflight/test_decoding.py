"""Nulls and amounts without quotes: `validate` refuses what an API server refuses, and what it drops is not sent."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from paddock.manifests.documents import read_documents
from paddock.manifests.nulls import without_nulls
from paddock.preflight import check, format_problem
from paddock.submission.documents import place_document
from support.decoding import OF_A_JOB, REFUSED, build_manifest, put


def read(path: str, value: Any) -> tuple[list[str], Any]:
    """The problems of a job with the value at the path, and the document."""
    manifest = build_manifest("PaddleJob", "default")
    put(manifest, path, value)
    (document,) = read_documents(yaml.safe_dump(manifest))
    return [format_problem(each, "f") for each in check(document)], document


@pytest.mark.parametrize(("path", "value", "stored"), [row for row in OF_A_JOB if row[0] != "spec"])
def test_what_the_api_refuses_is_told_before(path: str, value: Any, stored: Any) -> None:
    told, document = read(path, value)
    assert any("warning: " not in line for line in told) == (stored == REFUSED), told
    if stored != REFUSED:
        text = str(place_document("f", document, "default").manifest.get("spec"))
        assert "None" not in text.replace("'creationTimestamp': None", "")


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("spec.worker.template.spec.nodeSelector", {"gpu": None}, "nodeSelector.gpu: has no value"),
        ("spec.worker.template.spec.containers.0.resources", {"limits": {"cpu": None}}, "limits.cpu: has no value"),
        ("spec.worker.template.metadata", {"labels": {"a": None}}, "labels.a: has no value"),
    ],
)
def test_a_value_of_the_user_s_own_key_that_is_left_out_is_told(path: str, value: Any, said: str) -> None:
    (line,) = read(path, value)[0]
    assert "warning" in line
    assert said in line


def test_a_source_of_a_volume_without_a_value_is_no_source() -> None:
    volume = {"name": "v", "emptyDir": None, "persistentVolumeClaim": {"claimName": "data"}}
    assert read("spec.worker.template.spec.volumes", [volume])[0] == []


def test_a_fraction_without_quotes_is_written_as_text() -> None:
    (line,) = read("spec.worker.template.spec.containers.0.resources", {"limits": {"cpu": 0.5}})[0]
    assert line.endswith('limits.cpu: found 0.5, a whole number or text is allowed; write "0.5"')


def test_the_metadata_of_an_old_dump_is_left_out() -> None:
    manifest = build_manifest("PaddleJob", "default")
    manifest["metadata"] |= {"clusterName": "", "selfLink": "/x", "managedFields": [{}], "creationTimestamp": None}
    (document,) = read_documents(yaml.safe_dump({**manifest, "status": {}}))
    (warning,) = check(document)
    assert warning.severity == "warning"
    assert set(place_document("f", document, "default").manifest["metadata"]) == {"name", "namespace"}


def test_a_null_that_no_schema_knows_is_kept() -> None:
    schema = {"properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
    assert without_nulls({"spec": {"a": None, "b": [None]}}, schema) == {"spec": {"a": None, "b": [None]}}
