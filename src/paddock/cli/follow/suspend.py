"""Suspends a job that `paddock run` gives up: it keeps its status and logs, and has no pods."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from paddock.cli.cluster.errors import Failed
from paddock.cli.cluster.lookup import fetch_pods
from paddock.cli.follow.follow import JobDeleted
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Phase
from paddock.kube.errors import Conflict, NotFound
from paddock.kube.meta import Manifest, Resource
from paddock.views.given_up import GIVEN_UP
from paddock.views.stored import StoredJob
from paddock.words.phrases import phrase

if TYPE_CHECKING:
    from paddock.client.client import Client

_POLL_SECONDS = 0.2
"""Seconds between two polls."""


def read_run_policy(job: Manifest) -> Manifest:
    """`spec.runPolicy`, empty where there is none."""
    return (job.get("spec") or {}).get("runPolicy") or {}


async def suspend(client: Client, job: StoredJob, why: str) -> None:
    """Suspends the job and returns when its pods are gone or the job has ended. `why`: see `views.given_up`.
    Raises `JobDeleted`, and `Failed` if the CRD is another operator's and has no runPolicy.suspend."""
    # the UID is a precondition (409): the name may belong to a new job
    given_up = {"uid": job.uid, "annotations": {GIVEN_UP: why}}
    patch = {"metadata": given_up, "spec": {"runPolicy": {"suspend": True}}}
    try:
        current = await client.patch(job.resource, *job.key, patch)
        if not read_run_policy(current).get("suspend"):
            raise Failed(
                phrase(
                    "the job goes on: the cluster's definition of {kind} is another operator's and knows no "
                    "runPolicy.suspend (`paddock manifests crd` prints ours)",
                    kind=job.resource.kind,
                )
            )
        while not _rests(job.resource, current) or await fetch_pods(client, job):
            await asyncio.sleep(_POLL_SECONDS)
            current = await client.get(job.resource, *job.key)
    except (NotFound, Conflict):  # deleted, or the name belongs to a new job
        raise JobDeleted from None


def _rests(resource: Resource, job: Manifest) -> bool:
    phase = KINDS[resource].read_status(job).phase
    return phase is Phase.SUSPENDED or phase.terminal
