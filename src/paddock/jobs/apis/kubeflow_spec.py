"""The manifest of a job of kubeflow.org/v1 -> Job. The rules of the group are told in `apis.kubeflow`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any, Protocol

from paddock.jobs.apis import JobApi
from paddock.jobs.apis.kubeflow_replicas import ReplicaType, find_masters
from paddock.jobs.apis.manifests import accept, build_job, check_size
from paddock.jobs.apis.names import check_name
from paddock.jobs.apis.run_policy import read_run_policy, read_scheduling
from paddock.jobs.apis.templates import check_template
from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.jobs.launch import Launch
from paddock.jobs.model import CleanPods, Job, Network, RestartPolicy, Role
from paddock.kube.nearness import nearest
from paddock.kube.validation.names import DNS1035_LABEL, DNS_SUBDOMAIN
from paddock.manifests.fields import Fields
from paddock.words.phrases import Phrase, phrase
from paddock.words.sentences import either, told, wrong


class Kind(JobApi, Protocol):
    """What the reading needs to know of a kind: see `apis.kubeflow.KubeflowJob`."""

    @property
    def replica_specs(self) -> str: ...

    @property
    def replica_types(self) -> tuple[ReplicaType, ...]: ...

    @property
    def needs(self) -> Phrase: ...

    def read_launch(self, spec: Fields, roles: tuple[Role, ...], /) -> Launch: ...


class _Clean(StrEnum):
    ALL = "All"
    RUNNING = "Running"
    NONE = "None"


_CLEAN_PODS = {_Clean.ALL: CleanPods.ALWAYS, _Clean.RUNNING: CleanPods.RUNNING, _Clean.NONE: CleanPods.NEVER}


def read_job(kind: Kind, manifest: Mapping[str, Any]) -> Job:
    """Raises `InvalidJob` with every problem at once, and no other exception."""
    root = Fields(manifest, "", {})
    metadata, spec = root.child("metadata"), root.child("spec")
    roles, policy = _read_roles(kind, spec), spec.child("runPolicy")
    check_name(metadata, roles)
    _check_short_name(metadata)
    launch, masters = kind.read_launch(spec, roles), find_masters(kind.replica_types)
    clean = policy.choice("cleanPodPolicy", _Clean, _Clean.RUNNING)
    job = build_job(
        kind,
        metadata,
        roles,
        Network(rendezvous=True),
        replace(read_run_policy(policy, _CLEAN_PODS[clean]), clean_word=str(clean)),
        read_scheduling(policy.child("schedulingPolicy"), roles),
        launch,
        spec=spec,
        one_decides=launch.elastic is not None and not any(role.name in masters for role in roles),
    )
    names = {each.role: each.name for each in kind.replica_types}
    return accept(job, root, lambda role: f"spec.{kind.replica_specs}.{names[role.name]}", "restartPolicy")


def _read_roles(kind: Kind, spec: Fields) -> tuple[Role, ...]:
    specs, names = spec.child(kind.replica_specs), [each.name for each in kind.replica_types]
    unknown = [key for key in specs.value if key not in names]
    for key in unknown:
        specs.add(wrong(specs.path_of(key), key, either(names), nearest(str(key), names)))
    found = [each for each in kind.replica_types if specs.has(each.name)]
    if not found and not unknown and specs.readable:
        spec.refuse(kind.replica_specs, kind.needs)
    roles = tuple(_read_role(kind, specs.child(each.name), each, alone=len(found) == 1) for each in found)
    check_size(spec, roles)
    masters = find_masters(kind.replica_types)
    if not any(role.replicas for role in roles if role.name in masters):
        return roles
    return tuple(replace(role, decides=role.name in masters) for role in roles)


def _read_role(kind: Kind, fields: Fields, replica_type: ReplicaType, *, alone: bool) -> Role:
    replicas = _read_replicas(fields, replica_type, alone=alone)
    check_template(fields)
    template, pod = fields.value.get("template"), fields.child("template").child("spec")
    restart = fields.choice("restartPolicy", RestartPolicy, replica_type.restart)
    if pod.has("restartPolicy") and pod.value["restartPolicy"] != restart:
        said = phrase("is not read: the one beside the template counts, which is {restart}", restart=str(restart))
        pod.warn("restartPolicy", said)
    _check_container_name(pod, FRAMEWORKS[kind.framework].container)
    template = template if isinstance(template, Mapping) else {}
    return Role(replica_type.role, replicas, template, restart, trains=replica_type.trains)


def _read_replicas(fields: Fields, replica_type: ReplicaType, *, alone: bool) -> int:
    """One by default. A role that has one rank alone says where further ranks go. `alone`: without other roles."""
    low, high, found = replica_type.least, replica_type.most, fields.value.get("replicas")
    if low == high == 1 and isinstance(found, int | float) and found != 1:
        advice = phrase("; there is one {role}, rank 0, and further ranks are Workers", role=replica_type.name)
        fields.refuse("replicas", "1", advice=advice)
    elif found == 0 and low > 0 and not isinstance(found, bool):
        # `kubectl scale --replicas=0` is what stops a Deployment.
        advice = phrase("; to stop the job for a while, set spec.runPolicy.suspend to true")
        if not alone:
            advice = phrase(
                "; remove {role} if the other role trains alone, or, to stop the job for a while, set {path} to true",
                role=replica_type.name,
                path="spec.runPolicy.suspend",
            )
        fields.refuse("replicas", phrase("a whole number from {low} to {high}", low=low, high=high), advice=advice)
    elif (replicas := fields.whole("replicas", low, high)) is not None:
        return replicas
    return 1


def _check_short_name(metadata: Fields) -> None:
    """Kubeflow's webhook demands a name that a Service can have; here names of Services are derived from any name."""
    name = metadata.value.get("name")
    if isinstance(name, str) and DNS_SUBDOMAIN.allows(name) and not DNS1035_LABEL.allows(name):
        said = phrase(
            "Kubeflow's operator refuses this name: it takes at most {most} of a-z 0-9 -, the first one a letter",
            most=DNS1035_LABEL.longest,
        )
        metadata.warn("name", said)


def _check_container_name(pod: Fields, wanted: str) -> None:
    """Kubeflow's webhook demands the name; here the first container trains where none has it."""
    found = pod.value.get("containers")
    names = [each.get("name") for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []
    if names and isinstance(names[0], str) and wanted not in names:
        said = phrase(
            "none is called {wanted}, so the first, {first}, is the one that trains; Kubeflow's operator refuses that",
            wanted=wanted,
            first=names[0],
        )
        pod.add(told(pod.path_of("containers"), said, severity="warning"))
