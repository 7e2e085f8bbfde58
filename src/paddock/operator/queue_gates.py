"""Whether Kueue would hold the pods of a job that is to go into its queue by them (`jobs.queued`).

The API server is asked by a create that stores nothing, for the first pod of an attempt: Kueue's webhook (which has no
side effects, so it is asked as well) adds its scheduling gate to the answer, or is not in force for pods here. Thus no
pod ever runs beside the queue, and none has to be deleted again. It is one request for an attempt; the next try of a
job that waits is that of any refused create, at most one a minute.
"""

from __future__ import annotations

from collections.abc import Sequence

from paddock.jobs.actions import Create
from paddock.jobs.model import Job
from paddock.jobs.objects.pods import RankPod
from paddock.jobs.queued import NOT_HELD, find_pod_queue, is_held, is_on_cluster
from paddock.kube.api import Api
from paddock.kube.errors import AlreadyExists, ApiError, Forbidden
from paddock.kube.meta import PODS


async def find_ungated(api: Api, job: Job, creates: Sequence[Create]) -> ApiError | None:
    """Why none of these pods may be made; None if they may, or their gang is there in part. `creates`: all that the
    gang lacks."""
    if not creates or len(creates) < job.size or not _is_queued(creates[0]):
        return None
    try:
        stored = await api.create(PODS, creates[0].manifest, dry_run=True)
    except AlreadyExists:  # whose it is, the create itself finds out
        return None
    except ApiError as error:  # the create itself would meet it too, but perhaps not any more
        return error
    return None if is_held(stored) else Forbidden(NOT_HELD)


def _is_queued(create: Create) -> bool:
    recipe = create.recipe
    if not isinstance(recipe, RankPod) or not recipe.queued or not is_on_cluster(recipe.settings):
        return False
    return bool(find_pod_queue(recipe.job, recipe.settings))
