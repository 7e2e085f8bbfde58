"""Whether an existing job may be replaced by a new one of the same name (decision 4). Pure.

A finished job may, and one that `paddock run` has suspended; any other may still be needed.
"""

from __future__ import annotations

from paddock.jobs.labels import WORKING_DIRECTORY_ANNOTATION
from paddock.jobs.model import Phase
from paddock.kube.meta import Manifest, annotations_of, metadata
from paddock.kube.times import Moment, format_duration, read_time
from paddock.views.commands import show_key
from paddock.views.flags import LOCAL, Flags
from paddock.views.given_up import read_given_up
from paddock.views.phases import name_state, show_phase
from paddock.views.stored import StoredJob
from paddock.words.phrases import Phrase, phrase


def find_other_directory(manifest: Manifest, job: StoredJob) -> str:
    """The directory of `job`, where that of a new manifest is another one; empty where one of them names none."""
    new, old = read_directory(manifest), read_directory(job.manifest)
    return old if new and old and new != old else ""


def can_be_replaced(job: StoredJob) -> bool:
    return job.status.phase.terminal or _is_given_up(job)


def _is_given_up(job: StoredJob) -> bool:
    return job.status.phase is Phase.SUSPENDED and job.is_given_up


def read_directory(manifest: Manifest) -> str:
    """Where the job's programs start, absolute; empty for one that names no directory."""
    return annotations_of(manifest).get(WORKING_DIRECTORY_ANNOTATION, "").rstrip("/")


def explain_replaced(job: StoredJob, now: Moment, directory: str = "", flags: Flags = LOCAL) -> Phrase:
    """The notice about the job that is replaced, and that its run is not lost. `directory`: of that job, where the new
    one is of another."""
    said = _name_replaced(job, now, directory)
    if not flags.local:  # a cluster keeps nothing of it
        return said
    command = f"paddock history {job.key.name}{flags.of(job.key.namespace)}"
    return phrase("{said}; that run and its log are kept: `{command}`", said=said, command=command)


def _name_replaced(job: StoredJob, now: Moment, directory: str) -> Phrase:
    age, label = read_age(job, now), f"{job.resource.kind} {show_key(job.key)}"
    phase = name_state(show_phase(job.status))
    if directory:
        return phrase("replacing {job} of {directory}, {phase} ({age} old)",
                      job=label, directory=directory, phase=phase, age=age)  # fmt: skip
    if not _is_given_up(job):
        return phrase("replacing {job}, {phase} ({age} old)", job=label, phase=phase, age=age)
    if read_given_up(job.manifest) is not None:
        return phrase("replacing {job}, whose environment could not be built ({age} old)", job=label, age=age)
    return phrase("replacing {job}, which --timeout suspended ({age} old)", job=label, age=age)


def read_age(job: StoredJob, now: Moment) -> str:
    return format_duration(now - (read_time(metadata(job.manifest).get("creationTimestamp")) or now))


def explain_taken(job: StoredJob, now: Moment, flags: Flags = LOCAL, directory: str = "") -> Phrase | None:
    """The error, with commands that follow or delete the existing job; None if it can be replaced. `directory`: as in
    `explain_replaced`."""
    if can_be_replaced(job):
        return None
    key, where = job.key, flags.of(job.key.namespace)
    follow, delete = f"paddock logs {key.name} -f{where}", f"paddock delete {key.name}{where}"
    ways = phrase("`{follow}` follows it, `{delete}` ends it", follow=follow, delete=delete)
    if _rests(job):  # it prints nothing before it is resumed
        resume = f"paddock resume {key.name}{where}"
        ways = phrase("`{resume}` lets it go on, `{delete}` removes it", resume=resume, delete=delete)
    label, phase_now = f"{job.resource.kind} {show_key(key)}", name_state(job.status.phase or Phase.PENDING)
    age = read_age(job, now)
    if directory:
        return phrase(
            "{job} exists already, of {directory}, {phase} for {age}: {ways}",
            job=label, directory=directory, phase=phase_now, age=age, ways=ways,
        )  # fmt: skip
    return phrase("{job} exists already, {phase} for {age}: {ways}", job=label, phase=phase_now, age=age, ways=ways)


def _rests(job: StoredJob) -> bool:
    """Whether somebody has suspended the job: one that waits for Kueue's queue goes on without them."""
    cause = job.status.cause
    return job.status.phase is Phase.SUSPENDED and (cause is None or cause.reason == "Suspended")
