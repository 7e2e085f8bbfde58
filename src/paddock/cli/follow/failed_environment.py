"""Next steps after the build of an environment has failed.

They depend on `status.fault` of the Environment: a wrong definition must be replaced; after any other fault the same
command retries, on a cluster that was restarted with this shell's settings.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from paddock.cli.cluster.flags import build_next
from paddock.cli.cluster.places import Place
from paddock.jobs.model import CauseRecord
from paddock.jobs.text.phrases import Phrase, phrase
from paddock.jobs.views.messages import read_environment
from paddock.jobs.views.steps import build_environment_steps
from paddock.jobs.views.stored import StoredJob
from paddock.kube.errors import NotFound
from paddock.kube.meta import ENVIRONMENTS

if TYPE_CHECKING:
    from paddock.client.client import Client

ENVIRONMENT_FAILED = "EnvironmentFailed"  # of jobs.causes, whose 50 classes take long to make
"""The reason of the cause and of the waiting container."""
_STATUS_SECONDS = 2.0


async def fetch_steps(client: Client, place: Place, job: StoredJob, cause: CauseRecord, again: str) -> list[Phrase]:
    """`next:` and `then:` lines. `again`: the typed command, empty if it cannot be repeated."""
    environment = read_environment(str(cause.args.get("message") or ""))
    fault = await _fetch_fault(client, environment)
    steps = build_environment_steps(
        environment, job.key.name, job.key.namespace, fault=fault, settings=place.find_other_settings(), again=again
    )
    return build_next(steps, place.flags)


async def _fetch_fault(client: Client, name: str) -> str:
    """`status.fault`, written shortly after the pods' status; empty if the Environment does not exist."""
    deadline = time.monotonic() + _STATUS_SECONDS
    while True:
        try:
            status = (await client.get(ENVIRONMENTS, "", name)).get("status") or {}
        except NotFound:
            return ""
        if status.get("phase") == "Failed" or time.monotonic() > deadline:
            return str(status.get("fault") or "")
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
