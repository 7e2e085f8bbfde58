"""paddock up"""

from __future__ import annotations

import shlex

import click

from paddock.app import launch
from paddock.app.history import write_kept_limits
from paddock.app.home import Home
from paddock.cli.cluster.limits import LimitsType
from paddock.cli.cluster.places import explain_started
from paddock.cli.cluster.session import home
from paddock.cli.output.language import localized
from paddock.cli.output.terminal import stderr
from paddock.cli.verb import Verb
from paddock.history.retention import Limits, write_limits
from paddock.words.phrases import Phrase, phrase


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
@click.option(
    "--keep-logs",
    "limits",
    type=LimitsType(),
    metavar="TIME,SIZE",
    help="How long and up to which size runs that are over keep their logs, from now on (at first 7d,1GiB).",
)
@click.option(
    "--enforce-limits/--no-enforce-limits",
    "enforces",
    default=None,
    help="Whether containers above their memory limit are ended, from now on, where the system does not do it.",
)
def command(port: int, sandbox: str, limits: Limits | None, enforces: bool | None) -> None:
    """Start the local cluster and keep it up until `paddock down`.

    Without this, `paddock run` starts it, and it stops by itself ten minutes after the last job and the last client.

    \b
    paddock up
    paddock up --port 6443 --sandbox none
    paddock up --keep-logs 30d,20GiB

    --keep-logs: a time in m, h, d or w, a size in MiB, GiB or TiB, or both. The oldest runs go first; of each
    name's last run the record is kept for 90 days. What has not ended is kept. `paddock history` lists what is kept.

    --sandbox: in bubblewrap (bwrap) a program sees its own processes alone. Without it, a program that
    you train has your rights: it can read and change all files that you can, as one that you start in a shell. Install
    the package bubblewrap, then `paddock down` and `paddock up`, to have it.

    --enforce-limits: as root, and in a part of the system that is the user's own, the kernel enforces memory limits in
    any case. Elsewhere a container above its limit is only told, by `paddock explain`, until this is given.
    """
    place = home()
    started = launch.start(place, port=port, sandbox=sandbox)
    place.pinned.touch(mode=0o600)
    if limits is not None:
        write_kept_limits(place, limits)
        _notify(phrase("logs of runs that are over are kept for {limits}", limits=write_limits(limits)))
    if enforces is not None:
        _enforce_limits(place, enforces)
    running = started.running
    if started.fresh:
        for said in explain_started(started, place):
            _notify(said)
    else:
        _notify(phrase("local cluster is up already ({url}, process {pid})", url=running.url, pid=running.pid))
        _warn_of_differences(running.url, running.sandbox, port, sandbox)
    export = f"export KUBECONFIG={shlex.quote(str(place.kubeconfig))}"
    if running.console:
        _notify(phrase("{address}     the console: `paddock console` opens it", address=running.console))
    _notify(phrase("{export}     for kubectl\npaddock down     stops it", export=export))


def _enforce_limits(place: Home, enforces: bool) -> None:
    """The cluster looks at the file each time."""
    if enforces:
        place.enforced.touch(mode=0o600)
        _notify(phrase("containers above their memory limit are ended"))
    else:
        place.enforced.unlink(missing_ok=True)
        _notify(phrase("containers above their memory limit are told of, and ended where the kernel does it"))


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
