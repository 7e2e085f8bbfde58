"""The page that asks before a job is cancelled, which cannot be taken back: days of training may go with it.

`actions.jobs` has what its button does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.console.addresses import JOB
from paddock.console.heads import build_head, find_job, list_job_topics, tell_missing
from paddock.console.page_context import PageContext, Screen
from paddock.views.commands import list_commands
from paddock.views.stored import read_stored
from paddock.words.phrases import phrase


async def build(page: PageContext) -> Mapping[str, Any]:
    resource, manifest = find_job(page)
    if manifest is None:
        raise tell_missing(page)
    job = read_stored(resource, manifest)
    command = next(
        each for each in list_commands(job, page.backend.kubectl, page.backend.options) if each.name == "cancel"
    )
    return {
        "head": await build_head(page, resource, manifest),
        "why_not": page.say(command.why_not) if command.why_not else "",
        "may": await page.may(command.verb, resource, job.key.namespace),
        "command": command,
    }


SCREEN = Screen("cancel", f"{JOB}/cancel", phrase("Cancel"), list_job_topics, build, live=False)
