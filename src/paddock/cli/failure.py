"""What a failed rank said last: from the API while its pod is there, else from the log that the node has kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.app.home import Home
from paddock.cli.find import fetch_pods
from paddock.cli.jobs_view import rank_name
from paddock.cli.log_lines import build_tail
from paddock.jobs.model import Status
from paddock.kube.errors import ApiError
from paddock.kube.meta import Manifest, name_of, namespace_of

if TYPE_CHECKING:
    from paddock.client.client import Client

LINES = 15


async def fetch_failure(client: Client, place: Home, job: Manifest, status: Status) -> list[str]:
    """The last lines of the rank that is to blame, with a head; nothing where no rank is."""
    ranks = status.cause.args.get("ranks") if status.cause else None
    if not ranks:
        return []
    rank = str(ranks[0])
    text = await _fetch_text(client, place, job, rank)
    tail = build_tail(text, LINES)
    return [f"the last lines of {rank}:", *(f"    {line}" for line in tail)] if tail else [f"{rank} printed nothing"]


async def _fetch_text(client: Client, place: Home, job: Manifest, rank: str) -> str:
    pod = next((pod for pod in await fetch_pods(client, job) if rank_name(pod) == rank), None)
    if pod is not None:
        try:
            return (await _joined(client.stream_log(namespace_of(pod), name_of(pod), tail=LINES * 4))).decode(
                "utf-8", "replace"
            )
        except ApiError:
            pass
    kept = find_kept_log(place, namespace_of(job), f"{name_of(job)}-{rank}")
    return kept.read_text(errors="replace")[-16_384:] if kept else ""


async def _joined(chunks: AsyncIterator[bytes]) -> bytes:
    return b"".join([chunk async for chunk in chunks])


def find_kept_log(place: Home, namespace: str, pod: str) -> Path | None:
    """The newest log of the last pod of that name, `<namespace>_<pod>_<uid>/<container>/N.log`."""
    logs = place.node.glob(f"pods/{namespace}_{pod}_*/*/*.log")
    return max(logs, key=lambda path: path.stat().st_mtime, default=None)
