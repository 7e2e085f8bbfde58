"""Records the status of a job: one PATCH, guarded by the version that was read, whose answer must have what was
written.

Rules 1 and 2 of docs/architecture.md. The answer is the live job, so it goes into the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from paddock.jobs.apis import JobApi
from paddock.jobs.model import Status
from paddock.kube.api import Api
from paddock.kube.errors import Conflict, NotFound
from paddock.kube.meta import Manifest, Resource, namespace_of, uid_of, version_of
from paddock.kube.times import Moment
from paddock.operator import record
from paddock.operator.freshness import Freshness
from paddock.operator.informers import Informers
from paddock.operator.job_state import JobRef, JobState
from paddock.operator.pruned_status import PrunedStatusGuard
from paddock.operator.tally import Tally


class Recorder:
    """`clock`: of the API server; `steady`: of delays. `wake` queues a job."""

    def __init__(
        self,
        api: Api,
        informers: Informers,
        *,
        kinds: Mapping[Resource, JobApi],
        pruned: PrunedStatusGuard,
        tally: Tally,
        freshness: Freshness,
        clock: Callable[[], Moment],
        steady: Callable[[], float],
        wake: Callable[[JobRef], None],
    ) -> None:
        self._api = api
        self._informers = informers
        self._kinds = kinds
        self._pruned = pruned
        self._tally = tally
        self._freshness = freshness
        self._clock = clock
        self._steady = steady
        self._wake = wake

    async def record(self, ref: JobRef, state: JobState, manifest: Manifest, status: Status) -> Manifest | None:
        """Writes the status; the job with it, None if the server dropped fields. Raises `Conflict` if the job has
        changed since it was read: the decision is outdated then."""
        raw, kind = record.read_raw_status(manifest), self._kinds[ref.resource]
        difference = record.build_difference(raw, kind.write_status(raw, status, self._clock(), manifest))
        if not difference:
            state.unwritten = None
            await self._pruned.clear(ref.resource, manifest)
            return manifest
        try:
            with self._tally.writing(ref, manifest, kind.read_status(manifest), status) as write:
                answer = await self._write(ref, state, record.build_status_patch(manifest, difference))
                dropped = record.find_dropped(answer, difference)
                write.kept = not dropped
        except NotFound:  # the job is gone (raised again by the check), or its CRD has no status subresource
            await self.check_uid(ref, uid_of(manifest))
            dropped = tuple(difference)
        if dropped:
            await self._pruned.halt(ref.resource, manifest, dropped)
            return None
        await self._pruned.resume(ref.resource, manifest)
        return answer

    async def check_uid(self, ref: JobRef, uid: str) -> None:
        """Raises `Conflict` if another job has this name by now, `NotFound` if none has."""
        if uid_of(await self._api.get(ref.resource, *ref.key)) != uid:
            raise Conflict(f"{ref} was made again under its name")

    async def _write(self, ref: JobRef, state: JobState, patch: Manifest) -> Manifest:
        state.seen_during_write = set()
        asked, moment = self._steady(), self._clock()
        try:
            answer = await self._api.patch(ref.resource, *ref.key, patch, subresource="status")
            version = version_of(answer)
            state.note_written(version, moment)
            state.unwritten = None
            state.note_live(asked, cached=self._informers.assume(ref.resource, answer))
            if version in state.seen_during_write:
                self._freshness.prove(ref.resource, self._informers.watched_as(namespace_of(answer)), moment)
            if state.seen_during_write - state.written.keys():
                self._wake(ref)
            return answer
        finally:
            state.seen_during_write = None
