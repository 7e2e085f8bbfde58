"""paddock version"""

from __future__ import annotations

import platform

import click

from paddock.cli.verb import Verb
from paddock.version import __version__


@click.command(name="version", cls=Verb, help="Print the version.")
def command() -> None:
    print(f"paddock {__version__} (Python {platform.python_version()}, {platform.system()} {platform.machine()})")
