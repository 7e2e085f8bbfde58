"""The log of one rank's pod, as lines, from its first byte to its last.

A broken connection is taken up again at the byte where it broke off. A pod may be gone before its log was asked for
(it ended within a moment, and was cleaned up): then the log that the node has kept is read.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from paddock.cli.log_lines import Lines
from paddock.cli.places import Place, Say
from paddock.cli.refusals import explain_forbidden
from paddock.jobs.phrases import Phrase, phrase
from paddock.kube.errors import ApiError, BadRequest, Forbidden, NotFound, Unavailable
from paddock.kube.meta import Manifest, name_of, namespace_of, uid_of

if TYPE_CHECKING:
    from paddock.client.client import Client

_AGAIN, _AGAIN_LATER = 0.5, 5.0
"""Seconds before a broken stream is asked for again; one that the node does not give may be long in coming."""
_PASSING = (BadRequest, Unavailable)
"""Not started yet; nobody answers at this moment."""


async def follow_lines(
    client: Client, place: Place, pod: Manifest, container: str, tail: int | None = None, say: Say = lambda _: None
) -> AsyncIterator[list[str]]:
    """Lines as they come, several at once where several are there, until the container has ended.

    With `tail`, of what is there already only so many of the last lines. `say` hears once of a log that cannot be read
    (its node does not answer, or one may not); the job goes on all the same.
    """
    lines, said = Lines(), False
    if tail is not None:
        with contextlib.suppress(ApiError):  # asked again below, and said there
            yield cut(lines.feed(await _fetch(client, pod, container)), tail)
    while True:
        skip = lines.seen
        try:
            stream = client.stream_log(namespace_of(pod), name_of(pod), container=container, follow=True)
            async for chunk in stream:
                fresh, skip = chunk[skip:], max(0, skip - len(chunk))
                yield lines.feed(fresh)
            break
        except NotFound as error:
            if place.home is None and not lines.seen:
                say(explain_unreadable(pod, error))
            kept = place.find_kept_log(namespace_of(pod), name_of(pod), uid_of(pod))
            yield lines.feed(kept.read_bytes()[lines.seen :] if kept else b"")
            break
        except ApiError as error:
            if not said and not isinstance(error, _PASSING):
                say(explain_unreadable(pod, error))
                said = True
            if isinstance(error, Forbidden):
                break
            await asyncio.sleep(_AGAIN if not said else _AGAIN_LATER)
    yield lines.end()


def cut(lines: list[str], tail: int | None) -> list[str]:
    """The last `tail` of the lines; all of them without it."""
    return lines if tail is None else lines[-tail:] if tail else []


def explain_unreadable(pod: Manifest, error: ApiError) -> Phrase:
    """A cluster asks the pod's node for a log; what the node, or the way to it, says stands at the end."""
    why = explain_forbidden(error) if isinstance(error, Forbidden) else error.message
    return phrase("the log of {pod} cannot be read: {why}", pod=name_of(pod), why=why)


async def fetch_log(
    client: Client, place: Place, job: Manifest, rank: str, pod: Manifest | None, say: Say = lambda _: None
) -> bytes | None:
    """What a rank has printed so far: its pod's log, else what is kept of one that is gone; None if there is none."""
    if pod is not None:
        try:
            return await _fetch(client, pod)
        except ApiError as error:  # not started yet, or gone this moment: what is kept of it, if anything
            if place.home is None and not isinstance(error, BadRequest):
                say(explain_unreadable(pod, error))
    kept = place.find_kept_log(namespace_of(job), f"{name_of(job)}-{rank}")
    return kept.read_bytes() if kept else None


async def _fetch(client: Client, pod: Manifest, container: str = "") -> bytes:
    stream = client.stream_log(namespace_of(pod), name_of(pod), container=container)
    return b"".join([chunk async for chunk in stream])
