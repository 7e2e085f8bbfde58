"""A job as a row of a table: its phase, how many of its ranks run, and why it waits or failed. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paddock.jobs.apis.registry import KINDS
from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.jobs.model import CauseRecord, Counts, JobProgress, Phase, Status
from paddock.kube.described import DESCRIPTION_ANNOTATION, read_creator, read_owner
from paddock.kube.meta import Resource, annotations_of, labels_of, metadata, name_of, namespace_of, uid_of
from paddock.kube.times import Moment, read_time
from paddock.views.given_up import show_status
from paddock.views.manager import explain_manager
from paddock.views.phases import name_phase
from paddock.views.stored import read_stored
from paddock.words.phrases import Phrase, render

LONGEST_DESCRIPTION = 1_000
"""Characters. An annotation may have 256 KiB, and a list of thousands of jobs is searched at each key."""


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job as a row of a table."""

    namespace: str
    name: str
    phase: Phase
    mode: str
    counts: Mapping[str, Counts | None]
    """The ranks under each heading of the job's framework; None without such a role or without a status."""
    created: Moment | None
    cause: CauseRecord | None
    """Why the job waits or failed, for `jobs.sentences.explain`."""
    manager: Phrase | None = None
    """Who runs it instead of Paddock."""
    edit: Phrase | None = None
    """One that is not followed."""
    roles: Mapping[str, Counts] = field(default_factory=dict)
    """The counts of every role, in the API's own spelling."""
    attempt: int = 0
    restarts: int = 0
    uid: str = ""
    progress: JobProgress | None = None
    """For `views.job_progress`."""
    started: Moment | None = None
    """When all ranks ran for the first time."""
    finished: Moment | None = None
    description: str = ""
    """What its author wrote about it (annotation `kubernetes.io/description`), at most `LONGEST_DESCRIPTION`."""
    owner: str = ""
    """Whose it is, as the API or its author told it (annotation `paddock.dev/owner`)."""
    creator: str = ""
    """Who submitted it, as the API names them (`jobs.people`); empty where nobody said."""
    searched: str = ""
    """What a list is searched in: namespace, name, description, labels, owner and creator, in small letters."""

    @property
    def state(self) -> str:
        """The word for its phase."""
        return name_phase(self.phase, self.cause)


def read_job_row(resource: Resource, job: Mapping[str, Any]) -> JobRow:
    """The row of a stored job, from its status: an invalid job has a row too."""
    status = KINDS[resource].read_status(job)
    # Only a job that no operator has read is read here, as that takes time: it may be one that can never run.
    status = show_status(status, job) if status.phase else read_stored(resource, dict(job)).shown_status
    columns = FRAMEWORKS[KINDS[resource].framework].columns
    annotations = annotations_of(job)
    description, owner, creator = _read_description(annotations), read_owner(annotations), read_creator(annotations)
    return JobRow(
        namespace=namespace_of(job),
        name=name_of(job),
        phase=status.phase or Phase.PENDING,
        mode=status.mode,
        counts={heading: _count(status, roles) for heading, roles in columns.items()},
        created=read_time(metadata(job).get("creationTimestamp")),
        cause=status.cause,
        manager=explain_manager(job),
        edit=_explain_edit(status),
        roles=status.roles,
        attempt=status.attempt,
        restarts=status.restarts,
        uid=uid_of(job),
        progress=status.progress,
        started=status.started,
        finished=status.finished,
        description=description,
        owner=owner,
        creator=creator,
        searched=_join_searched(job, description, owner, creator),
    )


def _read_description(annotations: Mapping[str, str]) -> str:
    return str(annotations.get(DESCRIPTION_ANNOTATION) or "")[:LONGEST_DESCRIPTION]


def _join_searched(job: Mapping[str, Any], *notes: str) -> str:
    labels = (f"{key}={value}" for key, value in labels_of(job).items())
    return "\n".join((f"{namespace_of(job)}/{name_of(job)}", *labels, *notes)).lower()


def _explain_edit(status: Status) -> Phrase | None:
    if status.problem is None:
        return None
    from paddock.jobs.sentences.explain import explain_edit  # late, as the sentences of causes below

    return explain_edit(status)


def tell_ready(counts: Counts, phase: Phase) -> str:
    """`2/4`: running of wanted; in a completed job, of a role that trains, succeeded of wanted."""
    return f"{counts.succeeded}/{counts.wanted}" if phase is Phase.COMPLETED and counts.succeeded else counts.ready


def _count(status: Status, roles: Sequence[str]) -> Counts | None:
    """The counts of the first of these roles that the job has; API groups differ in the name of parameter servers."""
    return next((status.roles[role] for role in roles if role in status.roles), None)


def build_why(row: JobRow, language: str = "en", *, wide: bool = False, most: int | None = None) -> str:
    """The manager of the job if Paddock does not run it, else the sentence of the cause, and an edit that is not
    followed. `most`: columns to which each sentence is cut; `wide`: every problem of an invalid job."""
    why = render(row.manager or "", language)
    if row.cause or row.edit is not None:
        from paddock.jobs.sentences.explain import explain  # late: most jobs of a list have no cause
        from paddock.views.short_sentences import explain_briefly, shorten
    if row.cause:
        why = explain(row.cause, language) if wide else explain_briefly(row.cause, language, most)
    if row.edit is not None:
        edit = render(row.edit, language)
        why = "; ".join(filter(None, (why, edit if wide or most is None else shorten(edit, most))))
    return why
