"""A job says by whom it is: by who sends it, not by whom the copied manifest was."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from paddock.jobs.labels import CHANGED_BY_ANNOTATION, CREATED_BY_ANNOTATION
from paddock.kube.meta import CONFIG_MAPS, annotations_of
from paddock.preflight import Document
from paddock.submission.documents import Checked, build_checked
from paddock.submission.signed import sign, sign_manifest

COPIED = {CREATED_BY_ANNOTATION: "bob", CHANGED_BY_ANNOTATION: "{}", "mine": "kept"}


@pytest.mark.parametrize(
    ("annotations", "who", "left"),
    [
        (None, "ada", {CREATED_BY_ANNOTATION: "ada"}),
        (COPIED, "ada", {CREATED_BY_ANNOTATION: "ada", "mine": "kept"}),
        (COPIED, "", {"mine": "kept"}),
        ({"mine": "kept"}, "", {"mine": "kept"}),
        (None, "", {}),
    ],
)
def test_the_author_is_who_sends_it(annotations: dict[str, str] | None, who: str, left: dict[str, str]) -> None:
    job: dict[str, Any] = build_manifest()
    job["metadata"] = {"name": "demo", **({"annotations": annotations} if annotations else {})}
    before = copy.deepcopy(job)
    signed = sign_manifest(job, who)
    assert annotations_of(signed) == left and signed["spec"] == job["spec"]
    assert job == before, "what was read is not changed"
    assert ("annotations" in signed["metadata"]) == bool(annotations or left), "nothing is written for nobody"


def test_what_is_no_job_has_no_author() -> None:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {}}
    other = Checked("f", Document(manifest), manifest, CONFIG_MAPS, None)
    job = build_checked("f", Document(build_manifest()), build_manifest(), RESOURCE)
    sent = sign([other, job], "ada")
    assert sent[0] is other and annotations_of(sent[1].manifest)[CREATED_BY_ANNOTATION] == "ada"
    assert sent[1].job is not None and sent[1].job.annotations[CREATED_BY_ANNOTATION] == "ada"
