"""A job as it is stored on a cluster, read once for all users of it. Pure."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from paddock.jobs.apis.registry import KINDS
from paddock.jobs.manager import find_other_manager
from paddock.jobs.model import CauseRecord, Job, Phase, Status
from paddock.jobs.policies.fitting import fit
from paddock.kube.meta import Key, Manifest, Resource, annotations_of, key_of, uid_of
from paddock.views.given_up import GIVEN_UP, show_status
from paddock.words.problems import InvalidJob, Problem


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A job as the API stores it."""

    resource: Resource
    manifest: Manifest
    status: Status
    """As recorded."""
    job: Job | None
    """The one that is supervised, with the ranks that its gang has (`jobs.policies.fitting`). Where the manifest has
    problems: by the spec that was last valid, or None."""
    problems: tuple[Problem, ...] = ()
    """What is wrong in the manifest, which the API server may accept (`kubectl create`, `patch`)."""

    @property
    def key(self) -> Key:
        return key_of(self.manifest)

    @property
    def uid(self) -> str:
        return uid_of(self.manifest)

    @property
    def shown_status(self) -> Status:
        """The status for display. A job that no operator has read yet is Invalid here too, with its problems; else see
        `views.given_up.show_status`."""
        if self.status.phase is Phase.NONE and self.job is None and not find_other_manager(self.manifest):
            # late, as 50 classes take a tenth of the time of a listing that needs none of them
            from paddock.jobs import causes

            problems = tuple(f"{each.path}: {each.message}" for each in self.problems)
            cause = causes.InvalidJob(problems)
            return self.status.with_(
                phase=Phase.INVALID, cause=self.status.cause or CauseRecord(cause.reason, cause.args())
            )
        return show_status(self.status, self.manifest)

    @property
    def is_given_up(self) -> bool:
        """Whether `paddock run` has suspended the job; it may have been resumed since."""
        return GIVEN_UP in annotations_of(self.manifest)


def read_stored(resource: Resource, manifest: Manifest) -> StoredJob:
    """Never raises."""
    api = KINDS[resource]
    status = api.read_status(manifest)
    try:
        return StoredJob(resource, manifest, status, fit(api.read_job(manifest), status.gang_size))
    except InvalidJob as invalid:
        problems = invalid.errors
    from paddock.jobs.apis.last_valid import with_last_valid_spec

    before, job = with_last_valid_spec(manifest, status.last_valid, status.gang_size), None
    if before is not None:
        with suppress(InvalidJob):  # another version of Paddock took it for valid
            job = fit(api.read_job(before), status.gang_size)
    return StoredJob(resource, manifest, status, job, problems)
