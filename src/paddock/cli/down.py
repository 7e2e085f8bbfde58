"""paddock down"""

from __future__ import annotations

import click

from paddock.app import launch
from paddock.cli.session import home
from paddock.cli.terminal import stderr


@click.command(name="down")
def command() -> None:
    """Stop the local cluster, and end every process that it started.

    Jobs, their logs and outputs are kept: unfinished jobs begin a new attempt at the next `up` or `run`. Also cleans up
    after a cluster that was killed.

    \b
    paddock down
    """
    stopped = launch.stop(home())
    if stopped.was_up:
        stderr().print("embedded cluster stopped")
    elif stopped.leftovers:
        noun = "process" if stopped.leftovers == 1 else "processes"
        stderr().print(f"embedded cluster was not up; ended {stopped.leftovers} {noun} that it had left behind")
    else:
        stderr().print("embedded cluster is not up")
