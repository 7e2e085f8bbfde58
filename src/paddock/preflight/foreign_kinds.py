"""What is written in place of other systems' kinds, with the roles that their tasks are. `words.other_kinds` has the
sentences."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from paddock.jobs.apis.registry import KINDS
from paddock.kube.meta import Resource
from paddock.manifests.parts import mapping, mappings
from paddock.words.other_kinds import ROLES, explain_program
from paddock.words.phrases import Names, Phrase, phrase

_TASK_LISTS = ("tasks", "replicatedJobs")
"""Where kinds of several roles list them: Volcano's Job, JobSet."""
_OF_PADDLE = {
    **dict.fromkeys(("ps", "pserver", "server"), "spec.ps"),
    **dict.fromkeys(("worker", "trainer"), "spec.worker"),
}
_OF_PYTORCH = {"master": "Master", "worker": "Worker"}
"""The roles that tasks of these names are."""


def explain_foreign(
    version: str, kind: str, known: Collection[Resource], manifest: Mapping[str, Any] | None = None
) -> Phrase | None:
    """What to write in place of a kind of another system; None for any other kind. `manifest`: where it is at hand."""
    roles = _place_roles(mapping((manifest or {}).get("spec")))
    return explain_program(version, kind, name_jobs(known), roles)


def name_jobs(known: Collection[Resource]) -> tuple[str, ...]:
    """The kinds of job among them."""
    return tuple(sorted({each.kind for each in known if each in KINDS})) or ("none",)


def _place_roles(spec: Mapping[str, Any]) -> Phrase:
    """Which roles the tasks are, by their names."""
    names = {str(task.get("name") or "") for key in _TASK_LISTS for _, task in mappings(spec.get(key), key)}
    paddle = {name: role for name, role in _OF_PADDLE.items() if name in names}
    if "spec.ps" in paddle.values():
        return phrase(
            "with PaddlePaddle its tasks {tasks} are {roles} of a PaddleJob of batch.paddlepaddle.org/v1",
            tasks=Names(tuple(paddle)), roles=Names(tuple(paddle.values())),
        )  # fmt: skip
    if "master" in names:
        pytorch = {name: role for name, role in _OF_PYTORCH.items() if name in names}
        return phrase(
            "with PyTorch its tasks {tasks} are {roles} in spec.pytorchReplicaSpecs of a PyTorchJob of "
            "kubeflow.org/v1",
            tasks=Names(tuple(pytorch)), roles=Names(tuple(pytorch.values())),
        )  # fmt: skip
    return ROLES
