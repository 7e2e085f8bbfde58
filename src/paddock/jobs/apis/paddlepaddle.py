"""batch.paddlepaddle.org/v1 PaddleJob <-> Job and Status. The manifest is paddle-operator's, v0.2 to v0.3.5.

Where paddle-operator took any text and then did something else (`cleanPodPolicy: OnFailed` kept everything), the
nearest right word is offered instead. What it crashed on (no containers, replicas 0, servers without workers) is an
`InvalidJob`. `runPolicy` is ours, in Kubeflow's shape. Pods are built in `jobs.pods`, the CRD in `jobs.crd`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

from paddock.jobs.apis import Marks
from paddock.jobs.apis.names import check_name
from paddock.jobs.apis.paddlepaddle_schema import COLUMNS, SCALE, build_schema
from paddock.jobs.apis.paddlepaddle_status import read_status, write_status
from paddock.jobs.apis.run_policy import read_run_policy, read_scheduling
from paddock.jobs.fields import Fields
from paddock.jobs.model import CleanPods, Intranet, Job, Network, Policies, Rank, RestartPolicy, Role
from paddock.jobs.names import rank_label
from paddock.jobs.phrases import phrase
from paddock.jobs.problems import InvalidJob, Problem
from paddock.jobs.substitutions import read_notices
from paddock.jobs.templates import check_template
from paddock.jobs.text import wrong
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

resource = Resource("batch.paddlepaddle.org", "v1", "PaddleJob", "paddlejobs")
short_names = ("pdj",)
columns = COLUMNS
scale: Mapping[str, str] | None = SCALE

MOST_PODS = 10_000
"""Of one job. More is a slip of the keyboard, and would keep an API server busy for an hour."""

ROLES = ("ps", "worker", "heter")
_DECIDES = frozenset({"worker"})


_NO_HETER = (
    "today's PaddlePaddle, 3.3, has no heterogeneous parameter servers any more: these pods are told what PaddlePaddle "
    "2.3 to 3.0 read, and later ones ignore it"
)
_UNREAD = (
    "is not read, and no version of paddle-operator read it: the number of pods is replicas, and what a pod may use "
    "is in resources of its containers"
)


class _Clean(StrEnum):
    ALWAYS = "Always"
    NEVER = "Never"
    ON_FAILURE = "OnFailure"
    ON_COMPLETION = "OnCompletion"


class _RunClean(StrEnum):
    """Within `runPolicy` also Kubeflow's words."""

    ALWAYS = "Always"
    NEVER = "Never"
    ON_FAILURE = "OnFailure"
    ON_COMPLETION = "OnCompletion"
    ALL = "All"
    NONE = "None"
    RUNNING = "Running"


_OF_KUBEFLOW = {_RunClean.ALL: CleanPods.ALWAYS, _RunClean.NONE: CleanPods.NEVER}


class _Restart(StrEnum):
    NEVER = "Never"
    ON_FAILURE = "OnFailure"


def read_job(manifest: Mapping[str, Any]) -> Job:
    """Raises `InvalidJob` with every problem at once, and nothing else, whatever `manifest` holds."""
    problems: list[Problem] = []
    root = Fields(manifest, "", problems)
    metadata, spec = root.child("metadata"), root.child("spec")
    network = Network(spec.choice("intranet", Intranet, Intranet.POD_IP), spec.whole("withGloo", 0, 2) or 0)
    elastic = _read_elastic(spec)
    roles = _read_roles(spec, network, elastic)
    check_name(metadata, roles)
    job = Job(
        resource=resource,
        framework="paddle",
        key=Key(metadata.text("namespace"), metadata.text("name")),
        uid=metadata.text("uid"),
        generation=metadata.whole("generation", 0, 2**63) or 0,
        mode=_mode(roles),
        roles=roles,
        network=network,
        policies=_read_policies(spec),
        scheduling=read_scheduling(spec.child("schedulingPolicy"), roles),
        elastic=elastic,
        labels=metadata.texts("labels"),
        annotations=metadata.texts("annotations"),
        created=read_time(metadata.text("creationTimestamp")),
        deleting=bool(metadata.text("deletionTimestamp")),
    )
    if any(problem.severity == "error" for problem in problems):
        raise InvalidJob(tuple(problems))
    return replace(job, warnings=(*problems, *read_notices(job, lambda role: f"spec.{role.name}")))


def build_marks(job: Job, rank: Rank) -> Marks:
    """paddle-operator's."""
    name = rank_label(job, rank)
    labels = {"paddle-res-name": name, "paddle-res-type": rank.role}
    return Marks(labels, {"paddle-res-name": name}, {"paddle-resource": rank.role})


def _mode(roles: tuple[Role, ...]) -> str:
    """As `kubectl get` shows it. With one worker alone nothing is distributed."""
    replicas = {role.name: role.replicas for role in roles}
    if "ps" in replicas:
        return "PS"
    return "Collective" if replicas.get("worker", 0) > 1 else "Single"


def _read_roles(spec: Fields, network: Network, elastic: bool) -> tuple[Role, ...]:
    if spec.readable and not spec.has("worker"):
        why = "is missing: every job trains in its workers, with parameter servers too"
        spec.add(Problem(spec.path_of("worker"), why, "nothing", "a role with replicas and a template"))
    roles = [_read_role(spec.child(name), name, network, elastic) for name in ROLES if spec.has(name)]
    if spec.has("heter"):
        spec.warn("heter", _NO_HETER)
    size = sum(role.replicas for role in roles)
    if size > MOST_PODS and all(role.replicas <= MOST_PODS for role in roles):
        spec.add(wrong("spec", size, phrase("a job of at most {most} pods in all", most=MOST_PODS)))
    return tuple(roles)


def _read_role(fields: Fields, name: str, network: Network, elastic: bool) -> Role:
    replicas = fields.whole("replicas", 1, MOST_PODS)
    if replicas is None and not fields.has("replicas"):
        fields.refuse("replicas", phrase("a whole number from {low} to {high}", low=1, high=MOST_PODS))
    for unread in ("requests", "limits"):
        if fields.value.get(unread) is not None:
            fields.warn(unread, _UNREAD)
    check_template(fields)
    restart = _read_restart(fields.child("template").child("spec"), name, network, elastic)
    template = fields.value.get("template")
    return Role(name, replicas or 0, template if isinstance(template, Mapping) else {}, restart, name in _DECIDES)


def _read_restart(spec: Fields, role: str, network: Network, elastic: bool) -> RestartPolicy:
    """paddle-operator's defaults: OnFailure for elastic jobs, whatever they say, and for workers that go by Service."""
    by_name = role == "worker" and network.intranet is Intranet.SERVICE
    default = _Restart.ON_FAILURE if by_name else _Restart.NEVER
    if spec.value.get("restartPolicy") == "Always":
        spec.refuse("restartPolicy", "Never or OnFailure (a rank that has ended well must not start again)")
        return RestartPolicy.NEVER
    found = spec.choice("restartPolicy", _Restart, default)
    return RestartPolicy.ON_FAILURE if elastic else RestartPolicy(found)


def _read_elastic(spec: Fields) -> bool:
    """Any number at all switched it on in paddle-operator, 0 too; what it did then could not work since v0.3.3."""
    if not spec.has("elastic"):
        return False
    if spec.whole("elastic", -(2**31), 2**31 - 1) is not None:
        spec.warn(
            "elastic",
            "the number of replicas does not change by itself; all that this line does is restart what fails: "
            "write restartPolicy: OnFailure in the template's spec in its place, or remove the line",
        )
    return True


def _read_policies(spec: Fields) -> Policies:
    """The spec's own clean-up policy, by its right name, then by the other, then that of `runPolicy`."""
    policy, names = spec.child("runPolicy"), ("cleanPodPolicy", "cleanPolicy")
    said = [spec.choice(name, _Clean, _Clean.ON_COMPLETION) for name in names if spec.value.get(name)]
    if spec.has("cleanPolicy"):
        spec.warn("cleanPolicy", 'the field is called "cleanPodPolicy"; it is read as if it were')
    clean = policy.choice("cleanPodPolicy", _RunClean, _RunClean.ON_COMPLETION)
    return read_run_policy(policy, CleanPods(said[0]) if said else _OF_KUBEFLOW.get(clean) or CleanPods(clean))
