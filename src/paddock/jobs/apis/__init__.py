"""API groups of training jobs: what every one of them can do, and nothing of any one of them.

A module of this package reads one kind of manifest into a `Job` and writes a `Status` in that kind's own shape. The
rest of Paddock sees `Job` and `Status` only. Which kinds there are is in `apis.registry`; adding one is a new module
here and one line there. Nothing in a manifest may raise anything but `InvalidJob`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from paddock.jobs.model import Job, Rank, Status
from paddock.kube.meta import Manifest, Resource
from paddock.kube.times import Moment

Column = tuple[str, str, str]
"""A printer column: its name, its JSONPath, its type."""


@dataclass(frozen=True, slots=True)
class Marks:
    """By what other tools of an API group know a rank's pod. `selector`: those of the labels that no other pod has
    all of, for the rank's Service."""

    labels: Mapping[str, str]
    selector: Mapping[str, str]
    annotations: Mapping[str, str] = field(default_factory=dict)


class JobApi(Protocol):
    """One kind of job. The modules of this package satisfy it by themselves: functions at top level, no class."""

    @property
    def resource(self) -> Resource: ...

    @property
    def short_names(self) -> tuple[str, ...]:
        """What kubectl takes for the kind besides its name."""
        ...

    @property
    def columns(self) -> tuple[Column, ...]:
        """What `kubectl get` prints of a job beside its name."""
        ...

    @property
    def scale(self) -> Mapping[str, str] | None:
        """The paths of the subresource `scale`, for `kubectl scale`; None for a kind without one."""
        ...

    def read_job(self, manifest: Mapping[str, Any]) -> Job:
        """What the user asked for, defaulted. Raises `InvalidJob` with every problem at once; what is odd but
        harmless comes as `Job.warnings`."""
        ...

    def read_status(self, manifest: Mapping[str, Any]) -> Status:
        """What was recorded, by whomever. Never raises: what cannot be read reads as not recorded."""
        ...

    def write_status(self, previous: Mapping[str, Any], status: Status, now: Moment) -> Manifest:
        """A JSON merge patch for `.status`, against `previous`, the raw status as it is stored.

        It names keys of ours only; a key that must go is None. Applied to `previous` it reads back as `status`.
        """
        ...

    def build_marks(self, job: Job, rank: Rank) -> Marks:
        """Of the pod of `rank`, beside Paddock's own labels."""
        ...

    def build_schema(self) -> Manifest:
        """The structural OpenAPI v3 schema of the kind, for its CRD and for checks before anything is sent."""
        ...
