"""What is done with several jobs at once: each by its UID and with the reader's rights, and each has its own answer.

`actions.jobs` does the same with one. `views` has what is written and when it is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paddock.console.addresses import find_kind
from paddock.console.api_errors import say_error
from paddock.console.page_context import PageContext
from paddock.kube.errors import ApiError, Conflict, NotFound, Unauthorized
from paddock.kube.meta import Resource
from paddock.views.changes import build_change, explain_pruned, is_asked
from paddock.views.commands import explain_refusal
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import Phrase, phrase

MOST = 100
"""Jobs of one request."""
AT_ONCE = 8
"""Requests to the API: the pages of others go on meanwhile."""
FIELD = "job:"
"""Begins the name of a field, `job:NAMESPACE/KIND/NAME`; its value is the mark of the job that was looked at."""
MARK = 8
"""Characters of a UID that tell a job from a later one of its name: whole ones are a fifth of a page of 1,000 jobs."""

GONE = phrase("it is not there any more")
ANOTHER = phrase("nothing was done: this is another job of the same name, made since you looked")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A job that a reader has ticked."""

    resource: Resource
    namespace: str
    name: str
    mark: str
    """The beginning of its UID."""
    field: str
    """The name of its field."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of it. `refused`: why nothing was done; None where it is done."""

    chosen: Chosen
    refused: Phrase | None


def read_chosen(posted: Mapping[str, str]) -> list[Chosen]:
    """What names no job, or has no mark, is left out. Pure."""
    found = []
    for field, mark in posted.items():
        namespace, _, rest = field.removeprefix(FIELD).partition("/")
        kind, _, name = rest.partition("/")
        resource = find_kind(kind)
        if field.startswith(FIELD) and resource is not None and namespace and name and "/" not in name:
            found.extend([Chosen(resource, namespace, name, mark, field)] if len(mark) >= MARK else [])
    return found


async def fetch(page: PageContext, chosen: Sequence[Chosen]) -> list[StoredJob | Phrase]:
    """Each as it is now, or why it is not known. Raises `Unauthorized`."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def fetch_one(each: Chosen) -> StoredJob | Phrase:
        async with gate:
            return await _fetch(page, each)

    return await asyncio.gather(*map(fetch_one, chosen))


async def perform(page: PageContext, verb: str, chosen: Sequence[Chosen]) -> list[Outcome]:
    """`suspend`, `resume`, `cancel` or `delete`. What is so already is done. Raises `Unauthorized`."""
    gate = asyncio.Semaphore(AT_ONCE)
    who = "" if verb == "delete" else await page.fetch_who()

    async def perform_one(each: Chosen) -> Outcome:
        async with gate:
            return Outcome(each, await (_delete(page, each) if verb == "delete" else _change(page, verb, each, who)))

    return await asyncio.gather(*map(perform_one, chosen))


async def _fetch(page: PageContext, each: Chosen) -> StoredJob | Phrase:
    try:
        job = read_stored(each.resource, await page.api.get(each.resource, each.namespace, each.name))
    except NotFound:
        return GONE
    except Unauthorized:
        raise
    except ApiError as error:
        return say_error(error)
    return job if job.uid.startswith(each.mark) else ANOTHER


async def _change(page: PageContext, verb: str, each: Chosen, who: str) -> Phrase | None:
    job = await _fetch(page, each)
    if isinstance(job, Phrase):
        return job
    if refusal := explain_refusal(verb, job):
        return refusal
    if is_asked(verb, job.manifest):
        return None
    try:
        answer = await page.api.patch(job.resource, *job.key, build_change(verb, job.manifest, who))
    except ApiError as error:
        return _explain(error)
    return explain_pruned(verb, job.resource, answer)


async def _delete(page: PageContext, each: Chosen) -> Phrase | None:
    job = await _fetch(page, each)
    if isinstance(job, Phrase):
        return None if job is GONE else job
    try:
        await page.api.delete(each.resource, each.namespace, each.name, uid=job.uid)
    except NotFound:
        return None
    except ApiError as error:
        return _explain(error)
    return None


def _explain(error: ApiError) -> Phrase:
    """Raises `Unauthorized`."""
    if isinstance(error, Unauthorized):
        raise error
    if isinstance(error, NotFound):
        return GONE
    return ANOTHER if isinstance(error, Conflict) else say_error(error)
