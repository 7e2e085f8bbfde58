"""ScriptRequest -> the job of its framework (`script.kinds`). Pure.

A job is not restarted unless that was asked for (backoffLimit 0): a mistake in a script must end the command at once.
Whoever types a command waits for all of it: each rank decides, and none is ended for being the last (`apis.success`).
"""

from __future__ import annotations

from typing import Any

from paddock.history.notes import write_annotations
from paddock.jobs.apis.success import write_success
from paddock.jobs.labels import (
    FRAMEWORK_ANNOTATION,
    OUTPUTS_ANNOTATION,
    RANK_VARIABLES_ANNOTATION,
    REQUIREMENTS_ANNOTATION,
    RESUME_ANNOTATION,
    SUCCESS_ANNOTATION,
    WORKING_DIRECTORY_ANNOTATION,
)
from paddock.kube.datasets import MOUNTS_ANNOTATION
from paddock.kube.environments import ENVIRONMENT_ANNOTATION
from paddock.kube.gpu_shares import SHARE_ANNOTATION
from paddock.kube.held_pods import HOLD_ANNOTATION, write_hold
from paddock.kube.meta import Manifest
from paddock.script.escapes import write_word
from paddock.script.kinds import find_kind
from paddock.script.names import build_name
from paddock.script.queues import with_priority, with_queue
from paddock.script.request import ScriptRequest


def build_manifest(request: ScriptRequest) -> Manifest:
    """The job. `request` has been checked (`cli.submit.script.requests`): there is a word, and all are UTF-8."""
    name, kind = find_name(request), find_kind(request)
    manifest = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": _build_metadata(request, name),
        "spec": kind.build_spec(request, name),
    }
    return with_priority(with_queue(manifest, request.queue), request.priority)


def find_name(request: ScriptRequest) -> str:
    return request.name or build_name(request.launch.program.name or request.words[0])


def build_command(request: ScriptRequest) -> list[str]:
    """The command of the containers that train, as the manifest has it."""
    return [write_word(word) for word in find_kind(request).build_command(request)]


def _build_metadata(request: ScriptRequest, name: str) -> Manifest:
    annotations = {
        SUCCESS_ANNOTATION: write_success(request.end_wait),
        REQUIREMENTS_ANNOTATION: request.requirements,
        ENVIRONMENT_ANNOTATION: request.environment,
        FRAMEWORK_ANNOTATION: "none" if request.framework == "none" else "",
        RANK_VARIABLES_ANNOTATION: "" if request.rank_variables else "false",
        MOUNTS_ANNOTATION: request.mounts,
        RESUME_ANNOTATION: request.resume,
        OUTPUTS_ANNOTATION: request.outputs,
        SHARE_ANNOTATION: str(request.shares or ""),
        HOLD_ANNOTATION: write_hold(request.hold) if request.hold is not None else "",
        WORKING_DIRECTORY_ANNOTATION: request.directory,
        **write_annotations(request.note),
    }
    metadata: dict[str, Any] = {"name": name}
    if request.namespace:
        metadata["namespace"] = request.namespace
    metadata["annotations"] = {key: value for key, value in annotations.items() if value}
    return metadata
