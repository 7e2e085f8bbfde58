"""Reads jobs from their manifests, and remembers the last ones: most versions of a job differ in their status alone."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress

import msgspec

from paddock.jobs.apis import JobApi
from paddock.jobs.apis.last_valid import with_last_valid_spec
from paddock.jobs.model import Job, Status
from paddock.jobs.text.problems import InvalidJob
from paddock.kube.meta import Manifest, metadata
from paddock.operator.job_state import JobRef

REMEMBERED = 1_000
"""Jobs. One that is read takes some 10 KiB, and a fleet has many that are at rest."""

_OF_EACH_WRITE = ("resourceVersion", "managedFields")
_OF_EACH_VERSION = ("metadata", "status")


class JobReader:
    def __init__(self) -> None:
        self._read: OrderedDict[JobRef, tuple[bytes, Job]] = OrderedDict()

    def read(self, ref: JobRef, kind: JobApi, manifest: Manifest, status: Status) -> tuple[Job, InvalidJob | None]:
        """The job as it is supervised, and what is wrong in its manifest: then the last valid spec is followed, as an
        edit must not end the supervision of a job that trains. Raises `InvalidJob` if there was none."""
        try:
            return self._read_valid(ref, kind, manifest), None
        except InvalidJob as refusal:
            before = with_last_valid_spec(manifest, status.last_valid, status.gang_size)
            if before is None:
                raise
            with suppress(InvalidJob):  # another version of Paddock took it for valid
                return kind.read_job(before), refusal
            raise

    def _read_valid(self, ref: JobRef, kind: JobApi, manifest: Manifest) -> Job:
        kept = {name: value for name, value in metadata(manifest).items() if name not in _OF_EACH_WRITE}
        source = msgspec.json.encode(
            [kept, *(value for name, value in manifest.items() if name not in _OF_EACH_VERSION)]
        )
        known = self._read.get(ref)
        if known is None or known[0] != source:
            known = source, kind.read_job(manifest)
        self._read[ref] = known
        self._read.move_to_end(ref)
        if len(self._read) > REMEMBERED:
            self._read.popitem(last=False)
        return known[1]
