"""Halts a kind whose status fields the API server prunes (rule 2 of docs/architecture.md): the installed
CustomResourceDefinition is another one and does not have the status fields of this operator.

The status cannot hold the reason, so it is in an annotation of each job, for the time of the halt, and in an event that
names the fields. Both name the command that ends the halt. Once a minute one job is reconciled: if the server keeps its
status, the kind resumes, and each job loses the annotation at its next reconcile.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from paddock.controllers.events import EventRecorder
from paddock.jobs.labels import HALTED_ANNOTATION
from paddock.kube.api import Api
from paddock.kube.meta import Manifest, Resource, annotations_of, key_of
from paddock.kube.times import Moment
from paddock.operator.metrics import UNMEASURED, Measures

RETRY_SECONDS = 60.0
"""Until a job of a halted kind is reconciled again."""

_ADVICE = "`paddock manifests crd --kinds {kind} | kubectl apply -f -` installs the one of this operator"

_log = logging.getLogger(__name__)


class PrunedStatusGuard:
    """Knows which kinds are halted. `clock` in seconds since the epoch."""

    def __init__(
        self, api: Api, events: EventRecorder, clock: Callable[[], Moment], measures: Measures = UNMEASURED
    ) -> None:
        self._measures = measures
        self._api = api
        self._events = events
        self._clock = clock
        self._until: dict[Resource, Moment] = {}
        self._kept: set[Resource] = set()

    def retry_in(self, resource: Resource) -> float:
        """Seconds until jobs of this kind are reconciled again; 0 if the kind is not halted."""
        left = self._until.get(resource, 0.0) - self._clock()
        return left if 0 < left <= RETRY_SECONDS else 0.0  # a longer time: the clock was set back

    def keeps(self, resource: Resource) -> bool:
        """Whether the server has kept the last status of this kind that this process has written."""
        return resource in self._kept

    async def halt(self, resource: Resource, job: Manifest, dropped: Iterable[str]) -> None:
        """Halt the kind: the server dropped these status fields of the job. Raises `ApiError`."""
        fields = ", ".join(f"status.{name}" for name in dropped)
        message = (
            f"the API server drops {fields} of every {resource.kind}: its CustomResourceDefinition is not the one of "
            f"this operator. Nothing is done for this kind until that is installed: {_build_advice(resource)}"
        )
        self._kept.discard(resource)
        self._until[resource] = self._clock() + RETRY_SECONDS
        self._measures.halted(resource, lambda: self.retry_in(resource))
        _log.error("%s %s: %s", resource.kind, key_of(job), message)
        self._events.publish(job, "StatusDropped", message, "Warning")
        await self.annotate(resource, job)

    async def annotate(self, resource: Resource, job: Manifest) -> None:
        """Write the reason of the halt into the annotation of this job. Raises `ApiError`."""
        message = (
            f"nothing is done for this job, as the CustomResourceDefinition of {resource.plural} that is installed is "
            f"somebody else's and drops what this operator records; {_build_advice(resource)}"
        )
        if annotations_of(job).get(HALTED_ANNOTATION) != message:
            await self._write_annotation(resource, job, message)

    async def resume(self, resource: Resource, job: Manifest) -> None:
        """The server kept the status patch: resume the kind."""
        self._until.pop(resource, None)
        self._kept.add(resource)
        await self.clear(resource, job)

    async def clear(self, resource: Resource, job: Manifest) -> None:
        """Remove the annotation from this job. The kind stays halted: with nothing to record, nothing was proven."""
        if HALTED_ANNOTATION in annotations_of(job):
            await self._write_annotation(resource, job, None)

    async def _write_annotation(self, resource: Resource, job: Manifest, message: str | None) -> None:
        patch = {"metadata": {"annotations": {HALTED_ANNOTATION: message}}}
        await self._api.patch(resource, *key_of(job), patch)


def _build_advice(resource: Resource) -> str:
    """The command that installs the CRD only, and leaves the operator as it is."""
    return _ADVICE.format(kind=resource.qualified)
