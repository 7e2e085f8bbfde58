"""Reads jobs from their manifests, and remembers the last ones: most versions of a job differ in their status alone."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress

import msgspec

from paddock.jobs.apis import JobApi
from paddock.jobs.apis.last_valid import with_last_valid_spec
from paddock.jobs.model import Job, Status
from paddock.kube.meta import Manifest, metadata
from paddock.operator.aside import SMALL_TEXT, Aside
from paddock.operator.job_state import JobRef
from paddock.words.problems import InvalidJob

REMEMBERED = 1_000
"""Jobs. One that is read takes some 10 KiB, and a fleet has many that are at rest."""

_OF_EACH_WRITE = ("resourceVersion", "managedFields")
_OF_EACH_VERSION = ("metadata", "status")


class JobReader:
    """`aside` reads large manifests."""

    def __init__(self, aside: Aside) -> None:
        self._aside = aside
        self._read: OrderedDict[JobRef, tuple[bytes, Job]] = OrderedDict()

    async def read(
        self, ref: JobRef, kind: JobApi, manifest: Manifest, status: Status
    ) -> tuple[Job, InvalidJob | None]:
        """The job as it is supervised, and what is wrong in its manifest: then the last valid spec is followed, as an
        edit must not end the supervision of a job that trains. Raises `InvalidJob` if there was none."""
        try:
            return await self._read_valid(ref, kind, manifest), None
        except InvalidJob as refusal:
            before = with_last_valid_spec(manifest, status.last_valid, status.gang_size)
            if before is None:
                raise
            with suppress(InvalidJob):  # another version of Paddock took it for valid
                small = len(msgspec.json.encode(before)) <= SMALL_TEXT
                return await self._aside.run(lambda: kind.read_job(before), small=small), refusal
            raise

    async def _read_valid(self, ref: JobRef, kind: JobApi, manifest: Manifest) -> Job:
        kept = {name: value for name, value in metadata(manifest).items() if name not in _OF_EACH_WRITE}
        source = msgspec.json.encode(
            [kept, *(value for name, value in manifest.items() if name not in _OF_EACH_VERSION)]
        )
        known = self._read.get(ref)
        if known is None or known[0] != source:
            job = await self._aside.run(lambda: kind.read_job(manifest), small=len(source) <= SMALL_TEXT)
            known = source, job
        self._read[ref] = known
        self._read.move_to_end(ref)
        if len(self._read) > REMEMBERED:
            self._read.popitem(last=False)
        return known[1]
