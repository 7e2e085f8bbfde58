"""The log of one rank's pod, as lines, from its first byte to its last.

A broken connection is taken up again at the byte where it broke off. A pod may be gone before its log was asked for
(it ended within a moment, and was cleaned up): then the log that the node has kept is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.app.home import Home
from paddock.cli.log_lines import Lines
from paddock.kube.errors import ApiError, NotFound
from paddock.kube.meta import Manifest, name_of, namespace_of, uid_of

if TYPE_CHECKING:
    from paddock.client.client import Client

_AGAIN = 0.5
"""Seconds before a broken stream is asked for again."""


async def follow_lines(
    client: Client, place: Home, pod: Manifest, container: str, tail: int | None = None
) -> AsyncIterator[list[str]]:
    """Lines as they come, several at once where several are there, until the container has ended.

    With `tail`, of what is there already only so many of the last lines.
    """
    lines = Lines()
    if tail is not None:
        yield cut(lines.feed(await _fetch(client, pod, container)), tail)
    while True:
        skip = lines.seen
        try:
            stream = client.stream_log(namespace_of(pod), name_of(pod), container=container, follow=True)
            async for chunk in stream:
                fresh, skip = chunk[skip:], max(0, skip - len(chunk))
                yield lines.feed(fresh)
            break
        except NotFound:
            kept = find_kept_log(place, namespace_of(pod), name_of(pod), uid_of(pod))
            yield lines.feed(kept.read_bytes()[lines.seen :] if kept else b"")
            break
        except ApiError:
            await asyncio.sleep(_AGAIN)
    yield lines.end()


def cut(lines: list[str], tail: int | None) -> list[str]:
    """The last `tail` of the lines; all of them without it."""
    return lines if tail is None else lines[-tail:] if tail else []


async def fetch_log(client: Client, place: Home, job: Manifest, rank: str, pod: Manifest | None) -> bytes | None:
    """What a rank has printed so far: its pod's log, else what is kept of one that is gone; None if there is none."""
    if pod is not None:
        try:
            return await _fetch(client, pod)
        except ApiError:
            pass  # not started yet, or gone this moment: what is kept of it, if anything
    kept = find_kept_log(place, namespace_of(job), f"{name_of(job)}-{rank}")
    return kept.read_bytes() if kept else None


async def _fetch(client: Client, pod: Manifest, container: str = "") -> bytes:
    stream = client.stream_log(namespace_of(pod), name_of(pod), container=container)
    return b"".join([chunk async for chunk in stream])


def find_kept_log(place: Home, namespace: str, pod: str, uid: str = "*") -> Path | None:
    """The newest log of the pod, by default of the last one of that name. Laid out as a kubelet does:
    `<namespace>_<pod>_<uid>/<container>/N.log`."""
    logs = place.node.glob(f"pods/{namespace}_{pod}_{uid}/*/*.log")
    return max(logs, key=lambda path: path.stat().st_mtime, default=None)
