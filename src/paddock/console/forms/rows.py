"""Which fields the form has: a row for each, with its label, how its value is typed, and where it stands. Pure.

A new field is a row here. What has no row (tolerations, affinity, probes, ports, other volumes) is edited in the text.
The order is that of the platform's form: facts of AI Lab, 4 to 13.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal, NamedTuple, TypeAlias

from paddock.console.forms import values
from paddock.console.forms.values import Form, choose
from paddock.jobs.labels import WORKING_DIRECTORY_ANNOTATION
from paddock.kube.datasets import MOUNTS_ANNOTATION
from paddock.kube.described import DESCRIPTION_ANNOTATION
from paddock.kube.environments import ENVIRONMENT_ANNOTATION
from paddock.manifests.edits import Path
from paddock.manifests.parts import mapping
from paddock.words.phrases import Phrase, phrase

GPU = "nvidia.com/gpu"


_KUEUE_QUEUE, _KUEUE_PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"


Labelled: TypeAlias = Literal["queue", "priority", "directory"]
"""A field that stands in a label of Kueue, or in the scheduling policy; the working directory in an annotation, as on a
laptop, or in the container."""


class Group(StrEnum):
    """Where a field is: what is trained, where, and what is folded."""

    FIRST = ""
    PLACE = "place"
    VARIABLES = "variables"
    QUEUE = "queue"
    END = "end"


TITLES: Mapping[Group, Phrase] = {
    Group.VARIABLES: phrase("Variables and secrets"),
    Group.QUEUE: phrase("Queue, priority, labels"),
    Group.END: phrase("Restarts and end"),
}
"""Of those that are folded."""


class Row(NamedTuple):
    """One row of the table of inputs."""

    id: str  # of the input
    label: Phrase
    form: Form
    path: Path  # below the manifest, the role, the container or its resources
    group: Group = Group.FIRST
    help: Phrase | None = None
    unit: Phrase | None = None
    """What stands behind the input."""


OF_JOB: Sequence[Row] = (
    Row("name", phrase("Name"), values.TEXT, ("metadata", "name")),
    Row("description", phrase("Description"), values.TEXT, ("metadata", "annotations", DESCRIPTION_ANNOTATION)),
    Row(
        "environment", phrase("Environment"), values.TEXT, ("metadata", "annotations", ENVIRONMENT_ANNOTATION),
        help=phrase("in place of the image, on a laptop"),
    ),
)  # fmt: skip
NAMESPACE = Row("namespace", phrase("Namespace"), values.TEXT, ("metadata", "namespace"), Group.PLACE)
DATASETS = Row(
    "datasets", phrase("Datasets"), values.DATASETS, ("metadata", "annotations", MOUNTS_ANNOTATION), Group.PLACE,
    phrase("each is mounted read-only at its path"),
)  # fmt: skip
_PULL = choose("Always", "IfNotPresent", "Never")
OF_CONTAINER: Sequence[Row] = (
    Row("image", phrase("Image"), values.TEXT, ("image",)),
    Row("command", phrase("Start command"), values.WORDS, ("command",)),
    Row("args", phrase("Arguments of the command"), values.ARGUMENTS, ("args",)),
    Row("env", phrase("Environment variables"), values.VARIABLES, ("env",), Group.VARIABLES),
    Row("secrets", phrase("Variables from Secrets"), values.SECRETS, ("env",), Group.VARIABLES),
    Row("pull", phrase("Image pull policy"), _PULL, ("imagePullPolicy",), Group.VARIABLES),
)
DIRECTORY = Row(
    "directory", phrase("Working directory"), values.TEXT, ("workingDir",), Group.PLACE,
    phrase("in the image, or where a volume is mounted"),
)  # fmt: skip
NOTED_DIRECTORY = DIRECTORY._replace(
    path=("metadata", "annotations", WORKING_DIRECTORY_ANNOTATION), help=phrase("a directory of this machine")
)
"""As `paddock run --workdir` writes it on a laptop: each rank gets a directory of its own for its logs."""
STORAGE = Row("storage", phrase("Storage"), values.CLAIMS, (), Group.PLACE)
SHARED_MEMORY = Row(
    "shm", phrase("Shared memory (/dev/shm)"), values.SHARED_MEMORY, (), Group.PLACE,
    phrase("as 8Gi; PyTorch's loaders and NCCL use it"),
)  # fmt: skip
OF_ROLE: Sequence[Row] = (Row("replicas", phrase("Replicas"), values.NUMBER, ("replicas",)),)
OF_RESOURCES: Sequence[Row] = (
    Row("cpu", phrase("CPU"), values.AMOUNT, ("requests", "cpu"), help=phrase("cores, as 2 or 500m")),
    Row("memory", phrase("Memory"), values.AMOUNT, ("requests", "memory"), help=phrase("as 2Gi or 512Mi")),
    Row("gpu", phrase("GPU"), values.AMOUNT, ("limits", GPU)),
    Row("cpu-limit", phrase("CPU limit"), values.AMOUNT, ("limits", "cpu")),
    Row("memory-limit", phrase("Memory limit"), values.AMOUNT, ("limits", "memory")),
)


_SECONDS = phrase("seconds")
TABLES: Mapping[str, Form] = {
    row.id: row.form
    for row in (*OF_CONTAINER, DATASETS, STORAGE, Row("labels", phrase("Labels"), values.LABELS, ()))
    if row.form.columns
}
"""The forms of the fields that are tables, by id."""


def list_policies(manifest: Mapping[str, Any], labelled: Collection[Labelled] = ()) -> Sequence[Row]:
    """The policies of the whole job. paddle-operator has `schedulingPolicy` and `cleanPodPolicy` in `spec`; queue and
    priority are Kueue's where the job has its labels, and the `labelled` ones where it has neither: Kueue takes jobs of
    kubeflow.org alone."""
    run: Path = ("spec", "runPolicy")
    above: Path = run if _is_kubeflow(manifest) else ("spec",)
    labels = mapping(mapping(manifest.get("metadata")).get("labels"))
    policy = mapping(mapping(mapping(manifest.get("spec")).get("runPolicy")).get("schedulingPolicy"))
    wanted = labelled if _is_kubeflow(manifest) else ()
    queue, priority = (
        ("metadata", "labels", label)
        if label in labels or (name in wanted and key not in policy)
        else (*above, "schedulingPolicy", key)
        for name, label, key in (
            ("queue", _KUEUE_QUEUE, "queue"),
            ("priority", _KUEUE_PRIORITY, "priorityClass"),
        )
    )
    clean = ("Running", "All", "None") if _is_kubeflow(manifest) else ("OnCompletion", "OnFailure", "Always", "Never")
    return (
        Row("queue", phrase("Queue"), values.TEXT, queue, Group.QUEUE),
        Row("priority", phrase("Priority"), values.TEXT, priority, Group.QUEUE),
        Row("labels", phrase("Labels"), values.LABELS, ("metadata", "labels"), Group.QUEUE),
        Row("restarts", phrase("Restarts at most"), values.NUMBER, (*run, "backoffLimit"), Group.END),
        Row(
            "deadline", phrase("Training time at most"), values.NUMBER, (*run, "activeDeadlineSeconds"),
            Group.END, unit=_SECONDS,
        ),
        Row("clean", phrase("Pods deleted at the end"), choose(*clean), (*above, "cleanPodPolicy"), Group.END),
        Row(
            "ttl", phrase("Job deleted after its end"), values.NUMBER, (*run, "ttlSecondsAfterFinished"),
            Group.END, unit=_SECONDS,
        ),
    )  # fmt: skip


def is_noted(manifest: Mapping[str, Any], labelled: Collection[Labelled]) -> bool:
    """Whether the working directory is in the annotation, where no container has one."""
    annotations = mapping(mapping(manifest.get("metadata")).get("annotations"))
    return WORKING_DIRECTORY_ANNOTATION in annotations or "directory" in labelled


def find_restart_policy(manifest: Mapping[str, Any]) -> Row:
    """The restart policy of a role: paddle-operator reads that of its pods."""
    if _is_kubeflow(manifest):
        return Row("restart", phrase("Restart policy"), choose("OnFailure", "Never", "ExitCode"), ("restartPolicy",))
    path = ("template", "spec", "restartPolicy")
    return Row("restart", phrase("Restart policy"), choose("OnFailure", "Never"), path)


def _is_kubeflow(manifest: Mapping[str, Any]) -> bool:
    return str(manifest.get("apiVersion")).startswith("kubeflow.org/")
