"""kubeflow.org/v1 PaddleJob <-> Job and Status. The manifest is that of Kubeflow's training-operator, v1.9.

Replica types are `Master` (parameter servers) and `Worker`; here they are the roles `master` and `worker`, as in the
names of their pods. Defaults are Kubeflow's: one replica, restartPolicy OnFailure. Where it did harm, this differs:

- The whole gang restarts, not one pod: peers of a rank that is gone wait for it in vain.
- Workers decide when a job with a Master has succeeded: parameter servers never end by themselves.
- Without a `cleanPodPolicy` what still runs at the end is deleted. With Kubeflow's default, None, a finished job went
  on holding GPUs; `None` as a word keeps servers of a completed job, and no survivor of a failed one.

A container named `paddle` is not demanded: the first one trains. The CRD is made in `jobs.crd`, pods in `jobs.pods`,
conditions in `apis.kubeflow_conditions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

from paddock.jobs.apis import Marks
from paddock.jobs.apis.kubeflow_schema import COLUMNS, SCALE, build_schema
from paddock.jobs.apis.kubeflow_status import ROLES, read_status, write_status
from paddock.jobs.apis.names import check_name
from paddock.jobs.apis.run_policy import read_run_policy, read_scheduling
from paddock.jobs.fields import Fields
from paddock.jobs.model import CleanPods, Job, Network, Rank, RestartPolicy, Role
from paddock.jobs.names import job_label
from paddock.jobs.phrases import phrase
from paddock.jobs.problems import InvalidJob, Problem
from paddock.jobs.substitutions import read_notices
from paddock.jobs.templates import check_template
from paddock.jobs.text import either, nearest, wrong
from paddock.kube.meta import Key, Resource
from paddock.kube.times import read_time

__all__ = [
    "build_marks",
    "build_schema",
    "columns",
    "read_job",
    "read_status",
    "resource",
    "scale",
    "short_names",
    "write_status",
]

resource = Resource("kubeflow.org", "v1", "PaddleJob", "paddlejobs")
short_names: tuple[str, ...] = ()
columns = COLUMNS
scale: Mapping[str, str] | None = SCALE

MOST_PODS = 10_000
_MOST = 2**31 - 1
_LABELS = "training.kubeflow.org"
_OPERATOR = "paddlejob-controller"


class _Clean(StrEnum):
    ALL = "All"
    RUNNING = "Running"
    NONE = "None"


class _ManagedBy(StrEnum):
    OPERATOR = "kubeflow.org/training-operator"


_CLEAN_PODS = {_Clean.ALL: CleanPods.ALWAYS, _Clean.RUNNING: CleanPods.RUNNING, _Clean.NONE: CleanPods.NEVER}


def read_job(manifest: Mapping[str, Any]) -> Job:
    """Raises `InvalidJob` with every problem at once, and nothing else, whatever `manifest` holds."""
    problems: list[Problem] = []
    root = Fields(manifest, "", problems)
    metadata, spec = root.child("metadata"), root.child("spec")
    roles, policy = _read_roles(spec), spec.child("runPolicy")
    policy.choice("managedBy", _ManagedBy, _ManagedBy.OPERATOR)
    check_name(metadata, roles)
    job = Job(
        resource=resource,
        framework="paddle",
        key=Key(metadata.text("namespace"), metadata.text("name")),
        uid=metadata.text("uid"),
        generation=metadata.whole("generation", 0, 2**63) or 0,
        mode=_mode(roles),
        roles=roles,
        network=Network(rendezvous=True),
        policies=read_run_policy(policy, _CLEAN_PODS[policy.choice("cleanPodPolicy", _Clean, _Clean.RUNNING)]),
        scheduling=read_scheduling(policy.child("schedulingPolicy"), roles),
        elastic=_read_elastic(spec),
        labels=metadata.texts("labels"),
        annotations=metadata.texts("annotations"),
        created=read_time(metadata.text("creationTimestamp")),
        deleting=bool(metadata.text("deletionTimestamp")),
    )
    if any(problem.severity == "error" for problem in problems):
        raise InvalidJob(tuple(problems))
    return replace(job, warnings=(*problems, *read_notices(job, _path_of)))


def build_marks(job: Job, rank: Rank) -> Marks:
    """training-operator's labels; Kueue finds a job's pods by the first two."""
    selector = {
        f"{_LABELS}/operator-name": _OPERATOR,
        f"{_LABELS}/job-name": job_label(job.key.name),
        f"{_LABELS}/replica-type": rank.role,
        f"{_LABELS}/replica-index": str(rank.index),
    }
    role = {f"{_LABELS}/job-role": "master"} if rank.role == "master" else {}
    return Marks({**selector, **role}, selector)


def _mode(roles: tuple[Role, ...]) -> str:
    replicas = {role.name: role.replicas for role in roles}
    if "master" in replicas:
        return "PS"
    return "Collective" if replicas.get("worker", 0) > 1 else "Single"


def _path_of(role: Role) -> str:
    kind = next(kind for kind, name in ROLES.items() if name == role.name)
    return f"spec.paddleReplicaSpecs.{kind}"


def _read_roles(spec: Fields) -> tuple[Role, ...]:
    specs = spec.child("paddleReplicaSpecs")
    unknown = [key for key in specs.value if key not in ROLES]
    for key in unknown:
        specs.add(wrong(specs.path_of(key), key, either(ROLES), nearest(str(key), ROLES)))
    found = [(kind, name) for kind, name in ROLES.items() if specs.has(kind)]
    if not found and not unknown and specs.readable:
        spec.refuse("paddleReplicaSpecs", "a mapping with Worker, and Master where there are parameter servers,")
    roles = tuple(_read_role(specs.child(kind), name) for kind, name in found)
    size = sum(role.replicas for role in roles)
    if size > MOST_PODS and all(role.replicas <= MOST_PODS for role in roles):
        spec.add(wrong("spec", size, phrase("a job of at most {most} pods in all", most=MOST_PODS)))
    return roles


def _read_role(fields: Fields, name: str) -> Role:
    replicas = fields.whole("replicas", 1, MOST_PODS)
    check_template(fields)
    template, pod = fields.value.get("template"), fields.child("template").child("spec")
    restart = fields.choice("restartPolicy", RestartPolicy, RestartPolicy.ON_FAILURE)
    if pod.has("restartPolicy") and pod.value["restartPolicy"] != restart:
        said = phrase("is not read: the one beside the template counts, which is {restart}", restart=str(restart))
        pod.warn("restartPolicy", said)
    number = 1 if replicas is None else replicas
    return Role(name, number, template if isinstance(template, Mapping) else {}, restart, decides=name == "worker")


def _read_elastic(spec: Fields) -> bool:
    """Kept as it is written. Kubeflow's own operator never read it for a PaddleJob either."""
    policy = spec.child("elasticPolicy")
    for key in ("minReplicas", "maxReplicas", "maxRestarts"):
        policy.whole(key, 0, _MOST)
    if not spec.has("elasticPolicy"):
        return False
    spec.warn("elasticPolicy", "does nothing here: the number of replicas does not change by itself; remove it")
    return True
