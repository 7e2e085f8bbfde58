"""paddock suspend"""

from __future__ import annotations

import click

from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.options import namespace_option
from paddock.cli.follow.changes import change_jobs
from paddock.cli.verb import Verb


@click.command(name="suspend", cls=Verb)
@click.argument("names", nargs=-1, required=True, metavar="JOB...", shell_complete=complete_jobs)
@click.option("--now", is_flag=True, help="Do not wait for the ranks to end by themselves: kill them.")
@click.option("--wait/--no-wait", default=True, help="Wait until none of its ranks runs.", show_default=True)
@namespace_option
def command(names: tuple[str, ...], now: bool, wait: bool, namespace: str) -> None:
    """Suspend jobs: their pods are ended, and the jobs stay, to be resumed later.

    \b
    paddock suspend resnet
    paddock suspend resnet mnist --no-wait

    Each rank has its grace period to save in. A resumed job begins a new attempt: it goes on where its program has
    saved a checkpoint.
    """
    change_jobs("suspend", names, namespace, wait=wait, now=now)
