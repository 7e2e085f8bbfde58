"""Fields that another API has and this kind has not: what is written in their place."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from paddock.jobs.apis import JobApi
from paddock.jobs.apis.registry import KINDS
from paddock.kube.validation.field_errors import Code
from paddock.words.phrases import Phrase, phrase
from paddock.words.problems import Problem
from paddock.words.sentences import told

_UNMERGED: Mapping[str, Phrase] = {
    "spec.sampleSetRef": phrase(
        "is of a branch of paddle-operator that was never merged: mount the data as a volume, such as a "
        "persistentVolumeClaim in spec.worker.template.spec.volumes"
    ),
    "spec.tasks": phrase(
        "is of a branch of paddle-operator that was never merged: write each task as the field of its name, spec.ps, "
        "spec.worker or spec.heter, with its replicas and template"
    ),
    "spec.mode": phrase(
        "is of a branch of paddle-operator that was never merged: the mode follows from the roles, so remove the line"
    ),
    "spec.startInOrder": phrase(
        "is of a branch of paddle-operator that was never merged: pods start together, so remove the line"
    ),
}
"""Fields of v1 PaddleJobs that only branches of paddle-operator had (`heter`, `sampleset`)."""


_REPLICAS = phrase("is of a batch/v1 Job: here the replicas of each role say how many pods there are; remove the line")
_ROLES = phrase(
    "is of another kind of job: write each of its roles as one of this kind, with its replicas and template"
)
_PLUGINS = phrase("is of Volcano's Job: here each rank is told its peers without a plug-in; remove the line")
_POLICIES = phrase(
    "is of Volcano's Job: here a failed rank restarts the gang by the role's restartPolicy, at most "
    "spec.runPolicy.backoffLimit times"
)
_TRAINER = phrase(
    "is of a TrainJob of trainer.kubeflow.org: here each role has its replicas and its template, and no runtime is read"
)
_SLOTS = phrase("is of an MPIJob: a rank starts as many processes as its launcher is told, such as --nproc_per_node")
_OF_OTHERS: Mapping[str, Phrase] = {
    "spec.completions": _REPLICAS,
    "spec.parallelism": _REPLICAS,
    "spec.completionMode": _REPLICAS,
    "spec.selector": phrase("is of a Deployment: a job finds its pods by itself; remove the line"),
    "spec.tasks": _ROLES,
    "spec.mpiReplicaSpecs": _ROLES,
    "spec.tfReplicaSpecs": _ROLES,
    "spec.xgbReplicaSpecs": _ROLES,
    "spec.mxReplicaSpecs": _ROLES,
    "spec.plugins": _PLUGINS,
    "spec.policies": _POLICIES,
    "spec.maxRetry": _POLICIES,
    "spec.slotsPerWorker": _SLOTS,
    "spec.trainer": _TRAINER,
    "spec.runtimeRef": _TRAINER,
    "spec.numNodes": _TRAINER,
}
"""Fields of other kinds that run programs to their end, of which a job was made."""


def explain_foreign_fields(problems: Collection[Problem], api: JobApi) -> list[Problem]:
    """The same problems, with other sentences for fields of other kinds, and of paddle-operator's unmerged branches:
    what to write in their place."""
    known = {**_OF_OTHERS, **(_UNMERGED if api.resource.group == "batch.paddlepaddle.org" else {})}
    return [
        told(each.path, known[each.path], about_key=True, code=Code.UNKNOWN_FIELD)
        if each.path in known and each.code is Code.UNKNOWN_FIELD
        else each
        for each in problems
    ]


def place_versions(problems: Collection[Problem], api: JobApi) -> list[Problem]:
    """The same problems, with other sentences for fields that the same kind has in another group: `PaddleJob` exists in
    two groups, and a manifest may mix both. Then missing fields of the spec are left out."""
    own = api.resource
    foreign = {
        f"spec.{name}": each.api_version
        for each, other in KINDS.items()
        if each.kind == own.kind
        for name in other.spec_fields - api.spec_fields
    }
    result = []
    for problem in problems:
        version = foreign.get(problem.path)
        if version and problem.code is Code.UNKNOWN_FIELD and "." not in problem.suggestion:
            said = phrase(
                "a {kind} of {other} has this field, and this one is of {own}: keep to one of the two",
                kind=own.kind,
                other=version,
                own=own.api_version,
            )
            problem = told(problem.path, said, about_key=True, code=Code.FOREIGN_FIELD)
        result.append(problem)
    if not any(each.path in foreign and each.code is not Code.UNKNOWN_FIELD for each in result):
        return result
    return [each for each in result if each.code is not Code.REQUIRED or each.path.rpartition(".")[0] != "spec"]
