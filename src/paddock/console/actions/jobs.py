"""What the buttons of a job's page do: suspend, resume, cancel. `paddock.views` has what is written and when it is
refused, for the command line too. Cancel and delete have pages of their own, as neither can be taken back."""

from __future__ import annotations

from collections.abc import Mapping

from paddock.console.addresses import JOB, address_of_job, find_kind
from paddock.console.heads import tell_missing
from paddock.console.page_context import Action, PageContext, Redirect
from paddock.kube.errors import NotFound
from paddock.views.changes import build_change, explain_pruned, is_asked
from paddock.views.commands import explain_refusal
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import Phrase


async def fetch_stored(page: PageContext) -> StoredJob:
    """The job that the address names, as it is now. Raises `Missing`, `ApiError`."""
    resource = find_kind(page.path["kind"])
    if resource is None:
        raise tell_missing(page)
    try:
        return read_stored(resource, await page.api.get(resource, page.path["namespace"], page.path["name"]))
    except NotFound:
        raise tell_missing(page) from None


async def change(page: PageContext, verb: str) -> Redirect | Phrase:
    """What is so already is done: two readers may press one button."""
    job = await fetch_stored(page)
    if refusal := explain_refusal(verb, job):
        return refusal
    if not is_asked(verb, job.manifest):
        answer = await page.api.patch(job.resource, *job.key, build_change(verb, job.manifest, await page.fetch_who()))
        if why := explain_pruned(verb, job.resource, answer):
            return why
    return Redirect(address_of_job(job.resource, *job.key))


async def suspend(page: PageContext, _posted: Mapping[str, str]) -> Redirect | Phrase:
    return await change(page, "suspend")


async def resume(page: PageContext, _posted: Mapping[str, str]) -> Redirect | Phrase:
    return await change(page, "resume")


async def cancel(page: PageContext, _posted: Mapping[str, str]) -> Redirect | Phrase:
    return await change(page, "cancel")


ACTIONS = tuple(
    Action(name, f"{JOB}/{name}", perform)
    for name, perform in (("suspend", suspend), ("resume", resume), ("cancel", cancel))
)
