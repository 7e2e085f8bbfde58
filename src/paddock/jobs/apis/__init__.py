"""API groups of training jobs: what every one of them can do, and nothing of any one of them.

A module of this package reads one kind of manifest into a `Job` and writes a `Status` in that kind's own shape. The
rest of Paddock sees `Job` and `Status` only. Which kinds there are is in `apis.registry`; adding one is a new module
here and one line there. Nothing in a manifest may raise anything but `InvalidJob`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from paddock.jobs.model import Job, Status
from paddock.kube.meta import Manifest, Resource
from paddock.kube.times import Moment


class JobApi(Protocol):
    """One kind of job. The modules of this package satisfy it by themselves: functions at top level, no class."""

    @property
    def resource(self) -> Resource: ...

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

    def build_schema(self) -> Manifest:
        """The structural OpenAPI v3 schema of the kind, for its CRD and for checks before anything is sent."""
        ...
