"""A job as a row of a table: its phase, how many of its ranks run, and why it waits or failed. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paddock.jobs.apis.registry import KINDS
from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.jobs.model import CauseRecord, Counts, Phase, Status
from paddock.jobs.text.edit import explain_edit
from paddock.jobs.text.phrases import Phrase
from paddock.jobs.views.given_up import show_status
from paddock.jobs.views.manager import explain_manager
from paddock.jobs.views.stored import read_stored
from paddock.kube.meta import Resource, metadata, name_of, namespace_of
from paddock.kube.times import Moment, read_time


@dataclass(frozen=True, slots=True)
class JobRow:
    """`counts`: the ranks under each heading of the job's framework; None without such a role or without a status.
    `cause`: why the job waits or failed, for `jobs.text.explain`. `manager`: who runs it instead of Paddock.
    `edit`: an edit that is not followed."""

    namespace: str
    name: str
    phase: Phase
    mode: str
    counts: Mapping[str, Counts | None]
    created: Moment | None
    cause: CauseRecord | None
    manager: Phrase | None = None
    edit: Phrase | None = None


def read_job_row(resource: Resource, job: Mapping[str, Any]) -> JobRow:
    """The row of a stored job, from its status: an invalid job has a row too."""
    status = KINDS[resource].read_status(job)
    # Only a job that no operator has read is read here, as that takes time: it may be one that can never run.
    status = show_status(status, job) if status.phase else read_stored(resource, dict(job)).shown_status
    columns = FRAMEWORKS[KINDS[resource].framework].columns
    return JobRow(
        namespace=namespace_of(job),
        name=name_of(job),
        phase=status.phase or Phase.PENDING,
        mode=status.mode,
        counts={heading: _count(status, roles) for heading, roles in columns.items()},
        created=read_time(metadata(job).get("creationTimestamp")),
        cause=status.cause,
        manager=explain_manager(job),
        edit=explain_edit(status),
    )


def _count(status: Status, roles: Sequence[str]) -> Counts | None:
    """The counts of the first of these roles that the job has; API groups differ in the name of parameter servers."""
    return next((status.roles[role] for role in roles if role in status.roles), None)
