"""Which share of which GPU the ranks of a job have, as their pods say it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddock.cli.cluster.lookup import fetch_pods
from paddock.kube.errors import ApiError
from paddock.views.gpus import read_pod_shares, tell_gpus
from paddock.views.pods import rank_name
from paddock.views.stored import StoredJob
from paddock.words.phrases import Names, Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import PodApi


async def fetch_gpus(client: PodApi, stored: StoredJob) -> list[Phrase]:
    """`worker-0 and worker-1: 1/4 of GPU 0`, for each GPU; empty where no rank has a share."""
    try:
        pods = await fetch_pods(client, stored)
    except ApiError:
        return []
    found: dict[str, tuple[Phrase, list[str]]] = {}
    for pod in pods:
        unfinished = (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")
        if unfinished and read_pod_shares(pod) and (share := tell_gpus(pod)) is not None:
            found.setdefault(str(share), (share, []))[1].append(rank_name(pod))
    return [phrase("{ranks}: {share}", ranks=Names(tuple(sorted(ranks))), share=share)
            for _, (share, ranks) in sorted(found.items())]  # fmt: skip
