"""Whether the job that has a name already gives way to a new one (decision 4). Pure.

One that has finished does, and one that `paddock run --timeout` suspended; any other is somebody's work.
"""

from __future__ import annotations

from paddock.cli.find import in_namespace
from paddock.cli.places import LOCAL, Flags
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Phase
from paddock.kube.meta import Manifest, Resource, annotations_of, key_of, metadata
from paddock.kube.times import Moment, format_duration, read_time

TIMED_OUT = "paddock.dev/timed-out"
"""The annotation of a job that --timeout suspended. One that a user suspended has none."""


def is_timed_out(resource: Resource, job: Manifest) -> bool:
    return KINDS[resource].read_status(job).phase is Phase.SUSPENDED and TIMED_OUT in annotations_of(job)


def read_age(job: Manifest, now: Moment) -> str:
    return format_duration(now - (read_time(metadata(job).get("creationTimestamp")) or now))


def explain_taken(resource: Resource, job: Manifest, now: Moment, flags: Flags = LOCAL) -> str | None:
    """The sentence, with what follows or ends the job that has the name; None if it gives way."""
    phase, key, where = KINDS[resource].read_status(job).phase, key_of(job), in_namespace(job, flags)
    if phase.terminal or is_timed_out(resource, job):
        return None
    return (
        f"{resource.kind} {key} exists already, {phase or Phase.PENDING} for {read_age(job, now)}: "
        f"`paddock logs {key.name} -f{where}` follows it, `paddock delete {key.name}{where}` ends it"
    )
