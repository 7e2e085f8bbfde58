"""paddock version"""

from __future__ import annotations

import platform

import click

from paddock.app.home import find_running
from paddock.build import BUILD
from paddock.cli.cluster.places import explain_other_version
from paddock.cli.cluster.session import home
from paddock.cli.output.language import localized
from paddock.cli.output.streams import print_line
from paddock.cli.verb import Verb
from paddock.words.phrases import phrase


@click.command(name="version", cls=Verb, help="Print the version, and that of the local cluster if it is up.")
def command() -> None:
    print_line(f"paddock {BUILD} (Python {platform.python_version()}, {platform.system()} {platform.machine()})")
    if (running := find_running(home())) is not None:
        print_line(localized(phrase("the local cluster that is up: paddock {version}", version=running.version)))
        if (said := explain_other_version(running.version)) is not None:
            print_line(localized(said))
