"""paddock up"""

from __future__ import annotations

import click

from paddock.app import launch
from paddock.cli.cluster.places import explain_started
from paddock.cli.cluster.session import home
from paddock.cli.output.language import localized
from paddock.cli.output.terminal import stderr
from paddock.cli.verb import Verb
from paddock.jobs.text.phrases import Phrase, phrase


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
        for said in explain_started(started):
            _notify(said)
    else:
        _notify(phrase("embedded cluster is up already ({url}, process {pid})", url=running.url, pid=running.pid))
        _warn_of_differences(running.url, running.sandbox, port, sandbox)
    export = f"export KUBECONFIG={place.kubeconfig}"
    _notify(phrase("{export}     for kubectl\npaddock down     stops it", export=export))


def _warn_of_differences(url: str, sandbox: str, wanted_port: int, wanted_sandbox: str) -> None:
    if wanted_port and not url.endswith(f":{wanted_port}"):
        _notify(phrase("it does not serve on port {port}: `paddock down` first, then `up` again", port=wanted_port))
    if wanted_sandbox not in ("auto", sandbox):
        _notify(
            phrase(
                "its pods run in {sandbox}, not in {wanted}: `paddock down` first, then `up` again",
                sandbox=sandbox, wanted=wanted_sandbox,
            )
        )  # fmt: skip


def _notify(said: Phrase) -> None:
    stderr().print(localized(said))
