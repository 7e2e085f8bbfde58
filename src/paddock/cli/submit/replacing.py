"""The deletion of a finished job whose name is submitted again (decision 4). The history keeps what it printed.

First the jobs are found, then the server checks what takes their places (a dry run), then they are deleted: a manifest
that the server refuses costs nothing.

A job of another kind gives way too: pods are named after their job, so two jobs of one name would wait for each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from paddock.cli.cluster.deletion import delete_job
from paddock.cli.cluster.errors import Failed
from paddock.cli.output.local_paths import format_path
from paddock.jobs.apis.registry import KINDS
from paddock.kube.errors import Forbidden, NotFound
from paddock.submission.documents import Checked
from paddock.submission.same_name import explain_replaced, find_other_directory
from paddock.views.flags import LOCAL, Flags
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api

_WAITING_FOR_PODS = phrase("waiting for the pods of that job to end")


async def delete_replaced(
    api: Api, found: Iterable[tuple[Checked, StoredJob]], notify: Callable[[Phrase], None], flags: Flags = LOCAL
) -> None:
    """Deletes these jobs, and waits until their pods are gone. Raises `Failed` where something holds one."""
    for each, job in found:
        notify(explain_replaced(job, time.time(), format_path(find_other_directory(each.manifest, job)), flags))
        if held := await delete_job(api, job, notify=lambda _: notify(_WAITING_FOR_PODS), flags=flags):
            raise Failed(held)


async def fetch_named(api: Api, document: Checked) -> list[StoredJob]:
    """The jobs of this name: the first is of the document's kind, if there is one."""
    if not document.is_job or not document.key.name:  # generateName: the server generates a new name
        return []
    found = []
    for resource in (document.resource, *(each for each in KINDS if each != document.resource)):
        try:
            found.append(read_stored(resource, await api.get(resource, *document.key)))
        except NotFound:
            continue
        except Forbidden:  # a kind that the cluster does not have, or that is not this user's
            if resource == document.resource:
                raise
    return found
