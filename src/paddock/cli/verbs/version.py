"""paddock version"""

from __future__ import annotations

import platform

import click

from paddock.cli.output.streams import print_line
from paddock.cli.verb import Verb
from paddock.version import __version__


@click.command(name="version", cls=Verb, help="Print the version.")
def command() -> None:
    print_line(f"paddock {__version__} (Python {platform.python_version()}, {platform.system()} {platform.machine()})")
