"""kubeflow.org/v1 <-> Job and Status: all kinds of Kubeflow's training-operator, v1.9, each a value of `KubeflowJob`.

The kinds differ in their name, the field of their replica specs, its replica types and the framework; the group has the
rest. Defaults are Kubeflow's: one replica, restartPolicy OnFailure. As there, the Masters decide when a job has
succeeded, where there are any (a PaddleJob's are parameter servers), else the workers. Two rules differ:

- The whole gang restarts, not one pod: the peers of a lost rank would wait for it without end.
- Without a `cleanPodPolicy`, pods that still run at the end are deleted. With Kubeflow's default, None, a finished job
  keeps its GPUs. An explicit `None` keeps the servers of a completed job; pods of a failed job end in any case.

What Kubeflow's webhook refuses is refused, but for three things, of which the latter two have a warning: a Master
without `replicas` has one; a name that is longer, has dots or begins with a digit is shortened where it must be; and
where no container is named after the framework, the first one trains. The values are in `apis.kubeflow_paddle`,
`apis.kubeflow_pytorch` and `apis.kubeflow_jax`, the CRD in `install.crd`, pods in `jobs.objects.pods`, conditions
in `apis.kubeflow_conditions`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from paddock.jobs.apis import Column, PodLabels, kubeflow_schema, kubeflow_status
from paddock.jobs.apis.manifests import MOST_PODS, accept, build_job, check_size
from paddock.jobs.apis.names import check_name
from paddock.jobs.apis.run_policy import read_run_policy, read_scheduling
from paddock.jobs.apis.schema_parts import find_spec_fields
from paddock.jobs.apis.templates import check_template
from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.jobs.launch import Launch
from paddock.jobs.model import CleanPods, Job, Network, Rank, RestartPolicy, Role, Status
from paddock.jobs.names import job_label
from paddock.kube.meta import Manifest, Resource, labels_of
from paddock.kube.nearness import nearest
from paddock.kube.times import Moment
from paddock.kube.validation.names import DNS1035_LABEL, DNS_SUBDOMAIN
from paddock.manifests.fields import Fields
from paddock.words.phrases import Phrase, phrase
from paddock.words.sentences import either, told, wrong

_LABELS = "training.kubeflow.org"
_TYPE_LABEL, _INDEX_LABEL = f"{_LABELS}/replica-type", f"{_LABELS}/replica-index"
_INDEX = re.compile(r"\d{1,9}")


class _Clean(StrEnum):
    ALL = "All"
    RUNNING = "Running"
    NONE = "None"


_CLEAN_PODS = {_Clean.ALL: CleanPods.ALWAYS, _Clean.RUNNING: CleanPods.RUNNING, _Clean.NONE: CleanPods.NEVER}


@dataclass(frozen=True, slots=True)
class ReplicaType:
    """A key of a kind's replica specs, and the role that it stands for."""

    name: str  # the key
    role: str  # its `Role.name`
    is_master: bool = False
    """These ranks decide whether the job has succeeded, where there are any, and their pods have Kubeflow's label
    `job-role: master`."""
    trains: bool = True  # as in `Role`
    restart: RestartPolicy = RestartPolicy.ON_FAILURE  # the default restartPolicy
    least: int = 1  # replicas that are allowed
    most: int = MOST_PODS


@dataclass(frozen=True, slots=True)
class KubeflowJob:
    """One kind of kubeflow.org."""

    kind: str
    replica_specs: str  # the field of `spec` with its roles
    replica_types: tuple[ReplicaType, ...]  # in the order of the ranks
    framework: str
    needs: Phrase  # what that field must be, for the error about a manifest without roles
    own_fields: Callable[[], Manifest]  # schemas of the fields of `spec` that the group does not have
    read_launch: Callable[[Fields, tuple[Role, ...]], Launch]  # reads them
    first_worker_leads: bool = False  # without a Master, the first worker has the label `job-role: master`

    short_names: tuple[str, ...] = ()
    rank_annotations: frozenset[str] = frozenset()
    rank_labels: frozenset[str] = frozenset({_TYPE_LABEL, _INDEX_LABEL})

    @property
    def resource(self) -> Resource:
        return Resource("kubeflow.org", "v1", self.kind, f"{self.kind.lower()}s")

    @property
    def columns(self) -> tuple[Column, ...]:
        return kubeflow_schema.COLUMNS

    @property
    def scale(self) -> Mapping[str, str] | None:
        return kubeflow_schema.build_scale(self.replica_specs)

    @property
    def spec_fields(self) -> frozenset[str]:
        return find_spec_fields(self.build_schema())

    def build_schema(self) -> Manifest:
        return kubeflow_schema.build_schema(self.replica_specs, self.own_fields())

    def read_job(self, manifest: Mapping[str, Any]) -> Job:
        """Raises `InvalidJob` with every problem at once, and no other exception."""
        root = Fields(manifest, "", {})
        metadata, spec = root.child("metadata"), root.child("spec")
        roles, policy = self._read_roles(spec), spec.child("runPolicy")
        check_name(metadata, roles)
        _check_short_name(metadata)
        launch = self.read_launch(spec, roles)
        clean = policy.choice("cleanPodPolicy", _Clean, _Clean.RUNNING)
        job = build_job(
            self,
            metadata,
            roles,
            Network(rendezvous=True),
            replace(read_run_policy(policy, _CLEAN_PODS[clean]), clean_word=str(clean)),
            read_scheduling(policy.child("schedulingPolicy"), roles),
            launch,
            spec=spec,
            one_decides=launch.elastic is not None and not any(role.name in self._masters() for role in roles),
        )
        return accept(job, root, self._path_of, "restartPolicy")

    def read_status(self, manifest: Mapping[str, Any]) -> Status:
        return kubeflow_status.read_status(manifest, self.replica_specs, self._roles())

    def write_status(
        self, previous: Mapping[str, Any], status: Status, now: Moment, manifest: Mapping[str, Any] | None = None
    ) -> Manifest:
        shape = kubeflow_status.Shape(self.kind, self.replica_specs, self._roles(), self._masters())
        return kubeflow_status.write_status(previous, status, now, shape, manifest or {})

    def build_pod_labels(self, job: Job, rank: Rank) -> PodLabels:
        """training-operator's labels; Kueue finds a job's pods by the first two."""
        selector = {
            f"{_LABELS}/operator-name": f"{self.kind.lower()}-controller",
            f"{_LABELS}/job-name": job_label(job.key.name),
            _TYPE_LABEL: rank.role,
            _INDEX_LABEL: str(rank.index),
        }
        masters = self._masters()
        leads = self.first_worker_leads and rank.index == 0 and not any(job.role(name) for name in masters)
        is_master = rank.role in masters or leads
        return PodLabels(
            selector | ({f"{_LABELS}/job-role": "master"} if is_master else {}), selector, service=selector
        )

    def build_config_map_labels(self, job: Job) -> dict[str, str]:
        """None: training-operator has no ConfigMap."""
        return {}

    def read_rank(self, pod: Mapping[str, Any]) -> Rank | None:
        role, index = labels_of(pod).get(_TYPE_LABEL), str(labels_of(pod).get(_INDEX_LABEL))
        return Rank(role, int(index)) if role and _INDEX.fullmatch(index) else None

    def _roles(self) -> dict[str, str]:
        return {each.name: each.role for each in self.replica_types}

    def _masters(self) -> frozenset[str]:
        return frozenset(each.role for each in self.replica_types if each.is_master)

    def _path_of(self, role: Role) -> str:
        name = next(each.name for each in self.replica_types if each.role == role.name)
        return f"spec.{self.replica_specs}.{name}"

    def _read_roles(self, spec: Fields) -> tuple[Role, ...]:
        specs, names = spec.child(self.replica_specs), self._roles()
        unknown = [key for key in specs.value if key not in names]
        for key in unknown:
            specs.add(wrong(specs.path_of(key), key, either(names), nearest(str(key), names)))
        found = [each for each in self.replica_types if specs.has(each.name)]
        if not found and not unknown and specs.readable:
            spec.refuse(self.replica_specs, self.needs)
        roles = tuple(self._read_role(specs.child(each.name), each) for each in found)
        check_size(spec, roles)
        masters = self._masters()
        if not any(role.replicas for role in roles if role.name in masters):
            return roles
        return tuple(replace(role, decides=role.name in masters) for role in roles)

    def _read_role(self, fields: Fields, replica_type: ReplicaType) -> Role:
        replicas = _read_replicas(fields, replica_type)
        check_template(fields)
        template, pod = fields.value.get("template"), fields.child("template").child("spec")
        restart = fields.choice("restartPolicy", RestartPolicy, replica_type.restart)
        if pod.has("restartPolicy") and pod.value["restartPolicy"] != restart:
            said = phrase("is not read: the one beside the template counts, which is {restart}", restart=str(restart))
            pod.warn("restartPolicy", said)
        _check_container_name(pod, FRAMEWORKS[self.framework].container)
        template = template if isinstance(template, Mapping) else {}
        return Role(replica_type.role, replicas, template, restart, trains=replica_type.trains)


def _read_replicas(fields: Fields, replica_type: ReplicaType) -> int:
    """One by default. A role that has one rank alone says where further ranks go."""
    low, high, found = replica_type.least, replica_type.most, fields.value.get("replicas")
    if low == high == 1 and isinstance(found, int | float) and found != 1:
        advice = phrase("; there is one {role}, rank 0, and further ranks are Workers", role=replica_type.name)
        fields.refuse("replicas", "1", advice=advice)
    elif found == 0 and low > 0 and not isinstance(found, bool):
        # `kubectl scale --replicas=0` is what stops a Deployment.
        advice = phrase("; to stop the job for a while, set spec.runPolicy.suspend to true")
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
