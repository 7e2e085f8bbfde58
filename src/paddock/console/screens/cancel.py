"""The page that asks before a job is cancelled, which cannot be taken back: days of training may go with it.

`actions.jobs` has what its button does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.console.addresses import JOB
from paddock.console.heads import build_head, find_job, list_job_topics, tell_missing
from paddock.console.visit import Screen, Visit
from paddock.views.commands import list_commands
from paddock.views.stored import read_stored
from paddock.words.phrases import phrase


async def build(visit: Visit) -> Mapping[str, Any]:
    resource, manifest = find_job(visit)
    if manifest is None:
        raise tell_missing(visit)
    job = read_stored(resource, manifest)
    command = next(
        each for each in list_commands(job, visit.world.kubectl, visit.world.options) if each.name == "cancel"
    )
    return {
        "head": build_head(visit, resource, manifest),
        "why_not": visit.say(command.why_not) if command.why_not else "",
        "may": await visit.may(command.verb, resource, job.key.namespace),
        "command": command,
    }


SCREEN = Screen("cancel", f"{JOB}/cancel", phrase("Cancel"), list_job_topics, build, live=False)
