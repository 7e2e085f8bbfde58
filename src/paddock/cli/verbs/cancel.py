"""paddock cancel"""

from __future__ import annotations

import click

from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.options import namespace_option
from paddock.cli.follow.changes import change_jobs
from paddock.cli.verb import Verb


@click.command(name="cancel", cls=Verb)
@click.argument("names", nargs=-1, required=True, metavar="JOB...", shell_complete=complete_jobs)
@click.option("--now", is_flag=True, help="Do not wait for the ranks to end by themselves: kill them.")
@click.option("--wait/--no-wait", default=True, help="Wait until none of its ranks runs.", show_default=True)
@namespace_option
def command(names: tuple[str, ...], now: bool, wait: bool, namespace: str) -> None:
    """Cancel jobs: end them for good, and keep them listed with their status and logs.

    \b
    paddock cancel resnet
    paddock cancel resnet mnist --no-wait

    The job is Cancelled then, under the name that the API has for you, and never trains again: `paddock clone` makes
    another one of it, and `paddock delete` removes it. In the API its phase is Failed, as other tools know no other.
    What becomes of its pods is for cleanPodPolicy to say.
    """
    change_jobs("cancel", names, namespace, wait=wait, now=now)
