"""Ranks of a job of this machine that had more memory than their limit, and that nothing ended for it: by the events
that the node wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddock.cli.cluster.lookup import fetch_pods
from paddock.kube.container_ends import ABOVE_LIMIT
from paddock.kube.errors import ApiError
from paddock.kube.meta import EVENTS, uid_of
from paddock.views.pods import rank_name
from paddock.views.stored import StoredJob
from paddock.words.phrases import Foreign, Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import PodApi

_TOLD = 4
"""Ranks that are told of; the others are alike, mostly."""


async def fetch_above(client: PodApi, stored: StoredJob) -> list[Phrase]:
    """A sentence for each rank, the first four; empty where nobody knows of one."""
    try:
        ranks = {uid_of(pod): rank_name(pod) for pod in await fetch_pods(client, stored)}
        events = (await client.list(EVENTS, stored.key.namespace, fields=f"reason={ABOVE_LIMIT}")).items
    except ApiError:
        return []
    said = {ranks.get(str((event.get("involvedObject") or {}).get("uid"))): event.get("message") for event in events}
    found = sorted((rank, str(message)) for rank, message in said.items() if rank is not None)
    return [phrase("{rank} {said}", rank=rank, said=Foreign(message)) for rank, message in found[:_TOLD]]
