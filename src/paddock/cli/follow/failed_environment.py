"""Next steps after the build of an environment has failed.

They depend on `status.fault` of the Environment: a wrong definition must be replaced; after any other fault the same
command retries, on a cluster that was restarted with this shell's settings.
"""

from __future__ import annotations

import asyncio
import shlex
import time
from typing import TYPE_CHECKING

from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.output.paths import shorten_path
from paddock.cli.output.requirement_lines import find_lines
from paddock.environments.sources import read_source
from paddock.jobs.model import CauseRecord
from paddock.kube.errors import NotFound
from paddock.kube.meta import ENVIRONMENTS, Manifest
from paddock.views.flags import build_next
from paddock.views.package_names import find_meant
from paddock.views.steps import build_environment_steps
from paddock.views.stored import StoredJob
from paddock.words.message_facts import read_environment, read_missing_package
from paddock.words.phrases import Names, Phrase, phrase

if TYPE_CHECKING:
    from paddock.client.client import Client

ENVIRONMENT_FAILED = "EnvironmentFailed"  # of jobs.causes, whose 50 classes take long to make
"""The reason of the cause and of the waiting container."""
_STATUS_SECONDS = 30.0
"""Seconds in which the Environment's own status follows that of its pods, also on a busy machine."""


async def fetch_steps(
    client: Client, place: ClusterChoice, job: StoredJob, cause: CauseRecord, again: str, wait: float = _STATUS_SECONDS
) -> list[Phrase]:
    """`next:` and `then:` lines. `again`: the typed command, empty if it cannot be repeated. `wait`: seconds for what
    the Environment tells."""
    message = str(cause.args.get("message") or "")
    environment = read_environment(message)
    failed = await _fetch_failed(client, environment, wait)
    source = read_source(failed)
    steps = build_environment_steps(
        environment,
        message=message,
        fault=str((failed.get("status") or {}).get("fault") or ""),
        file=shlex.quote(shorten_path(source.files[0])) if source else "",
        settings=place.find_other_settings(),
        again=again,
    )
    late = failed and (failed.get("status") or {}).get("phase") != "Failed"
    unread = [phrase("whose fault it is, is not recorded yet: {command}", command="paddock env list")] if late else []
    return [*unread, *explain_lines(failed), *build_next(steps, place.flags)]


def explain_lines(environment: Manifest) -> list[Phrase]:
    """Which lines of its requirements files the builder's message is about, and which package was meant by a name that
    no package has; empty where neither is known."""
    source, message = read_source(environment), str((environment.get("status") or {}).get("message") or "")
    meant = find_meant(missing) if (missing := read_missing_package(message)) else ""
    lines = find_lines(source.files, message) if source else []
    said = [phrase("see {places}", places=Names(tuple(lines)))] if lines else []
    return [*([phrase("did you mean {name}?", name=meant)] if meant else []), *said]


async def _fetch_failed(client: Client, name: str, wait: float) -> Manifest:
    """The Environment with its `status.fault`, which is written shortly after the pods' status; empty if it does not
    exist."""
    deadline = time.monotonic() + wait
    while True:
        try:
            environment = await client.get(ENVIRONMENTS, "", name)
        except NotFound:
            return {}
        if (environment.get("status") or {}).get("phase") == "Failed" or time.monotonic() >= deadline:
            return environment
        await asyncio.sleep(0.1)


def explain_suspended(delete: str, *, rests: bool) -> Phrase:
    """The state of the suspended job. `rests`: its pods have ended."""
    if rests:
        return phrase(
            "the job is suspended, it holds no pods: the next `paddock run` replaces it, `{delete}` removes it",
            delete=delete,
        )
    return phrase(
        "the job is suspended, some of its pods have not ended yet: the next `paddock run` replaces it, `{delete}` "
        "removes it",
        delete=delete,
    )
