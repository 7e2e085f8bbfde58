"""The ranks of a job that has failed and that are held for a shell: what `paddock run` and `explain` say of them."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from paddock.cli.cluster.lookup import fetch_pods
from paddock.cli.output.local_times import format_clock
from paddock.jobs.model import Phase, Status
from paddock.kube.errors import ApiError
from paddock.views.flags import Flags
from paddock.views.held import list_held, tell_held
from paddock.views.stored import StoredJob
from paddock.words.phrases import Phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api


async def fetch_held(api: Api, stored: StoredJob, status: Status, flags: Flags, word: str = "") -> list[Phrase]:
    """One sentence, or none. `status`: how it is now; `word`: the job as commands name it."""
    if status.phase is not Phase.FAILED or stored.job is None or stored.job.hold is None:
        return []
    try:
        pods = await fetch_pods(api, stored)
    except ApiError:  # how the run has ended is said all the same
        return []
    held = list_held(replace(stored, status=status), pods, time.time())
    if not held:
        return []
    said = tell_held(
        held, format_clock(min(each.until for each in held)), word or stored.key.name, flags.of(stored.key.namespace)
    )
    return [said] if said is not None else []
