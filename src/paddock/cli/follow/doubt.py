"""What the logs of a completed job say against it: an error that its program printed and swallowed.

For commands that have not followed the job. The logs are read from their beginning, of the first ranks that train, and
each as far as a job that has trained nothing prints: of a longer one nothing is known. A log that cannot be read says
nothing.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from paddock.cli.cluster.lookup import fetch_pods
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.follow.rank_log import fetch_log
from paddock.cli.output.display import build_doubt
from paddock.cli.output.log_lines import Lines
from paddock.jobs.model import Phase, Rank
from paddock.kube.errors import ApiError
from paddock.kube.meta import Manifest
from paddock.logs.printed_lines import find_latest
from paddock.logs.progress import Progress
from paddock.logs.swallowed import read_whole
from paddock.views.followed import FollowedJob
from paddock.views.pods import rank_name
from paddock.views.stored import StoredJob
from paddock.words.phrases import Phrase

if TYPE_CHECKING:
    from paddock.kube.api import PodApi

MOST_RANKS = 8
MOST_BYTES = 256 * 2**10


async def fetch_doubt(client: PodApi, place: ClusterChoice, stored: StoredJob) -> list[Phrase]:
    """The warning and what to do; empty for a job that has not completed."""
    read = await fetch_read(client, place, stored)
    return [] if read is None else build_doubt(read)


async def fetch_read(client: PodApi, place: ClusterChoice, stored: StoredJob) -> FollowedJob | None:
    """The job with what its logs say, as one that was followed; None for one that has not completed."""
    job, status = stored.job, stored.status
    if job is None or status.phase is not Phase.COMPLETED:
        return None
    view = FollowedJob(job, status, 0.0)
    ranks = [rank for role in job.roles if role.trains for rank in role.ranks()][:MOST_RANKS]
    try:
        pods = {rank_name(pod): pod for pod in await fetch_pods(client, stored)}
    except ApiError:
        return view
    logs = await asyncio.gather(
        *(_fetch_lines(client, place, stored, str(rank), pods.get(str(rank))) for rank in ranks)
    )
    return read_logs(view, dict(zip(ranks, logs, strict=True)))


def read_logs(view: FollowedJob, logs: dict[Rank, list[str] | None]) -> FollowedJob:
    """The view with what the whole logs of ranks say; None for a log that is not read. Pure."""
    errors, ends, progress = dict(view.complaints), dict(view.ends), dict[Rank, Progress](view.progress)
    for rank, lines in logs.items():
        if last := find_latest(lines or []):
            progress[rank] = last
        read = read_whole(lines or [])
        if read.error is not None:
            errors[rank] = read.error
        if read.end is not None:
            ends[rank] = read.end
    return FollowedJob(view.job, view.status, view.submitted, complaints=errors, ends=ends, progress=progress)


async def _fetch_lines(
    client: PodApi, place: ClusterChoice, job: StoredJob, rank: str, pod: Manifest | None
) -> list[str] | None:
    """None for a log that cannot be read, or is too long."""
    log = await fetch_log(client, place, job, rank, pod, first=MOST_BYTES + 1)
    if log is None or len(log) > MOST_BYTES:
        return None
    lines = Lines()
    return [*lines.feed(log), *lines.end()]
