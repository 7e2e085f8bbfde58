"""`--console`: where the console is that keeps the history of a cluster.

Imports nothing but click, as `paddock --help` reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
_CONSOLE = "paddock.cli.console"
"""The key in click's context."""


def _keep(context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    if value:
        context.meta[_CONSOLE] = value


def read_console(context: click.Context | None = None) -> str:
    """What was typed; empty for the console of `paddock manifests console`."""
    context = context or click.get_current_context(silent=True)
    return str(context.meta.get(_CONSOLE, "")) if context else ""


def console_option(command: Command) -> Command:
    option = click.option(
        "--console",
        metavar="URL|NAMESPACE",
        envvar="PADDOCK_CONSOLE",
        expose_value=False,
        callback=_keep,
        help="With --context: the console that keeps (default: a port of that in paddle-console; or PADDOCK_CONSOLE).",
    )
    return option(command)
