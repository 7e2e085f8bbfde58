"""paddock resume"""

from __future__ import annotations

import click

from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.options import namespace_option
from paddock.cli.follow.changes import change_jobs
from paddock.cli.verb import Verb


@click.command(name="resume", cls=Verb)
@click.argument("names", nargs=-1, required=True, metavar="JOB...", shell_complete=complete_jobs)
@namespace_option
def command(names: tuple[str, ...], namespace: str) -> None:
    """Resume suspended jobs: each begins a new attempt.

    \b
    paddock resume resnet

    Also a job that --timeout of `paddock run` has suspended.
    """
    change_jobs("resume", names, namespace, wait=False)
