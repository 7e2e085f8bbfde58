"""paddock delete"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.deletion import delete_job
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.session import run_with_client
from paddock.cli.follow.gone_jobs import fetch_present
from paddock.cli.output.language import localized, readers_language
from paddock.cli.output.terminal import stderr, stdout
from paddock.cli.verb import Verb
from paddock.views.commands import printed_name
from paddock.words.phrases import Phrase, phrase, render

if TYPE_CHECKING:
    from paddock.client.client import Client


@click.command(name="delete", cls=Verb)
@click.argument("names", nargs=-1, required=True, metavar="JOB...", shell_complete=complete_jobs)
@click.option("--now", is_flag=True, help="Do not wait for the ranks to end by themselves: kill them.")
@click.option("--wait/--no-wait", default=True, help="Wait until the job and its pods are gone.", show_default=True)
@namespace_option
def command(names: tuple[str, ...], now: bool, wait: bool, namespace: str) -> None:
    """End a job and remove it, with its pods. Its outputs are kept, and on the local cluster its logs (`paddock
    history`).

    \b
    paddock delete resnet
    paddock delete resnet mnist --now
    """

    async def work(client: Client, place: ClusterChoice) -> None:
        found = [await fetch_present(client, place, namespace, name) for name in names]
        for job in found:
            await delete_job(client, job, now=now, wait=wait, notify=_notify)
            stdout().print(localized(phrase("{object} deleted", object=printed_name(job.resource, job.key.name))))

    run_with_client(work)


def _notify(said: Phrase) -> None:
    stderr().print(render(said, readers_language()))
