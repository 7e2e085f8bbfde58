"""batch.paddlepaddle.org/v1 PaddleJob <-> Job and Status. The manifest is paddle-operator's, v0.2 to v0.3.5.

A text that paddle-operator accepted without knowing it (`cleanPodPolicy: OnFailed` kept every pod) has the same effect
here, with a warning that names the nearest valid word. Manifests that crashed paddle-operator (no containers,
replicas 0, servers without workers) are an `InvalidJob`. `runPolicy` is Paddock's addition, in Kubeflow's shape. A
manifest is read in `apis.paddlepaddle_spec`; pods are built in `jobs.objects.pods`, the CRD in `install.crd`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.jobs.apis import Column, PodLabels, paddlepaddle_schema, paddlepaddle_status
from paddock.jobs.apis.schema_parts import find_spec_fields
from paddock.jobs.model import Job, Rank, Status
from paddock.jobs.names import job_label, rank_label, read_pod_name
from paddock.kube.meta import Manifest, Resource, annotations_of, labels_of, name_of
from paddock.kube.times import Moment

_NAME_LABEL, _ROLE_LABEL, _ROLE_ANNOTATION = "paddle-res-name", "paddle-res-type", "paddle-resource"


class PaddlePaddleJob:
    """The kind PaddleJob of paddle-operator."""

    resource = Resource("batch.paddlepaddle.org", "v1", "PaddleJob", "paddlejobs")
    framework = "paddle"
    short_names: tuple[str, ...] = ("pdj",)
    columns: tuple[Column, ...] = paddlepaddle_schema.COLUMNS
    scale: Mapping[str, str] | None = paddlepaddle_schema.SCALE
    rank_annotations = frozenset({_ROLE_ANNOTATION})
    rank_labels = frozenset({_ROLE_LABEL})

    @property
    def spec_fields(self) -> frozenset[str]:
        return find_spec_fields(self.build_schema())

    def build_schema(self) -> Manifest:
        return paddlepaddle_schema.build_schema()

    def read_job(self, manifest: Mapping[str, Any]) -> Job:
        """Raises `InvalidJob` with every problem at once, and no other exception."""
        from paddock.jobs.apis.paddlepaddle_spec import read_job  # late: a list of jobs reads statuses alone

        return read_job(self, manifest)

    def read_status(self, manifest: Mapping[str, Any]) -> Status:
        return paddlepaddle_status.read_status(manifest)

    def write_status(
        self, previous: Mapping[str, Any], status: Status, now: Moment, manifest: Mapping[str, Any] | None = None
    ) -> Manifest:
        return paddlepaddle_status.write_status(previous, status, now)

    def build_pod_labels(self, job: Job, rank: Rank) -> PodLabels:
        """paddle-operator's labels and annotation."""
        selector = {_NAME_LABEL: rank_label(job, rank)}
        return PodLabels(selector | {_ROLE_LABEL: rank.role}, selector, {_ROLE_ANNOTATION: rank.role})

    def build_config_map_labels(self, job: Job) -> dict[str, str]:
        return {_NAME_LABEL: job_label(job.key.name)}

    def read_rank(self, pod: Mapping[str, Any]) -> Rank | None:
        """The role is in an annotation or a label; the index only in the pod's name."""
        role = annotations_of(pod).get(_ROLE_ANNOTATION) or labels_of(pod).get(_ROLE_LABEL)
        rank = read_pod_name(name_of(pod))
        return rank if rank is not None and rank.role == role else None
