"""What a job that asks to resume begins with, said before it is created. The kubelet moves the checkpoints
(`app.outputs`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from paddock.app.home import Home
from paddock.app.outputs import (
    RunDirectory,
    Size,
    choose_resumed,
    explain_unresumable,
    find_numbered,
    list_numbers,
    measure,
    read_runs,
)
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.output.local_times import format_local_time
from paddock.jobs.labels import WORKING_DIRECTORY_ANNOTATION
from paddock.jobs.model import Job
from paddock.jobs.resuming import read_resume
from paddock.kube.quantities import format_bytes
from paddock.submission.documents import Checked
from paddock.words.phrases import Phrase, counted, phrase

if TYPE_CHECKING:
    from paddock.history.records import RunRecord


def notify_resumed(checked: Iterable[Checked], place: ClusterChoice, notify: Callable[[Phrase], None]) -> None:
    """Says it of each job; nothing on a cluster, which keeps no checkpoints (`submission.local_only` says so)."""
    for each in checked:
        said = explain_resumed(each.job, place.home) if each.job and place.home else None
        if said is not None:
            notify(said)


def explain_resumed(job: Job, home: Home) -> Phrase | None:
    """The line about what the job resumes from; None if it does not ask to resume."""
    number = read_resume(job.annotations)
    if number is None:
        return None
    directory = job.annotations.get(WORKING_DIRECTORY_ANNOTATION, "").rstrip("/")
    found = _find_numbered(job, home).get(number) if number else None
    found = found or (choose_resumed(read_runs(home.outputs, *job.key), "", directory) if not number else None)
    if found is None:
        return phrase(
            "nothing to resume: no earlier run of {job} from this directory wrote a checkpoint to "
            "PADDOCK_CHECKPOINT_DIR",
            job=job.key.name,
        )
    return describe_resumed(found, measure(found.checkpoints), _read_records(job, home))


def explain_unresumed(job: Job, home: Home) -> Phrase | None:
    """Why the job is refused: it names a run that has no checkpoints. None for any other."""
    number = read_resume(job.annotations)
    if not number:
        return None
    numbered = _find_numbered(job, home)
    if number in numbered:
        return None
    kept = list_numbers(_read_records(job, home), (job.resource.group, job.resource.kind))
    return explain_unresumable(job.key.name, number, numbered, kept)


def _find_numbered(job: Job, home: Home) -> dict[int, RunDirectory]:
    kind = (job.resource.group, job.resource.kind)
    return find_numbered(read_runs(home.outputs, *job.key), _read_records(job, home), kind)


def _read_records(job: Job, home: Home) -> list[RunRecord]:
    from paddock.history.records import find_runs  # late: a job that does not resume needs no records

    return find_runs(home.history, *job.key)


def describe_resumed(found: RunDirectory, size: Size, records: Sequence[RunRecord]) -> Phrase:
    """`resumes from the checkpoints of run 3 (2 files, 14 MiB)`. Pure."""
    number = next((each.run for each in records if found.belongs_to(each.uid)), None)
    which = phrase("the run of {time}", time=format_local_time(found.started))
    if number is not None:
        which = phrase("run {run}", run=number)
    much = counted("{count} file, {size}", "{count} files, {size}", count=size.files, size=format_bytes(size.bytes))
    return phrase("resumes from the checkpoints of {which} ({much})", which=which, much=much)
