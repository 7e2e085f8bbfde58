"""A job as it is stored, as YAML, to read and to download."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.console.addresses import JOB
from paddock.console.heads import build_head, find_job, list_job_topics, tell_missing
from paddock.console.page_context import Answer, PageContext, Screen
from paddock.kube.meta import Manifest, metadata
from paddock.manifests.edits import write_document
from paddock.words.phrases import phrase

PACKED = "lastValidSpec"
"""Of a status: the spec once more, compressed."""


async def build(page: PageContext) -> Mapping[str, Any]:
    resource, job = find_job(page)
    if job is None:
        raise tell_missing(page)
    whole = page.query.get("managed") == "1"
    target = f"{resource.qualified} {page.path['name']} -n {page.path['namespace']}"
    return {
        "head": await build_head(page, resource, job),
        "text": write_document(job if whole else hide_managed(job)),
        "whole": whole,
        "kubectl": f"{page.backend.kubectl} get {target} -o yaml",
    }


async def answer_file(page: PageContext) -> Answer:
    _, job = find_job(page)
    if job is None:
        raise tell_missing(page)
    text = write_document(hide_managed(job))
    return Answer(text.encode(), "application/yaml", f"{page.path['name']}.yaml")


def hide_managed(job: Manifest) -> Manifest:
    """The manifest without the list of who wrote which field, as kubectl shows it, and without what the operator keeps
    packed for itself (`jobs.apis.last_valid`). Pure."""
    kept = {key: value for key, value in metadata(job).items() if key != "managedFields"}
    found = {**job, "metadata": kept}
    if isinstance(status := job.get("status"), Mapping) and PACKED in status:
        found["status"] = {key: value for key, value in status.items() if key != PACKED}
    return found


SCREEN = Screen(
    "manifest", f"{JOB}/manifest", phrase("Manifest"), list_job_topics, build, answers={"file": answer_file}
)
