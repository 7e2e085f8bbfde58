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
`apis.kubeflow_pytorch` and `apis.kubeflow_jax`, the reading of a manifest in `apis.kubeflow_spec`, the CRD in
`install.crd`, pods in `jobs.objects.pods`, conditions in `apis.kubeflow_conditions`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paddock.jobs.apis import Column, PodLabels, kubeflow_schema, kubeflow_status
from paddock.jobs.apis.kubeflow_replicas import ReplicaType, find_masters
from paddock.jobs.apis.schema_parts import find_spec_fields
from paddock.jobs.launch import Launch
from paddock.jobs.model import Job, Rank, Role, Status
from paddock.jobs.names import job_label
from paddock.kube.meta import Manifest, Resource, labels_of
from paddock.kube.times import Moment
from paddock.words.phrases import Phrase

if TYPE_CHECKING:
    from paddock.manifests.fields import Fields

_LABELS = "training.kubeflow.org"
_TYPE_LABEL, _INDEX_LABEL = f"{_LABELS}/replica-type", f"{_LABELS}/replica-index"
_INDEX = re.compile(r"\d{1,9}")


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
        from paddock.jobs.apis.kubeflow_spec import read_job  # late: a list of jobs reads statuses alone

        return read_job(self, manifest)

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
        return find_masters(self.replica_types)
