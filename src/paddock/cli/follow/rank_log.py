"""The log of one rank's pod, as lines, from its first byte to its last.

After a broken connection the stream resumes at the same byte. If the pod was deleted before its log was requested, the
log file that the node has kept is read: of this pod, or of this job, by their UIDs, as a name has had others before.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

from paddock.cli.cluster.places import ClusterChoice, Notify
from paddock.cli.cluster.rbac import explain_forbidden
from paddock.cli.output.log_lines import Lines
from paddock.kube.errors import ApiError, BadRequest, Forbidden, NotFound, Unavailable
from paddock.kube.meta import PODS, Manifest, metadata, name_of, namespace_of, uid_of
from paddock.views.stored import StoredJob
from paddock.words.os_errors import explain_unreadable as explain_os_error
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.app.history import Kept
    from paddock.history.logs import LogFile
    from paddock.kube.api import PodApi

_RETRY_SECONDS, _LATER_RETRY_SECONDS = 0.5, 5.0
"""Seconds before a retry: after a broken stream, and after an error of the node, which may last longer."""
_PASSING = (BadRequest, Unavailable)
"""Expected errors: the container has not started, the API is unavailable."""


async def follow_lines(
    client: PodApi,
    place: ClusterChoice,
    pod: Manifest,
    container: str,
    tail: int | None = None,
    notify: Notify = lambda _: None,
    draw: Callable[[str], None] = lambda _: None,
    lines: Lines | None = None,
) -> AsyncIterator[list[str]]:
    """Yields lines in batches as they arrive, until the container has ended.

    `tail`: at most so many of the lines that exist now. `notify` is called once if the log cannot be read (403, or the
    node does not answer); the job itself is not affected. `draw` gets the state of a progress bar that is being drawn.
    `lines`: splits the log, and knows afterwards how far it was read.
    """
    lines, said = lines or Lines(), False
    if tail is not None:
        with contextlib.suppress(ApiError):  # retried below, where the error is reported
            yield cut(lines.feed(await _fetch(client, pod, container)), tail)
    while True:
        skip = lines.seen  # the API has no byte offset: a new stream begins at the first byte
        try:
            stream = client.stream_log(namespace_of(pod), name_of(pod), container=container, follow=True)
            async for chunk in stream:
                fresh, skip = chunk[skip:], max(0, skip - len(chunk))
                yield lines.feed(fresh)
                draw(lines.live)
            break
        except NotFound as error:
            if place.home is None and not lines.seen:
                notify(await _explain(client, pod, error))
            if (log := find_kept_log(place.kept, pod, container)) is not None:
                async for batch in read_kept_lines(log, None, notify, lines):
                    yield batch
            break
        except ApiError as error:
            if not said and not isinstance(error, _PASSING):
                notify(explain_unreadable(pod, error))
                said = True
            if isinstance(error, Forbidden):
                break
            await asyncio.sleep(_RETRY_SECONDS if not said else _LATER_RETRY_SECONDS)
    yield lines.end()


async def find_kept_logs(place: ClusterChoice, job: StoredJob) -> list[LogFile]:
    """The logs that a local cluster has kept of this job, of each rank the last one last."""
    return [] if place.kept is None else await asyncio.to_thread(place.kept.find_job_logs, *job.key, job.uid)


async def read_kept_lines(log: LogFile, tail: int | None, notify: Notify, lines: Lines) -> AsyncIterator[list[str]]:
    """The lines of a rank that has ended, as `follow_lines` yields them, from where `lines` stands to the end of the
    file, which takes as long as it takes."""
    from paddock.app.history import read_chunks

    held, last = list[str](), None if lines.seen else tail
    try:
        for chunk in read_chunks(log, lines.seen):
            found = lines.feed(chunk)
            if last is None:
                yield found
                await asyncio.sleep(0)
            else:
                held = cut([*held, *found], last)
    except OSError as error:
        notify(_explain_file(log.rank, error))
        return
    yield cut([*held, *lines.end()], last)


def find_kept_log(history: Kept | None, pod: Manifest, container: str) -> LogFile | None:
    """The file that is kept of what a container of this pod printed."""
    kept = None if history is None else history.find_pod_log(pod)
    return _of_container(kept, container)


def cut(lines: list[str], tail: int | None) -> list[str]:
    """The last `tail` lines; all lines if None."""
    return lines if tail is None else lines[-tail:] if tail else []


async def _explain(client: PodApi, pod: Manifest, error: ApiError) -> Phrase:
    """Of a 404 the pod tells whether it is gone, as of a program that ends at once and whose job deletes its pods, or
    its node does not know it, as after a restart."""
    gone = False
    if isinstance(error, NotFound):
        try:
            found = await client.get(PODS, namespace_of(pod), name_of(pod))
            gone = uid_of(found) != uid_of(pod) or metadata(found).get("deletionTimestamp") is not None
        except ApiError as missing:
            gone = isinstance(missing, NotFound)
    if gone:
        return phrase("{pod} was deleted before its log was read", pod=name_of(pod))
    return explain_unreadable(pod, error)


def explain_unreadable(pod: Manifest, error: ApiError) -> Phrase:
    """Ends with the API server's message, as it reads logs from the pod's node."""
    why = explain_forbidden(error) if isinstance(error, Forbidden) else error.message
    return phrase("the log of {pod} cannot be read: {why}", pod=name_of(pod), why=why)


async def fetch_log(
    client: PodApi,
    place: ClusterChoice,
    job: StoredJob,
    rank: str,
    pod: Manifest | None,
    notify: Notify = lambda _: None,
    *,
    container: str = "",
    previous: bool = False,
    since: float | None = None,
    most: int | None = None,
    first: int | None = None,
) -> bytes | None:
    """The log of a rank so far: of its pod, else the file that is kept of it; of a pod that is gone, the last file of
    this job's rank. None if there is none. `container`: another than the one that trains, whose log is read.
    `previous`: of the container before; `since`: what it printed in the last seconds, of a cluster whose logs have
    times; `most`: bytes at the end, where no more is needed; `first`: the same at the beginning, or some more."""
    if pod is not None:
        try:
            return await _fetch(client, pod, container, previous=previous, since=since, most=most, first=first)
        except ApiError as error:  # not started or just deleted: a kept file is read
            if place.kept is None and (previous or not isinstance(error, BadRequest)):
                notify(await _explain(client, pod, error))
    if place.kept is None:
        return None
    try:
        return _read_kept(place.kept, pod or (job, rank), -most if most else 0, first, container)
    except OSError as error:
        notify(_explain_file(rank, error))
        return None


def _read_kept(
    history: Kept | None,
    of: Manifest | tuple[StoredJob, str],
    start: int,
    first: int | None = None,
    container: str = "",
) -> bytes | None:
    """The kept log of a pod, its own, never that of an earlier attempt; where the pod is gone, the last of the job's
    rank."""
    if history is None:
        return None
    if isinstance(of, tuple):
        job, rank = of
        kept = _of_container(history.find_last_logs(*job.key, job.uid).get(rank), container)
    else:
        kept = find_kept_log(history, of, container)
    return None if kept is None else history.read_log(kept, start, first)


def _of_container(log: LogFile | None, container: str) -> LogFile | None:
    if log is None or not container:
        return log
    from paddock.history.logs import find_of_container  # late, as `History`

    return find_of_container(log, container)


def _explain_file(name: str, error: OSError) -> Phrase:
    return phrase("the log of {pod} cannot be read: {why}", pod=name, why=explain_os_error(error))


async def _fetch(
    client: PodApi,
    pod: Manifest,
    container: str = "",
    *,
    previous: bool = False,
    since: float | None = None,
    most: int | None = None,
    first: int | None = None,
) -> bytes:
    stream = client.stream_log(namespace_of(pod), name_of(pod), container=container, previous=previous, since=since)
    found = bytearray()
    async for chunk in stream:
        found += chunk
        if first is not None and len(found) >= first:
            break
        if most is not None and len(found) > 2 * most:  # not at each chunk, as it copies
            del found[:-most]
    return bytes(found if most is None else found[-most:])
