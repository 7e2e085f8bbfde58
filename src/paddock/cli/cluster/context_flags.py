"""The values of --context and --kubeconfig, kept in click's context for every part of a command.

Imports nothing but click, as `paddock --help` reads it.
"""

from __future__ import annotations

from typing import Any

import click

_CONTEXTS = "paddock.cli.contexts"
_TYPED = "paddock.cli.typed"
_CHOSEN = "paddock.cli.place"
"""The key in click's context, which a group shares with its commands."""


def keep_chosen(context: click.Context) -> dict[str, Any]:
    """The mutable mapping of the values given so far, by option name."""
    chosen: dict[str, Any] = context.meta.setdefault(_CHOSEN, {})
    return chosen


def keep_contexts(context: click.Context, names: tuple[str, ...]) -> None:
    context.meta[_CONTEXTS] = names


def keep_typed(context: click.Context) -> None:
    context.meta[_TYPED] = True


def is_typed(context: click.Context) -> bool:
    """Whether the command line names a cluster, and not the environment alone."""
    return bool(context.meta.get(_TYPED))


def read_contexts(context: click.Context) -> tuple[str, ...]:
    """The values of a --context that was given several times; empty for any other command line."""
    found: tuple[str, ...] = context.meta.get(_CONTEXTS, ())
    return found if len(found) > 1 else ()


def read_chosen(context: click.Context | None) -> dict[str, str]:
    """The given values by option name; empty for the local cluster."""
    return dict(context.meta.get(_CHOSEN, {})) if context else {}


def is_chosen(context: click.Context) -> bool:
    """Whether the command line or the environment names a cluster."""
    return bool(read_chosen(context))
