"""What to type after an environment that a job needs could not be built.

Whose fault it is decides (`status.fault` of the Environment): a definition that cannot be built is replaced; after
anything else the same command asks again, of a cluster that has this shell's settings.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from paddock.cli.explain import build_next
from paddock.cli.find import in_namespace
from paddock.cli.jobs_view import read_environment
from paddock.cli.places import Place
from paddock.jobs.causes import EnvironmentFailed
from paddock.jobs.model import CauseRecord
from paddock.jobs.phrases import Phrase, phrase
from paddock.kube.errors import NotFound
from paddock.kube.meta import ENVIRONMENTS, Manifest, name_of

if TYPE_CHECKING:
    from paddock.client.client import Client

ENVIRONMENT_FAILED = EnvironmentFailed.__name__
"""The cause's reason, and that of the waiting container."""
_STATUS_SECONDS = 2.0


async def fetch_steps(client: Client, place: Place, job: Manifest, cause: CauseRecord, again: str) -> list[Phrase]:
    """`next:` and `then:` lines. `again`: the command as it was typed, empty where it cannot be typed again."""
    name = read_environment(str(cause.args.get("message") or ""))
    last = [again] if again else []
    if await _fetch_fault(client, name) == "definition":
        delete = f"paddock delete {name_of(job)}{in_namespace(job, place.flags)}"
        return build_next([delete, f"paddock env rm {name}", f"paddock env create {name} -r requirements.txt", *last])
    return build_next([*build_down(place), *last])


async def _fetch_fault(client: Client, name: str) -> str:
    """Its status is written a moment after its pods are told; empty where there is none of that name."""
    deadline = time.monotonic() + _STATUS_SECONDS
    while True:
        try:
            status = (await client.get(ENVIRONMENTS, "", name)).get("status") or {}
        except NotFound:
            return ""
        if status.get("phase") == "Failed" or time.monotonic() > deadline:
            return str(status.get("fault") or "")
        await asyncio.sleep(0.1)


def build_down(place: Place) -> list[str | Phrase]:
    """The step before all others where the local cluster was started with other settings than this shell has."""
    others = ", ".join(place.find_other_settings())
    said = phrase("paddock down  # the local cluster was started with other settings: {names}", names=others)
    return [said] if others else []


def explain_suspended(delete: str, *, rests: bool) -> Phrase:
    """What became of the job. `rests`: its pods have ended."""
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
