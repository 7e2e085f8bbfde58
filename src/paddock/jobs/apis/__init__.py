"""The interface of an API group: every kind of training job is a `JobApi`.

A `JobApi` reads one kind of manifest into a `Job` and writes a `Status` in that kind's own shape. It is a value, so one
class may serve several kinds of a group (`apis.kubeflow.KubeflowJob`). The rest of Paddock sees `Job` and `Status`
only. The values are in `apis.registry`; a new kind is one more value there. `read_job` raises `InvalidJob` and no other
exception, whatever the manifest holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from paddock.jobs.model import Job, Rank, Status
from paddock.kube.meta import Manifest, Resource
from paddock.kube.times import Moment

MOST_PODS = 10_000
"""Pods of one job. A larger number is a typing mistake, and would keep an API server busy for an hour."""


class Column(NamedTuple):
    """A printer column of `kubectl get`. `wide`: with `-o wide` alone."""

    name: str
    path: str
    type: str = "string"
    wide: bool = False


@dataclass(frozen=True, slots=True)
class PodLabels:
    """Group-specific labels and annotations of a rank's pod, by which the group's own tools find it."""

    labels: Mapping[str, str]
    selector: Mapping[str, str]  # selects this pod only, for the rank's Service
    annotations: Mapping[str, str] = field(default_factory=dict)
    service: Mapping[str, str] = field(default_factory=dict)  # labels of that Service


class JobApi(Protocol):
    """One kind of job."""

    @property
    def resource(self) -> Resource: ...

    @property
    def framework(self) -> str:
        """The framework of its jobs: a key of `frameworks.registry.FRAMEWORKS`."""
        ...

    @property
    def short_names(self) -> tuple[str, ...]:
        """The short names of the kind for kubectl."""
        ...

    @property
    def columns(self) -> tuple[Column, ...]:
        """The printer columns of `kubectl get`, after the name."""
        ...

    @property
    def scale(self) -> Mapping[str, str] | None:
        """The paths of the subresource `scale`, for `kubectl scale`; None for a kind without one."""
        ...

    @property
    def spec_fields(self) -> frozenset[str]:
        """The names of the fields of `spec`."""
        ...

    @property
    def rank_annotations(self) -> frozenset[str]:
        """The pod annotations that `read_rank` reads; a cache of pods must keep them."""
        ...

    @property
    def rank_labels(self) -> frozenset[str]:
        """The pod labels that `read_rank` reads; a cache of pods must keep them."""
        ...

    def read_job(self, manifest: Mapping[str, Any]) -> Job:
        """The job of a manifest, with defaults. Raises `InvalidJob` with every problem at once; harmless problems are
        in `Job.warnings`."""
        ...

    def read_status(self, manifest: Mapping[str, Any]) -> Status:
        """The recorded status, by any operator of the group. Never raises: an unreadable value counts as absent."""
        ...

    def write_status(
        self, previous: Mapping[str, Any], status: Status, now: Moment, manifest: Mapping[str, Any] | None = None
    ) -> Manifest:
        """A JSON merge patch for `.status`, against `previous`, the stored raw status. `manifest`: the job as it is
        stored, for a kind whose status has its name in it.

        The patch has Paddock's keys only; a key to remove is None. Applied to `previous`, it reads back as `status`.
        """
        ...

    def build_pod_labels(self, job: Job, rank: Rank) -> PodLabels:
        """The group's labels of the pod of `rank`, in addition to Paddock's own labels."""
        ...

    def build_config_map_labels(self, job: Job) -> dict[str, str]:
        """The group's labels of the ConfigMap of an attempt, in addition to Paddock's own labels."""
        ...

    def read_rank(self, pod: Mapping[str, Any]) -> Rank | None:
        """The rank of a pod that another operator of this group created; None for any other pod. Never raises."""
        ...

    def build_schema(self) -> Manifest:
        """The structural OpenAPI v3 schema of the kind, for its CRD and for checks before a manifest is sent."""
        ...
