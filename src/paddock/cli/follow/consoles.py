"""Opens a console for who typed the command: in the browser, or as a printed link that signs in once."""

from __future__ import annotations

import os
import sys
import time
import webbrowser
from collections.abc import Sequence
from urllib.parse import urljoin

import click

from paddock.app.consoles.links import Link, forward, has_display, make_link
from paddock.app.home import Home, find_running
from paddock.cli.cluster.consoles import serve_user
from paddock.cli.cluster.context_flags import read_chosen
from paddock.cli.cluster.errors import Failed
from paddock.cli.cluster.fleets import serve_fleet
from paddock.cli.cluster.places import Cluster, ClusterChoice
from paddock.cli.cluster.session import choose_place, connect, home, run
from paddock.cli.follow.gone_jobs import fetch_present
from paddock.cli.output.language import localized
from paddock.cli.output.streams import print_line
from paddock.cli.output.terminal import stderr, stdout
from paddock.console.addresses import address_of_job, address_of_list
from paddock.words.phrases import Phrase, phrase


def open_console(job: str | None, namespace: str, asked: str, port: int, *, alone: bool) -> int:
    """Opens the console of the cluster that the options name. `job`: whose page is opened; None for the list, of the
    namespace `asked` or, if that is empty, of all. `port`: of a console that serves a context until Ctrl-C. `alone`:
    the link is printed, and nothing else done."""
    place = choose_place()
    place.start()
    path = run(_find_page(place, namespace, job)) if job else address_of_list(asked)
    if isinstance(place, Cluster):
        return serve_user(place, path, port, lambda link: _show(link, path, alone=alone, serves=True))
    assert place.home is not None
    _open_local(place.home, path, alone=alone)
    return 0


def open_fleet(contexts: Sequence[str], asked: str, port: int, *, alone: bool) -> int:
    """Opens a console of several clusters, until Ctrl-C. `asked`: see `open_console`."""
    kubeconfig = read_chosen(click.get_current_context()).get("kubeconfig")
    path = address_of_list(asked)
    return serve_fleet(
        contexts, kubeconfig, home(), port, path, lambda link: _show(link, path, alone=alone, serves=True)
    )


async def _find_page(place: ClusterChoice, namespace: str, job: str) -> str:
    async with connect(place) as client:
        found = await fetch_present(client, place, namespace, job)
    return address_of_job(found.resource, *found.key)


def _open_local(home: Home, path: str, *, alone: bool) -> None:
    running = find_running(home)
    if running is None or not running.console:
        said = phrase("the cluster that is up has no console: `paddock down`, then `paddock console` again")
        raise Failed(said)
    _show(make_link(home, running.console, time.time(), path), path, alone=alone)


def _show(link: Link, path: str, *, alone: bool, serves: bool = False) -> None:
    """Opens the link, or prints it. `serves`: this process is the console, so it goes on."""
    if alone:
        print_line(link.address, flush=True)
    elif sys.stdout.isatty() and has_display(os.environ, sys.platform) and webbrowser.open(link.address):
        # without the ticket: what a terminal shows is copied, recorded and shared
        stdout().print(localized(phrase("{address} is open in the browser", address=urljoin(link.address, path))))
    else:
        stdout().print(link.address)
        for said in explain_link(link, far="SSH_CONNECTION" in os.environ):
            stderr().print(localized(said))
    if serves:
        stderr().print(localized(phrase("the console is served by this command: it goes on until Ctrl-C")))


def explain_link(link: Link, *, far: bool) -> list[Phrase]:
    """What is said of a link that the reader opens. `far`: the command was typed over ssh, so the browser is on another
    machine."""
    once = phrase("the link signs in once, within five minutes")
    if not far:
        return [once]
    ports, there = forward(link)
    return [
        once,
        phrase("from the machine where you sit: `ssh -L {ports} HOST`, then {link}", ports=ports, link=there),
        phrase("if the browser there does not find {host}, write 127.0.0.1 in its place", host=link.host),
    ]
