"""The one reader of manifest files: its documents as they are sent, their jobs read once, every problem."""

from __future__ import annotations

import pytest
import yaml

from jobs.samples import SAMPLES, read_manifest, read_text
from paddock.submission.documents import build_checked
from paddock.submission.reading import read_manifests, read_script


def read(text: str, namespace: str = "team") -> list[str]:
    return [each.label for each in read_manifests("f.yaml", text.encode(), namespace).placed]


WRITTEN = {
    "uid": "5b0b7b5e-6b1a-4bb1-9d5b-0a8f0b8c1d11",
    "generation": 7,
    "resourceVersion": "12",
    "creationTimestamp": "2026-11-20T10:00:00Z",
    "deletionTimestamp": "2026-11-20T11:00:00Z",
}
"""What a server writes into metadata, as `kubectl get -o yaml` prints it."""


@pytest.mark.parametrize("dumped", [False, True])
@pytest.mark.parametrize("name", SAMPLES)
def test_the_job_that_preflight_has_read_is_the_job_that_is_sent(name: str, dumped: bool) -> None:
    manifest = read_manifest(name)
    if dumped:
        manifest["metadata"] |= WRITTEN
    reading = read_manifests("f.yaml", yaml.safe_dump(manifest).encode(), "team")
    for each in reading.placed:
        assert each.job == build_checked(each.file, each.document, each.manifest, each.resource).job


def test_a_document_without_a_namespace_gets_the_default_one() -> None:
    text = read_text("wide_and_deep")
    assert read(text) == ["PaddleJob team/wide-ande-deep"]
    assert read(text.replace("metadata:\n", "metadata:\n  namespace: own\n", 1)) == ["PaddleJob own/wide-ande-deep"]


@pytest.mark.parametrize("text", ["", "metadata:\n", "metadata: []\n"])
def test_a_document_without_metadata_is_left_to_the_server(text: str) -> None:
    assert read(f"apiVersion: v1\nkind: ConfigMap\n{text}") == ["ConfigMap team/"]


def test_a_document_with_an_error_is_not_placed_and_the_others_are() -> None:
    good = read_text("wide_and_deep")
    reading = read_manifests("f.yaml", f"{good.replace('replicas: 2', 'replicas: two')}\n---\n{good}".encode(), "team")
    assert reading.wrong
    assert len(reading.documents) == 2
    assert reading.placed == ()  # the second has the name of the first


def test_an_object_that_occurs_twice_by_the_default_namespace_is_a_problem_of_its_file() -> None:
    one = read_text("wide_and_deep")
    other = one.replace("metadata:\n", "metadata:\n  namespace: team\n", 1)
    text = f"{one}\n---\n{other}"
    (problem,) = read_manifests("f.yaml", text.encode(), "team").problems
    assert (problem.path, problem.line) == ("metadata.name", text.splitlines().index("  namespace: team") + 2)
    assert (
        str(problem.said)
        == f"a PaddleJob of this name stands in line {one.splitlines().index('metadata:') + 2} already"
    )
    assert read(text, "default") == ["PaddleJob default/wide-ande-deep", "PaddleJob team/wide-ande-deep"]


def test_a_shell_script_is_read_as_such() -> None:
    found = read_script("run.sh", b"#!/bin/sh\npython -m paddle.distributed.launch train.py\n")
    assert found is not None
    assert (found.launches, found.documents) == (1, ())
    assert read_script("f.yaml", read_text("wide_and_deep").encode()) is None
