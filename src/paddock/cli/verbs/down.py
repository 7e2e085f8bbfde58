"""paddock down"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import click

from paddock.app import launch
from paddock.app.home import Home, find_running
from paddock.cli.cluster.lookup import fetch_all
from paddock.cli.cluster.places import Local
from paddock.cli.cluster.session import connect, home, run
from paddock.cli.output.language import localized
from paddock.cli.output.terminal import stderr
from paddock.cli.verb import Verb
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.manager import find_other_manager
from paddock.jobs.model import Phase
from paddock.kube.errors import ApiError
from paddock.kube.meta import Key, key_of
from paddock.views.flags import LOCAL
from paddock.words.phrases import Phrase, counted, phrase

_ANSWER_SECONDS = 15.0
"""Seconds to wait for the list of jobs: a busy machine needs some, and the cluster is stopped in any case."""
_NAMED = 4


@click.command(name="down", cls=Verb)
def command() -> None:
    """Stop the local cluster, and end every process that it started.

    Jobs, their logs and outputs are kept: unfinished jobs begin a new attempt at the next command that starts the
    cluster, also `get` and `logs -f`. Also cleans up after a cluster that was killed.

    \b
    paddock down
    """
    place = home()
    unfinished = run(_fetch_unfinished(place)) if find_running(place) else []
    stopped = launch.stop(place)
    if stopped.was_up:
        said = build_stopped(unfinished)
    elif stopped.leftovers:
        said = counted(
            "local cluster was not up; ended {count} process that it had left behind",
            "local cluster was not up; ended {count} processes that it had left behind",
            count=stopped.leftovers,
        )
    else:
        said = phrase("local cluster is not up")
    stderr().print(localized(said))


def build_stopped(unfinished: Sequence[Key]) -> Phrase:
    """The result. `unfinished`: the jobs that restart with the cluster."""
    if not unfinished:
        return phrase("local cluster stopped")
    named: Phrase | str = ", ".join(each.name for each in unfinished[:_NAMED])
    if len(unfinished) > _NAMED:
        named = phrase("{names} and {count} more", names=named, count=len(unfinished) - _NAMED)
    return counted(
        "local cluster stopped; {count} unfinished job ({names}) starts again with it: `{command}` removes it",
        "local cluster stopped; {count} unfinished jobs ({names}) start again with it: `{command}` removes them",
        count=len(unfinished),
        names=named,
        command=_write_deletion(unfinished),
    )


def _write_deletion(jobs: Sequence[Key]) -> str:
    """The command that removes them; the verb alone where that would be more than one command, or a long one."""
    namespaces = {each.namespace for each in jobs}
    names = sorted({each.name for each in jobs})
    if len(namespaces) > 1 or len(names) != len(jobs) or len(jobs) > _NAMED:
        return "paddock delete"
    return " ".join(["paddock delete", *names]) + LOCAL.of(namespaces.pop())


async def _fetch_unfinished(place: Home) -> list[Key]:
    """The jobs that start again; empty if the cluster does not answer."""
    try:
        async with asyncio.timeout(_ANSWER_SECONDS), connect(Local(place)) as client:
            found = await fetch_all(client, KINDS, "")
    except (ApiError, OSError, TimeoutError):
        return []
    phases = [
        (key_of(job), KINDS[resource].read_status(job).phase) for resource, job in found if not find_other_manager(job)
    ]
    at_rest = (Phase.SUSPENDED, Phase.INVALID)
    return [key for key, phase in phases if not phase.terminal and phase not in at_rest]
