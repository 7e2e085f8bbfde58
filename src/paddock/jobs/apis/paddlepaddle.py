"""batch.paddlepaddle.org/v1 PaddleJob <-> Job and Status. The manifest is paddle-operator's, v0.2 to v0.3.5.

Where paddle-operator took any text and then did something else (`cleanPodPolicy: OnFailed` kept everything), the
nearest right word is offered instead. What it crashed on (no containers, replicas 0, servers without workers) is an
`InvalidJob`. `runPolicy` is ours, in Kubeflow's shape. Pods are built in `jobs.pods`, the CRD in `jobs.crd`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

from paddock.jobs.apis.paddlepaddle_status import read_status, write_status
from paddock.jobs.apis.run_policy import read_run_policy
from paddock.jobs.crd import PADDLE_JOBS, build_schema
from paddock.jobs.fields import Fields
from paddock.jobs.model import (
    CleanPods,
    Intranet,
    InvalidJob,
    Job,
    Network,
    Policies,
    Problem,
    RestartPolicy,
    Role,
    Scheduling,
)
from paddock.jobs.templates import check_template
from paddock.jobs.text import quote, wrong
from paddock.kube.meta import Key
from paddock.kube.times import read_time

__all__ = ["build_schema", "read_job", "read_status", "resource", "write_status"]

resource = PADDLE_JOBS

MOST_PODS = 10_000
"""Of one job. More is a slip of the keyboard, and would keep an API server busy for an hour."""

ROLES = ("ps", "worker", "heter")
_DECIDES = frozenset({"worker"})
_LONGEST_POD_NAME = 63  # it is a label and a host name as well
_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_NAME_ALLOWED = "a name of a-z 0-9 - that begins with a letter and ends with a letter or digit"
_GENERATED = "xxxxx"  # what the API server appends to generateName has this length


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
    _check_name(metadata, roles)
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
        scheduling=_read_scheduling(spec.child("schedulingPolicy"), roles),
        elastic=elastic,
        labels=metadata.texts("labels"),
        annotations=metadata.texts("annotations"),
        created=read_time(metadata.text("creationTimestamp")),
        deleting=bool(metadata.text("deletionTimestamp")),
    )
    if any(problem.severity == "error" for problem in problems):
        raise InvalidJob(tuple(problems))
    return replace(job, warnings=tuple(problems))


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
    size = sum(role.replicas for role in roles)
    if size > MOST_PODS and all(role.replicas <= MOST_PODS for role in roles):
        spec.add(wrong("spec", size, f"a job of at most {MOST_PODS} pods in all"))
    return tuple(roles)


def _read_role(fields: Fields, name: str, network: Network, elastic: bool) -> Role:
    replicas = fields.whole("replicas", 1, MOST_PODS)
    if replicas is None and not fields.has("replicas"):
        fields.refuse("replicas", f"a whole number from 1 to {MOST_PODS}")
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
        spec.warn("elastic", "the job trains with the replicas it asks for: their number does not change by itself")
    return True


def _read_policies(spec: Fields) -> Policies:
    clean = (
        spec.choice("cleanPodPolicy", CleanPods, CleanPods.ON_COMPLETION) if spec.value.get("cleanPodPolicy") else None
    )
    if spec.has("cleanPolicy"):
        alias = spec.choice("cleanPolicy", CleanPods, CleanPods.ON_COMPLETION)
        spec.warn("cleanPolicy", 'the field is called "cleanPodPolicy"; it is read as if it were')
        clean = clean or alias
    return read_run_policy(spec.child("runPolicy"), clean)


def _read_scheduling(policy: Fields, roles: tuple[Role, ...]) -> Scheduling:
    size = sum(role.replicas for role in roles)
    return Scheduling(
        min_available=policy.whole("minAvailable", 1, max(size, 1)),
        queue=policy.text("queue"),
        priority_class=policy.text("priorityClass"),
        min_resources=policy.quantities("minResources"),
    )


def _check_name(metadata: Fields, roles: tuple[Role, ...]) -> None:
    """The job's name begins the names of its pods and Services: RFC 1035 labels of at most 63 characters."""
    key = "name" if metadata.has("name") or not metadata.has("generateName") else "generateName"
    found = metadata.value.get(key)
    if not isinstance(found, str) or not found:
        metadata.refuse(key, _NAME_ALLOWED)
        return
    name = found if key == "name" else found + _GENERATED
    if not _NAME.fullmatch(name):
        metadata.refuse(key, _NAME_ALLOWED)
    suffix = max((f"-{role.name}-{role.replicas - 1}" for role in roles if role.replicas), key=len, default="")
    most = _LONGEST_POD_NAME - len(suffix) - (len(name) - len(found))
    if len(found) > most:
        allowed = f"a name of at most {most} characters"
        message = f'found {quote(found)}, {allowed} is allowed: with "{suffix}" it names a pod, in at most 63'
        metadata.add(Problem(metadata.path_of(key), message, quote(found), allowed))
