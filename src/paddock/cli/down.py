"""paddock down"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import click

from paddock.app import launch
from paddock.app.home import Home, find_running
from paddock.cli.find import fetch_all
from paddock.cli.places import Local
from paddock.cli.session import connect, home, run
from paddock.cli.terminal import stderr
from paddock.cli.verb import Verb
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Phase
from paddock.kube.errors import ApiError
from paddock.kube.meta import name_of

_ANSWER = 3.0
"""Seconds that the cluster may take to name its jobs: it is to be stopped in any case."""
_NAMED = 4


@click.command(name="down", cls=Verb)
def command() -> None:
    """Stop the local cluster, and end every process that it started.

    Jobs, their logs and outputs are kept: unfinished jobs begin a new attempt at the next command that starts the
    cluster, also `get` and `logs`. Also cleans up after a cluster that was killed.

    \b
    paddock down
    """
    place = home()
    unfinished = run(_fetch_unfinished(place)) if find_running(place) else []
    stopped = launch.stop(place)
    if stopped.was_up:
        stderr().print(build_stopped(unfinished))
    elif stopped.leftovers:
        noun = "process" if stopped.leftovers == 1 else "processes"
        stderr().print(f"embedded cluster was not up; ended {stopped.leftovers} {noun} that it had left behind")
    else:
        stderr().print("embedded cluster is not up")


def build_stopped(unfinished: Sequence[str]) -> str:
    """The sentence; `unfinished`: the names of the jobs that begin again with the cluster."""
    if not unfinished:
        return "embedded cluster stopped"
    more = f" and {len(unfinished) - _NAMED} more" if len(unfinished) > _NAMED else ""
    count = "1 unfinished job" if len(unfinished) == 1 else f"{len(unfinished)} unfinished jobs"
    starts, which = ("starts", "it") if len(unfinished) == 1 else ("start", "them")
    return (
        f"embedded cluster stopped; {count} ({', '.join(unfinished[:_NAMED])}{more}) {starts} again with it: "
        f"`paddock delete` removes {which}"
    )


async def _fetch_unfinished(place: Home) -> list[str]:
    """The jobs that neither have ended nor are suspended; none where the cluster does not answer."""
    try:
        async with asyncio.timeout(_ANSWER), connect(Local(place)) as client:
            found = await fetch_all(client, KINDS, "")
    except (ApiError, OSError, TimeoutError):
        return []
    phases = {name_of(job): KINDS[resource].read_status(job).phase for resource, job in found}
    return [name for name, phase in phases.items() if not phase.terminal and phase is not Phase.SUSPENDED]
