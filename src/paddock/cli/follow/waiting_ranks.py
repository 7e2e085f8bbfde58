"""Ranks of a job that runs, and whose last lines say that they wait: read from the ends of their logs.

For commands that have not followed the job. A log that cannot be read says nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING

from paddock.cli.cluster.lookup import fetch_pods
from paddock.cli.cluster.places import ClusterChoice
from paddock.jobs.model import Phase
from paddock.jobs.sentences.waiting_ranks import explain_waits, list_names
from paddock.kube.errors import ApiError
from paddock.kube.meta import Manifest, name_of, namespace_of
from paddock.kube.times import Moment
from paddock.logs.waiting import Waits, find_waits
from paddock.views.pods import rank_name
from paddock.views.stored import StoredJob
from paddock.words.phrases import Phrase

if TYPE_CHECKING:
    from paddock.app.history import Kept
    from paddock.history.logs import LogFile
    from paddock.kube.api import PodApi

MOST_RANKS = 64
_MOST_BYTES = 64 * 2**10
"""Bytes at the end of each log."""
_MOST_LINES = 200
"""The same of a cluster, whose API counts lines."""
_TOLD = 4
"""Ranks that are told of; the others wait for the same, mostly."""

Found = Mapping[str, tuple[Waits, float | None]]
"""By rank: what it waits for, and since how many seconds, None where nobody knows it."""


async def fetch_waiting(client: PodApi, place: ClusterChoice, stored: StoredJob, now: Moment) -> list[Phrase]:
    """A sentence for each rank that waits, the first four; empty for a job that does not run, or goes on."""
    if stored.status.phase is not Phase.RUNNING:
        return []
    try:
        pods = {rank_name(pod): pod for pod in await fetch_pods(client, stored)}
    except ApiError:
        return []
    chosen = dict(sorted(pods.items())[:MOST_RANKS])
    if place.kept is not None:
        found = await asyncio.to_thread(_read_kept, place.kept, chosen, now)
    else:
        found = await _fetch_ends(client, chosen)
    names = {rank: list_names(pod) for rank, pod in pods.items()}
    return [explain_waits(rank, waits, names, seconds) for rank, (waits, seconds) in list(found.items())[:_TOLD]]


async def _fetch_ends(client: PodApi, pods: Mapping[str, Manifest]) -> Found:
    async def fetch(pod: Manifest) -> Waits | None:
        text = b""
        try:
            async with aclosing(client.stream_log(namespace_of(pod), name_of(pod), tail=_MOST_LINES)) as ending:
                async for chunk in ending:
                    text = (text + chunk)[-_MOST_BYTES:]
        except ApiError:
            return None
        return find_waits(_split(text))

    all_waits = await asyncio.gather(*map(fetch, pods.values()))
    return {rank: (waits, None) for rank, waits in zip(pods, all_waits, strict=True) if waits is not None}


def _read_kept(history: Kept, pods: Mapping[str, Manifest], now: Moment) -> Found:
    found = dict[str, tuple[Waits, float | None]]()
    for rank, pod in pods.items():
        if (file := history.find_pod_log(pod)) is not None and (waits := _read_end(history, file, now)) is not None:
            found[rank] = waits
    return found


def _read_end(history: Kept, file: LogFile, now: Moment) -> tuple[Waits, float | None] | None:
    try:
        text = history.read_log(file, -_MOST_BYTES)
    except OSError:
        return None
    waits = find_waits(_split(text))
    if waits is None:
        return None
    before = b"\n".join(text.split(b"\n")[: waits.line - 1])
    offset = file.size - len(text) + len(before) + 1
    begun = history.read_last_marks(file).time_of(offset)
    return waits, max(now - begun, 0.0) if begun is not None else None


def _split(text: bytes) -> Iterable[str]:
    return text.decode("utf-8", "replace").split("\n")
