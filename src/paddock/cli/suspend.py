"""Suspend a job that `paddock run` gives up: it stays, with what it has printed, and holds no pods."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from paddock.cli.errors import Failed
from paddock.cli.find import fetch_pods
from paddock.cli.follow import Gone
from paddock.cli.jobs_view import GIVEN_UP
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Phase
from paddock.jobs.phrases import phrase
from paddock.kube.errors import Conflict, NotFound
from paddock.kube.meta import Manifest, Resource, name_of, namespace_of, uid_of

if TYPE_CHECKING:
    from paddock.client.client import Client

_AGAIN = 0.2
"""Seconds between two looks."""


def read_run_policy(job: Manifest) -> Manifest:
    """`spec.runPolicy`, empty where there is none."""
    return (job.get("spec") or {}).get("runPolicy") or {}


async def suspend(client: Client, resource: Resource, job: Manifest, why: str) -> None:
    """Suspend the job and wait until its pods are gone; one that ends meanwhile stays as it ended. `why` as in
    `jobs_view`. Raises `Gone`, and `Failed` where the definition of the kind, another operator's, has no such field."""
    given_up = {"uid": uid_of(job), "annotations": {GIVEN_UP: why}}
    patch = {"metadata": given_up, "spec": {"runPolicy": {"suspend": True}}}
    try:
        current = await client.patch(resource, namespace_of(job), name_of(job), patch)
        if not read_run_policy(current).get("suspend"):
            raise Failed(
                phrase(
                    "the job goes on: the cluster's definition of {kind} is another operator's and knows no "
                    "runPolicy.suspend (`paddock manifests crd` prints ours)",
                    kind=resource.kind,
                )
            )
        while not _rests(resource, current) or await fetch_pods(client, job):
            await asyncio.sleep(_AGAIN)
            current = await client.get(resource, namespace_of(job), name_of(job))
    except (NotFound, Conflict):  # deleted, or another of the name
        raise Gone from None


def _rests(resource: Resource, job: Manifest) -> bool:
    phase = KINDS[resource].read_status(job).phase
    return phase is Phase.SUSPENDED or phase.terminal
