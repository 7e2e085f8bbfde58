"""One fetch from its request to its end: the target, the source's own module, the last report."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from urllib.parse import quote, unquote

from paddock.datasets.fetch.failures import FetchError, explain_os_error
from paddock.datasets.fetch.meter import Meter
from paddock.datasets.fetch.target import Origin, Target
from paddock.datasets.fetch.tries import Patience
from paddock.datasets.fetching import Failed, Fetched, Report, Request, change_texts
from paddock.datasets.sources import BadSource, Kind, Source, find_password, read_source
from paddock.words.phrases import phrase

_NO_SECRETS = frozenset({"username", "known_hosts"})
_LEAST_SECRET = 4
Fetch = Callable[[Request, Source, Target, Meter, Patience], Awaitable[Fetched]]


async def run(request: Request, say: Callable[[Report], None], patience: Patience | None = None) -> Fetched | Failed:
    """Fetches, and says `Progress` on the way. What is no failure of a source or the machine is raised."""
    hide = partial(hide_secrets, find_secrets(request))
    end = await _run(request, Meter(lambda report: say(change_texts(report, hide))), patience or Patience())
    return change_texts(end, hide)


def find_secrets(request: Request) -> tuple[str, ...]:
    """What no message and no log may have, the longest first. Less than four characters are in any sentence."""
    password = find_password(request.uri)
    given = {value.strip() for key, value in request.secret.items() if key not in _NO_SECRETS}
    given |= {password, unquote(password), quote(password, safe="")}
    return tuple(sorted((each for each in given if len(each) >= _LEAST_SECRET), key=len, reverse=True))


def hide_secrets(secrets: Sequence[str], text: str) -> str:
    for each in secrets:
        text = text.replace(each, "***")
    return text


async def _run(request: Request, meter: Meter, patience: Patience) -> Fetched | Failed:
    try:
        source = read_source(request.uri)
        fetch = find(source)
        meter.enter("listing")
        return await _fill(request, source, fetch, meter, patience)
    except BadSource as problem:
        return Failed(message=str(phrase("spec.source.{field}: {why}", field="uri", why=str(problem))))
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
    raise FetchError(
        phrase("{uri} is where it is: nothing of a {kind} is fetched", uri=source.shown, kind=source.kind.value)
    )
