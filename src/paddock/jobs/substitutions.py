"""Changes of a manifest that Paddock makes by itself or by a flag: each is shown to the user and recorded.

`substitute` replaces a container whose command cannot work; each framework knows its cases. The local cluster does so;
on a cluster Paddock runs the command that was written, unless the operator was started with --substitute. An annotation
of the job decides for both, one of the pod keeps the original, and the job has a warning and an event in any case.

`without` removes a resource that the machine lacks (`nvidia.com/gpu`) from the requests and limits of a job's pods, so
that the job trains on the CPU. It returns each removal; an annotation of the object keeps the amounts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from paddock.jobs.frameworks import Notice
from paddock.jobs.frameworks.registry import FRAMEWORKS, main_container
from paddock.jobs.labels import SUBSTITUTE_ANNOTATION
from paddock.jobs.model import Job, Role, Settings
from paddock.kube.meta import Manifest, annotations_of, metadata
from paddock.words.problems import Problem
from paddock.words.sentences import either, join_path, told, wrong

WITHOUT_ANNOTATION = "paddock.dev/without"
"""JSON: resource name -> path of each removal -> the removed amount."""

SUBSTITUTED_ANNOTATION = "paddock.dev/substituted"
"""On a pod, JSON: the original `command` and `args` of the container that trains."""


_DECISIONS: Mapping[str | None, bool] = {"true": True, "false": False}


def substitute(job: Job, container: Mapping[str, Any], settings: Settings) -> tuple[Mapping[str, Any], Notice | None]:
    """The container to run in place of `container`, which trains; without a notice it is the same."""
    if not is_substituting(job, settings):
        return container, None
    return FRAMEWORKS[job.framework].substitute(container, job)


def is_substituting(job: Job, settings: Settings) -> bool:
    """The job's annotation decides, else the operator's settings."""
    return _DECISIONS.get(job.annotations.get(SUBSTITUTE_ANNOTATION), settings.substitutes)


def write_original(container: Mapping[str, Any]) -> str:
    """The value of `SUBSTITUTED_ANNOTATION`."""
    return json.dumps({key: container[key] for key in ("command", "args") if container.get(key)})


def read_original(value: str) -> str:
    """The words of what `write_original` wrote, as a reader wrote them: with their line breaks, in their own letters. A
    value that somebody else wrote is left as it is."""
    try:
        found = json.loads(value) if value else {}
        return " ".join(word for key in ("command", "args") for word in found.get(key, ()))
    except (ValueError, AttributeError, TypeError):
        return value


def read_notices(job: Job, path_of: Callable[[Role], str]) -> tuple[Problem, ...]:
    """The substitutions in `job`, as warnings: what a manifest does not decide depends on who runs it. `path_of`: the
    path of a role in the manifest."""
    return tuple(_notices(job, path_of))


def _notices(job: Job, path_of: Callable[[Role], str]) -> Iterator[Problem]:
    decision = job.annotations.get(SUBSTITUTE_ANNOTATION)
    if decision is not None and decision not in _DECISIONS:
        path = join_path("metadata.annotations", SUBSTITUTE_ANNOTATION)
        yield wrong(path, decision, either(('"true"', '"false"')), severity="warning")
    for role in job.roles:
        containers = role.template["spec"]["containers"]
        index = main_container(job, containers)
        _, notice = substitute(job, containers[index], Settings(substitutes=True))
        if notice is not None:
            key = "command" if containers[index].get("command") else "args"
            path = f"{path_of(role)}.template.spec.containers[{index}].{key}"
            yield told(path, notice.said if decision in _DECISIONS else notice.undecided, severity="warning")


@dataclass(frozen=True, slots=True)
class Removal:
    """One removal: `path` of the mapping that had the resource, and its amount there."""

    path: str
    resource: str
    amount: str

    def __str__(self) -> str:
        return f"{self.path}: {self.resource}: {self.amount} is not asked for"


def without(manifest: Mapping[str, Any], resource_name: str) -> tuple[Manifest, tuple[Removal, ...]]:
    """The manifest without `resource_name` in requests and limits of any pod template, and the removals.

    Without a removal the result equals `manifest`. The argument is not changed.
    """
    notices: list[Removal] = []
    result: Manifest = _without(manifest, "", resource_name, notices)
    if not notices:
        return result, ()
    removed = {notice.path: notice.amount for notice in notices}
    recorded = _read_record(annotations_of(manifest).get(WITHOUT_ANNOTATION))
    record = recorded | {resource_name: recorded.get(resource_name, {}) | removed}
    annotations = dict(annotations_of(manifest)) | {WITHOUT_ANNOTATION: json.dumps(record, separators=(",", ":"))}
    return {**result, "metadata": {**metadata(manifest), "annotations": annotations}}, tuple(notices)


def _without(value: Any, path: str, name: str, notices: list[Removal]) -> Any:
    if isinstance(value, list):
        return [_without(item, join_path(path, index), name, notices) for index, item in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    result: Manifest = {}
    for key, item in value.items():
        here = join_path(path, key)
        if key == "metadata" or not isinstance(item, Mapping | list):
            result[key] = item
        elif key == "resources" and isinstance(item, Mapping):
            left = dict(_left(item, here, name, notices))
            if left or not item:
                result[key] = left
        elif key == "minResources" and isinstance(item, Mapping):
            result[key] = _removed(item, here, name, notices)
        else:
            result[key] = _without(item, here, name, notices)
    return result


def _left(resources: Mapping[str, Any], path: str, name: str, notices: list[Removal]) -> Iterator[tuple[str, Any]]:
    for key, amounts in resources.items():
        if key not in ("requests", "limits") or not isinstance(amounts, Mapping):
            yield key, amounts
            continue
        left = _removed(amounts, join_path(path, key), name, notices)
        if left or not amounts:
            yield key, left


def _removed(amounts: Mapping[str, Any], path: str, name: str, notices: list[Removal]) -> Manifest:
    if name in amounts:
        notices.append(Removal(path, name, str(amounts[name])))
    return {key: amount for key, amount in amounts.items() if key != name}


def _read_record(text: str | None) -> dict[str, dict[str, str]]:
    """The record of earlier removals; empty if it is missing or not valid."""
    try:
        record = json.loads(text or "{}")
    except ValueError:
        return {}
    return {key: value for key, value in record.items() if isinstance(value, dict)} if isinstance(record, dict) else {}
