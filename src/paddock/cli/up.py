"""paddock up"""

from __future__ import annotations

import click

from paddock.app import launch
from paddock.cli.session import home
from paddock.cli.terminal import stderr
from paddock.cli.verb import Verb


@click.command(name="up", cls=Verb)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="PORT",
    help="Serve on this port of 127.0.0.1 (default: that of last time).",
)
@click.option(
    "--sandbox",
    type=click.Choice(["auto", "bubblewrap", "none"]),
    default="auto",
    show_default=True,
    help="What pods run in.",
)
def command(port: int, sandbox: str) -> None:
    """Start the local cluster and keep it up until `paddock down`.

    Without this, `paddock run` starts it, and it stops by itself ten minutes after the last job and the last client.

    \b
    paddock up
    paddock up --port 6443 --sandbox none
    """
    place = home()
    started = launch.start(place, port=port, sandbox=sandbox)
    place.pinned.touch(mode=0o600)
    running = started.running
    if started.fresh:
        stderr().print(
            f"embedded cluster started in {started.seconds:.1f} s ({running.machine}; pods in {running.sandbox})"
        )
    else:
        stderr().print(f"embedded cluster is up already ({running.url}, process {running.pid})")
        _warn_of_differences(running.url, running.sandbox, port, sandbox)
    stderr().print(f"export KUBECONFIG={place.kubeconfig}     for kubectl\npaddock down     stops it")


def _warn_of_differences(url: str, sandbox: str, wanted_port: int, wanted_sandbox: str) -> None:
    if wanted_port and not url.endswith(f":{wanted_port}"):
        stderr().print(f"it does not serve on port {wanted_port}: `paddock down` first, then `up` again")
    if wanted_sandbox not in ("auto", sandbox):
        stderr().print(f"its pods run in {sandbox}, not in {wanted_sandbox}: `paddock down` first, then `up` again")
