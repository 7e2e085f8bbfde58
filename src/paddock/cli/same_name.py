"""Whether the job that has a name already gives way to a new one (decision 4). Pure.

One that has finished does, and one that `paddock run` itself has suspended; any other is somebody's work.
"""

from __future__ import annotations

from paddock.cli.find import in_namespace
from paddock.cli.jobs_view import GIVEN_UP, read_given_up
from paddock.cli.places import LOCAL, Flags
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Phase
from paddock.jobs.phrases import Phrase, phrase
from paddock.kube.meta import Manifest, Resource, annotations_of, key_of, metadata
from paddock.kube.times import Moment, format_duration, read_time


def is_given_up(resource: Resource, job: Manifest) -> bool:
    return KINDS[resource].read_status(job).phase is Phase.SUSPENDED and GIVEN_UP in annotations_of(job)


def explain_replaced(resource: Resource, job: Manifest, label: str, now: Moment) -> Phrase:
    """What is said of the job that gives way."""
    phase, age = KINDS[resource].read_status(job).phase, read_age(job, now)
    if not is_given_up(resource, job):
        return phrase("replacing {job}, {phase} ({age} old)", job=label, phase=str(phase), age=age)
    if read_given_up(job) is not None:
        return phrase("replacing {job}, whose environment could not be built ({age} old)", job=label, age=age)
    return phrase("replacing {job}, which --timeout suspended ({age} old)", job=label, age=age)


def read_age(job: Manifest, now: Moment) -> str:
    return format_duration(now - (read_time(metadata(job).get("creationTimestamp")) or now))


def explain_taken(resource: Resource, job: Manifest, now: Moment, flags: Flags = LOCAL) -> str | None:
    """The sentence, with what follows or ends the job that has the name; None if it gives way."""
    phase, key, where = KINDS[resource].read_status(job).phase, key_of(job), in_namespace(job, flags)
    if phase.terminal or is_given_up(resource, job):
        return None
    return (
        f"{resource.kind} {key} exists already, {phase or Phase.PENDING} for {read_age(job, now)}: "
        f"`paddock logs {key.name} -f{where}` follows it, `paddock delete {key.name}{where}` ends it"
    )
