"""The deletion of a finished job whose name is submitted again (decision 4). The history keeps what it printed.

First the jobs are found, then the server checks what takes their places (a dry run), then they are deleted: a manifest
that the server refuses costs nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from paddock.cli.cluster.deletion import delete_job
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.flags import Flags
from paddock.cli.submit.same_name import explain_replaced, explain_taken
from paddock.cli.submit.submission import Checked
from paddock.jobs.text.phrases import Phrase, phrase
from paddock.jobs.views.stored import StoredJob, read_stored
from paddock.kube.errors import NotFound

if TYPE_CHECKING:
    from paddock.kube.api import Api

_WAITING_FOR_PODS = phrase("waiting for the pods of that job to end")


async def find_replaced(api: Api, documents: Iterable[Checked], flags: Flags) -> list[tuple[Checked, StoredJob]]:
    """The documents whose names jobs have that have finished or that `paddock run` suspended, with those jobs. Raises
    `UserError` if any other job has one of the names."""
    found = [(each, job) for each in documents if (job := await _fetch(api, each)) is not None]
    taken = [said for _, job in found if (said := explain_taken(job, time.time(), flags)) is not None]
    if taken:
        raise UserError(*taken)
    return found


async def delete_replaced(
    api: Api, found: Iterable[tuple[Checked, StoredJob]], notify: Callable[[Phrase], None]
) -> None:
    """Deletes these jobs, and waits until their pods are gone."""
    for each, job in found:
        notify(explain_replaced(job, each.label, time.time()))
        await delete_job(api, job, notify=lambda _: notify(_WAITING_FOR_PODS))


async def _fetch(api: Api, document: Checked) -> StoredJob | None:
    if not document.is_job or not document.key.name:  # generateName: the server generates a new name
        return None
    try:
        return read_stored(document.resource, await api.get(document.resource, *document.key))
    except NotFound:
        return None
