"""The fields of kubeflow.org's jobs that an edit cannot change. Pure.

training-operator's rules (v1.9.4): the webhook's for `managedBy`, which compared a PyTorchJob with itself and so let a
running one be orphaned, and the definition's for the queue, which may be added and removed. A rule of the definition
would need Kubernetes 1.25 (x-kubernetes-validations).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from paddock.jobs.manager import Manager
from paddock.kube.validation.field_errors import Code
from paddock.words.phrases import phrase
from paddock.words.problems import Problem
from paddock.words.sentences import quoted, told

GROUP = "kubeflow.org"


def find_changed(new: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[Problem]:
    """A problem for each such field that differs. Never raises."""
    if str(new.get("apiVersion")).partition("/")[0] != GROUP:
        return
    # Absent, empty and training-operator mean the same manager, which is Paddock.
    before, after = (_read(each, "managedBy") or Manager.TRAINING_OPERATOR.value for each in (old, new))
    if before != after:
        yield _refuse("spec.runPolicy.managedBy", after, before)
    before, after = (_read(each, "schedulingPolicy", "queue") for each in (old, new))
    if before and after and before != after:
        yield _refuse("spec.runPolicy.schedulingPolicy.queue", after, before)


def _refuse(path: str, found: Any, before: Any) -> Problem:
    said = phrase(
        "found {found}, and the field is immutable: it stays {before} until the job is deleted; make another job",
        found=quoted(found),
        before=quoted(before),
    )
    return told(path, said, found, code=Code.FORBIDDEN)


def _read(manifest: Mapping[str, Any], *keys: str) -> Any:
    found: Any = manifest
    for key in ("spec", "runPolicy", *keys):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found
