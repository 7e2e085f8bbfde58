"""What Kueue says of jobs that wait for its queues, asked for with the rights of who reads. The operator needs none of
these rights.

Kueue's kinds and their versions are in `kube.kueue`, what is made of the answers in `views.workloads`.
"""

from __future__ import annotations

from collections.abc import Iterable

from paddock.jobs.model import CauseRecord
from paddock.kube.api import Api
from paddock.kube.errors import ApiError
from paddock.kube.kueue import WORKLOADS, get_pending, list_served
from paddock.kube.meta import Manifest
from paddock.views.workloads import NO_ADMISSIONS, Admissions, list_queues, read_admissions, read_positions

MOST_NAMESPACES = 8
"""Of which Workloads are listed for one command or page, and queues whose order is asked for: each is a request."""

Waiting = tuple[CauseRecord | None, Manifest]
"""The cause of a job, and the job."""


async def fetch_admissions(api: Api, waiting: Iterable[Waiting]) -> Admissions:
    """What Kueue says of those of these jobs that wait for a queue. What the reader may not see, or an API does not
    answer, is left out: a command or page never fails for it."""
    queues = list_queues(waiting)
    found, positions = list[Manifest](), dict[tuple[str, str], int]()
    for namespace in list(dict.fromkeys(namespace for namespace, _ in queues))[:MOST_NAMESPACES]:
        try:
            found += await list_served(api, WORKLOADS, namespace) or ()
        except ApiError:
            continue
    for namespace, queue in queues[:MOST_NAMESPACES] if found else ():
        try:
            positions |= read_positions(namespace, await get_pending(api, namespace, queue) or ())
        except ApiError:
            continue
    return read_admissions(found, positions) if found else NO_ADMISSIONS
