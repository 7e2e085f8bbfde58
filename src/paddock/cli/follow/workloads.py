"""What Kueue says of a job that waits for its queue, in its own words, read with the rights of who asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddock.kube.errors import ApiError, Forbidden
from paddock.kube.kueue import WORKLOADS, list_served
from paddock.views.stored import StoredJob
from paddock.views.workloads import explain_workload, find_workload, waits_for_queue
from paddock.words.phrases import Foreign, Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import PodApi


async def fetch_said(client: PodApi, stored: StoredJob) -> list[Phrase]:
    """One sentence; none for a job that does not wait for a queue."""
    job, cause = stored.job, stored.status.cause
    if job is None or not waits_for_queue(cause):
        return []
    try:
        workloads = await list_served(client, WORKLOADS, job.key.namespace)
    except Forbidden:
        return [phrase("what Kueue says of it is not known here: you may not read its Workloads")]
    except ApiError as error:
        return [phrase("what Kueue says of it is not known: {message}", message=Foreign(error.message))]
    if workloads is None:
        return [phrase("this cluster has no Kueue that could admit it: its Workloads are not served")]
    return [explain_workload(find_workload(job, stored.status, workloads))]
