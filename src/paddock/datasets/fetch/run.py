"""One fetch from its request to its end: the target, the source's own module, the last report."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable

from paddock.datasets.fetch.failures import FetchError, explain_os_error
from paddock.datasets.fetch.meter import Meter
from paddock.datasets.fetch.target import Origin, Target
from paddock.datasets.fetch.tries import Patience
from paddock.datasets.fetching import Failed, Fetched, Report, Request
from paddock.datasets.sources import BadSource, Kind, Source, read_source

Fetch = Callable[[Request, Source, Target, Meter, Patience], Awaitable[Fetched]]


async def run(request: Request, say: Callable[[Report], None], patience: Patience | None = None) -> Fetched | Failed:
    """Fetches, and says `Progress` on the way. What is no failure of a source or the machine is raised."""
    meter = Meter(say)
    try:
        source = read_source(request.uri)
        fetch = find(source)
        meter.enter("listing")
        return await _fill(request, source, fetch, meter, patience or Patience())
    except BadSource as problem:
        return Failed(message=f"spec.source.uri: {problem}")
    except FetchError as problem:
        return Failed(message=problem.message, fault=problem.fault)
    except OSError as error:
        failure = explain_os_error(error, request.target)
        return Failed(message=failure.message, fault=failure.fault)


async def _fill(request: Request, source: Source, fetch: Fetch, meter: Meter, patience: Patience) -> Fetched:
    target = Target(request.target)
    try:
        # Pods that mount a claim may read it, and an address may have a password.
        uri = hashlib.sha256(request.uri.encode()).hexdigest()
        target.begin(Origin(source.kind.value, uri, request.endpoint, request.round))
        fetched = await fetch(request, source, target, meter, patience)
        # In a thread, as a slow disk may take minutes, and a signal must be heard.
        await asyncio.to_thread(target.sync)
        return fetched
    finally:
        target.close()


def find(source: Source) -> Fetch:
    """The function that fetches a kind of source. Its module is imported now: each needs other libraries."""
    match source.kind:
        case Kind.HTTP:
            from paddock.datasets.fetch import http

            return http.fetch
        case Kind.S3:
            from paddock.datasets.fetch import s3

            return s3.fetch
        case Kind.GIT:
            from paddock.datasets.fetch import git

            return git.fetch
        case Kind.HUGGING_FACE | Kind.MODELSCOPE:
            from paddock.datasets.fetch import hub

            return hub.fetch
    raise FetchError(f"{source.shown} is where it is: nothing of a {source.kind} is fetched")
