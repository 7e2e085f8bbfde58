"""What Kueue says of a job that waits for its queue, read with the rights of who asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddock.kube.errors import ApiError, Forbidden, NotFound
from paddock.views.stored import StoredJob
from paddock.views.workloads import WORKLOADS, explain_workload, find_workload
from paddock.words.phrases import Foreign, Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import PodApi


async def fetch_said(client: PodApi, stored: StoredJob) -> list[Phrase]:
    """One sentence; none for a job that does not wait for a queue."""
    job, cause = stored.job, stored.status.cause
    if job is None or cause is None or cause.reason != "WaitingForQueue":
        return []
    for resource in WORKLOADS:
        try:
            workloads = (await client.list(resource, job.key.namespace)).items
        except NotFound:
            continue
        except Forbidden:
            return [phrase("what Kueue says of it is not known here: you may not read its Workloads")]
        except ApiError as error:
            return [phrase("what Kueue says of it is not known: {message}", message=Foreign(error.message))]
        return [explain_workload(find_workload(job, stored.status, workloads))]
    return [phrase("this cluster has no Kueue that could admit it: its Workloads are not served")]
