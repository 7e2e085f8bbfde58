"""Submits checked documents: every check first (`cli.submit.checks`), then all that is written."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from paddock.app.home import explain_full_disk
from paddock.cli.cluster.errors import Failed
from paddock.cli.submit.checks import Submission, refuse
from paddock.cli.submit.job_environments import write_environments
from paddock.cli.submit.programs import fetch_programs, hold_workers, read_warnings
from paddock.cli.submit.replacing import delete_replaced
from paddock.cli.submit.resumed import notify_resumed
from paddock.cli.submit.sent_directories import create_with_maps
from paddock.client.own_name import fetch_own_name
from paddock.kube.meta import Manifest
from paddock.submission.documents import Checked
from paddock.submission.signed import sign
from paddock.words.phrases import Names, Phrase, phrase


@dataclass(frozen=True, slots=True)
class Submitted:
    """What was created."""

    documents: list[tuple[Checked, Manifest]]
    """Each document as it was sent, and what the server made of it."""
    programs: list[Phrase]
    """What the jobs run: lines to print once."""


async def submit(
    submission: Submission, creating: Callable[[], None] = lambda: None, made: list[Manifest] | None = None
) -> Submitted:
    """Creates all documents, in the places of jobs that have finished. `creating` is called before the first create
    request: from then on a job may exist. `made` holds what exists, in the order of the documents, also where it
    raises. Raises `UserError`, `ApiError`, and `Failed` where the local cluster's disk is full or a push fails."""
    try:
        return await _submit(submission, creating, made)
    finally:
        if submission.pushes is not None:
            submission.pushes.close()


async def _submit(submission: Submission, creating: Callable[[], None], made: list[Manifest] | None) -> Submitted:
    home = submission.place.home
    if home is not None and (full := explain_full_disk(home)) is not None:
        raise Failed(full, phrase("nothing was submitted"))
    await refuse(submission)
    api, place, notify = submission.api, submission.place, submission.notify
    needed, workdir = submission.needed, submission.workdir
    checked = await write_environments(api, place, needed, submission.checked, workdir, notify)
    checked = await _fill_claims(submission, checked)
    if submission.pushes is not None:
        await submission.pushes.send()
    checked = hold_workers(checked, place, workdir, notify)
    programs = await _fetch_programs(submission, checked)
    await delete_replaced(api, submission.there, notify, place.flags)
    notify_resumed(checked, place, notify)
    creating()
    checked = sign(checked, await fetch_own_name(api, local=home is not None))
    update = submission.runs and not submission.creates_only
    created = await create_with_maps(api, checked, notify, update=update, created=made)
    await _remove_stale_claims(submission)
    return Submitted(list(zip(checked, created, strict=True)), programs)


async def _fill_claims(submission: Submission, checked: list[Checked]) -> list[Checked]:
    """Before a job of the same name is replaced: what cannot be installed costs nobody a job."""
    if not submission.fills:
        return checked
    from paddock.cli.submit.filled_claims import fill_claims  # late: of a cluster alone

    return await fill_claims(
        submission.api, submission.fills, checked, submission.flags, submission.notify, submission.show
    )


async def _remove_stale_claims(submission: Submission) -> None:
    """Each edit of a directory that goes by a claim makes another."""
    if not any(fill.directory for fill in submission.fills):
        return
    from paddock.cli.cluster.filled_claims import remove_stale  # late: of a cluster alone

    for namespace in {fill.namespace for fill in submission.fills}:
        if removed := await remove_stale(submission.api, namespace, time.time()):
            names = Names(tuple(removed))
            submission.notify(phrase("removed claims of code that no job mounts any more: {names}", names=names))


async def _fetch_programs(submission: Submission, checked: list[Checked]) -> list[Phrase]:
    """What each job runs, after what is told of its Python files; of a typed command that is told before."""
    jobs = [each.job for each in checked if each.job]
    lines: list[Phrase] = []
    for job in jobs:
        said = [] if submission.typed else read_warnings(submission.place, job, submission.workdir)
        said += await fetch_programs(submission.api, submission.place, job, submission.workdir)
        label = job.key.name or job.resource.kind
        lines += (
            said if len(jobs) == 1 else [phrase("{option}: {problem}", option=label, problem=each) for each in said]
        )
    return lines
