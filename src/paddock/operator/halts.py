"""Kinds that nothing is done for, as the API server drops what is recorded of their jobs (rule 2 of
docs/architecture.md): somebody else's CustomResourceDefinition is installed, which does not know our fields of the
status.

What a job's status cannot hold is said where every definition leaves room: in an annotation of the job, which stays as
long as the halt does, and in an event, which names the fields. Both name the command that ends it. Once a minute one
job is tried again; when its record is kept, the annotation goes, and the others follow as their turn comes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from paddock.jobs.labels import HALTED_ANNOTATION
from paddock.jobs.model import EventNote
from paddock.kube.api import Api
from paddock.kube.meta import Manifest, Resource, annotations_of, key_of
from paddock.kube.times import Moment
from paddock.operator.events import Events

SECONDS = 60.0
"""Until a kind whose status the server drops is tried again."""

_CURE = "`paddock manifests crd --kinds {kind} | kubectl apply -f -` installs the one of this operator"

_log = logging.getLogger(__name__)


class Halts:
    """`clock` in seconds since the epoch."""

    def __init__(self, api: Api, events: Events, clock: Callable[[], Moment]) -> None:
        self._api = api
        self._events = events
        self._clock = clock
        self._until: dict[Resource, Moment] = {}

    def left(self, resource: Resource) -> float:
        """Seconds until jobs of this kind are tried again; 0 when they may be."""
        left = self._until.get(resource, 0.0) - self._clock()
        return left if 0 < left <= SECONDS else 0.0  # more than that: the clock was set back

    async def begin(self, resource: Resource, job: Manifest, lost: Iterable[str]) -> None:
        """The server dropped these fields of the job's status. Raises `ApiError`."""
        fields = ", ".join(f"status.{name}" for name in lost)
        message = (
            f"the API server drops {fields} of every {resource.kind}: its CustomResourceDefinition is not the one of "
            f"this operator. Nothing is done for this kind until that is installed: {_build_cure(resource)}"
        )
        self._until[resource] = self._clock() + SECONDS
        _log.error("%s %s: %s", resource.kind, key_of(job), message)
        self._events.publish(job, EventNote("StatusDropped", message, "Warning"))
        await self.tell(resource, job)

    async def tell(self, resource: Resource, job: Manifest) -> None:
        """Every job says for itself why nothing happens to it."""
        message = (
            f"nothing is done for this job, as the CustomResourceDefinition of {resource.plural} that is installed is "
            f"somebody else's and drops what this operator records; {_build_cure(resource)}"
        )
        if annotations_of(job).get(HALTED_ANNOTATION) != message:
            await self._annotate(resource, job, message)

    async def lift(self, resource: Resource, job: Manifest) -> None:
        """What was recorded was kept."""
        self._until.pop(resource, None)
        await self.clear(resource, job)

    async def clear(self, resource: Resource, job: Manifest) -> None:
        """Nothing keeps this job. Of its kind that says nothing: nothing had to be recorded."""
        if HALTED_ANNOTATION in annotations_of(job):
            await self._annotate(resource, job, None)

    async def _annotate(self, resource: Resource, job: Manifest, message: str | None) -> None:
        patch = {"metadata": {"annotations": {HALTED_ANNOTATION: message}}}
        await self._api.patch(resource, *key_of(job), patch)


def _build_cure(resource: Resource) -> str:
    """The definition alone: the operator stays as it was installed."""
    return _CURE.format(kind=resource.qualified)
